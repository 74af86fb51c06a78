"""The workloads of a rehearsal and the expected result of each, derived from the stack.

Sizes, maxima and taints come from the stack's pools, jobs from its outputs ``gpuJobs`` and ``fabricTest``. The pod that
only sets a GPU limit is the one in the documentation.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import yaml

from facts.concepts.counts import counted
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, GPU_RESOURCE
from facts.concepts.pool import CLASS_LABEL, SIZE_KEY, Pool, by_resource, kind_labels, resource_taint
from rehearsal.cluster.api import Object

SECONDS: Final = "rehearsal.gpucluster.dev/seconds"
"""Pod annotation: how long the simulated container runs before it succeeds."""

HELD: Final = "3600"
BURST_LIMIT: Final = 50
"""Pools with room for more pods are not filled to their maximum, so that a rehearsal stays short."""

_FOLDER: Final = Path(__file__).parent / "workloads"


@dataclass(frozen=True)
class RunsOn:
    """All pods of the workload run, on nodes of ``pools``."""

    pools: frozenset[str]


@dataclass(frozen=True)
class OffGpus:
    """The workload never reaches a GPU node; ``runs`` says whether it must run at all."""

    runs: bool


@dataclass(frozen=True)
class StaysPending:
    """The workload is accepted and never runs. A warning or an event gives the reason and contains ``mentions``."""

    mentions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The API server refuses the workload, and its message contains ``mentions``."""

    mentions: tuple[str, ...] = ()


Expectation = RunsOn | OffGpus | StaysPending | Refused


@dataclass(frozen=True)
class Submission:
    """One workload: its ``id`` in the report, a ``title`` that describes it, and the expected result."""

    id: str
    title: str
    manifest: Object
    expect: Expectation

    @property
    def kind(self) -> str:
        """``Pod`` or ``Job``."""
        return str(self.manifest["kind"])

    @property
    def workload(self) -> str:
        """The name of its object, which identifies its pods."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace in which it is submitted."""
        return str(self.manifest["metadata"].get("namespace", DEFAULT_NAMESPACE))

    @property
    def pods(self) -> int:
        """How many pods it has at once."""
        return int(self.manifest["spec"].get("parallelism", 1))


@dataclass(frozen=True)
class Burst:
    """Fill ``nodes`` nodes of ``pool``. Then ``extra`` must wait; with fallback pools, ``fallback`` must run."""

    pool: str
    nodes: int
    max_nodes: int
    fill: tuple[Submission, ...]
    extra: Submission | None
    fallback: Submission | None


@dataclass(frozen=True)
class CapacityShortage:
    """``fallback_pod`` still runs while the cloud has no capacity for ``pools``, the first choices of an entry; where
    there are none, it runs on the first choice again."""

    pools: tuple[str, ...]
    fallback_pod: Submission


@dataclass(frozen=True)
class Scenario:
    """One rehearsal's workloads, in the order of submission.

    ``again``: the jobs for the second scale-up: pool → the sample job, which ``whole_node`` enlarges.
    """

    cpu: tuple[Submission, ...]
    fallback_order: tuple[Submission, ...]
    gpu_limit_only: Submission
    unschedulable: tuple[Submission, ...]
    refused: tuple[Submission, ...]
    jobs: tuple[Submission, ...]
    fragment: Submission | None
    burst: Burst
    again: Mapping[str, Object]
    shortages: tuple[CapacityShortage, ...] = ()
    network_tests: tuple[Submission, ...] = ()

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """All workloads."""
        parts = (
            *self.cpu,
            *self.fallback_order,
            self.gpu_limit_only,
            *self.unschedulable,
            *self.refused,
            *self.jobs,
            *self.network_tests,
            *self.burst.fill,
        )
        some = (self.fragment, self.burst.extra, self.burst.fallback)
        last = (shortage.fallback_pod for shortage in self.shortages)
        return (*parts, *(one for one in some if one is not None), *last)


