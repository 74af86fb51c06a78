"""Plays jobs of teams with Kueue's own scheduler, for the queues that the program makes.

``KUEUE=FOLDER python -m packages.rehearsal.tests.kueue.situations`` plays them and writes ``recorded.yaml``. The folder
has Kueue's source at the chart's version; ``go mod download -json sigs.k8s.io/kueue@v0.19.2`` prints one as ``Dir``.
Go builds the scheduler with ``play_test.go``, which takes some minutes. Its webhooks and controllers do not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from components.published_offer import offer
from components.settings import Settings
from components.settings.sections.tools import Queue
from components.workloads.queue import CHART, cluster_queue, cohort_of, flavors_of, team_cohort, team_queue, values
from facts.concepts.kubernetes import manifest
from facts.concepts.offer import PRIORITY_CLASSES, QUEUE, from_config_map, to_config_map
from facts.jobs.job import QUEUE_LABEL, JobRequest, manifests
from facts.jobs.plan import place, training_job
from facts.jobs.sweep import Sweep
from tests.components.settings.test_clouds import load_stack

Object = dict[str, Any]

VARIABLE: Final = "KUEUE"
RECORDED: Final = Path(__file__).with_name("recorded.yaml")
_PLAY: Final = Path(__file__).with_name("play_test.go")
_PACKAGE: Final = Path("pkg") / "scheduler"
_SECONDS: Final = 3600.0
_API: Final = "kueue.x-k8s.io/v1beta2"
_VALUES: Final = {name: {"high": 1000, "low": 0}[priority] for priority, name in PRIORITY_CLASSES.items()}
# The API server's defaults of a ClusterQueue.
_DEFAULTS: Final = {
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    "preemption": {
        "borrowWithinCohort": {"policy": "Never"},
        "reclaimWithinCohort": "Never",
        "withinClusterQueue": "Never",
    },
    "stopPolicy": "None",
}
_GKE: Final = [
    {"name": "t4", "gpu": "nvidia-t4", "gpusPerNode": [1, 4], "maxNodes": 2, "capacity": "spot-with-fallback"},
    {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 3, "capacity": "on-demand"},
    {"name": "v6e", "gpu": "google-tpu-v6e", "gpusPerNode": 1, "maxNodes": 4, "capacity": "on-demand"},
]
_EKS: Final = [
    {"name": "h100", "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "capacity": "on-demand", "fabric": "rdma"}
    | {"zones": ["us-west-2a"], "maxNodes": 3}
]


def _stack(cloud: str, pools: Sequence[Mapping[str, Any]], vision: int) -> Settings:
    teams = [{"name": "vision", "gpus": vision}, {"name": "speech", "gpus": 16, "priority": "high"}]
    return load_stack(cloud, gpuPools=pools, teams=teams, workloads={"queue": {}})


STACKS: Final = {
    "two": _stack("gke", _GKE, 2),
    "one": _stack("gke", _GKE, 1),
    "four": _stack("gke", _GKE, 4),
    "efa": _stack("eks", _EKS, 16),
}
_OFFERED: Final = {cloud: _stack(cloud, pools, 16) for cloud, pools in (("gke", _GKE), ("eks", _EKS))}
"""Where no team's quota lets ``gpu submit`` refuse a job by itself."""

BEFORE: Final = "before"
"""The queues of 0.1.0: no team's quota counts."""

MOVED: Final = "moved"
"""Those of now, after an update from 0.1.0; of the LocalQueues of teams that of vision was moved."""


