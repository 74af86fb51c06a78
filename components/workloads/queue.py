"""A queue for jobs: Kueue. https://kueue.sigs.k8s.io/docs/concepts/"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pulumi
import yaml

from components.published_offer import queued
from components.resources import Chart
from components.settings.sections.teams import Team
from components.settings.sections.tools import Queue
from components.workloads.charts import release, values_in
from components.workloads.data import WorkloadArgs
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, manifest, node_taints, tolerations
from facts.concepts.offer import QUEUE
from facts.concepts.pool import POOL_LABEL, Pool, by_resource, kind_labels, resource_taint
from facts.jobs.job import QUEUE_LABEL

CHART: Final = Chart(
    repository="oci://registry.k8s.io/kueue/charts", name="kueue", version="0.19.2", namespace="kueue-system"
)
CHARTS: Final = (CHART,)
USAGE: Final = f"label {QUEUE_LABEL}={QUEUE} on a Job; gpu submit sets it"
_API: Final = "kueue.x-k8s.io/v1beta2"
_TEAM_FLAVOR: Final = "teams.gpucluster.dev"
"""The flavor of what counts against a team's quota on whichever pool it runs; no pool has a name with a dot."""

_UNCOUNTED: Final = ("cpu", "memory", "ephemeral-storage", "hugepages-")
"""How the names of resources begin that no ClusterQueue counts."""

_GATES_OF_CLAIMS: Final = (
    "KueueDRAIntegration",
    "KueueDRAIntegrationExtendedResource",
    "KueueDRAIntegrationPartitionableDevices",
    "KueueDRARejectWorkloadsWhenDRADisabled",
)
"""With these Kueue admits no job that claims devices of a class which no ClusterQueue counts, as a fabric's; the first
three go together: https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/pkg/config/validation.go#L720"""

_READY: Final = "1h"
"""How long until all pods of a job run. After that it releases its GPUs and is queued again."""

_READY_FLEX_START: Final = "168h"
"""The same for flex-start, where capacity may take days: a requeued job starts waiting again.
https://cloud.google.com/kubernetes-engine/docs/concepts/dws
"""


class JobQueue(pulumi.ComponentResource):
    """Kueue, a ResourceFlavor per pool, a ClusterQueue for ``default`` and one for each team, and in each of these
    namespaces a LocalQueue, always of the same name.

    Kueue looks at no ResourceQuota: a team's jobs above its quota would be admitted, and keep their GPUs from all
    others until the time for their pods is over. So it counts the team's GPUs itself, over all pools.
    """

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:JobQueue", name, None, opts)
        setting, settings, objects = args.workloads.queue, args.cluster.settings, args.cluster.objects
        assert setting is not None
        pools, namespaces, teams = settings.gpu_pools, queued(settings), settings.teams
        namespace = objects.namespace(CHART.namespace, self)
        installed = release(args.cluster, CHART, values(setting, pools, teams), self, namespace, *args.after)
        flavors = [
            objects.declare(f"{name}-{flavor['metadata']['name']}", flavor, self, installed)
            for flavor in (*flavors_of(pools), *([manifest(_API, "ResourceFlavor", _TEAM_FLAVOR)] if teams else []))
        ]
        # Before the queue that had these GPUs, which admits no job while it borrows from a cohort without any. No other
        # queue is in the cohort yet, so that nobody has them twice.
        cohort = [objects.declare(f"{name}-cohort", cohort_of(pools), self, installed, *flavors)] if teams else []
        shared = objects.declare(f"{name}-shared", cluster_queue(pools, teams), self, installed, *flavors, *cohort)
        queues = {DEFAULT_NAMESPACE: (QUEUE, shared)}
        for team in teams:
            own = team_queue(team, pools)
            quota = objects.declare(f"{name}-quota-of-{team.name}", team_cohort(team, pools), self, shared)
            declared = objects.declare(f"{name}-of-{team.name}", own, self, quota)
            queues[team.name] = (own["metadata"]["name"], declared)
        for each in namespaces:
            queue, declared = queues[each]
            local = manifest(_API, "LocalQueue", QUEUE, each, spec={"clusterQueue": queue})
            after = [args.namespaces[each]] if each in args.namespaces else []
            # A LocalQueue keeps its ClusterQueue, and one of a protected stack cannot be replaced.
            objects.declare(f"{name}-in-{each}", local, self, declared, *after, as_made=("spec.clusterQueue",))
        self.register_outputs({"queue": QUEUE, "namespaces": list(namespaces)})


