"""A whole stack file as it is written: every key with its type, default and meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictStr, ValidationInfo, field_validator

from components.settings.fields import check
from components.settings.fields import types as fields
from components.settings.fields.problems import instead
from components.settings.fields.types import Section, context, once, rfc1035, some, wrong
from components.settings.sections.access import AccessList
from components.settings.sections.cluster import ExistingCluster, Kubernetes, Monitoring, Network, Security
from components.settings.sections.maintenance import Maintenance
from components.settings.sections.pools import AdminPool, CpuPool, GpuPool
from components.settings.sections.teams import Teams
from components.settings.sections.workloads import Identities, Workloads
from facts import catalog


class Autoscaling(Section):
    """The autoscaler, and how soon it removes idle nodes."""

    profile: Literal["optimize-utilization", "balanced"] = Field(
        default="optimize-utilization", description="`optimize-utilization` removes idle nodes sooner"
    )
    autoscaler: Annotated[StrictStr, check.one_of(lambda known: known.choices.autoscalers, "autoscaler")] | None = (
        Field(default=None, description="which autoscaler. Default: the first that the cloud offers")
    )
    unneeded_minutes: fields.Minutes | None = Field(
        default=None, description="minutes after which an idle node is removed, 1 to 1440. Default: the profile's"
    )


class Budget(Section):
    """A limit on the stack's cost."""

    max_hourly_usd: fields.Ceiling | None = Field(
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
    zones: check.ZonesOfRegion = Field(
        default=(),
        description="zones for nodes. Default: all zones of the region. `none`: nodes in no zone, started wherever the "
        "region has capacity, where the cloud has such machines",
    )
    availability: Literal["zonal", "regional"] = Field(
        default="zonal",
        description="zones of the control plane. `zonal`: the first of `zones`. `regional`: several zones",
    )
    cluster_name: StrictStr | None = Field(default=None, description="the cluster's name. Default: `gpu-<stack>`")
    existing_cluster: ExistingCluster | None = Field(
        default=None,
        description="a cluster that somebody else made, for the GPU pools: pools-on-your-cluster.md. Default: the "
        "program makes one",
    )
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
    gpu_pools: Annotated[
        tuple[GpuPool, ...],
        some(
            "there is no GPU pool",
            "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, capacity: spot, maxNodes: 2}]",
        ),
    ] = Field(default=(), validate_default=True, description="GPU pools, at least one")
    cpu_pools: tuple[CpuPool, ...] = Field(default=(), description="CPU pools, in addition to the admin pool")
    addons: Annotated[
        tuple[StrictStr, ...],
        once("an addon is listed twice: {1}", "Write each addon once"),
        check.one_of(lambda known: known.choices.addons, "addon"),
    ] = Field(default=(), description="the cloud's add-ons to install, by name")
    addon_versions: dict[StrictStr, StrictStr] = Field(
        default_factory=dict,
        description="pinned versions of EKS add-ons, such as `{vpc-cni: v1.21.0-eksbuild.4}`. Default: CoreDNS and "
        "kube-proxy follow the Kubernetes version, others keep the version that they have, at first AWS's default",
    )
    workloads: Workloads = Field(default=Workloads(), description="what jobs need besides GPUs")
    identities: Identities = Field(
        default=(), description="Kubernetes service accounts with access to buckets and secrets of the cloud"
    )
    budget: Budget = Field(default=Budget(), description="limit on the stack's cost per hour")
    access: AccessList = Field(default=(), description="users, groups and pipelines, and their roles in the cluster")
    teams: Teams = Field(default=(), description="namespaces with a quota of GPUs")
    labels: fields.ResourceLabels = Field(default_factory=dict, description="labels (tags) of every cloud resource")
    tags: fields.ResourceTags = Field(
        default_factory=dict,
        validate_default=True,
        description="tags in the cloud's own syntax, such as `CostCenter`, which `labels` does not allow",
    )
    raw: fields.RawInputs = Field(
        default_factory=dict,
        description="additional inputs of the cluster resource, named as in the Pulumi provider, for features that "
        "have no setting yet",
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
                f"'{value}' has {len(value)} characters, and {context(info).cloud} allows {limit}",
                f"Write for example '{value[:limit].strip('-')}'",
            )
        return rfc1035(value)
