"""``kubernetes``, ``network`` and ``security``: the cluster itself. Each range is checked against those above it."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings import check, fields
from components.settings.fields import Cidr, Flag, Section, context, matching, once, wrong

_VERSION: Final = re.compile(r"1\.\d{1,3}(\.\d{1,3}(-[a-z0-9.]+)?)?")
_RANGES = ("node_cidr", "pod_cidr", "service_cidr", "control_plane_cidr")
_EXAMPLE = "authorizedNetworks: [{name: office, cidr: 203.0.113.0/24}]"


class Kubernetes(Section):
    """Version of Kubernetes."""

    channel: Annotated[
        Literal["rapid", "regular", "stable", "extended"],
        check.one_of(lambda known: known.choices.channels, "release channel"),
    ] = "regular"
    version: (
        Annotated[StrictStr, matching(_VERSION, "is not a Kubernetes version", "Write for example '1.35' or '1.35.1'")]
        | None
    ) = None


class AuthorizedNetworkSetting(Section):
    """An address range that may reach the control plane."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=50)]
    cidr: Cidr


class ExistingNetwork(Section):
    """An existing network. The program reads and checks it, never changes it, and creates no network of its own."""

    network: Annotated[StrictStr, Field(min_length=1)]
    subnets: Annotated[tuple[Annotated[StrictStr, Field(min_length=1)], ...], Field(min_length=1)]
    pod_range: StrictStr | None = None
    service_range: StrictStr | None = None
    private_dns_zone: Annotated[StrictStr, Field(min_length=1)] | None = None


class Network(Section):
    """The cluster's network."""

    existing: ExistingNetwork | None = None
    private_endpoint: Flag = False
    dns_endpoint: Flag = False
    authorized_networks: Annotated[
        tuple[AuthorizedNetworkSetting, ...],
        once("a range is listed twice", "Write each range once", lambda entry: entry.cidr),
    ] = Field(default=(), validate_default=True)
    node_cidr: StrictStr = Field(default="", validate_default=True)
    pod_cidr: StrictStr | None = Field(default=None, validate_default=True)
    service_cidr: StrictStr = Field(default="", validate_default=True)
    control_plane_cidr: Cidr | None = None

    dataplane: (
        Annotated[StrictStr, check.one_of(lambda known: known.choices.dataplanes, "choice of dataplane")] | None
    ) = None
    nat: Literal["single", "per-zone"] | None = None

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


class Monitoring(Section):
    """Metrics and logs that the cloud collects."""

    gpu_metrics: Flag | None = None

    control_plane_logs: tuple[StrictStr, ...] | None = None
    control_plane_log_days: StrictInt | None = None

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
                "Leave it out, and install NVIDIA's DCGM exporter in the cluster",
            )
        return value


class Security(Section):
    """Encryption keys, IAM restrictions and deletion protection."""

    kms_key: StrictStr | None = None
    disk_key: StrictStr | None = None
    data_key: StrictStr | None = None
    permissions_boundary: StrictStr | None = None
    role_path: StrictStr | None = None
    deletion_protection: Flag = False
