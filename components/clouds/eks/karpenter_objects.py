"""Karpenter's objects on AWS: EC2NodeClass and NodePool.

https://karpenter.sh/v1.14/concepts/nodeclasses/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from components.clouds import node_pools
from components.clouds.eks.node_template import VOLUME_TYPE, disks
from components.settings.sections.maintenance import Maintenance
from facts import catalog
from facts.catalog.eks.nodes import max_pods, network_interfaces, takes_prefixes
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import Pool

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
        "amiSelectorTerms": [{"alias": f"{pool.nodes.image}@{pool.nodes.image_version or 'latest'}"}],
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
            _volume(device, size, disk_key) for device, size in disks(pool.nodes.image, pool.nodes.disk_gb).items()
        ],
        "tags": dict(tags),
    }
    # With prefix delegation a node takes more pods than it has single addresses, which is the default of Karpenter and
    # of the image.
    machines = [machine for name in pool.nodes.machine_types if (machine := catalog.of("eks").machines.get(name))]
    if all(takes_prefixes(machine_type) for machine_type in pool.nodes.machine_types):
        spec["kubelet"] = {"maxPods": min(_MAX_PODS, *map(max_pods, machines))}
    local_gib = min((machine.local_gb * 1000**3 // 1024**3 for machine in machines), default=0)
    if pool.role == "gpu" and 0 < pool.nodes.disk_gb <= local_gib and disk_key is None:
        # Images and files of pods on the machine's own disks, which are many times faster than its volume. They are
        # encrypted by AWS's key: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/data-protection.html#encryption-rest
        spec["instanceStorePolicy"] = "RAID0"
    if pool.nodes.fabric is not None:
        # Without them Karpenter attaches EFA only for pods that request it, and others would start nodes without any.
        spec["networkInterfaces"] = [
            {"networkCardIndex": card, "deviceIndex": index, "interfaceType": kind}
            for card, index, kind in network_interfaces(pool.nodes.machine_type, pool.nodes.fabric.devices)
        ]
    if placement_group is not None:
        spec["placementGroupSelector"] = {"name": placement_group}
    reservation = pool.scaling.reservation
    if reservation is not None:
        spec["capacityReservationSelectorTerms"] = [{"id": reservation}]
    merged = {**spec, **pool.raw}
    if "kubelet" in pool.raw:
        merged["kubelet"] = {**spec.get("kubelet", {}), **pool.raw["kubelet"]}
    return manifest("karpenter.k8s.aws/v1", "EC2NodeClass", class_name(pool), spec=merged)


def node_pool(pool: Pool, *, weight: int, unneeded_minutes: int, maintenance: Maintenance) -> dict[str, Any]:
    """The pool's NodePool."""
    return node_pools.node_pool(
        pool,
        catalog.of("eks").machines,
        node_class=("karpenter.k8s.aws", "EC2NodeClass", class_name(pool)),
        capacity="reserved" if pool.scaling.reservation is not None else "spot" if pool.scaling.spot else "on-demand",
        weight=weight,
        unneeded_minutes=unneeded_minutes,
        maintenance=maintenance,
    )


def _volume(device: str, size_gb: int, key: str | None) -> dict[str, Any]:
    volume = {"volumeSize": f"{size_gb}Gi", "volumeType": VOLUME_TYPE, **({"kmsKeyID": key} if key else {})}
    return {"deviceName": device, "ebs": {**volume, "encrypted": True, "deleteOnTermination": True}}