def objects(state: str) -> Object:
    """What Kueue has in a state: a key of ``STACKS``, ``BEFORE`` or ``MOVED``."""
    settings = STACKS.get(state, STACKS["two"])
    pools, teams = settings.gpu_pools, () if state == BEFORE else settings.teams
    configuration = yaml.safe_load(values(Queue(), pools, teams)["managerConfig"]["controllerManagerConfigYaml"])
    queues = [cluster_queue(pools, teams), *(team_queue(team, pools) for team in teams)]
    names = {"default": QUEUE, **{team.name: f"{QUEUE}-{team.name}" for team in teams}}
    names |= {"vision": QUEUE, "speech": QUEUE} if state == BEFORE else {}
    names |= {"speech": QUEUE} if state == MOVED else {}
    return {
        "namespaces": list(names),
        "flavors": [*flavors_of(pools), manifest(_API, "ResourceFlavor", "teams.gpucluster.dev")],
        "clusterQueues": queues,
        "cohorts": [cohort_of(pools), *(team_cohort(team, pools) for team in teams)] if teams else [],
        "localQueues": [
            manifest(_API, "LocalQueue", QUEUE, namespace, spec={"clusterQueue": name})
            for namespace, name in names.items()
        ],
        "transformations": configuration["resources"].get("transformations", []),
        "exclude": configuration["resources"]["excludeResourcePrefixes"],
    }


class _Job(NamedTuple):
    name: str
    namespace: str
    cloud: str
    asked: Mapping[str, Any]


def _job(name: str, namespace: str = "vision", cloud: str = "gke", **asked: Any) -> _Job:
    return _Job(name, namespace, cloud, asked)


def _some(names: str, namespace: str = "vision", **asked: Any) -> list[_Job]:
    return [_job(name, namespace, **asked) for name in names.split()]


_T4: Final[Mapping[str, Any]] = {"gpu": "t4", "gpus": 1}
_T4S: Final[Mapping[str, Any]] = {"gpu": "t4", "gpus": 4}
_L4: Final[Mapping[str, Any]] = {"gpu": "l4", "gpus": 1}
_SWEEP: Final = Sweep({"lr": ("1", "2", "3", "4", "5")})
# What happens, in which state, which jobs come, which end.
STEPS: Final[Sequence[tuple[str, str, Sequence[_Job], str]]] = (
    ("a team's jobs wait at its quota, others at the pools'", "two", [
        *_some("v0 v1 v2", **_T4), *_some("large", **_T4S), *_some("s0 s1 s2", "speech", **_L4),
        _job("d0", "default", **_L4),
        _job("gang0", "speech", **_T4S, workers=2), _job("gang1", "speech", **_T4S, workers=2),
        _job("gang2", "default", **_T4S, workers=2), _job("tpu", gpu="tpu-v6e", gpus=1),
    ], ""),
    ("two end", "two", [], "v0 s0"),
    ("", "two", [], ""),
    ("a sweep has as many runs as fit", "two", [_job("sweep", **_T4, command=("python", "{lr}"), sweep=_SWEEP)], ""),
    ("", "two", [], ""),
    ("a pool is full", "two", _some("p0 p1 p2", "speech", **_L4), ""),
    ("three wait", "two", [_job("older", **_L4), *_some("normal", "speech", **_L4, priority="normal"),
                           *_some("high", "speech", **_L4, priority="high")], ""),
    ("one ends: the priority counts", "two", [], "p0"),
    ("another ends: the age counts", "two", [], "p1"),
    ("", "two", [], ""),
    ("two run", "two", _some("k0 k1 k2", **_T4), ""),
    ("the quota shrinks to 1", "one", [], ""),
    ("one ends with the smaller quota", "one", [], "k0"),
    ("the quota grows to 4", "four", _some("k4", **_T4S), ""),
    ("", "two", [], ""),
    ("0.1.0 counts no quota of a team", BEFORE, _some("o0 o1 o2 o3 o4", **_T4S), ""),
    ("updated, and the queue moved", MOVED, _some("later", **_T4), ""),
    ("one of before ends", MOVED, [], "o0"),
    ("", "two", [], ""),
    ("EFA devices do not count", "efa", [_job("efa", cloud="eks", gpu="h100", gpus=8, workers=2),
                                         _job("more", cloud="eks", gpu="h100", gpus=8)], ""),
)  # fmt: skip


