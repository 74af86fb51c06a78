"""What EKS refuses of a managed node group, one named rule each."""

from __future__ import annotations

import re
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.instance_types import architecture, instance_type
from rehearsal.providers.rules import RuleBook
from rehearsal.providers.values import at

POOL_RULES: Final = RuleBook[Account]()
RESERVED_LABELS: Final = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/")
"""https://github.com/aws/containers-roadmap/issues/1451"""

DEFAULT_AMI_TYPE: Final = "AL2023_x86_64_STANDARD"
DEFAULT_TYPE: Final = "t3.medium"

_CREATE: Final = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"
_GROUPS: Final = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
_TEMPLATES: Final = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
_LABELS: Final = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"
_TAINT: Final = "https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html"
_NAME: Final = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,62}")
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_MOST_TAINTS: Final = 50


@POOL_RULES.add("group-name", _CREATE, "nodeGroupName")
def _name(inputs: Properties, account: Account) -> str | None:
    name = inputs["nodeGroupName"]
    if _NAME.fullmatch(name):
        return None
    return (
        f"InvalidParameterException: nodegroupName {name} must be at most 63 letters, digits, hyphens and underscores"
    )


@POOL_RULES.add("scaling-ordered", _GROUPS, "scalingConfig")
def _scaling(inputs: Properties, account: Account) -> str | None:
    low, desired, high = (int(at(inputs, f"scalingConfig.{key}") or 0) for key in ("minSize", "desiredSize", "maxSize"))
    if high < 1:
        return "InvalidParameterException: maxSize must be at least 1"
    if low > high:
        return f"InvalidParameterException: Minimum capacity {low} can't be greater than maximum capacity {high}"
    if desired > high:
        return f"InvalidParameterException: desired capacity {desired} can't be greater than max size {high}"
    if desired < low:
        return f"InvalidParameterException: Minimum capacity {low} can't be greater than desired size {desired}"
    return None


@POOL_RULES.add("instance-types-exist", _CREATE, "instanceTypes")
def _types(inputs: Properties, account: Account) -> str | None:
    unknown = [name for name in inputs.get("instanceTypes") or [] if instance_type(account, name) is None]
    if not unknown:
        return None
    return f"InvalidParameterException: The following supplied instance types do not exist: [{', '.join(unknown)}]"


@POOL_RULES.add("instance-types-many", _CREATE, "instanceTypes", "capacityType")
def _many(inputs: Properties, account: Account) -> str | None:
    types = inputs.get("instanceTypes") or []
    if len(set(types)) < len(types):
        return f"InvalidParameterException: instanceTypes names a type twice: [{', '.join(types)}]"
    if inputs.get("capacityType") == "CAPACITY_BLOCK" and len(types) != 1:
        return "InvalidParameterException: A node group of capacity type CAPACITY_BLOCK has one instance type"
    return None


@POOL_RULES.add("instance-types-architecture", _CREATE, "instanceTypes")
def _alike(inputs: Properties, account: Account) -> str | None:
    architectures = {architecture(account, name) for name in inputs.get("instanceTypes") or []}
    if len(architectures) < 2:
        return None
    return "InvalidParameterException: The supplied instance types have different architectures (x86_64 and arm64)"


@POOL_RULES.add("ami-fits-type", "https://github.com/eksctl-io/eksctl/pull/4973", "instanceTypes", "amiType")
def _image(inputs: Properties, account: Account) -> str | None:
    ami = inputs.get("amiType") or DEFAULT_AMI_TYPE
    if ami == "CUSTOM":
        return None
    image_architecture = "arm64" if "ARM_64" in ami else "x86_64"
    for name in inputs.get("instanceTypes") or [DEFAULT_TYPE]:
        machine = instance_type(account, name)
        without = machine is not None and "NVIDIA" in ami and not machine.gpus
        if architecture(account, name) != image_architecture or without:
            return f"InvalidParameterException: [{name}] is not a valid instance type for requested amiType {ami}"
    return None


@POOL_RULES.add("disk-or-template", _TEMPLATES, "launchTemplate", "diskSize", "remoteAccess")
def _disk(inputs: Properties, account: Account) -> str | None:
    if not inputs.get("launchTemplate"):
        return None
    if inputs.get("diskSize"):
        return "InvalidParameterException: Disk size must be specified within the launch template."
    if inputs.get("remoteAccess"):
        return "InvalidParameterException: Remote access configuration cannot be specified with a launch template."
    return None


@POOL_RULES.add("labels-reserved", "https://github.com/aws/containers-roadmap/issues/1451", "labels")
def _reserved(inputs: Properties, account: Account) -> str | None:
    for key in inputs.get("labels") or {}:
        prefix = key.partition("/")[0] + "/"
        if any(
            prefix == reserved_prefix or prefix.endswith(f".{reserved_prefix}") for reserved_prefix in RESERVED_LABELS
        ):
            reserved = ", ".join(RESERVED_LABELS)
            return f"InvalidParameterException: Label cannot contain reserved prefixes [{reserved}]: {key}"
    return None


@POOL_RULES.add("labels-valid", _LABELS, "labels")
def _labels(inputs: Properties, account: Account) -> str | None:
    return next(
        (bad for key, value in (inputs.get("labels") or {}).items() if (bad := _bad("label", key, value))), None
    )


@POOL_RULES.add("taints-valid", _TAINT, "taints")
def _taints(inputs: Properties, account: Account) -> str | None:
    taints = inputs.get("taints") or []
    if len(taints) > _MOST_TAINTS:
        return f"InvalidParameterException: {len(taints)} taints are more than {_MOST_TAINTS}"
    unique: set[tuple[str, str]] = set()
    for taint in taints:
        identity = taint["key"], taint["effect"]
        if identity in unique:
            return f"InvalidParameterException: Duplicate taint: key {taint['key']} with effect {taint['effect']}"
        unique.add(identity)
        bad = _bad("taint", taint["key"], taint.get("value") or "")
        if bad:
            return bad
    return None


@POOL_RULES.add(
    "update-config",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html",
    "updateConfig",
)
def _update(inputs: Properties, account: Account) -> str | None:
    config = inputs.get("updateConfig") or {}
    present = [key for key in ("maxUnavailable", "maxUnavailablePercentage") if config.get(key) is not None]
    if config and len(present) != 1:
        return "InvalidParameterException: updateConfig needs maxUnavailable or maxUnavailablePercentage, and not both"
    return None


def _bad(what: str, key: str, value: str) -> str | None:
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (slash and not _LABEL_PREFIX.fullmatch(prefix)):
        return f"InvalidParameterException: Invalid {what} key {key}: write [prefix/]name of letters, digits, - _ ."
    if value and not _LABEL_NAME.fullmatch(value):
        return f"InvalidParameterException: Invalid {what} value {value} of {key}: at most 63 letters, digits, - _ ."
    return None
