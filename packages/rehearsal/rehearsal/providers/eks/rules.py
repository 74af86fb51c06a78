"""What EKS refuses of clusters and node groups, and AWS of tags, one named rule each."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import yaml

from facts.catalog.model import Support
from rehearsal.providers.base import Properties, at
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.machines.instance_types import architecture, gpu_resource, instance_type
from rehearsal.providers.eks.row import TABLE
from rehearsal.providers.rules import ServerRule, bad_labels, bad_taints, minors_up, tag_rules

DEFAULT_VERSION: Final = "1.34"
VERSIONS: Final = ("1.32", "1.33", "1.34", "1.35", "1.36")
"""https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html (1.32 and 1.33 in extended support)."""

_MOST_BEHIND: Final = 3
_ROLLBACK: Final = timedelta(days=7)
_PRIVATE: Final = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


@TABLE.check("cluster", "version-offered")
def _version(inputs: Properties, account: Account) -> str | None:
    version = inputs.get("version")
    if version is None or version in VERSIONS:
        return None
    return f"InvalidParameterException: unsupported Kubernetes version {version}; supported: {', '.join(VERSIONS)}"


@TABLE.check("cluster", "subnets-distinct")
def _subnets(inputs: Properties, account: Account) -> str | None:
    if len(set(at(inputs, "vpcConfig.subnetIds") or [])) >= 2:
        return None
    return "InvalidParameterException: Subnets specified must be in at least two different AZs"


@TABLE.check("cluster", "public-access-ranges")
def _allowed(inputs: Properties, account: Account) -> str | None:
    blocks = at(inputs, "vpcConfig.publicAccessCidrs") or []
    for text in blocks:
        try:
            block = ipaddress.ip_network(text)
        except ValueError as error:
            return (
                f"InvalidParameterException: The following CIDRs are invalid in publicAccessCidrs: [{text}] ({error})"
            )
        if block.version == 6 and at(inputs, "kubernetesNetworkConfig.ipFamily") != "ipv6":
            return f"InvalidParameterException: The following CIDRs are invalid in publicAccessCidrs: [{text}]"
        if block.prefixlen and any(block.version == 4 and block.subnet_of(known) for known in _PRIVATE):  # type: ignore[arg-type]
            return f"InvalidParameterException: The following CIDRs are not allowed in publicAccessCidrs: [{text}]"
    return None


@TABLE.check("cluster", "service-range")
def _services(inputs: Properties, account: Account) -> str | None:
    text = at(inputs, "kubernetesNetworkConfig.serviceIpv4Cidr")
    if text is None:
        return None
    if at(inputs, "kubernetesNetworkConfig.ipFamily") == "ipv6":
        return "InvalidParameterException: serviceIpv4Cidr cannot be given for a cluster of ipFamily ipv6"
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError as error:
        return f"InvalidParameterException: serviceIpv4Cidr {text} is no range: {error}"
    if not 12 <= block.prefixlen <= 24 or not any(block.subnet_of(known) for known in _PRIVATE):  # type: ignore[arg-type]
        return f"InvalidParameterException: serviceIpv4Cidr {text} must be /12 to /24 of a private range"
    return None


def version_step(old: str, new: str, since: timedelta | None) -> str | None:
    """Why a control plane of minor version ``old`` cannot become ``new``: one step up at a time
    (https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html), or one back in the seven days ``since`` it
    was upgraded in place (https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html). The version that it
    has is refused, too: https://github.com/rancher/rancher/issues/21043.
    """
    step = minors_up(old, new)
    if step == 1 or (step == -1 and since is not None and since <= _ROLLBACK):
        return None
    return f"Unsupported Kubernetes minor version update from {old} to {new}"


def support_lasts(support: Support | None, old: str, new: str, day: date) -> str | None:
    """Why the upgrade policy ``old`` (``EXTENDED``) cannot become ``new`` on that day
    (https://docs.aws.amazon.com/eks/latest/userguide/disable-extended-support.html)."""
    if (old, new) != ("EXTENDED", "STANDARD") or support is None or not support.ended(day):
        return None
    return f"The cluster is in extended support since {support.extended}, which it leaves with a newer version only"


def back_in_support(support: Support | None, new: str, policy: str, day: date) -> str | None:
    """Why a control plane cannot go back to ``new`` on that day: to a version in extended support it does with the
    upgrade ``policy`` ``EXTENDED`` alone (https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html)."""
    if support is None or policy == "EXTENDED" or not support.ended(day):
        return None
    return f"Kubernetes {new} is in extended support since {support.extended}: set the upgrade policy to EXTENDED first"


def nodes_apart(group: str, nodes: str, new: str) -> str | None:
    """Why a control plane cannot become ``new`` while a group has ``nodes`` of a minor version: three behind at most
    (https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html), and none newer, which go back first
    (https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html)."""
    if minors_up(nodes, new) < 0:
        return f"Nodegroup {group} is of version {nodes}, newer than {new}: roll it back first"
    if minors_up(nodes, new) <= _MOST_BEHIND:
        return None
    return f"Nodegroup {group} is of version {nodes}, more than {_MOST_BEHIND} minor versions behind {new}"


RESERVED_LABELS: Final = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/")
"""https://github.com/aws/containers-roadmap/issues/1451"""

DEFAULT_AMI_TYPE: Final = "AL2023_x86_64_STANDARD"
DEFAULT_TYPE: Final = "t3.medium"

_MOST_TAINTS: Final = 50


@TABLE.check("node-group", "instance-types-exist")
def _types(inputs: Properties, account: Account) -> str | None:
    unknown = [name for name in inputs.get("instanceTypes") or [] if instance_type(account, name) is None]
    if not unknown:
        return None
    return f"InvalidParameterException: The following supplied instance types do not exist: [{', '.join(unknown)}]"


@TABLE.check("node-group", "instance-types-architecture")
def _alike(inputs: Properties, account: Account) -> str | None:
    architectures = {architecture(account, name) for name in inputs.get("instanceTypes") or []}
    if len(architectures) < 2:
        return None
    return "InvalidParameterException: The supplied instance types have different architectures (x86_64 and arm64)"


@TABLE.check("node-group", "ami-fits-type")
def _image(inputs: Properties, account: Account) -> str | None:
    # A template may have an image or a type of its own: node_pool.py.
    own = inputs.get("launchTemplate") and not (inputs.get("amiType") and inputs.get("instanceTypes"))
    return None if own else image_problem(inputs, account)


def image_problem(inputs: Properties, account: Account) -> str | None:
    """Why the machines of a group do not start with images of its AMI type; ``None`` if they do."""
    ami = inputs.get("amiType") or DEFAULT_AMI_TYPE
    if ami == "CUSTOM":
        return None
    image_architecture = "arm64" if "ARM_64" in ami else "x86_64"
    for name in inputs.get("instanceTypes") or [DEFAULT_TYPE]:
        machine = instance_type(account, name)
        chips = gpu_resource(name) != "nvidia.com/gpu"
        without = machine is not None and "NVIDIA" in ami and (chips or not machine.gpus)
        without = without or ("NEURON" in ami and not chips)
        if architecture(account, name) != image_architecture or without:
            return f"InvalidParameterException: [{name}] is not a valid instance type for requested amiType {ami}"
    return None


@TABLE.check("node-group", "labels-reserved")
def _reserved(inputs: Properties, account: Account) -> str | None:
    for key in inputs.get("labels") or {}:
        prefix = key.partition("/")[0] + "/"
        if any(
            prefix == reserved_prefix or prefix.endswith(f".{reserved_prefix}") for reserved_prefix in RESERVED_LABELS
        ):
            reserved = ", ".join(RESERVED_LABELS)
            return f"InvalidParameterException: Label cannot contain reserved prefixes [{reserved}]: {key}"
    return None


@TABLE.check("node-group", "labels-valid")
def _labels(inputs: Properties, account: Account) -> str | None:
    return _bad(bad_labels(inputs.get("labels") or {}))


@TABLE.check("node-group", "taints-reserved")
def _reserved_taints(inputs: Properties, account: Account) -> str | None:
    key = next(
        (key for taint in inputs.get("taints") or [] if (key := taint["key"]).startswith("kubernetes.io/")), None
    )
    return key and f"InvalidParameterException: Taint cannot contain reserved prefix kubernetes.io/: {key}"


@TABLE.check("node-group", "taints-valid")
def _taints(inputs: Properties, account: Account) -> str | None:
    taints = inputs.get("taints") or []
    if len(taints) > _MOST_TAINTS:
        return f"InvalidParameterException: {len(taints)} taints are more than {_MOST_TAINTS}"
    return _bad(bad_taints(taints))


def _bad(problem: str | None) -> str | None:
    return problem and f"InvalidParameterException: {problem}"


TAGS: Final = tag_rules(
    "tags",
    # Limits: https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
    source="https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html",
    key=r"(?!(?i:aws:))[\w .:/=+@-]{1,128}",
    value=r"[\w .:/=+@-]{0,256}",
    most=50,
    refusal="InvalidParameterException: the tag '{key}' is not valid, is reserved, or is one too many",
)

# Where a resource refers to another by its id or ARN: path → form.
_FORMS: Final[Mapping[str, str]] = yaml.safe_load(Path(__file__).with_name("forms.yaml").read_text("utf-8"))


def _form(inputs: Properties, path: str) -> str | None:
    value = at(inputs, path)
    values = value if isinstance(value, list) else [] if value is None else [value]
    bad = next((each for each in values if not re.fullmatch(_FORMS[path], str(each))), None)
    return None if bad is None else f"InvalidParameterValue: Invalid value '{bad}' for {path}"


REFERENCES: Final = tuple(
    ServerRule(
        f"form-of-{path}",
        "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",
        (path,),
        lambda inputs, _, path=path: _form(inputs, path),
    )
    for path in _FORMS
)
"""Of every type: ids and ARNs have their form; an empty one is none."""
