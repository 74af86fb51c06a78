"""The Node that an instance's kubelet registers, with what the cloud's controller adds to it.

Labels and zone: https://github.com/kubernetes/cloud-provider-aws. Reservations, where the user data says nothing else:
https://github.com/awslabs/amazon-eks-ami (``nodeadm/internal/kubelet/config.go``) and Bottlerocket's equal ones
(https://github.com/bottlerocket-os/bottlerocket/pull/1388). What firmware and kernel take of the memory is Karpenter's
usual assumption, as in ``facts/catalog/eks/nodes.py``.

The user data says which cluster to join and configures the kubelet. AL2023: ``NodeConfig`` in YAML, alone or in parts
of a MIME archive, later parts override earlier ones (https://awslabs.github.io/amazon-eks-ami/nodeadm/). Bottlerocket:
TOML (https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/).
"""

from __future__ import annotations

import email
import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from facts.catalog.eks.nodes import FILE_SYSTEM, VM_OVERHEAD, reserved_milli_cpu
from facts.concepts.kubernetes import quantity
from rehearsal.providers.base import merged as merged_values
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.machines.instance import Family, Instance, NodeImage
from rehearsal.providers.eks.machines.instance_types import gpu_resource, neuron_devices, nvidia_gpus
from rehearsal.providers.eks.nodes import advertiser, efa_devices
from rehearsal.providers.eks.scaling_group import template
from rehearsal.simulation import Node

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Settings = Mapping[str, Any]
_NODE_CONFIG: Final = "application/node.eks.aws"
_FLAGS: Final = {"--max-pods": "maxPods"}
_RESERVED: Final = {
    "kube-reserved": "kubeReserved",
    "system-reserved": "systemReserved",
    "eviction-hard": "evictionHard",
    "max-pods": "maxPods",
}


class UserDataError(Exception):
    """Why an image cannot make a node with this user data."""


@dataclass(frozen=True)
class Bootstrap:
    """The cluster in the instance's user data, and its kubelet: ``settings`` are keys of a KubeletConfiguration.

    ``taints`` are in the API's form. ``raid0``: the instance's own disks are the node's storage.
    """

    cluster: str
    endpoint: str
    ca: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    settings: Settings = field(default_factory=dict)
    raid0: bool = False


def bootstrap(family: Family, text: str) -> Bootstrap:
    """What the text makes an image of the family do.

    Raises UserDataError: it is not of the form that the image reads, or names no cluster.
    """
    if not text.strip():
        raise UserDataError("it has no user data, so it joins no cluster")
    try:
        parsed = _al2023(text) if family == "al2023" else _bottlerocket(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserDataError(f"its user data cannot be read by {family}: {error}") from error
    lacking = [name for name in ("cluster", "endpoint", "ca") if not getattr(parsed, name)]
    if lacking:
        raise UserDataError(f"its user data does not say the cluster's {', '.join(lacking)}")
    return parsed


def _al2023(text: str) -> Bootstrap:
    merged: dict[str, Any] = {}
    for part in _node_configs(text):
        merged = merged_values(merged, yaml.safe_load(part) or {})
    if not merged:
        raise UserDataError(f"its user data has no part of type {_NODE_CONFIG}")
    spec = merged["spec"]
    cluster, kubelet = spec.get("cluster") or {}, spec.get("kubelet") or {}
    settings = dict(kubelet.get("config") or {})
    labels: dict[str, str] = {}
    for name, value in _flags(kubelet.get("flags") or ()):
        if name == "--node-labels":
            labels.update(_pairs(value))
        elif name == "--register-with-taints":
            settings["registerWithTaints"] = [_taint(each) for each in value.split(",")]
        elif name in _FLAGS:
            settings[_FLAGS[name]] = int(value)
    storage = (spec.get("instance") or {}).get("localStorage") or {}
    return Bootstrap(
        cluster.get("name") or "",
        cluster.get("apiServerEndpoint") or "",
        cluster.get("certificateAuthority") or "",
        labels,
        tuple(settings.pop("registerWithTaints", None) or ()),
        settings,
        storage.get("strategy") == "RAID0",
    )


def _bottlerocket(text: str) -> Bootstrap:
    settings = tomllib.loads(text).get("settings") or {}
    kubernetes = settings.get("kubernetes") or {}
    taints = [
        {"key": key, "value": value, "effect": effect}
        for key, values in (kubernetes.get("node-taints") or {}).items()
        for value, _, effect in (
            str(each).partition(":") for each in (values if isinstance(values, list) else [values])
        )
    ]
    commands = [
        word
        for each in (settings.get("bootstrap-commands") or {}).values()
        for command in each.get("commands") or ()
        for word in command
    ]
    return Bootstrap(
        kubernetes.get("cluster-name") or "",
        kubernetes.get("api-server") or "",
        kubernetes.get("cluster-certificate") or "",
        kubernetes.get("node-labels") or {},
        tuple(taints),
        {key: kubernetes[name] for name, key in _RESERVED.items() if name in kubernetes},
        "ephemeral-storage" in commands,
    )


def _node_configs(text: str) -> Iterator[str]:
    message = email.message_from_string(text.lstrip())
    if not message.is_multipart():
        # Only a document of the right kind, and not a script, is a configuration by itself.
        if "kind: NodeConfig" in text:
            yield text
        return
    for part in message.walk():
        if part.get_content_type() == _NODE_CONFIG:
            payload = part.get_payload(decode=True)
            yield payload.decode() if isinstance(payload, bytes) else str(payload)


def _flags(words: Any) -> Iterator[tuple[str, str]]:
    """``--name=value``, as a shell takes it apart."""
    for word in words:
        for each in shlex.split(word):
            name, _, value = each.partition("=")
            yield name, value


def _pairs(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (each.partition("=") for each in text.split(",") if each)}


def _taint(text: str) -> dict[str, str]:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


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
    gpus = nvidia_gpus(facts) or neuron_devices(facts)
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
        gpu_resource=gpu_resource(instance.type),
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
    volume = instance.volumes.get(_STORAGE_DEVICE[image.family], _DEFAULT_DISK_GIB)
    disk = int(volume * _GIB * FILE_SYSTEM[image.family])
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
