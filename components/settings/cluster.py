"""``kubernetes``, ``network`` and ``security``: the cluster itself. A range is checked against those before."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Final, Literal

from pydantic import Field, StrictStr, ValidationInfo, field_validator

from components.settings import check, fields
from components.settings.fields import Cidr, Flag, Section, context, wrong

_VERSION: Final = re.compile(r"1\.\d{1,3}(\.\d{1,3}(-[a-z0-9.]+)?)?")
_RANGES = ("node_cidr", "pod_cidr", "service_cidr", "control_plane_cidr")
_EXAMPLE = "authorizedNetworks: [{name: office, cidr: 203.0.113.0/24}]"


class Kubernetes(Section):
    """Which Kubernetes."""

    channel: Literal["rapid", "regular", "stable"] = Field(default="regular", description="release channel")
    version: StrictStr | None = Field(
        default=None,
        description="pin, such as `'1.34'`; the channel's default unless given. Raising it upgrades the nodes, too",
    )

    @field_validator("version")
    @classmethod
    def _version(cls, value: str | None) -> str | None:
        if value is not None and not _VERSION.fullmatch(value):
            raise wrong(f"'{value}' is not a Kubernetes version", "Write for example '1.34' or '1.34.1'")
        return value


class AuthorizedNetworkSetting(Section):
    """A range that may reach the control plane."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=50)] = Field(description="who that is")
    cidr: Cidr = Field(description="IPv4 range; `0.0.0.0/0` lets everybody try, and must be written to be meant")


class ExistingNetwork(Section):
    """A network that is there already: it is read, checked and never changed, and nothing of a network is made."""

    network: Annotated[StrictStr, Field(min_length=1)] = Field(
        description="its name or id, as the cloud writes it; of another account where the cloud shares networks"
    )
    subnets: Annotated[tuple[Annotated[StrictStr, Field(min_length=1)], ...], Field(min_length=1)] = Field(
        description="the nodes' subnets, by name or id"
    )
    pod_range: StrictStr | None = Field(
        default=None, description="the pods' addresses, where ranges of a subnet have names"
    )
    service_range: StrictStr | None = Field(default=None, description="the services' addresses, likewise")


class Network(Section):
    """The cluster's network."""

    existing: ExistingNetwork | None = Field(default=None, description="a network to use instead of a new one")
    private_endpoint: Flag = Field(
        default=False, description="control plane reachable from inside the network only (VPN, bastion)"
    )
    dns_endpoint: Flag = Field(
        default=False,
        description="control plane reachable by name too, from anywhere, by whom the cloud's IAM lets in instead of by "
        "address; the outputs' kubeconfig takes this way",
    )
    authorized_networks: tuple[AuthorizedNetworkSetting, ...] = Field(
        default=(),
        validate_default=True,
        description="who may reach the control plane; required unless `privateEndpoint` or `dnsEndpoint`",
    )
    node_cidr: StrictStr = Field(default="", validate_default=True, description="addresses of nodes; see below")
    pod_cidr: StrictStr | None = Field(
        default=None, validate_default=True, description="addresses of pods, where they are not the nodes'; see below"
    )
    service_cidr: StrictStr = Field(default="", validate_default=True, description="addresses of services; see below")
    control_plane_cidr: Cidr | None = Field(
        default=None, description="addresses of the control plane; the cloud's choice"
    )

    dataplane: StrictStr | None = Field(
        default=None,
        description="what carries the pods' traffic, where there is a choice. A cluster keeps what it was made with "
        "unless given; another one replaces it",
    )
    nat: Literal["single", "per-zone"] | None = Field(
        default=None,
        description="gateways of the private nodes; one per zone if the availability is regional, else a single one",
    )

    @field_validator("dataplane")
    @classmethod
    def _dataplane(cls, value: str | None, info: ValidationInfo) -> str | None:
        known = context(info).catalog
        if value is None or known is None:
            return value
        return check.listed(value, known.dataplanes, "choice of dataplane", context(info))

    @field_validator("authorized_networks")
    @classmethod
    def _authorized(
        cls, value: tuple[AuthorizedNetworkSetting, ...], info: ValidationInfo
    ) -> tuple[AuthorizedNetworkSetting, ...]:
        if not value and not (info.data.get("private_endpoint") or info.data.get("dns_endpoint")):
            raise wrong(
                "nobody could reach the control plane",
                f"Write for example {_EXAMPLE} with your own range, or privateEndpoint: true",
            )
        ranges = [entry.cidr for entry in value]
        if len(set(ranges)) < len(ranges):
            raise wrong("a range is there twice", "Write each range once")
        return value

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
        return known.default_ranges[info.field_name or ""] if known is not None else value

    @field_validator("nat")
    @classmethod
    def _gateways(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("existing") is not None:
            raise wrong("the existing network has its own way out", "Leave it out")
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


class Monitoring(Section):
    """What is measured."""

    gpu_metrics: Flag | None = Field(
        default=None,
        description="collect the GPUs' utilisation, memory and temperature (DCGM); where the cloud can, unless given",
    )

    @field_validator("gpu_metrics")
    @classmethod
    def _gpu_metrics(cls, value: bool | None, info: ValidationInfo) -> bool | None:
        known = context(info).catalog
        if value and known is not None and not known.gpu_metrics:
            raise wrong(
                f"{context(info).cloud} does not collect metrics of GPUs by itself",
                "Leave it out, and install NVIDIA's DCGM exporter in the cluster",
            )
        return value


class Security(Section):
    """Keys and protection."""

    kms_key: StrictStr | None = Field(default=None, description="key that encrypts Kubernetes secrets (its full name)")
    disk_key: StrictStr | None = Field(
        default=None,
        description="key that encrypts nodes' disks and volumes of claims (docs/operations.md); the "
        "cloud's own unless given",
    )
    permissions_boundary: StrictStr | None = Field(
        default=None,
        description="policy that bounds all roles of the stack, where roles can be bounded (its full name)",
    )
    role_path: StrictStr | None = Field(
        default=None,
        description="path of all roles of the stack, where roles have one, such as `/platform/`; another one replaces "
        "roles, and with them the cluster",
    )
    deletion_protection: Flag = Field(default=False, description="refuse to delete the cluster")
