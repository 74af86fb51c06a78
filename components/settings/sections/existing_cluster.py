"""The keys of a stack file for a cluster that somebody else made. What they share with others has the same name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr

from components.settings.fields.types import Flag, GpuNodeLabels, NodeLabels, PoolName, Section, Taints, Usd, some
from components.settings.sections.access import AccessList
from components.settings.sections.own_machines import GpuName, OwnBudget
from components.settings.sections.pools import SharingSetting
from components.settings.sections.teams import POOL_TEAMS, PoolTeams, Teams
from components.settings.sections.workloads import Workloads

NodeNames = tuple[Annotated[StrictStr, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")], ...]
Selector = dict[StrictStr, StrictStr]
MaxNodes = Annotated[StrictInt, Field(ge=1, le=1000)]


class ExistingSecurity(Section):
    """Deletion protection."""

    deletion_protection: Flag = Field(default=False, description="what the program made cannot be deleted")


class ExistingAdminPool(Section):
    """Nodes without GPUs for the tools of `workloads`."""

    machines: NodeNames = Field(default=(), description="names of its nodes, as `kubectl get nodes` prints them")
    selector: Selector = Field(default_factory=dict, description="labels that its nodes have, instead of their names")
    max_nodes: MaxNodes | None = Field(default=None, description="how many nodes the selector finds")


class ExistingGpuPool(Section):
    """Nodes with the same GPUs."""

    name: PoolName = Field(description="prefix of the pool's name, which ends in the GPUs per node")
    gpu: GpuName = Field(description="GPU type, such as `nvidia-t4` or `nvidia-rtx-4090`")
    gpus_per_node: Annotated[StrictInt, Field(ge=1, le=16)] = Field(default=1, description="GPUs of each node")
    capacity: Literal["fixed", "autoscaled"] = Field(
        default="fixed",
        description="`fixed`: the nodes are there, and get the pool's labels and taints. `autoscaled`: somebody else's "
        "autoscaler makes them; their node group has to bring the labels and taints that `pulumi stack output "
        "autoscaling` lists",
    )
    machines: NodeNames = Field(default=(), description="names of its nodes, as `kubectl get nodes` prints them")
    selector: Selector = Field(default_factory=dict, description="labels that its nodes have, instead of their names")
    max_nodes: MaxNodes | None = Field(
        default=None, description="how many nodes the selector finds, or the autoscaler's maximum"
    )
    drivers: Literal["none", "device-plugin"] = Field(
        default="none",
        description="`none`: the nodes offer their GPUs, by a device plugin or the GPU Operator. `device-plugin`: they "
        "have NVIDIA's driver and container toolkit, and the program installs NVIDIA's device plugin",
    )
    time_sharing: SharingSetting | None = Field(default=None, description="several pods share a GPU")
    hourly_usd: Usd | None = Field(
        default=None,
        description="what one of its machines costs per hour, in US dollars, for budgets and `gpu fit`. Default: "
        "unknown",
    )
    teams: PoolTeams = Field(default=(), description=POOL_TEAMS)
    labels: GpuNodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: Taints = Field(default=(), description="additional node taints, each `{key, value, effect}`")


class ExistingCpuPool(Section):
    """Nodes without GPUs for jobs and services."""

    name: PoolName = Field(description="the pool's name")
    machines: NodeNames = Field(default=(), description="names of its nodes, as `kubectl get nodes` prints them")
    selector: Selector = Field(default_factory=dict, description="labels that its nodes have, instead of their names")
    max_nodes: MaxNodes | None = Field(default=None, description="how many nodes the selector finds")
    hourly_usd: Usd | None = Field(
        default=None,
        description="what one of its machines costs per hour, in US dollars, for budgets and `gpu fit`. Default: "
        "unknown",
    )
    labels: NodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: Taints = Field(default=(), description="node taints, each `{key, value, effect}`")


class ExistingStackFile(Section):
    """All keys below ``gpucluster:`` of a stack on a cluster that somebody else made."""

    cloud: StrictStr = Field(description="`existing`: a cluster that somebody else made")
    context: Annotated[StrictStr, Field(min_length=1)] | None = Field(
        default=None, description="context of the kubeconfig. Default: its current one"
    )
    cluster_name: PoolName | None = Field(default=None, description="what to call the cluster. Default: `gpu-<stack>`")
    security: ExistingSecurity = Field(default=ExistingSecurity(), description="deletion protection")
    admin_pool: ExistingAdminPool | None = Field(default=None, description="nodes for the tools of `workloads`")
    gpu_pools: Annotated[
        tuple[ExistingGpuPool, ...],
        some("there is no GPU pool", "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, machines: [gpu1]}]"),
    ] = Field(default=(), validate_default=True, description="GPU pools, at least one")
    cpu_pools: tuple[ExistingCpuPool, ...] = Field(default=(), description="CPU pools")
    workloads: Workloads = Field(default=Workloads(), description="what jobs need besides GPUs")
    budget: OwnBudget = Field(default=OwnBudget(), description="limit on the pools' cost per hour, with `hourlyUsd`")
    access: AccessList = Field(default=(), description="users and groups, and their roles in the cluster")
    teams: Teams = Field(default=(), description="namespaces with a quota of GPUs")
