"""Karpenter's objects: EC2NodeClass and NodePool.

https://karpenter.sh/v1.14/concepts/nodeclasses/ and https://karpenter.sh/v1.14/concepts/nodepools/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pulumi

from components.clouds.eks.node_template import VOLUME_TYPE, disks
from components.clouds.priority_expander import in_order
from components.resources import documents
from components.settings.maintenance import Maintenance
from facts import catalog
from facts.catalog.eks.nodes import max_pods, network_interfaces, takes_prefixes
from facts.concepts.kubernetes import GPU_RESOURCE, Taint, manifest
from facts.concepts.pool import Pool

# All machines with GPUs in the catalogue have disks of their own, of 116 GiB or more. They are encrypted by AWS's key:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/data-protection.html#encryption-rest
_LOCAL_DISKS_GIB: Final = 116

_MOST_WEIGHT: Final = 100
_MAX_PODS: Final = 110


def class_name(pool: Pool) -> str:
    """The name of the pool's EC2NodeClass: the pool's own.

    The deletion of a class waits for its last node, so with a class named after the disk an update of the disk would
    wait for a running job:
    https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/controllers/nodeclass/controller.go (``finalize``).
    """
    return pool.name


def node_class(
    pool: Pool,
    *,
    instance_profile: pulumi.Input[str],
    subnets: Sequence[pulumi.Input[str]],
    security_group: pulumi.Input[str],
    tags: Mapping[str, str],
    disk_key: str | None = None,
    placement_group: pulumi.Input[str] | None = None,
) -> dict[str, Any]:
    """The pool's EC2NodeClass."""
    spec: dict[str, Any] = {
        # By default the newest that AWS recommends; a running node keeps the one it started with.
        "amiSelectorTerms": [{"alias": f"{pool.image}@{pool.image_version or 'latest'}"}],
        "instanceProfile": instance_profile,
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
        "securityGroupSelectorTerms": [{"id": security_group}],
        "associatePublicIPAddress": False,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "blockDeviceMappings": [
            _volume(device, size, disk_key) for device, size in disks(pool.image, pool.disk_gb).items()
        ],
        "tags": dict(tags),
    }
    # With prefix delegation a node takes more pods than it has single addresses, which is the default of Karpenter and
    # of the image.
    if all(takes_prefixes(machine_type) for machine_type in pool.machine_types):
        machines = [catalog.of("eks").machines.get(name) for name in pool.machine_types]
        spec["kubelet"] = {"maxPods": min(_MAX_PODS, *(max_pods(machine) for machine in machines if machine))}
    if pool.role == "gpu" and pool.disk_gb <= _LOCAL_DISKS_GIB and disk_key is None:
        # Images and files of pods on the machine's own disks, which are many times faster than its volume.
        spec["instanceStorePolicy"] = "RAID0"
    if pool.fabric is not None:
        # Without them Karpenter attaches EFA only for pods that request it, and others would start nodes without any.
        spec["networkInterfaces"] = [
            {"networkCardIndex": card, "deviceIndex": index, "interfaceType": kind}
            for card, index, kind in network_interfaces(pool.machine_type, pool.fabric.devices)
        ]
    if placement_group is not None:
        spec["placementGroupSelector"] = {"name": placement_group}
    reservation = _reservation(pool)
    if reservation is not None:
        spec["capacityReservationSelectorTerms"] = [{"id": reservation}]
    merged = {**spec, **pool.raw}
    if "kubelet" in pool.raw:
        merged["kubelet"] = {**spec.get("kubelet", {}), **pool.raw["kubelet"]}
    return manifest("karpenter.k8s.aws/v1", "EC2NodeClass", class_name(pool), spec=merged)


