"""The Node that an instance's kubelet registers, with what the cloud's controller adds to it.

Labels and zone: https://github.com/kubernetes/cloud-provider-aws. Reservations, where the user data says nothing else:
https://github.com/awslabs/amazon-eks-ami (``nodeadm/internal/kubelet/config.go``) and Bottlerocket's equal ones
(https://github.com/bottlerocket-os/bottlerocket/pull/1388). What firmware and kernel take of the memory is Karpenter's
usual assumption, as in ``facts/catalog/eks/nodes.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from facts.catalog.eks.nodes import VM_OVERHEAD, reserved_milli_cpu
from facts.concepts.kubernetes import quantity
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.base.instance_types import nvidia_gpus
from rehearsal.providers.eks.machines.instance import Instance, NodeImage
from rehearsal.providers.eks.machines.user_data import Bootstrap
from rehearsal.providers.eks.resources.groups import advertiser, efa_devices
from rehearsal.providers.eks.resources.scaling_group import template
from rehearsal.simulation import Node

_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB
_RESERVED_MIB: Final = 255
_RESERVED_MIB_PER_POD: Final = 11
_EVICTION_MIB: Final = 100
_ARM_MIB: Final = 64
_RESERVED_DISK: Final = _GIB
_EVICTION_DISK: Final = 0.1
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_STORAGE_DEVICE: Final = {"al2023": "/dev/xvda", "bottlerocket": "/dev/xvdb"}
_DEFAULT_DISK_GIB: Final = 20
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


class NodeProblem(Exception):
    """Why no node comes of an instance; continues a sentence that names it."""


def node(account: Account, instance: Instance, image: NodeImage, boot: Bootstrap, version: str) -> Node:
    """The node of an instance that has joined; ``version`` is the kubelet's (``1.35.1``).

    Raises NodeProblem: the image does not run on the instance type.
    """
    facts = account.call("ec2", "DescribeInstanceTypes", InstanceTypes=[instance.type])["InstanceTypes"][0]
    architectures = facts.get("ProcessorInfo", {}).get("SupportedArchitectures") or ["x86_64"]
    if image.arch not in architectures:
        raise NodeProblem(f"its image is for {image.arch}, its type {instance.type} is {', '.join(architectures)}")
    gpus = nvidia_gpus(facts)
    capacity = _capacity(facts, instance, image, boot)
    return Node(
        name=instance.private_name,
        cluster=boot.cluster,
        provider_id=f"aws:///{instance.zone}/{instance.id}",
        labels={**_labels(account, instance, image), **boot.labels},
        taints=boot.taints,
        capacity=_resources(capacity),
        allocatable=_resources(_allocatable(capacity, facts, image, boot)),
        kubelet_version=f"v{version}",
        os_image=image.os,
        gpus=gpus,
        gpus_advertised_by=advertiser(image.ami_type, gpus),
        efa=_efa_devices(account, instance),
    )


def _efa_devices(account: Account, instance: Instance) -> int:
    """Those of the launch template that it was started with; none where that is gone or was not used."""
    named = {key: instance.tags.get(f"aws:ec2launchtemplate:{key}", "") for key in ("id", "version")}
    try:
        return efa_devices(template(account, named)["LaunchTemplateData"]) if all(named.values()) else 0
    except AwsError:
        return 0


def _labels(account: Account, instance: Instance, image: NodeImage) -> dict[str, str]:
    arch, region = _ARCHITECTURES[image.arch], account.region
    return {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/instance-type": instance.type,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": instance.zone,
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": instance.private_name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance.type,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": instance.zone,
    }


def _capacity(facts: Mapping[str, Any], instance: Instance, image: NodeImage, boot: Bootstrap) -> dict[str, float]:
    """``cpu`` in cores, ``memory`` and ``ephemeral-storage`` in bytes, ``pods``."""
    mib = int(facts["MemoryInfo"]["SizeInMiB"]) - (_ARM_MIB if image.arch == "arm64" else 0)
    disk = instance.volumes.get(_STORAGE_DEVICE[image.family], _DEFAULT_DISK_GIB) * _GIB
    own = (facts.get("InstanceStorageInfo") or {}).get("TotalSizeInGB")
    if boot.raid0 and own:
        disk = int(own) * 1000**3
    return {
        "cpu": int(facts["VCpuInfo"]["DefaultVCpus"]),
        "memory": (mib - math.ceil(mib * VM_OVERHEAD)) * _MIB,
        "ephemeral-storage": disk,
        "pods": int(boot.settings.get("maxPods") or _addressable_pods(facts)),
    }


def _addressable_pods(facts: Mapping[str, Any]) -> int:
    """Pods to which the interfaces of a type can give addresses one by one, and two that use the node's own.

    https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni-max-pods.txt
    """
    network = facts["NetworkInfo"]
    return int(network["MaximumNetworkInterfaces"]) * (int(network["Ipv4AddressesPerInterface"]) - 1) + 2


def _allocatable(
    capacity: Mapping[str, float], facts: Mapping[str, Any], image: NodeImage, boot: Bootstrap
) -> dict[str, float]:
    settings = boot.settings
    pods = capacity["pods"] if image.family == "bottlerocket" else _addressable_pods(facts)
    reserved = {
        "cpu": reserved_milli_cpu(capacity["cpu"]) / 1000,
        "memory": (_RESERVED_MIB + _RESERVED_MIB_PER_POD * pods) * _MIB,
        "ephemeral-storage": float(_RESERVED_DISK),
    }
    reserved |= {key: float(quantity(str(value))) for key, value in (settings.get("kubeReserved") or {}).items()}
    system = {key: float(quantity(str(value))) for key, value in (settings.get("systemReserved") or {}).items()}
    eviction = settings.get("evictionHard") or {}
    evicted = {
        "memory": _threshold(eviction.get("memory.available"), capacity["memory"], float(_EVICTION_MIB * _MIB)),
        "ephemeral-storage": _threshold(
            eviction.get("nodefs.available"),
            capacity["ephemeral-storage"],
            capacity["ephemeral-storage"] * _EVICTION_DISK,
        ),
    }
    allocatable = {
        key: max(0.0, capacity[key] - reserved.get(key, 0.0) - system.get(key, 0.0) - evicted.get(key, 0.0))
        for key in _RESOURCES
    }
    return {**allocatable, "pods": capacity["pods"]}


def _threshold(text: Any, whole: float, otherwise: float) -> float:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-thresholds."""
    if text is None:
        return otherwise
    written = str(text)
    return whole * float(written[:-1]) / 100 if written.endswith("%") else float(quantity(written))


def _resources(amounts: Mapping[str, float]) -> dict[str, str]:
    return {
        "cpu": f"{round(amounts['cpu'] * 1000)}m",
        "memory": f"{int(amounts['memory']) // 1024}Ki",
        "ephemeral-storage": str(int(amounts["ephemeral-storage"])),
        "pods": str(int(amounts["pods"])),
    }
