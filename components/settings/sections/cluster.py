"""``kubernetes``, ``network`` and ``security``: the cluster itself. Each range is checked against those above it."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings.fields import check
from components.settings.fields import types as fields
from components.settings.fields.types import Cidr, ContainerImage, Flag, Section, context, matching, once, wrong
from facts.concepts.addresses import open_to_internet

_VERSION: Final = re.compile(r"1\.\d{1,3}(\.\d{1,3}(-[a-z0-9.]+)?)?")
# Of clusters on all clouds; others would be parts of an API's path. https://docs.aws.amazon.com/eks/latest/APIReference/
# API_CreateCluster.html has the most: 100 characters, also _.
_CLUSTER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftresources
_GROUP: Final = re.compile(r"[-\w.()]{0,89}[-\w()]")
_NO_GROUP: Final = (
    "is no name of a resource group",
    "Write the name alone, which follows /resourceGroups/ in the cluster's ID",
)
_LOCATION: Final = re.compile(r"[a-z][a-z0-9-]*")
_OBJECT: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_IDENTITY: Final = re.compile(r"(?!.*\.\.)[^\s?#%]+")
_RANGES = ("node_cidr", "pod_cidr", "service_cidr", "control_plane_cidr")
_EXAMPLE = "authorizedNetworks: [{name: office, cidr: 203.0.113.0/24}]"


class Kubernetes(Section):
    """Version of Kubernetes."""

    channel: Annotated[
        Literal["rapid", "regular", "stable", "extended"],
        check.one_of(lambda known: known.choices.channels, "release channel"),
    ] = Field(default="regular", description="release channel, one that the cloud has (see below)")
    version: (
        Annotated[StrictStr, matching(_VERSION, "is not a Kubernetes version", "Write for example '1.35' or '1.35.1'")]
        | None
    ) = Field(
        default=None,
        description="pinned version, such as `'1.35'`. Default: the channel's. Raising it upgrades the control plane; "
        "when nodes follow, and what a cloud upgrades by itself, differs (docs/operations.md)",
    )


class AuthorizedNetworkSetting(Section):
    """An address range that may reach the control plane."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=50)] = Field(
        description="a name for the range, such as its owner"
    )
    cidr: Cidr = Field(
        description="IPv4 range. All together at most a /8 of public addresses; `0.0.0.0/0` admits every address"
    )


_EVERYBODY: Final = "0.0.0.0/0"


def limited(ranges: tuple[AuthorizedNetworkSetting, ...]) -> tuple[AuthorizedNetworkSetting, ...]:
    """The same ranges. Refuses those that let in the internet without saying so: ``0.0.0.0/0`` is left to the gate."""
    written = [each.cidr for each in ranges]
    if _EVERYBODY not in written and open_to_internet(written) is True:
        raise wrong(
            "the ranges let in more than a /8 of public addresses, and those belong to many organisations",
            f"Write the ranges of your own network, or {_EVERYBODY} if the whole internet should reach the API server",
        )
    return ranges


class ExistingNetwork(Section):
    """An existing network. The program reads and checks it, never changes it, and creates no network of its own."""

    network: Annotated[StrictStr, Field(min_length=1)] = Field(
        description="name or ID of the network, as the cloud writes it. It may belong to another account if the cloud "
        "can share networks"
    )
    subnets: Annotated[tuple[Annotated[StrictStr, Field(min_length=1)], ...], Field(min_length=1)] = Field(
        description="names or IDs of the nodes' subnets"
    )
    pod_range: StrictStr | None = Field(
        default=None, description="name of the subnet's secondary range for pods, where ranges have names"
    )
    service_range: StrictStr | None = Field(
        default=None, description="name of the subnet's secondary range for services, where ranges have names"
    )
    private_dns_zone: Annotated[StrictStr, Field(min_length=1)] | None = Field(
        default=None,
        description="where the cloud keeps a private control plane's name in a private DNS zone: the ID of an existing "
        "zone (hub and spoke), or `none` for a public DNS name of the private address",
    )


