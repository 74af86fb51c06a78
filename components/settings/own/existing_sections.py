"""The keys of a stack file for a cluster that somebody else made. What they share with others has the same name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr

from components.settings.access import AccessList
from components.settings.fields import Flag, GpuNodeLabels, NodeLabels, PoolName, Section, Taints, Usd, some
from components.settings.own.sections import GpuName, OwnBudget
from components.settings.pools import SharingSetting
from components.settings.teams import Teams
from components.settings.workloads import Workloads

NodeNames = tuple[Annotated[StrictStr, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")], ...]
Selector = dict[StrictStr, StrictStr]
MaxNodes = Annotated[StrictInt, Field(ge=1, le=1000)]


class ExistingSecurity(Section):
    """Deletion protection."""

    deletion_protection: Flag = False


class ExistingAdminPool(Section):
    """Nodes without GPUs for the tools of `workloads`."""

    machines: NodeNames = ()
    selector: Selector = Field(default_factory=dict)
    max_nodes: MaxNodes | None = None


class ExistingGpuPool(Section):
    """Nodes with the same GPUs."""

    name: PoolName
    gpu: GpuName
    gpus_per_node: Annotated[StrictInt, Field(ge=1, le=16)] = 1
    capacity: Literal["fixed", "autoscaled"] = "fixed"
    machines: NodeNames = ()
    selector: Selector = Field(default_factory=dict)
    max_nodes: MaxNodes | None = None
    drivers: Literal["none", "device-plugin"] = "none"
    time_sharing: SharingSetting | None = None
    hourly_usd: Usd | None = None
    labels: GpuNodeLabels = Field(default_factory=dict)
    taints: Taints = ()


class ExistingCpuPool(Section):
    """Nodes without GPUs for jobs and services."""

    name: PoolName
    machines: NodeNames = ()
    selector: Selector = Field(default_factory=dict)
    max_nodes: MaxNodes | None = None
    hourly_usd: Usd | None = None
    labels: NodeLabels = Field(default_factory=dict)
    taints: Taints = ()


class ExistingStackFile(Section):
    """All keys below ``gpucluster:`` of a stack on a cluster that somebody else made."""

    cloud: StrictStr
    context: Annotated[StrictStr, Field(min_length=1)] | None = None
    cluster_name: PoolName | None = None
    security: ExistingSecurity = ExistingSecurity()
    admin_pool: ExistingAdminPool | None = None
    gpu_pools: Annotated[
        tuple[ExistingGpuPool, ...],
        some("there is no GPU pool", "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, machines: [gpu1]}]"),
    ] = Field(default=(), validate_default=True)
    cpu_pools: tuple[ExistingCpuPool, ...] = ()
    workloads: Workloads = Workloads()
    budget: OwnBudget = OwnBudget()
    access: AccessList = ()
    teams: Teams = ()
