"""Karpenter's objects: what machines are made from (EC2NodeClass) and which pools there are (NodePool).

https://karpenter.sh/v1.8/concepts/nodeclasses/ and https://karpenter.sh/v1.8/concepts/nodepools/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from components import catalog
from components.clouds.eks.node_template import disks
from components.clouds.eks.pools import instance_types
from components.clouds.names import shortened
from components.clouds.priority_expander import Pool, in_order
from components.pools import GpuPoolSpec, Image
from policies.rules.model import GPU_RESOURCE, Taint

# The newest image that AWS recommends for the cluster's version; a running node keeps the one it started with.
IMAGE_ALIASES: Final[Mapping[Image, str]] = {"al2023": "al2023@latest", "bottlerocket": "bottlerocket@latest"}

_MOST_WEIGHT: Final = 100
_MAX_PODS: Final = 110
_NAME_LIMIT: Final = 63


def image_of(pool: Pool) -> Image:
    """The pool's operating system."""
    return pool.image if isinstance(pool, GpuPoolSpec) else "al2023"


def class_name(pool: Pool) -> str:
    """The name of what the pool's nodes are made from; pools with the same needs share it."""
    name = f"{image_of(pool)}-{pool.disk_gb}gb"
    reservation = pool.reservation if isinstance(pool, GpuPoolSpec) else None
    return shortened(name if reservation is None else f"{name}-{reservation}", _NAME_LIMIT)


def node_class(
    pool: Pool,
    *,
    instance_profile: pulumi.Input[str],
    subnets: Sequence[pulumi.Input[str]],
    security_group: pulumi.Input[str],
    tags: Mapping[str, str],
) -> dict[str, Any]:
    """What the pool's nodes are made from."""
    spec: dict[str, Any] = {
        "amiSelectorTerms": [{"alias": IMAGE_ALIASES[image_of(pool)]}],
        "instanceProfile": instance_profile,
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
        "securityGroupSelectorTerms": [{"id": security_group}],
        "associatePublicIPAddress": False,
        # With addresses in prefixes a node takes more pods than its interfaces could address one by one.
        "kubelet": {"maxPods": _MAX_PODS},
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "blockDeviceMappings": [_volume(disk) for disk in disks(image_of(pool), pool.disk_gb)],
        "tags": dict(tags),
    }
    if isinstance(pool, GpuPoolSpec) and pool.reservation is not None:
        spec["capacityReservationSelectorTerms"] = [{"id": pool.reservation}]
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": class_name(pool)},
        "spec": spec,
    }


def node_pool(pool: Pool, *, weight: int, unneeded_minutes: int) -> dict[str, Any]:
    """The pool, with exactly the labels, taints and limits of its spec."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": pool.name},
        "spec": {
            "weight": weight,
            "limits": limits(pool),
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": f"{unneeded_minutes}m",
                # Idle nodes go all at once; one that works is never replaced for a newer image.
                "budgets": [
                    {"nodes": "100%", "reasons": ["Empty"]},
                    {"nodes": "0", "reasons": ["Drifted", "Underutilized"]},
                ],
            },
            "template": {
                "metadata": {"labels": dict(pool.labels)},
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": class_name(pool)},
                    "requirements": _requirements(pool),
                    "taints": [_taint(taint) for taint in pool.taints],
                    # A job may run longer than the 30 days after which nodes are replaced otherwise.
                    "expireAfter": "Never",
                },
            },
        },
    }


def limits(pool: Pool) -> dict[str, str]:
    """What ``max_nodes`` nodes have together.

    Karpenter counts GPUs and CPUs before it makes a node, but the nodes themselves only after (as of 1.8).
    """
    most = {"nodes": str(pool.max_nodes)}
    if isinstance(pool, GpuPoolSpec):
        return {**most, GPU_RESOURCE: str(pool.max_nodes * pool.gpus_per_node)}
    machine = catalog.of("eks").machine(pool.machine_type)
    return most if machine is None else {**most, "cpu": str(pool.max_nodes * machine.vcpus)}


def weights(pools: Sequence[Pool]) -> dict[str, int]:
    """Pool → weight, from 100 for what is to be tried first down to 1 (which the last ones share)."""
    sides = enumerate(in_order(pools))
    return {pool.name: max(1, _MOST_WEIGHT - place) for place, side in sides for pool in side}


def _requirements(pool: Pool) -> list[dict[str, Any]]:
    reserved = isinstance(pool, GpuPoolSpec) and pool.reservation is not None
    capacity = "reserved" if reserved else "spot" if pool.spot else "on-demand"
    return [
        _one_of("node.kubernetes.io/instance-type", instance_types(pool)),
        _one_of("topology.kubernetes.io/zone", pool.zones),
        _one_of("karpenter.sh/capacity-type", [capacity]),
        _one_of("kubernetes.io/arch", ["amd64"]),
        _one_of("kubernetes.io/os", ["linux"]),
    ]


def _one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _taint(taint: Taint) -> dict[str, str]:
    written = {"key": taint.key, "effect": taint.effect}
    return {**written, "value": taint.value} if taint.value else written


def _volume(disk: Mapping[str, Any]) -> dict[str, Any]:
    """A disk of a launch template in Karpenter's words."""
    ebs = disk["ebs"]
    volume = {"volumeSize": f"{ebs['volumeSize']}Gi", "volumeType": ebs["volumeType"]}
    return {"deviceName": disk["deviceName"], "ebs": {**volume, "encrypted": True, "deleteOnTermination": True}}