def derive(
    pools: Sequence[Pool],
    gpu_jobs: Mapping[str, str],
    admin_vcpus: float,
    seed: int = 0,
    fabric_tests: Mapping[str, str] | None = None,
) -> Scenario:
    """The scenario for a stack; ``gpu_jobs``: pool → its ready-to-apply YAML (``ValueError`` if one is missing).

    ``fabric_tests``: the same of pools with a fabric. ``seed`` shuffles the jobs: users submit them in any order.
    Pods that may run in several pools are of no team, unless all pools are for teams.
    """
    missing = sorted({pool.name for pool in pools} - set(gpu_jobs))
    if missing:
        raise ValueError(f"the stack output gpuJobs has no job for {', '.join(missing)}: add one per GPU pool")
    jobs = {pool.name: _snippet(gpu_jobs[pool.name]) for pool in pools}
    order = list(pools)
    random.Random(seed).shuffle(order)
    open_to_all = [pool for pool in pools if not pool.nodes.teams]
    usual = open_to_all or pools
    burst, plain = _burst(usual, jobs), _of_one_resource(usual)
    return Scenario(
        cpu=_cpu(admin_vcpus),
        gpu_limit_only=_gpu_limit_only(plain),
        unschedulable=_unschedulable(plain),
        refused=(*(_refused(plain) if open_to_all else ()), *_refused_to_others(pools, jobs)),
        fallback_order=_fallback_order(usual, jobs),
        jobs=tuple(_job(pool, jobs[pool.name]) for pool in order),
        network_tests=tuple(_network_tests(pools, fabric_tests or {})),
        fragment=_fragment(plain),
        burst=burst,
        # A pool that mixes machine types may get a different machine the second time.
        again={pool.name: jobs[pool.name] for pool in pools if len(pool.nodes.machine_types) == 1},
        shortages=tuple(_shortages(usual, jobs, burst.pool)),
    )


def load(name: str) -> Object:
    """A manifest from the scenario's folder."""
    return yaml.safe_load((_FOLDER / f"{name}.yaml").read_text())


def gpu_limit_pools(pools: Sequence[Pool]) -> frozenset[str]:
    """Pools for a pod that only sets a GPU limit: no taint but the one that the cloud's admission tolerates for it."""
    return frozenset(pool.name for pool in pools if set(pool.nodes.taints) <= {resource_taint(pool.gpus.resource)})


def gpu_pod(
    name: str, gpus: int, *, tolerations: Sequence[Mapping[str, str]] = (), resource: str = GPU_RESOURCE
) -> Object:
    """The pod that only sets a GPU limit, with this name and ``gpus`` GPUs."""
    pod = load("gpu-pod")
    pod["metadata"] = {"name": name, "annotations": {SECONDS: "3"}}
    pod["spec"]["containers"][0]["resources"]["limits"] = {resource: gpus}
    if tolerations:
        pod["spec"]["tolerations"] = [dict(toleration) for toleration in tolerations]
    return pod


def _of_one_resource(pools: Sequence[Pool]) -> Sequence[Pool]:
    """The pools that pods with a limit alone are about: NVIDIA's, or those of the only other resource."""
    grouped = by_resource(pools)
    return grouped.get(GPU_RESOURCE) or next(iter(grouped.values()))


def _snippet(text: str) -> Object:
    documents = [document for document in yaml.safe_load_all(text) if document]
    jobs = [document for document in documents if document.get("kind") == "Job"]
    if len(jobs) != 1:
        raise ValueError(f"a gpuJobs output must hold exactly one Job, this one holds {len(jobs)}:\n{text}")
    return jobs[0]


