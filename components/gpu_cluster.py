"""A whole cluster: what the program declares for its stack file, and what other languages get as one component."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components import outputs
from components.access import Access, AccessArgs
from components.clouds.data_lookup import refuse
from components.clouds.deployed import Deployed
from components.cluster import Cluster, ClusterArgs
from components.gpu_pools import GpuPools, GpuPoolsArgs, declare_gpu_pools
from components.node_pool import (
    AdminPool,
    AdminPoolArgs,
    ClusterAutoscaler,
    ClusterAutoscalerArgs,
    CpuNodePool,
    NodePoolArgs,
)
from components.settings import Problem, Settings
from components.teams import Teams, TeamsArgs, with_former
from components.workloads.declare import declare_workloads

_CLUSTER: Final = "gpucluster:index:Cluster"
_OWN_CLUSTER: Final = Problem(
    "existingCluster",
    "this stack has made a cluster, which the update would delete with all that runs in it",
    "Leave it out, or use a stack of its own for the other cluster",
)


@dataclass(frozen=True, kw_only=True)
class GpuClusterArgs:
    """All ``settings`` of a stack file."""

    settings: Settings


class GpuCluster(pulumi.ComponentResource):
    """Everything that the program declares, as one component; ``outputs`` has the program's outputs by name.

    With ``deletionProtection`` the component is protected, and its children with it.
    """

    outputs: Mapping[str, Any]

    def __init__(self, name: str, args: GpuClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        guarded = pulumi.ResourceOptions(protect=args.settings.security.deletion_protection or None)
        super().__init__("gpucluster:index:GpuCluster", name, None, pulumi.ResourceOptions.merge(opts, guarded))
        self.outputs = assemble(args.settings, lambda: pulumi.ResourceOptions(parent=self))
        self.register_outputs(dict(self.outputs))


def assemble(settings: Settings, options: Callable[[], pulumi.ResourceOptions]) -> dict[str, Any]:
    """Declare the cluster, its pools and what runs in it, each component with ``options``; the outputs by name.

    In a cluster that somebody else made these are the GPU pools alone.

    Raises:
        pulumi.RunError: the stack has a cluster of its own, which would be deleted.
    """
    if settings.existing_cluster is not None:
        if Deployed().names(_CLUSTER):
            refuse([_OWN_CLUSTER], settings)
        return dict(GpuPools("pools", GpuPoolsArgs(settings=settings), options()).outputs)
    settings = with_former(settings)
    gpu_pools, cpu_pools = settings.gpu_pools, settings.cpu_pools
    cluster = Cluster("cluster", ClusterArgs(settings=settings), options())
    admin_pool = AdminPool("admin", AdminPoolArgs(cluster=cluster, pool=settings.admin_pool), options())
    autoscaler = ClusterAutoscaler(
        "autoscaler",
        ClusterAutoscalerArgs(cluster=cluster, admin_pool=admin_pool, pools=(*gpu_pools, *cpu_pools)),
        options(),
    )

    workloads = dict[str, pulumi.Output[Any]]()

    def rest() -> Mapping[str, pulumi.Input[str]]:
        """What the stack has beside its GPU pools."""
        for pool in cpu_pools:
            CpuNodePool(pool.name, NodePoolArgs(cluster=cluster, autoscaler=autoscaler, pool=pool), options())
        access = Access("access", AccessArgs(cluster=cluster, entries=settings.access), options())
        Teams("teams", TeamsArgs(cluster=cluster, teams=settings.teams, namespaces=access.namespaces), options())
        workloads.update(declare_workloads(cluster, admin_pool, access.namespaces, options()))
        return workloads

    declare_gpu_pools(cluster, autoscaler, options, rest)
    return {
        "clusterName": cluster.handle.name,
        "kubeconfig": cluster.kubeconfig,
        "autoscaling": autoscaler.pools,
        "network": dict(cluster.handle.network),
        **outputs.of_settings(settings),
        **_fabric_tests(settings, cluster),
        **workloads,
    }


def _fabric_tests(settings: Settings, cluster: Cluster) -> dict[str, Any]:
    if all(pool.nodes.fabric is None for pool in settings.gpu_pools):
        return {}
    from components.fabric_job import fabric_tests  # imports the job planner, which few stacks need

    return dict(fabric_tests(settings, cluster.cloud))