TOOL: Final = JobQueue


def values(queue: Queue, pools: Sequence[Pool], teams: Sequence[Team] = ()) -> dict[str, Any]:
    """The chart's values, with a configuration that manages only Jobs that name a queue. With ``teams`` each GPU also
    counts as one of the team's: https://kueue.sigs.k8s.io/docs/tasks/manage/share_quotas_across_flavors/
    """
    flex_start = any(pool.scaling.capacity_type == "flex-start" for pool in pools)
    fabrics = {pool.nodes.fabric.resource for pool in pools if pool.nodes.fabric is not None}
    uncounted = [*_UNCOUNTED, *sorted(fabrics)]
    ready = _READY_FLEX_START if flex_start else _READY
    chart = values_in("queue-values.yaml", queue, ready=ready, uncounted=uncounted)
    if any(pool.nodes.fabric is not None and pool.nodes.fabric.claimed for pool in pools):
        chart["managerConfig"]["featureGates"] = dict.fromkeys(_GATES_OF_CLAIMS, False)
    if teams:
        counted = [
            {"input": resource, "strategy": "Retain", "outputs": {team_resource(resource): 1}}
            for resource in by_resource(pools)
        ]
        chart["managerConfig"]["resources"]["transformations"] = counted
    # The chart takes its program's configuration as a text.
    chart["managerConfig"] = {"controllerManagerConfigYaml": yaml.safe_dump(chart["managerConfig"], sort_keys=False)}
    return chart


def flavors_of(pools: Sequence[Pool]) -> Iterator[dict[str, Any]]:
    """A ResourceFlavor per pool, which carries the pool's quota.

    Its labels select all pools of that GPU type and size: Kueue assigns a job the same flavor again, even if the cloud
    has no capacity for it (https://github.com/kubernetes-sigs/kueue/issues/2560), and the autoscaler chooses the next
    capacity type or zone. A pool that no other one stands in for has its own label too, because Kueue ignores what a
    job selects by keys that a flavor lacks (https://github.com/kubernetes-sigs/kueue/pull/12449): two jobs for one
    slice would be admitted, the second on another slice's quota. Admitted jobs get the toleration of the GPU taint. A
    job must itself tolerate other taints (larger size, shared GPUs, spot), or gets another flavor: admission would
    refuse its pods (docs/adr/0001-size-isolation.md).
    https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/#resourceflavor-taints
    """
    alike = Counter(map(_kind, pools))
    for pool in pools:
        apart = pool.gpus.slice_nodes > 1 or pool.nodes.fabric is not None or alike[_kind(pool)] == 1
        kind = kind_labels(pool.nodes.labels, pool.nodes.cloud_labels)
        own = resource_taint(pool.gpus.resource)
        taints = node_taints(taint for taint in pool.nodes.taints if taint != own)
        spec = {
            "nodeLabels": {**kind, **({POOL_LABEL: pool.nodes.labels[POOL_LABEL]} if apart else {})},
            "tolerations": tolerations([own]),
            **({"nodeTaints": taints} if taints else {}),
        }
        yield manifest(_API, "ResourceFlavor", pool.name, spec=spec)


def team_resource(resource: str) -> str:
    """What ``resource`` counts as for a team, beside what it is of a pool."""
    return f"team.gpucluster.dev/{resource.replace('/', '.')}"


def cluster_queue(pools: Sequence[Pool], teams: Sequence[Team] = ()) -> dict[str, Any]:
    """The queue of ``default``, with the GPUs of all pools at their maximum; where there are ``teams`` it borrows them
    from the cohort, as the teams' queues do: a job that needs to borrow comes after one that need not.
    """
    groups = [*_groups(pools, lent=bool(teams)), *(_team_groups(pools, None) if teams else ())]
    return _queue(QUEUE, {}, groups, **({"cohortName": QUEUE} if teams else {}))


