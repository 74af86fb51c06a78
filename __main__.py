"""The program: settings → cloud → components → outputs. What each part is: docs/architecture.md."""

from __future__ import annotations

import pulumi

from components.process import run_without_delay
from components import outputs
from components.access import Access, AccessArgs
from components.cluster import Cluster, ClusterArgs
from components.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
from components.driver_daemon_set import DriverDaemonSet, DriverDaemonSetArgs
from components.gpu_admission import GpuAdmission, GpuAdmissionArgs
from components.node_pool import AdminPool, AdminPoolArgs, CpuNodePool, GpuNodePool, NodePoolArgs
from components.published_offer import PublishedOffer, PublishedOfferArgs
from components.settings import from_pulumi
from components.teams import Teams, TeamsArgs
from components.workloads.declare import declare_workloads
from facts.concepts.pool import Pool

run_without_delay()
settings = from_pulumi()
gpu_pools, cpu_pools = settings.gpu_pools, settings.cpu_pools


def guarded() -> pulumi.ResourceOptions:
    """Protects the whole stack: with the cluster alone protected, a refused destroy would delete the rest first."""
    return pulumi.ResourceOptions(protect=settings.security.deletion_protection)


cluster = Cluster("cluster", ClusterArgs(settings=settings), guarded())
admin_pool = AdminPool("admin", AdminPoolArgs(cluster=cluster, pool=settings.admin_pool), guarded())
autoscaler = ClusterAutoscaler(
    "autoscaler",
    ClusterAutoscalerArgs(cluster=cluster, admin_pool=admin_pool, pools=(*gpu_pools, *cpu_pools)),
    guarded(),
)


def of(pool: Pool) -> NodePoolArgs:
    """A pool's arguments."""
    return NodePoolArgs(cluster=cluster, autoscaler=autoscaler, pool=pool)


for gpu_pool in gpu_pools:
    GpuNodePool(gpu_pool.name, of(gpu_pool), guarded())
for cpu_pool in cpu_pools:
    CpuNodePool(cpu_pool.name, of(cpu_pool), guarded())
DriverDaemonSet("drivers", DriverDaemonSetArgs(cluster=cluster, pools=gpu_pools), guarded())
access = Access("access", AccessArgs(cluster=cluster, entries=settings.access, teams=settings.teams), guarded())
Teams("teams", TeamsArgs(cluster=cluster, teams=settings.teams, namespaces=access.namespaces), guarded())
GpuAdmission("gpu-admission", GpuAdmissionArgs(cluster=cluster, pools=gpu_pools), guarded())
workloads = declare_workloads(cluster, admin_pool, access.namespaces, guarded())
PublishedOffer("offer", PublishedOfferArgs(cluster=cluster, pools=gpu_pools, addresses=workloads), guarded())

pulumi.export("clusterName", cluster.handle.name)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("autoscaling", autoscaler.pools)
for key, value in {"network": dict(cluster.handle.network), **outputs.of_settings(settings), **workloads}.items():
    pulumi.export(key, value)
