"""A queue for jobs: Kueue. https://kueue.sigs.k8s.io/docs/concepts/"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pulumi
import yaml

from components.published_offer import queued
from components.resources import Chart
from components.settings.sections.tools import Queue
from components.workloads.charts import release, values_in
from components.workloads.data import WorkloadArgs
from facts.concepts.kubernetes import manifest, node_taints, tolerations
from facts.concepts.offer import QUEUE
from facts.concepts.pool import POOL_LABEL, Pool, by_resource, kind_labels, resource_taint
from facts.jobs.job import QUEUE_LABEL

CHART: Final = Chart(
    repository="oci://registry.k8s.io/kueue/charts", name="kueue", version="0.19.2", namespace="kueue-system"
)
CHARTS: Final = (CHART,)
USAGE: Final = f"label {QUEUE_LABEL}={QUEUE} on a Job; gpu submit sets it"
_API: Final = "kueue.x-k8s.io/v1beta2"
_READY: Final = "1h"
"""How long until all pods of a job run. After that it releases its GPUs and is queued again."""

_READY_FLEX_START: Final = "168h"
"""The same for flex-start, where capacity may take days: a requeued job starts waiting again.
https://cloud.google.com/kubernetes-engine/docs/concepts/dws
"""


class JobQueue(pulumi.ComponentResource):
    """Kueue, a ResourceFlavor per pool, and a ClusterQueue with a LocalQueue of the same name in each namespace."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:JobQueue", name, None, opts)
        setting, settings, objects = args.workloads.queue, args.cluster.settings, args.cluster.objects
        assert setting is not None
        pools, namespaces = settings.gpu_pools, queued(settings)
        namespace = objects.namespace(CHART.namespace, self)
        installed = release(args.cluster, CHART, values(setting, pools), self, namespace, *args.after)
        flavors = [
            objects.declare(f"{name}-{flavor['metadata']['name']}", flavor, self, installed)
            for flavor in flavors_of(pools)
        ]
        shared = objects.declare(f"{name}-shared", cluster_queue(pools), self, installed, *flavors)
        for each in namespaces:
            own = manifest(_API, "LocalQueue", QUEUE, each, spec={"clusterQueue": QUEUE})
            objects.declare(
                f"{name}-in-{each}", own, self, shared, *([args.namespaces[each]] if each in args.namespaces else [])
            )
        self.register_outputs({"queue": QUEUE, "namespaces": list(namespaces)})


TOOL: Final = JobQueue


def values(queue: Queue, pools: Sequence[Pool]) -> dict[str, Any]:
    """The chart's values, with a configuration that manages only Jobs that name a queue."""
    flex_start = any(pool.scaling.capacity_type == "flex-start" for pool in pools)
    chart = values_in("queue-values.yaml", queue, ready=_READY_FLEX_START if flex_start else _READY)
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


def cluster_queue(pools: Sequence[Pool]) -> dict[str, Any]:
    """The GPUs of all pools at their maximum, the cheapest type and size first, and of each the pools that are paid for
    anyway."""
    cheapest: dict[str, float] = {}
    for pool in pools:
        cheapest[_kind(pool)] = min(_price(pool), cheapest.get(_kind(pool), math.inf))

    def order(pool: Pool) -> tuple[float, str, bool, float, int, str]:
        kind, scaling = _kind(pool), pool.scaling
        return cheapest[kind], kind, not scaling.prepaid, _price(pool), scaling.preference, pool.name

    ordered = sorted(pools, key=order)
    groups = [
        {"coveredResources": [resource], "flavors": [_flavor_quota(pool, resource) for pool in members]}
        for resource, members in by_resource(ordered).items()
    ]
    spec = {
        "namespaceSelector": {},
        # A job that fits does not wait for a larger one before it.
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": groups,
    }
    return manifest(_API, "ClusterQueue", QUEUE, spec=spec)


def _flavor_quota(pool: Pool, resource: str) -> dict[str, Any]:
    quota = str(pool.scaling.max_nodes * pool.gpus.allocatable)
    return {"name": pool.name, "resources": [{"name": resource, "nominalQuota": quota}]}


def _kind(pool: Pool) -> str:
    return str(sorted(kind_labels(pool.nodes.labels, pool.nodes.cloud_labels).items()))


def _price(pool: Pool) -> float:
    return math.inf if pool.nodes.hourly_usd is None else pool.nodes.hourly_usd / pool.gpus.allocatable
