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
from facts.catalog import Machine
from facts.catalog.eks.nodes import max_pods, network_interfaces, takes_prefixes
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import Pool

_MAX_PODS: Final = 110
# Of https://karpenter.sh/v1.14/concepts/nodeclasses/; what else a class has is the pool's.
_TAKEN_OVER: Final = (
    *("role", "instanceProfile", "subnetSelectorTerms", "securityGroupSelectorTerms", "associatePublicIPAddress"),
    *("amiFamily", "amiSelectorTerms", "userData", "kubelet", "ipPrefixCount"),
    *("connectionTracking", "context", "detailedMonitoring"),
)


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
    """The pool's EC2NodeClass in the stack's own cluster."""
    spec: dict[str, Any] = {
        # By default the newest that AWS recommends; a running node keeps the one it started with.
        "amiSelectorTerms": [{"alias": f"{pool.nodes.image}@{pool.nodes.image_version or 'latest'}"}],
        "instanceProfile": instance_profile,
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
        "securityGroupSelectorTerms": [{"id": security_group}],
        "associatePublicIPAddress": False,
        "metadataOptions": _metadata("disabled"),
        "tags": dict(tags),
        **_disks(pool, disk_key),
    }
    # With prefix delegation a node takes more pods than it has single addresses, which is the default of Karpenter and
    # of the image.
    if all(takes_prefixes(machine_type) for machine_type in pool.nodes.machine_types):
        spec["kubelet"] = {"maxPods": min(_MAX_PODS, *map(max_pods, _machines(pool)))}
    if pool.nodes.fabric is not None:
        # Without them Karpenter attaches EFA only for pods that request it, and others would start nodes without any.
        spec["networkInterfaces"] = [
            {"networkCardIndex": card, "deviceIndex": index, "interfaceType": kind}
            for card, index, kind in network_interfaces(pool.nodes.machine_type, pool.nodes.fabric.devices)
        ]
    if placement_group is not None:
        spec["placementGroupSelector"] = {"name": placement_group}
    return class_of(pool, _with_own(pool, spec))


def class_of(pool: Pool, spec: pulumi.Input[Mapping[str, Any]]) -> dict[str, Any]:
    """The pool's EC2NodeClass with a spec."""
    return manifest("karpenter.k8s.aws/v1", "EC2NodeClass", class_name(pool), spec=spec)


def joined_class_spec(
    pool: Pool, theirs: Mapping[str, Any], *, tags: Mapping[str, str], disk_key: str | None
) -> dict[str, Any]:
    """The spec of the pool's EC2NodeClass in somebody else's cluster: where and as whom nodes start is as in the class
    ``theirs`` (its spec), what they are is the pool's.
    """
    volumes = [volume.get("ebs") or {} for volume in theirs.get("blockDeviceMappings") or ()]
    key = disk_key or next((str(volume["kmsKeyID"]) for volume in volumes if volume.get("kmsKeyID")), None)
    spec = {field: theirs[field] for field in _TAKEN_OVER if theirs.get(field) is not None}
    if pool.nodes.image_version is not None:
        spec["amiSelectorTerms"] = [{"alias": f"{pool.nodes.image}@{pool.nodes.image_version}"}]
    addresses = (theirs.get("metadataOptions") or {}).get("httpProtocolIPv6") or "disabled"
    # Companies' policies ask for tags on each machine, and theirs has them.
    spec |= {"metadataOptions": _metadata(addresses), "tags": {**(theirs.get("tags") or {}), **tags}}
    return _with_own(pool, {**spec, **_disks(pool, key)})


def _with_own(pool: Pool, spec: Mapping[str, Any]) -> dict[str, Any]:
    """With the pool's reservation and its own fields of a class."""
    reservation = pool.scaling.reservation
    terms = {} if reservation is None else {"capacityReservationSelectorTerms": [{"id": reservation}]}
    merged = {**spec, **terms, **pool.raw}
    if "kubelet" in pool.raw:
        merged["kubelet"] = {**spec.get("kubelet", {}), **pool.raw["kubelet"]}
    return merged


def _metadata(addresses: str) -> dict[str, Any]:
    """No pod gets the permissions of its node; ``addresses``: whether the service has one of IPv6."""
    return {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": addresses,
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }


def _disks(pool: Pool, key: str | None) -> dict[str, Any]:
    """Encrypted volumes, and whether images and files of pods are on the machine's own disks, which are many times
    faster. Those are encrypted by AWS's key:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/data-protection.html#encryption-rest
    """
    volumes = [_volume(device, size, key) for device, size in disks(pool.nodes.image, pool.nodes.disk_gb).items()]
    local_gib = min((machine.local_gb * 1000**3 // 1024**3 for machine in _machines(pool)), default=0)
    own = pool.role == "gpu" and 0 < pool.nodes.disk_gb <= local_gib and key is None
    return {"blockDeviceMappings": volumes, **({"instanceStorePolicy": "RAID0"} if own else {})}


def _machines(pool: Pool) -> list[Machine]:
    return [machine for name in pool.nodes.machine_types if (machine := catalog.of("eks").machines.get(name))]


def node_pool(pool: Pool, *, weight: int, unneeded_minutes: int, maintenance: Maintenance) -> dict[str, Any]:
    """The pool's NodePool."""
    return node_pools.node_pool(
        pool,
        catalog.of("eks").machines,
        node_class=("karpenter.k8s.aws", "EC2NodeClass", class_name(pool)),
        capacity=capacity(pool),
        weight=weight,
        unneeded_minutes=unneeded_minutes,
        maintenance=maintenance,
    )


def capacity(pool: Pool) -> str:
    """Karpenter's word for how its machines are paid."""
    return "reserved" if pool.scaling.reservation is not None else "spot" if pool.scaling.spot else "on-demand"


def _volume(device: str, size_gb: int, key: str | None) -> dict[str, Any]:
    volume = {"volumeSize": f"{size_gb}Gi", "volumeType": VOLUME_TYPE, **({"kmsKeyID": key} if key else {})}
    return {"deviceName": device, "ebs": {**volume, "encrypted": True, "deleteOnTermination": True}}