def node_pool(pool: Pool, *, weight: int, unneeded_minutes: int, maintenance: Maintenance) -> dict[str, Any]:
    """The pool, with exactly the labels, taints and limits of its spec."""
    (made,) = documents(
        Path(__file__).with_name("karpenter-node-pool.yaml"),
        name=pool.name,
        weight=weight,
        limits=limits(pool),
        unneeded_minutes=unneeded_minutes,
        labels=dict(pool.labels),
        node_class=class_name(pool),
        requirements=_requirements(pool),
        taints=[_taint(taint) for taint in pool.taints],
    )
    made["spec"]["disruption"]["budgets"][1:1] = _renewals(pool, maintenance)
    return dict(made)


def _renewals(pool: Pool, maintenance: Maintenance) -> list[dict[str, Any]]:
    """Disruption budgets: how many busy nodes a newer image or another disk may replace at a time, and when.

    A GPU node is replaced only when idle. A CPU pool's nodes may never be idle, so one at a time is replaced in the
    stack's maintenance window; a pod that must not move has the annotation ``karpenter.sh/do-not-disrupt``. The
    strictest active budget applies; schedules are in UTC:
    https://karpenter.sh/v1.14/concepts/disruption/#nodepool-disruption-budgets
    """
    if pool.role == "gpu":
        return [{"nodes": "0", "reasons": ["Drifted"]}]
    closes = maintenance.weekday * 24 + maintenance.opens + maintenance.hours
    # Days of the week in cron: Sunday is 0.
    day, hour = (closes // 24 + 1) % 7, closes % 24
    return [
        {"nodes": "1", "reasons": ["Drifted"]},
        {
            "nodes": "0",
            "reasons": ["Drifted"],
            "schedule": f"0 {hour} * * {day}",
            "duration": f"{7 * 24 - maintenance.hours}h",
        },
    ]


def limits(pool: Pool) -> dict[str, str]:
    """What ``max_nodes`` nodes have together.

    Within one batch of pods Karpenter deducts the GPUs and CPUs of each node that it plans, but not the node itself:
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/provisioning/scheduling/scheduler.go
    (``subtractMax``).
    """
    most = {"nodes": str(pool.max_nodes)}
    if pool.role == "gpu":
        return {**most, GPU_RESOURCE: str(pool.max_nodes * pool.gpus_per_node)}
    machines = [catalog.of("eks").machines.get(name) for name in pool.machine_types]
    # A planned node counts with the largest type that it may become.
    largest = max((machine.vcpus for machine in machines if machine is not None), default=0)
    return {**most, "cpu": str(pool.max_nodes * largest)} if largest else most


def weights(pools: Sequence[Pool]) -> dict[str, int]:
    """Pool → weight, from 100 for the pool that is tried first down to 1 (which the last ones share)."""
    sides = enumerate(in_order(pools))
    return {pool.name: max(1, _MOST_WEIGHT - place) for place, side in sides for pool in side}


def _requirements(pool: Pool) -> list[dict[str, Any]]:
    capacity = "reserved" if _reservation(pool) is not None else "spot" if pool.spot else "on-demand"
    return [
        _one_of("node.kubernetes.io/instance-type", pool.machine_types),
        _one_of("topology.kubernetes.io/zone", pool.zones),
        _one_of("karpenter.sh/capacity-type", [capacity]),
        _one_of("kubernetes.io/arch", ["amd64"]),
        _one_of("kubernetes.io/os", ["linux"]),
    ]


def _reservation(pool: Pool) -> str | None:
    return None if pool.gpu_part is None else pool.gpu_part.reservation


def _one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _taint(taint: Taint) -> dict[str, str]:
    written = {"key": taint.key, "effect": taint.effect}
    return {**written, "value": taint.value} if taint.value else written


def _volume(device: str, size_gb: int, key: str | None) -> dict[str, Any]:
    volume = {"volumeSize": f"{size_gb}Gi", "volumeType": VOLUME_TYPE, **({"kmsKeyID": key} if key else {})}
    return {"deviceName": device, "ebs": {**volume, "encrypted": True, "deleteOnTermination": True}}
