"""A whole stack file as it is written: every key with its type, default and meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings import check
from components.settings.access import AccessList
from components.settings.cluster import Kubernetes, Monitoring, Network, Security
from components.settings.fields import (
    Minutes,
    RawInputs,
    ResourceLabels,
    ResourceTags,
    Section,
    Zones,
    context,
    rfc1035,
    wrong,
)
from components.settings.maintenance import Maintenance
from components.settings.pools import AdminPool, CpuPool, GpuPool
from components.settings.problems import instead
from components.settings.teams import Teams
from components.settings.workloads import Identity, Workloads, distinct_accounts
from facts import catalog


class Autoscaling(Section):
    """The autoscaler, and how soon it removes idle nodes."""

    profile: Literal["optimize-utilization", "balanced"] = "optimize-utilization"
    autoscaler: StrictStr | None = None
    unneeded_minutes: Minutes | None = None

    @field_validator("autoscaler")
    @classmethod
    def _autoscaler(cls, value: str | None, info: ValidationInfo) -> str | None:
        known = context(info).catalog
        if value is None or known is None:
            return value
        return check.listed(value, known.autoscalers, "autoscaler", context(info))


class Budget(Section):
    """A limit on the stack's cost."""

    max_hourly_usd: Annotated[StrictFloat | StrictInt, Field(gt=0)] | None = None


class StackFile(Section):
    """All keys below ``gpucluster:``."""

    cloud: StrictStr = Field(
        description=f"the cloud: {', '.join(f'`{cloud}`' for cloud in catalog.clouds())}; or "
        f"`{'` or `'.join(catalog.OWN_MACHINES)}` for machines or a cluster that you have, with "
        "the keys of own-machines-configuration.md"
    )
    region: StrictStr
    zones: Zones = ()
    availability: Literal["zonal", "regional"] = "zonal"
    cluster_name: StrictStr | None = None
    kubernetes: Kubernetes = Kubernetes()
    network: Network
    security: Security = Security()
    monitoring: Monitoring = Monitoring()
    maintenance: Maintenance = Maintenance()
    autoscaling: Autoscaling = Autoscaling()
    admin_pool: AdminPool = AdminPool()
    gpu_pools: tuple[GpuPool, ...] = Field(default=(), validate_default=True)
    cpu_pools: tuple[CpuPool, ...] = ()
    addons: tuple[StrictStr, ...] = ()
    workloads: Workloads = Workloads()
    identities: tuple[Identity, ...] = ()
    budget: Budget = Budget()
    access: AccessList = ()
    teams: Teams = ()
    labels: ResourceLabels = Field(default_factory=dict)
    tags: ResourceTags = Field(default_factory=dict, validate_default=True)
    raw: RawInputs = Field(default_factory=dict)

    @field_validator("cloud")
    @classmethod
    def _cloud(cls, value: str) -> str:
        if value not in catalog.clouds():
            raise wrong(f"cloud '{value}' is not supported", instead(value, (*catalog.clouds(), *catalog.OWN_MACHINES)))
        return value

    @field_validator("region")
    @classmethod
    def _region(cls, value: str, info: ValidationInfo) -> str:
        known = context(info).catalog
        if known is None or value in known.regions:
            return value
        if any(value in zones for zones in known.regions.values()):
            region = next(name for name, zones in known.regions.items() if value in zones)
            raise wrong(f"'{value}' is a zone", f"Write region: {region} and zones: [{value}]")
        if value.startswith(known.separate_regions):
            raise wrong(
                f"'{value}' is a region with accounts of its own, which this program does not support",
                f"Write a commercial region, such as {known.reference_region}",
            )
        raise wrong(
            f"the catalogue has no region '{value}' of {context(info).cloud}",
            instead(value, tuple(known.regions)),
        )

    @field_validator("zones")
    @classmethod
    def _zones(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return check.zones_in_region(value, context(info))

    @field_validator("cluster_name")
    @classmethod
    def _name(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        known = context(info).catalog
        if known is not None and len(value) > known.max_name_length:
            limit = known.max_name_length
            raise wrong(
                f"'{value}' has {len(value)} characters", f"Write at most {limit}: '{value[:limit].strip('-')}'"
            )
        return rfc1035(value)

    @field_validator("addons")
    @classmethod
    def _addons(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise wrong(f"an addon is listed twice: {', '.join(value)}", "Write each addon once")
        known = context(info).catalog
        for addon in value:
            check.listed(addon, known.addons if known is not None else (), "addon", context(info))
        return value

    @field_validator("identities")
    @classmethod
    def _identities(cls, value: tuple[Identity, ...]) -> tuple[Identity, ...]:
        return distinct_accounts(value)

    @field_validator("gpu_pools")
    @classmethod
    def _some(cls, value: tuple[GpuPool, ...]) -> tuple[GpuPool, ...]:
        if not value:
            raise wrong(
                "there is no GPU pool",
                "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, capacity: spot, maxNodes: 2}]",
            )
        return value
