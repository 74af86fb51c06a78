"""A whole stack file as it is written: every key with its type, default and meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings import check, fields
from components.settings.access import AccessList
from components.settings.cluster import Kubernetes, Monitoring, Network, Security
from components.settings.fields import Section, context, once, rfc1035, some, wrong
from components.settings.maintenance import Maintenance
from components.settings.pools import AdminPool, CpuPool, GpuPool
from components.settings.problems import instead
from components.settings.teams import Teams
from components.settings.workloads import Identities, Workloads
from facts import catalog


class Autoscaling(Section):
    """The autoscaler, and how soon it removes idle nodes."""

    profile: Literal["optimize-utilization", "balanced"] = "optimize-utilization"
    autoscaler: Annotated[StrictStr, check.one_of(lambda known: known.choices.autoscalers, "autoscaler")] | None = None
    unneeded_minutes: fields.Minutes | None = None


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
    zones: check.ZonesOfRegion = ()
    availability: Literal["zonal", "regional"] = "zonal"
    cluster_name: StrictStr | None = None
    kubernetes: Kubernetes = Kubernetes()
    network: Network
    security: Security = Security()
    monitoring: Monitoring = Monitoring()
    maintenance: Maintenance = Maintenance()
    autoscaling: Autoscaling = Autoscaling()
    admin_pool: AdminPool = AdminPool()
    gpu_pools: Annotated[
        tuple[GpuPool, ...],
        some(
            "there is no GPU pool",
            "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, capacity: spot, maxNodes: 2}]",
        ),
    ] = Field(default=(), validate_default=True)
    cpu_pools: tuple[CpuPool, ...] = ()
    addons: Annotated[
        tuple[StrictStr, ...],
        once("an addon is listed twice: {1}", "Write each addon once"),
        check.one_of(lambda known: known.choices.addons, "addon"),
    ] = ()
    addon_versions: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    workloads: Workloads = Workloads()
    identities: Identities = ()
    budget: Budget = Budget()
    access: AccessList = ()
    teams: Teams = ()
    labels: fields.ResourceLabels = Field(default_factory=dict)
    tags: fields.ResourceTags = Field(default_factory=dict, validate_default=True)
    raw: fields.RawInputs = Field(default_factory=dict)

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
        cloud = context(info).cloud
        owner = next((each for each in catalog.clouds() if value in catalog.of(each).regions), None)
        if owner is not None:
            example = known.reference_region
            raise wrong(
                f"'{value}' is a region of {owner}, not of {cloud}",
                f"Write cloud: {owner}, or a region of {cloud}, such as {example}",
            )
        # Only of the same continent: 'us-central1' is near to 'eu-central-1'.
        alike = tuple(region for region in known.regions if region[:2] == value[:2])
        raise wrong(f"the catalogue has no region '{value}' of {cloud}", instead(value, alike or tuple(known.regions)))

    @field_validator("cluster_name")
    @classmethod
    def _name(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        known = context(info).catalog
        if known is not None and len(value) > known.choices.max_name_length:
            limit = known.choices.max_name_length
            raise wrong(
                f"'{value}' has {len(value)} characters", f"Write at most {limit}: '{value[:limit].strip('-')}'"
            )
        return rfc1035(value)