def _cpu(admin_vcpus: float) -> tuple[Submission, ...]:
    crowd = load("cpu-crowd")
    crowd["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(admin_vcpus)
    return (
        Submission("cpu-job", "a small CPU job", load("cpu-job"), OffGpus(runs=True)),
        Submission("cpu-crowd", "a CPU pod that is too large for the admin pool", crowd, OffGpus(runs=False)),
    )


def _gpu_limit_only(pools: Sequence[Pool]) -> Submission:
    reachable = gpu_limit_pools(pools)
    expect: Expectation = RunsOn(reachable) if reachable else StaysPending(("tolerat",))
    pod = load("gpu-pod")
    # No pods share the chips of a node.
    fewest = min(pool.gpus.allocatable if pool.gpus.slice_nodes else 1 for pool in pools)
    pod["spec"]["containers"][0]["resources"]["limits"] = {pools[0].gpus.resource: fewest}
    return Submission("gpu-pod", "a pod that only sets a GPU limit", pod, expect)


def _fallback_order(pools: Sequence[Pool], jobs: Mapping[str, Object]) -> tuple[Submission, ...]:
    """For each size with fallback pools, a pod that selects no pool: while all are empty it must run on the first."""
    submissions = []
    for first, *alike in _first_choices(pools):
        others = [pool for pool in pools if pool.scaling.preference > 0 and _interchangeable(pool, first)]
        if others:
            pod = _pod_for_any(first, f"fallback-order-{first.name}", jobs[first.name])
            names = [pool.name for pool in (first, *alike)]
            title = f"a pod that selects no pool and fits {' or '.join(names)} or {', '.join(p.name for p in others)}"
            submissions.append(Submission(f"fallback-order:{first.name}", title, pod, RunsOn(frozenset(names))))
    return tuple(submissions)


def _first_choices(pools: Sequence[Pool]) -> list[list[Pool]]:
    """The first choice of each entry and size: one pool, or one for each zone or reservation."""
    choices: dict[tuple[str, int, str], list[Pool]] = {}
    for pool in (pool for pool in pools if pool.scaling.preference == 0):
        choices.setdefault((pool.declared_at, pool.gpus.per_node, pool.declared_at or pool.name), []).append(pool)
    return list(choices.values())


def _shortages(pools: Sequence[Pool], jobs: Mapping[str, Object], filled: str) -> Iterator[CapacityShortage]:
    """No capacity for a first choice that has a fallback pool; ``filled`` is used only if there is no other. With a
    ComputeClass, whose order is the stack's own, then for the next choices as well, and at last for the first again.

    An autoscaler may skip a pool without capacity for minutes, and the following jobs need that pool.
    """
    candidates = [choice for choice in _first_choices(pools) if _has_fallback(choice[0], pools)]
    if not candidates:
        return
    exhausted = min(candidates, key=lambda choice: filled in {pool.name for pool in choice})
    left = [pool for pool in pools if pool not in exhausted and _interchangeable(pool, exhausted[0])]
    yield _shortage(exhausted, left, jobs)
    if CLASS_LABEL in exhausted[0].nodes.labels:
        for following in sorted({pool.scaling.preference for pool in left})[:-1]:
            tried = [*exhausted, *(pool for pool in left if pool.scaling.preference <= following)]
            yield _shortage(
                tried, [pool for pool in left if pool.scaling.preference > following], jobs, f"-{following + 1}"
            )
        yield _shortage([], exhausted, jobs, "-back")


def _shortage(
    tried: Sequence[Pool], left: Sequence[Pool], jobs: Mapping[str, Object], suffix: str = ""
) -> CapacityShortage:
    first, following = (*tried, *left)[0], min(pool.scaling.preference for pool in left)
    id, names = f"capacity-shortage{suffix}", tuple(pool.name for pool in tried)
    state = f"while the cloud has no capacity for {' and '.join(names)}" if names else "when all have capacity again"
    pod = _pod_for_any(first, id, jobs[first.name])
    allowed = frozenset(pool.name for pool in left if pool.scaling.preference == following)
    return CapacityShortage(names, Submission(id, f"a pod that selects no pool, {state}", pod, RunsOn(allowed)))


def _has_fallback(first: Pool, pools: Sequence[Pool]) -> bool:
    """Whether the entry has a fallback pool for the jobs of its ``first`` choice."""
    later = [pool for pool in pools if pool.declared_at == first.declared_at and pool.scaling.preference > 0]
    return any(_interchangeable(pool, first) for pool in later)


def _unschedulable(pools: Sequence[Pool]) -> tuple[Submission, ...]:
    largest = max(pool.gpus.allocatable for pool in pools)
    resource = pools[0].gpus.resource
    everything = [{"key": resource, "operator": "Exists"}, {"key": SIZE_KEY, "operator": "Exists"}]
    too_large = gpu_pod("over-large", largest + 1, tolerations=everything, resource=resource)
    submissions = [
        Submission(
            "over-large", f"a pod with {counted(largest + 1, 'GPU')}, more than any node has", too_large, StaysPending()
        )
    ]
    reachable = gpu_limit_pools(pools)
    plain_size = max((pool.gpus.allocatable for pool in pools if pool.name in reachable), default=0)
    if reachable and largest > plain_size:
        manifest = gpu_pod("plain-multi-gpu", largest, resource=resource)
        title = f"a pod with {counted(largest, 'GPU')}, without the toleration for that node size"
        submissions.append(Submission("plain-multi-gpu", title, manifest, StaysPending((SIZE_KEY,))))
    return tuple(submissions)


def _refused(pools: Sequence[Pool]) -> tuple[Submission, ...]:
    if len({pool.gpus.per_node for pool in pools}) < 2:
        return ()
    resource = pools[0].gpus.resource
    blanket = gpu_pod("blanket-toleration", 1, tolerations=[{"operator": "Exists"}], resource=resource)
    # Without tolerations of all taints, as those of a ComputeClass or of spot nodes on AKS, it would reach none.
    smallest = min(pool.gpus.per_node for pool in pools)
    reached = min(
        (pool for pool in pools if pool.gpus.per_node > smallest),
        key=lambda pool: (len(pool.nodes.teams), len(pool.nodes.taints)),
    )
    tolerations = [{"key": key, "operator": "Exists"} for key in sorted({taint.key for taint in reached.nodes.taints})]
    larger = gpu_pod("larger-node", 1, tolerations=tolerations, resource=resource)
    return (
        Submission(
            "blanket-toleration", "a pod with 1 GPU that tolerates every taint", blanket, Refused(("tolerates",))
        ),
        Submission("larger-node", "a pod with 1 GPU that tolerates larger nodes", larger, Refused((SIZE_KEY,))),
    )


def _refused_to_others(pools: Sequence[Pool], jobs: Mapping[str, Object]) -> Iterator[Submission]:
    """For each entry for teams a pod as that of its sample job, in a namespace of no team."""
    for pool in {pool.declared_at: pool for pool in pools if pool.nodes.teams}.values():
        pod = _held_pod(f"others-{pool.name}", jobs[pool.name])
        pod["metadata"]["namespace"] = DEFAULT_NAMESPACE
        title = f"a pod for {pool.name} in another namespace than {' or '.join(pool.nodes.teams)}"
        yield Submission(f"others:{pool.name}", title, pod, Refused(("for pods of namespace",)))


def _job(pool: Pool, snippet: Object, seconds: str = "3") -> Submission:
    job = copy.deepcopy(snippet)
    annotations = job["spec"]["template"].setdefault("metadata", {}).setdefault("annotations", {})
    annotations[SECONDS] = seconds
    whole = counted(pool.gpus.per_node, "GPU")
    asked = whole if pool.gpus.shares == 1 else f"{counted(pool.gpus.allocatable, 'share')} of {whole}"
    title = f"the stack's sample job for {pool.name} ({asked})"
    return Submission(f"job:{pool.name}", title, job, RunsOn(frozenset({pool.name})))


def _network_tests(pools: Sequence[Pool], manifests: Mapping[str, str]) -> Iterator[Submission]:
    """Jobs whose workers run until all of them do. No simulated cloud offers devices that pods claim."""
    for pool in pools:
        if pool.name in manifests and pool.nodes.fabric is not None and not pool.nodes.fabric.claimed:
            job = _job(pool, _snippet(manifests[pool.name]), HELD)
            title = f"the stack's network test for {pool.name}, each worker with all network devices of a node"
            yield replace(job, id=f"fabric:{pool.name}", title=title)


def _fragment(pools: Sequence[Pool]) -> Submission | None:
    reachable = gpu_limit_pools(pools)
    larger = [pool for pool in pools if pool.name not in reachable and pool.gpus.allocatable > 1]
    if not reachable or not larger:
        return None
    title = "a pod with 1 GPU, submitted while a node with more GPUs is idle"
    pod = gpu_pod("fragment", 1, resource=pools[0].gpus.resource)
    return Submission("fragment", title, pod, RunsOn(reachable))


def _burst(pools: Sequence[Pool], jobs: Mapping[str, Object]) -> Burst:
    pool = min(
        pools,
        key=lambda one: (
            one.gpus.allocatable,
            one.scaling.preference,
            one.scaling.max_nodes,
            one.nodes.hourly_usd or 0.0,
        ),
    )
    job, spec = jobs[pool.name], jobs[pool.name]["spec"]
    # A pod gets one share of a time-shared GPU, so a job that fills a node has a pod per share; one for a slice has a
    # worker for each of its nodes.
    per_node = spec.get("parallelism", 1) // max(1, pool.gpus.slice_nodes)
    nodes = min(pool.scaling.max_nodes, max(1, BURST_LIMIT // per_node))
    runs = RunsOn(frozenset({pool.name}))
    title = f"one of {counted(nodes * per_node, 'pod')} that fill {pool.name}"
    names = [f"burst-{number}" for number in range(nodes * per_node)]
    fill = tuple(Submission(name, title, _held_pod(name, job), runs) for name in names)
    if nodes < pool.scaling.max_nodes:
        return Burst(pool.name, nodes, pool.scaling.max_nodes, fill, None, None)
    last = f"one pod more than {pool.name} has room for: it waits until another pod ends"
    extra = Submission("burst-extra", last, _held_pod("burst-extra", job), runs)
    return Burst(pool.name, nodes, pool.scaling.max_nodes, fill, extra, _fallback(pool, pools, job))


def _fallback(full: Pool, pools: Sequence[Pool], job: Object) -> Submission | None:
    fallback_order = [pool for pool in pools if _interchangeable(pool, full) and pool.name != full.name]
    if not fallback_order:
        return None
    pod = _pod_for_any(full, "burst-fallback", job, HELD)
    title = f"the same pod without a selected pool, while {full.name} is full: it runs on a fallback pool"
    return Submission("burst-fallback", title, pod, RunsOn(frozenset(pool.name for pool in fallback_order)))


def _interchangeable(one: Pool, other: Pool) -> bool:
    same = one.gpus.type == other.gpus.type and one.gpus.per_node == other.gpus.per_node
    same = same and one.nodes.labels.get(CLASS_LABEL) == other.nodes.labels.get(CLASS_LABEL)
    return same and set(one.nodes.taints) <= set(other.nodes.taints)


def _pod_for_any(pool: Pool, name: str, job: Object, seconds: str = "3") -> Object:
    """A pod that selects the GPU type, the size and the ComputeClass, and leaves the choice of the pool to the
    autoscaler."""
    pod = _held_pod(name, job, seconds)
    pod["spec"]["nodeSelector"] = kind_labels(pool.nodes.labels, pool.nodes.cloud_labels)
    return pod


def _held_pod(name: str, job: Object, seconds: str = HELD) -> Object:
    spec = copy.deepcopy(dict(job["spec"]["template"]["spec"]))
    namespace = job["metadata"].get("namespace", DEFAULT_NAMESPACE)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {SECONDS: seconds}},
        "spec": {**spec, "restartPolicy": "Never"},
    }
