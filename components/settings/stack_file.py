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

    profile: Literal["optimize-utilization", "balanced"] = Field(
        default="optimize-utilization", description="`optimize-utilization` removes idle nodes sooner"
    )
    autoscaler: StrictStr | None = Field(
        default=None, description="which autoscaler. Default: the first that the cloud offers"
    )
    unneeded_minutes: Minutes | None = Field(
        default=None, description="minutes after which an idle node is removed, 1 to 1440. Default: the profile's"
    )

    @field_validator("autoscaler")
    @classmethod
    def _autoscaler(cls, value: str | None, info: ValidationInfo) -> str | None:
        known = context(info).catalog
        if value is None or known is None:
            return value
        return check.listed(value, known.autoscalers, "autoscaler", context(info))


class Budget(Section):
    """A limit on the stack's cost."""

    max_hourly_usd: Annotated[StrictFloat | StrictInt, Field(gt=0)] | None = Field(
        default=None, description="refuse a stack whose list price per hour is higher with all pools at their maximum"
    )


class StackFile(Section):
    """All keys below ``gpucluster:``."""

    cloud: StrictStr = Field(
        description=f"the cloud: {', '.join(f'`{cloud}`' for cloud in catalog.clouds())}; or "
        f"`{'` or `'.join(catalog.OWN_MACHINES)}` for machines or a cluster that you have, with "
        "the keys of own-machines-configuration.md"
    )
    region: StrictStr = Field(description="region of all resources, as the cloud names it")
    zones: Zones = Field(
        default=(),
        description="zones for nodes. Default: all zones of the region. `none`: nodes in no zone, started wherever "
        "the region has capacity, where the cloud has such machines",
    )
    availability: Literal["zonal", "regional"] = Field(
        default="zonal",
        description="zones of the control plane. `zonal`: the first of `zones`. `regional`: several zones",
    )
    cluster_name: StrictStr | None = Field(default=None, description="the cluster's name. Default: `gpu-<stack>`")
    kubernetes: Kubernetes = Field(default=Kubernetes(), description="release channel and version")
    network: Network = Field(description="access to the control plane, address ranges")
    security: Security = Field(default=Security(), description="encryption keys, deletion protection")
    monitoring: Monitoring = Field(default=Monitoring(), description="metrics that the cloud collects")
    maintenance: Maintenance = Field(
        default=Maintenance(), description="when the cloud may upgrade the cluster. Default: a weekly window"
    )
    autoscaling: Autoscaling = Field(
        default=Autoscaling(), description="which autoscaler, and how soon it removes idle nodes"
    )
    admin_pool: AdminPool = Field(default=AdminPool(), description="the pool that always has nodes")
    gpu_pools: tuple[GpuPool, ...] = Field(default=(), validate_default=True, description="GPU pools, at least one")
    cpu_pools: tuple[CpuPool, ...] = Field(default=(), description="CPU pools, in addition to the admin pool")
    addons: tuple[StrictStr, ...] = Field(default=(), description="the cloud's add-ons to install, by name")
    workloads: Workloads = Field(default=Workloads(), description="what jobs need besides GPUs")
    identities: tuple[Identity, ...] = Field(
        default=(), description="Kubernetes service accounts with access to buckets and secrets of the cloud"
    )
    budget: Budget = Field(default=Budget(), description="limit on the stack's cost per hour")
    access: AccessList = Field(default=(), description="users, groups and pipelines, and their roles in the cluster")
    teams: Teams = Field(default=(), description="namespaces with a quota of GPUs")
    labels: ResourceLabels = Field(default_factory=dict, description="labels (tags) of every cloud resource")
    tags: ResourceTags = Field(
        default_factory=dict,
        validate_default=True,
        description="tags in the cloud's own syntax, such as `CostCenter`, which `labels` does not allow",
    )
    raw: RawInputs = Field(
        default_factory=dict,
        description="additional inputs of the cluster resource, named as in the Pulumi provider, for features "
        "that have no setting yet",
    )

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