def _workload(number: int, asked: _Job) -> Object:
    """The Workload that Kueue makes of the Job of ``gpu submit``."""
    settings = _OFFERED[asked.cloud]
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    request = JobRequest(name=asked.name, namespace=asked.namespace, **asked.asked)
    made = manifests(training_job(request, place(offered, request), "image", offered))
    (job,) = [json.loads(json.dumps(each)) for each in made if each["kind"] == "Job"]
    template, annotations = job["spec"]["template"], job["metadata"].get("annotations") or {}
    for container in (*template["spec"].get("initContainers", ()), *template["spec"]["containers"]):
        resources = container.setdefault("resources", {})
        resources["requests"] = {**resources.get("limits", {}), **resources.get("requests", {})}
    pods: Object = {"name": "main", "count": job["spec"].get("parallelism", 1), "template": template}
    if least := annotations.get("kueue.x-k8s.io/job-min-parallelism"):
        pods["minCount"] = int(least)
    created = f"2026-11-30T10:{number // 60:02d}:{number % 60:02d}Z"
    return {
        "metadata": {
            "name": asked.name,
            "namespace": asked.namespace,
            "uid": asked.name,
            "creationTimestamp": created,
        },
        "spec": {
            "queueName": job["metadata"]["labels"][QUEUE_LABEL],
            "active": True,
            "priority": _VALUES.get(template["spec"].get("priorityClassName"), 1),
            "podSets": [pods],
        },
    }


def _input() -> Object:
    numbers = iter(range(3600))
    states = {state: objects(state) for _, state, _, _ in STEPS}
    for state in states.values():
        for queue in state["clusterQueues"]:
            queue["spec"] = {**_DEFAULTS, **queue["spec"]}
    steps = [
        {
            "title": title or "clear",
            "objects": state,
            "add": [_workload(next(numbers), job) for job in jobs],
            "finish": ended.split(),
        }
        for title, state, jobs, ended in STEPS
    ]
    return {"objects": states, "steps": steps}


def _answers(played: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    for step in played:
        jobs: Object = {}
        for name, workload in sorted(step["workloads"].items()):
            for pods in workload.get("podSets") or ():
                jobs[name] = {"queue": workload["clusterQueue"], "flavors": sorted(pods["flavors"].values())}
                jobs[name]["pods"] = pods["count"]
            reasons = [each for each in workload["conditions"] if each.startswith("QuotaReserved False ")]
            if name not in jobs:
                jobs[name] = (
                    reasons[0].removeprefix("QuotaReserved False ") if reasons else "evaluated for an equal one"
                )
        if step["title"] != "clear":
            yield step["title"], jobs


def played(source: Path) -> Object:
    """By what happens, and by job: its queue, flavors and pods, or why it waits."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        own = source.absolute() / _PACKAGE
        overlay = {str(own / _PLAY.name): str(_PLAY), **{str(each): "" for each in own.glob("*_test.go")}}
        (scratch / "overlay.json").write_text(json.dumps({"Replace": overlay}))
        (scratch / "input.json").write_text(json.dumps(_input()))
        environment = {**os.environ, "PLAY": str(scratch / "input.json"), "PLAYED": str(scratch / "played.json")}
        command = [
            "go",
            "test",
            "-trimpath",
            "-buildvcs=false",
            "-count=1",
            "-vet=off",
            "-run=TestPlay",
            f"-overlay={scratch / 'overlay.json'}",
        ]
        environment["CGO_ENABLED"] = "0"
        subprocess.run([*command, f"./{_PACKAGE}"], cwd=source, env=environment, check=True, timeout=_SECONDS)
        return dict(_answers(json.loads((scratch / "played.json").read_text())))


def recorded() -> Object:
    """What a real one answered, and the queues that it had."""
    content: Object = yaml.safe_load(RECORDED.read_text("utf-8"))
    return content


def queues() -> Object:
    """By state, the ClusterQueues, cohorts and configuration that the program makes."""
    kinds = ("clusterQueues", "cohorts", "transformations", "exclude")
    return {state: {kind: json.loads(json.dumps(objects(state)[kind])) for kind in kinds} for state in ("two", "efa")}


def main() -> None:
    """Record."""
    if not (source := os.environ.get(VARIABLE)):
        sys.exit(f"name a folder with Kueue's source in {VARIABLE}")
    content = {"version": CHART.version, "answers": played(Path(source)), "queues": queues()}
    plain = json.loads(json.dumps(content))  # without aliases
    RECORDED.write_text(yaml.safe_dump(plain, sort_keys=False, width=120, default_flow_style=None))


if __name__ == "__main__":
    main()