def team_queue(team: Team, pools: Sequence[Pool]) -> dict[str, Any]:
    """A team's queue: any GPUs of its cohort and of the one above."""
    own, name = {"matchLabels": {"kubernetes.io/metadata.name": team.name}}, _of_team(team)
    return _queue(name, own, [*_groups(pools, lent=True), *_team_groups(pools, 0, lent=True)], cohortName=name)


def team_cohort(team: Team, pools: Sequence[Pool]) -> dict[str, Any]:
    """A team's quota: of each resource as many as its ResourceQuota has.

    The queue itself has none: a job above a queue's own quota counts as one that could preempt others. Kueue then tries
    one pool after another for it, and at the end says that no pool fits:
    https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/pkg/scheduler/flavorassigner/flavorassigner.go#L1371
    """
    groups = list(_team_groups(pools, team.gpus))
    return manifest(_API, "Cohort", _of_team(team), spec={"parentName": QUEUE, "resourceGroups": groups})


def cohort_of(pools: Sequence[Pool]) -> dict[str, Any]:
    """The GPUs of all pools at their maximum, for all queues:
    https://kueue.sigs.k8s.io/docs/concepts/cohort/"""
    return manifest(_API, "Cohort", QUEUE, spec={"resourceGroups": _groups(pools)})


def _of_team(team: Team) -> str:
    """The name of a team's ClusterQueue, and of its Cohort."""
    return f"{QUEUE}-{team.name}"


def _queue(
    name: str, namespaces: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], **more: str
) -> dict[str, Any]:
    spec = {
        "namespaceSelector": namespaces,
        # A job that fits does not wait for a larger one before it.
        "queueingStrategy": "BestEffortFIFO",
        **more,
        "resourceGroups": groups,
    }
    return manifest(_API, "ClusterQueue", name, spec=spec)


def _groups(pools: Sequence[Pool], *, lent: bool = False) -> list[dict[str, Any]]:
    """The GPUs of all pools at their maximum (none if ``lent`` by the cohort), the cheapest type and size first, and of
    each the pools that are paid for anyway."""
    cheapest: dict[str, float] = {}
    for pool in pools:
        cheapest[_kind(pool)] = min(_price(pool), cheapest.get(_kind(pool), math.inf))

    def order(pool: Pool) -> tuple[float, str, bool, float, int, str]:
        kind, scaling = _kind(pool), pool.scaling
        return cheapest[kind], kind, not scaling.prepaid, _price(pool), scaling.preference, pool.name

    return [
        {
            "coveredResources": [resource],
            "flavors": [_quota(each.name, resource, 0 if lent else _most(each)) for each in members],
        }
        for resource, members in by_resource(sorted(pools, key=order)).items()
    ]


def _team_groups(pools: Sequence[Pool], most: int | None, *, lent: bool = False) -> Iterator[dict[str, Any]]:
    """What counts against a team: ``most`` of each resource, ``None`` as many as there are; the cohort lends more only
    if it is ``lent``."""
    resources = by_resource(pools)
    names = {team_resource(resource): sum(map(_most, members)) for resource, members in resources.items()}
    if names:
        quotas = [
            {
                "name": name,
                "nominalQuota": str(total if most is None else most),
                **({} if lent else {"borrowingLimit": "0"}),
            }
            for name, total in names.items()
        ]
        yield {"coveredResources": [*names], "flavors": [{"name": _TEAM_FLAVOR, "resources": quotas}]}


def _most(pool: Pool) -> int:
    return pool.scaling.max_nodes * pool.gpus.allocatable


def _quota(flavor: str, resource: str, gpus: int) -> dict[str, Any]:
    return {"name": flavor, "resources": [{"name": resource, "nominalQuota": str(gpus)}]}


def _kind(pool: Pool) -> str:
    return str(sorted(kind_labels(pool.nodes.labels, pool.nodes.cloud_labels).items()))


def _price(pool: Pool) -> float:
    return math.inf if pool.nodes.hourly_usd is None else pool.nodes.hourly_usd / pool.gpus.allocatable
