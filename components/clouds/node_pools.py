"""Karpenter's NodePools, the same on every cloud: one for each pool of the stack file.

https://karpenter.sh/v1.14/concepts/nodepools/
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import pulumi

from components.clouds.base import AdminObjects, ClusterLookup, JoinedCluster, NodePools
from components.clouds.deployed import Deployed
from components.clouds.priority_expander import in_order
from components.resources import ClusterObjects, documents
from components.settings import Settings
from components.settings.sections.maintenance import Maintenance
from facts.catalog.machines import Machines
from facts.concepts.pool import Pool

_MOST_WEIGHT: Final = 100


def node_pool(
    pool: Pool,
    machines: Machines,
    *,
    node_class: tuple[str, str, str],
    capacity: str,
    weight: int,
    unneeded_minutes: int,
    maintenance: Maintenance,
) -> dict[str, Any]:
    """The pool, with exactly the labels, taints and limits of its spec.

    ``node_class`` is the API group, kind and name of its node class; ``capacity`` Karpenter's word for how its machines
    are paid.
    """
    group, kind, name = node_class
    (made,) = documents(
        Path(__file__).with_name("node-pool.yaml"),
        name=pool.name,
        weight=weight,
        limits=limits(pool, machines),
        unneeded_minutes=unneeded_minutes,
        labels=dict(pool.nodes.labels),
        class_group=group,
        class_kind=kind,
        class_name=name,
        requirements=[
            _one_of("node.kubernetes.io/instance-type", pool.nodes.machine_types),
            _one_of("topology.kubernetes.io/zone", pool.nodes.zones),
            _one_of("karpenter.sh/capacity-type", [capacity]),
            _one_of("kubernetes.io/arch", [pool.arch]),
            _one_of("kubernetes.io/os", ["linux"]),
        ],
        taints=[taint.manifest for taint in pool.nodes.taints],
    )
    made["spec"]["disruption"]["budgets"][1:1] = _renewals(pool, maintenance)
    return dict(made)


def _renewals(pool: Pool, maintenance: Maintenance) -> list[dict[str, Any]]:
    """Disruption budgets: how many busy nodes a newer image or another disk may replace at a time, and when.

    A GPU node is replaced only when idle. A CPU pool's nodes may never be idle, so one at a time is replaced in the
    stack's maintenance window; a pod that must not move has the annotation ``karpenter.sh/do-not-disrupt``. The
    strictest active budget applies; schedules are in UTC:
    https://karpenter.sh/v1.14/concepts/disruption/#nodepool-disruption-budgets
    """
    if pool.role == "gpu":
        return [{"nodes": "0", "reasons": ["Drifted"]}]
    closes = maintenance.weekday * 24 + maintenance.opens + maintenance.hours
    # Days of the week in cron: Sunday is 0.
    day, hour = (closes // 24 + 1) % 7, closes % 24
    return [
        {"nodes": "1", "reasons": ["Drifted"]},
        {
            "nodes": "0",
            "reasons": ["Drifted"],
            "schedule": f"0 {hour} * * {day}",
            "duration": f"{7 * 24 - maintenance.hours}h",
        },
    ]


def limits(pool: Pool, machines: Machines) -> dict[str, str]:
    """What ``max_nodes`` nodes have together.

    Within one batch of pods Karpenter deducts the GPUs and CPUs of each node that it plans, but not the node itself:
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/provisioning/scheduling/scheduler.go
    (``subtractMax``).
    """
    most = {"nodes": str(pool.scaling.max_nodes)}
    if pool.role == "gpu":
        return {**most, pool.gpus.resource: str(pool.scaling.max_nodes * pool.gpus.per_node)}
    types = [machines.get(name) for name in pool.nodes.machine_types]
    # A planned node counts with the largest type that it may become.
    largest = max((machine.vcpus for machine in types if machine is not None), default=0)
    return {**most, "cpu": str(pool.scaling.max_nodes * largest)} if largest else most


def weights(pools: Sequence[Pool]) -> dict[str, int]:
    """Pool → weight, from 100 for the pool that is tried first down to 1 (which the last ones share)."""
    sides = enumerate(in_order(pools))
    return {pool.name: max(1, _MOST_WEIGHT - place) for place, side in sides for pool in side}


class JoinedNodePools(JoinedCluster, NodePools):
    """NodePools on a cluster of others whose owner or cloud runs Karpenter, each with a node class of its own.

    Their objects wait for their provider, which takes its kubeconfig from what is known once the cluster takes the
    pools. ``class_as_made``: paths in a class whose later changes are ignored.
    """

    class_as_made: ClassVar[Sequence[str]] = ()

    def __init__(
        self,
        settings: Settings,
        found: pulumi.Output[ClusterLookup],
        view: pulumi.Output[ClusterLookup],
        deployed: Deployed,
    ) -> None:
        self.settings, self.found = settings, found
        self._weights = weights(settings.gpu_pools)
        self._objects: ClusterObjects | None = None

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """It runs already."""
        self._objects = objects.objects
        return self

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """A NodePool with its class. Karpenter ends the nodes of a NodePool before it is gone."""
        assert self._objects is not None
        assert opts.parent is not None
        after = cast("Sequence[pulumi.Resource]", opts.depends_on or ())
        node_class = self._objects.declare(
            f"{name}-class",
            self.class_manifest(pool),
            opts.parent,
            *after,
            owns_cloud_resources=True,
            as_made=self.class_as_made,
        )
        made = self.pool_manifest(pool, self._weights[pool.name])
        return self._objects.declare(name, made, opts.parent, node_class, *after, owns_cloud_resources=True)

    @abstractmethod
    def class_manifest(self, pool: Pool) -> Mapping[str, Any]:
        """The pool's node class."""

    @abstractmethod
    def pool_manifest(self, pool: Pool, weight: int) -> Mapping[str, Any]:
        """Its NodePool."""


def _one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}
