"""The pools of a cluster: GPU pools that scale from zero, CPU pools and the admin pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components import ledger, node_reaper
from components.clouds.base import AdminObjects, NodePools
from components.cluster import Cluster, PoolsCluster
from components.settings.limits.common import warnings
from facts import catalog
from facts.concepts.pool import Pool, as_node_group
from policies.rules.node_groups import ceiling, gpu_taint, zero_minimum


@dataclass(frozen=True, kw_only=True)
class ClusterAutoscalerArgs:
    """All autoscaled ``pools`` of ``cluster``, declared after it; inside the cluster it runs on ``admin_pool``, or in
    one that the stack joined on any node without GPUs."""

    cluster: PoolsCluster
    admin_pool: pulumi.Resource | None
    pools: Sequence[Pool]


class ClusterAutoscaler(pulumi.ComponentResource):
    """The autoscaler of a cluster; ``pools`` describes how each pool scales: the autoscaler, limits and delays.

    ``node_pools`` declares these pools. With GPU pools, broken nodes are taken out of service, and costs are recorded.
    """

    node_pools: NodePools
    pools: Mapping[str, Mapping[str, str | int]]

    def __init__(self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ClusterAutoscaler", name, None, opts)
        cluster = args.cluster
        objects = AdminObjects(name=name, objects=cluster.objects, parent=self, admin_pool=args.admin_pool)
        self.node_pools = cluster.handle.autoscaler(args.pools, objects)
        # Devices that pods claim are none that a node counts.
        labels = catalog.of(cluster.cloud.name).labels
        claimed = labels.gpu_claims.items()
        counted = [
            pool for pool in args.pools if pool.role == "gpu" and not (claimed and claimed <= pool.nodes.labels.items())
        ]
        if cluster.settings.autoscaler != "none" and counted:
            existing = cluster.settings.existing_cluster
            image = None if existing is None else existing.reaper_image
            node_reaper.declare(objects, cluster.settings.autoscaler, counted, labels.accelerated, image)
        gpus = any(pool.role == "gpu" for pool in args.pools)
        if args.admin_pool is not None and cluster.settings.autoscaler != "none" and gpus:
            ledger.declare(objects, cluster.settings.autoscaler, args.admin_pool)
        self.pools = {
            pool.name: cluster.cloud.governance(pool, cluster.settings).as_output(pool) for pool in args.pools
        }
        self.register_outputs({"pools": self.pools})


@dataclass(frozen=True, kw_only=True)
class AdminPoolArgs:
    """``pool`` (role ``admin``) in ``cluster``."""

    cluster: Cluster
    pool: Pool


class AdminPool(pulumi.ComponentResource):
    """The permanent pool for system pods, so that none of them keeps a GPU node running. It also declares the default
    StorageClass.

    It has no taint; every other pool waits for it (see ``NodePoolArgs``).
    """

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: AdminPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        pool = args.pool
        super().__init__("gpucluster:index:AdminPool", name, _price(pool), opts)
        cluster = args.cluster
        for text in warnings(cluster.settings):
            pulumi.warn(text, self)
        self.pool = cluster.handle.node_pool(f"{name}-pool", pool, pulumi.ResourceOptions(parent=self))
        cluster.handle.basics(
            AdminObjects(name=f"{name}-storage", objects=cluster.objects, parent=self, admin_pool=self.pool)
        )
        self.register_outputs(
            {"name": pool.name, "machineType": pool.nodes.machine_type, "nodes": pool.scaling.min_nodes}
        )


@dataclass(frozen=True, kw_only=True)
class NodePoolArgs:
    """``pool`` in ``cluster``, scaled by ``autoscaler``, and declared after the admin pool: clouds add the GPU taint
    and toleration themselves only if a CPU pool already exists, and system pods without another node would run
    here. It is made ``after`` these, and deleted before them."""

    cluster: PoolsCluster
    autoscaler: ClusterAutoscaler
    pool: Pool
    after: Sequence[pulumi.Resource] = ()

    def declare(self, name: str, parent: pulumi.Resource) -> pulumi.CustomResource:
        """The pool's resources, as children of ``parent``."""
        options = pulumi.ResourceOptions(parent=parent, depends_on=[*self.after] or None)
        return self.autoscaler.node_pools.node_pool(f"{name}-pool", self.pool, options)


class GpuNodePool(pulumi.ComponentResource):
    """An autoscaled GPU pool that starts empty.

    Raises:
        ValueError: the minimum is above 0, the maximum below 1, or the pool lacks GPUs or the GPU taint.
    """

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        pool = args.pool
        super().__init__("gpucluster:index:GpuNodePool", name, _price(pool), opts)
        _require_free_when_idle(args)
        self.pool = args.declare(name, self)
        self.register_outputs(
            {
                "name": pool.name,
                "gpu": pool.gpus.type,
                "gpusPerNode": pool.gpus.per_node,
                "maxNodes": pool.scaling.max_nodes,
                "spot": pool.scaling.spot,
                "taints": [str(taint) for taint in pool.nodes.taints],
            }
        )


class CpuNodePool(pulumi.ComponentResource):
    """An autoscaled pool without GPUs: inference front ends, data preparation."""

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        pool = args.pool
        super().__init__("gpucluster:index:CpuNodePool", name, _price(pool), opts)
        self.pool = args.declare(name, self)
        self.register_outputs(
            {"name": pool.name, "minNodes": pool.scaling.min_nodes, "maxNodes": pool.scaling.max_nodes}
        )


def _price(pool: Pool) -> dict[str, str | float] | None:
    """The component's inputs, for the gate: what the stack file says that a node costs, and the machines that are
    billed whether they are used or not; none without either."""
    own = {} if pool.own_hourly_usd is None else {"hourlyUsd": pool.own_hourly_usd}
    reservation, nodes = pool.scaling.reservation, pool.scaling.reserved_nodes
    reserved = {"reservation": reservation, "reservedNodes": nodes} if reservation and nodes else {}
    return {"pool": pool.name, **own, **reserved} if own or reserved else None


def _require_free_when_idle(args: NodePoolArgs) -> None:
    settings = args.cluster.settings
    group = as_node_group(args.pool, cloud=settings.cloud, region=settings.region)
    broken = [*zero_minimum(group), *ceiling(group), *gpu_taint(group)]
    if broken:
        raise ValueError("\n".join(f"{violation.message} {violation.remedy}" for violation in broken))