class Network(Section):
    """The cluster's network."""

    existing: ExistingNetwork | None = Field(
        default=None, description="an existing network to use instead of a new one"
    )
    private_endpoint: Flag = Field(
        default=False, description="the control plane is reachable only from inside the network (VPN, bastion)"
    )
    dns_endpoint: Flag = Field(
        default=False,
        description="adds a DNS name by which the control plane is reachable from anywhere; the cloud's IAM decides "
        "who has access. The kubeconfig in the outputs uses it",
    )
    authorized_networks: Annotated[
        tuple[AuthorizedNetworkSetting, ...],
        once("a range is listed twice", "Write each range once", lambda entry: entry.cidr),
    ] = Field(
        default=(),
        validate_default=True,
        description="address ranges that may reach the control plane. Required unless `privateEndpoint` or "
        "`dnsEndpoint`",
    )
    node_cidr: StrictStr = Field(
        default="",
        validate_default=True,
        description="address range of the nodes. Default: see [below](#what-differs-between-the-clouds)",
    )
    pod_cidr: StrictStr | None = Field(
        default=None,
        validate_default=True,
        description="address range of the pods, where they do not share the nodes' range. Default: see below",
    )
    service_cidr: StrictStr = Field(
        default="", validate_default=True, description="address range of the services. Default: see below"
    )
    control_plane_cidr: Cidr | None = Field(
        default=None, description="address range of the control plane. Default: the cloud chooses"
    )

    dataplane: (
        Annotated[StrictStr, check.one_of(lambda known: known.choices.dataplanes, "choice of dataplane")] | None
    ) = Field(
        default=None,
        description="network dataplane, where the cloud has several. Default for a new cluster: the first in the table "
        "below. Changing it replaces the cluster",
    )
    nat: Literal["single", "per-zone"] | None = Field(
        default=None,
        description="NAT gateways of the private nodes. Default: `per-zone` if the availability is regional, else "
        "`single`",
    )

    @property
    def private_dns_zone(self) -> str | None:
        """That of the existing network; ``None`` with a new one."""
        return None if self.existing is None else self.existing.private_dns_zone

    @field_validator("authorized_networks")
    @classmethod
    def _authorized(
        cls, value: tuple[AuthorizedNetworkSetting, ...], info: ValidationInfo
    ) -> tuple[AuthorizedNetworkSetting, ...]:
        if not value and not (info.data.get("private_endpoint") or info.data.get("dns_endpoint")):
            raise wrong(
                "no address could reach the control plane",
                f"Write for example {_EXAMPLE} with your own range, or privateEndpoint: true",
            )
        return value if info.data.get("private_endpoint") else limited(value)

    @field_validator("node_cidr", "pod_cidr", "service_cidr")
    @classmethod
    def _range(cls, value: str | None, info: ValidationInfo) -> str | None:
        existing = info.data.get("existing")
        names = {"node_cidr": existing is not None} | (
            {"pod_cidr": bool(existing.pod_range), "service_cidr": bool(existing.service_range)} if existing else {}
        )
        if names.get(info.field_name or "") and value:
            raise wrong("the existing network has its own addresses", "Leave it out")
        if names.get(info.field_name or ""):
            return None if info.field_name == "pod_cidr" else ""
        if value:
            return fields.cidr(value)
        known = context(info).catalog
        return known.choices.default_ranges[info.field_name or ""] if known is not None else value

    @field_validator("nat")
    @classmethod
    def _gateways(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("existing") is not None:
            raise wrong("the existing network has its own egress", "Leave it out")
        return value

    @field_validator(*_RANGES)
    @classmethod
    def _apart(cls, value: str | None, info: ValidationInfo) -> str | None:
        for other in _RANGES:
            taken = info.data.get(other)
            if value and taken and IPv4Network(value).overlaps(IPv4Network(taken)):
                camel = other.replace("_cidr", "Cidr")
                raise wrong(f"{value} overlaps with {camel} ({taken})", "Choose ranges that do not overlap")
        return value


class ExistingCluster(Section):
    """A cluster that somebody else made, to which the stack adds its GPU pools."""

    name: Annotated[
        StrictStr, matching(_CLUSTER, "is no name of a cluster", "Write the name alone, the last part of an ID")
    ] = Field(description="the cluster's name in the cloud")
    resource_group: Annotated[StrictStr, matching(_GROUP, *_NO_GROUP)] | None = Field(
        default=None,
        description="only on AKS, and required there: the resource group that the cluster is in, not the one of its "
        "nodes (`az aks list -o table`)",
    )
    node_identity: (
        Annotated[StrictStr, matching(_IDENTITY, "is no identity", "Write the identity as the cloud lists it")] | None
    ) = Field(
        default=None,
        description="identity of the pools' nodes; on GKE the e-mail address of a service account, on EKS with "
        "cluster-autoscaler the ARN of the role of one of the cluster's managed node groups. Default: that of "
        "the cluster's other nodes",
    )
    location: (
        Annotated[StrictStr, matching(_LOCATION, "is no region or zone", "Write the location that the cloud lists")]
        | None
    ) = Field(
        default=None,
        description="where its control plane is, if two clusters of a region have the name; on GKE the region or a "
        "zone. Default: looked up",
    )
    reaper_image: ContainerImage | None = Field(
        default=None,
        description="image of the CronJob that replaces broken nodes: any with Python 3.9 or newer, for a cluster that "
        "pulls from other registries than public.ecr.aws. Default: Docker's official image there",
    )
    subnets: tuple[Annotated[StrictStr, Field(min_length=1)], ...] = Field(
        default=(),
        description="only on EKS with cluster-autoscaler: IDs of the subnets of the pools' nodes. Default: those of "
        "the cluster's managed node groups",
    )
    security_groups: tuple[Annotated[StrictStr, Field(min_length=1)], ...] = Field(
        default=(),
        description="only on EKS with cluster-autoscaler: IDs of the security groups of the pools' nodes. Default: "
        "those of the cluster's managed node groups",
    )
    node_class: (
        Annotated[StrictStr, matching(_OBJECT, "is no name of an object", "Write the name that kubectl lists")] | None
    ) = Field(
        default=None,
        description="only on EKS with Karpenter, and required there: the EC2NodeClass of the cluster's Karpenter whose "
        "role, subnets, security groups, images and kubelet settings the pools' nodes take over (`kubectl get "
        "ec2nodeclasses`)",
    )


class Monitoring(Section):
    """Metrics and logs that the cloud collects."""

    gpu_metrics: Flag | None = Field(
        default=None,
        description="collect utilisation, memory and temperature of the GPUs (DCGM). Default: `true` where the cloud "
        "supports it and `workloads.monitoring` is not set",
    )

    control_plane_logs: tuple[StrictStr, ...] | None = Field(
        default=None, description="logs of the control plane, where they are a choice. Default: all; `[]`: none"
    )
    control_plane_log_days: StrictInt | None = Field(
        default=None, description="days for which the control plane's logs are retained, where they are a choice"
    )

    @field_validator("control_plane_logs", "control_plane_log_days")
    @classmethod
    def _logs(cls, value: Any, info: ValidationInfo) -> Any:
        known = context(info).catalog
        if value is None or known is None:
            return value
        if not known.choices.control_plane_logs:
            raise wrong(f"{context(info).cloud} has no such choice", "Leave it out")
        if isinstance(value, int):
            if value not in known.choices.log_days:
                longer = [days for days in known.choices.log_days if days > value]
                raise wrong(
                    f"logs cannot be retained for {value} days",
                    f"Write {min(longer, default=known.choices.log_days[-1])}",
                )
            return value
        for kind in value:
            check.listed(kind, known.choices.control_plane_logs, "log", context(info))
        return tuple(dict.fromkeys(value))

    @field_validator("gpu_metrics")
    @classmethod
    def _gpu_metrics(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        known = context(info).catalog
        if value and known is not None and not known.choices.gpu_metrics:
            raise wrong(
                f"{context(info).cloud} does not collect GPU metrics itself",
                "Leave it out; workloads: {monitoring: {}} installs NVIDIA's DCGM exporter in the cluster",
            )
        return value


class Security(Section):
    """Encryption keys, IAM restrictions and deletion protection."""

    kms_key: StrictStr | None = Field(
        default=None,
        description="full name of the key that encrypts Kubernetes secrets. It cannot be changed later on EKS, and "
        "only step by step on AKS (docs/operations.md)",
    )
    disk_key: StrictStr | None = Field(
        default=None,
        description="full name of the key that encrypts node disks and persistent volumes. It cannot be changed later "
        "on AKS (docs/operations.md). Default: the cloud's own key",
    )
    data_key: StrictStr | None = Field(
        default=None,
        description="full name of the key that encrypts what `workloads.registry` and `workloads.checkpoints` store; "
        "only on GKE. It cannot be changed later with a registry (docs/operations.md). Default: the cloud's own key",
    )
    permissions_boundary: StrictStr | None = Field(
        default=None,
        description="full name of the permissions boundary of all IAM roles of the stack, where the cloud has that",
    )
    role_path: StrictStr | None = Field(
        default=None,
        description="path of all IAM roles of the stack, such as `/platform/`, where the cloud has paths. Changing it "
        "replaces the roles and the cluster",
    )
    node_identity: StrictStr | None = Field(
        default=None,
        description="full name of an identity of yours for the nodes, with the roles that they need "
        "(docs/operations.md): the e-mail address of a service account on GKE, where changing it replaces the pools; "
        "the ID of a managed identity on AKS, where it cannot be changed later. Default: the program creates one",
    )
    control_plane_identity: StrictStr | None = Field(
        default=None,
        description="ID of a managed identity of yours for the control plane, with the roles that it needs "
        "(docs/operations.md); only on AKS. It cannot be changed later. Default: the program creates one",
    )
    deletion_protection: Flag = Field(default=False, description="the cluster cannot be deleted")
