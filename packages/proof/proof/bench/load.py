"""``make bench-load``: whether the simulation of a large fleet keeps up with its clock.

One-GPU Jobs arrive at a steady rate and run until all nodes are full; twice as many may start, so that none waits for
another's GPU. A pod starts late by the time from its planned submission until it runs, a new node included, and ends
late by what it runs longer than planned.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import typer

from facts.concepts.kubernetes import SAFE_TO_EVICT
from proof.bench.project import workspace
from proof.bench.scheduling import GPUS_PER_NODE, bare_cluster, gpu_job
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.threads import WatchingThread
from rehearsal.scenario.plan import SECONDS

MOST_LATE: Final = {"started": 10.0, "ended": 2.0}
"""Seconds within which 95 of 100 pods start and end: an idle simulation needs up to 4 s for a pod on a new node."""
SECONDS_PER_JOB: Final = 0.24
"""Between two Jobs by default. Kubernetes' own programs take about 0.25 CPU seconds for each: half of two cores."""
_PATIENCE_SECONDS: Final = 600.0  # after the planned end of the last


class JobPods(WatchingThread):
    """When each Job (by name) was due, ran and had ended, in seconds of one clock; the nodes that they used."""

    def __init__(self, api: Api) -> None:
        super().__init__("job-pods", api, "/api/v1/namespaces/default/pods")
        self.due: dict[str, float] = {}
        self.started: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.nodes: set[str] = set()

    def notice(self, kind: str, pod: Object, /) -> None:
        """Note the first time that a pod is observed in a phase."""
        name, phase = pod["metadata"]["labels"]["job-name"], pod["status"]["phase"]
        if phase in ("Running", "Succeeded"):
            self.started.setdefault(name, time.monotonic())
            self.nodes.add(pod["spec"]["nodeName"])
        if phase == "Succeeded":
            self.ended.setdefault(name, time.monotonic())

    def late(self, runs: float) -> dict[str, list[float]]:
        """Seconds that pods which run for ``runs`` seconds started and ended later than planned; sorted."""
        starts = sorted(moment - self.due[name] for name, moment in self.started.items())
        return {"started": starts, "ended": sorted(end - self.started[job] - runs for job, end in self.ended.items())}


class _Usage(threading.Thread):
    """CPU seconds and the most memory (MiB) of the processes below this one, by program; looks each second."""

    def __init__(self) -> None:
        super().__init__(name="usage", daemon=True)
        self.cpu: dict[tuple[str, int], float] = {}
        self.memory: Counter[str] = Counter()

    def run(self) -> None:
        while True:
            now: Counter[str] = Counter()
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess), process.oneshot():
                    name, times = process.name(), process.cpu_times()
                    self.cpu[name, process.pid] = times.user + times.system
                    now[name] += process.memory_info().rss >> 20
            self.memory |= now
            time.sleep(1.0)


def measure_load(api: Api, jobs: int, seconds: float, runs: int) -> JobPods:
    """Submit ``jobs`` Jobs evenly within ``seconds``, each for ``runs`` seconds; returns when all have ended.

    Prints once a minute how far it is.
    """
    pods = JobPods(api)
    pods.start()
    begun = printed = time.monotonic()
    while len(pods.ended) < jobs and time.monotonic() < begun + seconds + runs + _PATIENCE_SECONDS:
        while (number := len(pods.due)) < jobs and (due := begun + number * seconds / jobs) <= time.monotonic():
            pods.due[f"job-{number}"] = due
            job = gpu_job(f"job-{number}", 1, {SECONDS: str(runs), SAFE_TO_EVICT: "false"})
            api.create("/apis/batch/v1/namespaces/default/jobs", job)
        if time.monotonic() > printed + 60:
            printed += 60
            counts = f"{len(pods.due)} submitted, {len(pods.started)} started, {len(pods.ended)} ended"
            typer.echo(f"minute {(printed - begun) / 60:.0f}: {counts}, of {jobs}")
        time.sleep(0.05)
    pods.close()
    return pods


def run(tools: Path, nodes: int, jobs: int, seconds: int) -> bool:
    """Print how late pods start and end in a large simulated fleet; false if that is too late.

    ``jobs`` are submitted within ``seconds`` and fill ``nodes`` of eight GPUs each.
    """
    runs = max(1, round(seconds * nodes * GPUS_PER_NODE / jobs))
    usage = _Usage()
    usage.start()
    with workspace("load") as scratch, bare_cluster(scratch / "cluster", tools, 2 * nodes) as kubeconfig:
        pods = measure_load(Api(Kubeconfig.parse(kubeconfig)), jobs, seconds, runs)
    typer.echo(f"{jobs} Jobs of {runs} s, submitted within {seconds} s, on {len(pods.nodes)} nodes")
    kept_up = len(pods.ended) == jobs
    for what, late in pods.late(runs).items():
        p50, p95, most = (late[math.ceil(len(late) * part) - 1] if late else math.inf for part in (0.5, 0.95, 1.0))
        kept_up = kept_up and p95 <= MOST_LATE[what]
        figures = f"p50 {p50:.1f} s, p95 {p95:.1f} s (goal: at most {MOST_LATE[what]:g}), max {most:.1f} s"
        typer.echo(f"{len(late)} pods {what}; late by {figures}")
    for name, memory in usage.memory.most_common():
        typer.echo(f"{name}: {sum(s for (of, _), s in usage.cpu.items() if of == name):.0f} CPU s, {memory} MiB")
    return kept_up
