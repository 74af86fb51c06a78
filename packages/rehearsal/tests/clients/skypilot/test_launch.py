"""The real SkyPilot on a rehearsed cluster: told who scales the cluster, it wakes an empty pool.

Real: its look at the cluster, its choice, its pod, its waiting for the pod (`launch.py`). Not rehearsed: what it does
in the pod. Its lists of images are two lines here, and `socat` and `nc`, with which it would log in, do nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from facts.concepts.pool import POOL_LABEL
from packages.rehearsal.tests.clients.environment import programs
from packages.rehearsal.tests.retained_cluster import RetainedCluster
from packages.rehearsal.tests.simulated_cluster import PATIENCE, PODS, eventually
from rehearsal.cluster.api import Api

pytestmark = [pytest.mark.rehearsal]

POOL: Final = "t4-1"
IMAGES: Final = """\
Tag,Region,OS,OSVersion,ImageId,CreationDate
skypilot:custom-cpu-ubuntu-2004,,ubuntu,20.04,registry.example/skypilot:cpu,20250101
skypilot:custom-gpu-ubuntu-2004,,ubuntu,20.04,registry.example/skypilot:gpu,20250101
"""
Launch = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def python() -> Path:
    return programs("skypilot") / "python"


@pytest.fixture
def launch(python: Path, retained: RetainedCluster, api: Api, tmp_path: Path) -> Iterator[Launch]:
    """Asks for one T4 while none is there, with ``settings`` of SkyPilot's section `kubernetes`; its pods end with the
    test."""
    eventually("the pool is empty", lambda: not nodes(api))
    (tmp_path / ".sky" / "catalogs" / "v8" / "kubernetes").mkdir(parents=True)
    (tmp_path / ".sky" / "catalogs" / "v8" / "kubernetes" / "images.csv").write_text(IMAGES)
    for name in ("socat", "nc"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)

    def ask(**settings: Any) -> dict[str, Any]:
        # So that kwok lets its pod run.
        pod = {"metadata": {"annotations": {"rehearsal.gpucluster.dev/seconds": "3600"}}}
        (tmp_path / ".sky" / "config.yaml").write_text(yaml.safe_dump({"kubernetes": {**settings, "pod_config": pod}}))
        done = subprocess.run(
            [python, Path(__file__).with_name("launch.py"), "rehearsed", tmp_path],
            env={
                "HOME": str(tmp_path),
                "KUBECONFIG": str(retained.kubeconfig),
                "PATH": os.pathsep.join([str(tmp_path), str(python.parent), retained.variables["PATH"]]),
                "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    yield ask
    for pod in api.list(PODS, labelSelector="parent=skypilot"):
        api.delete(f"{PODS}/{pod['metadata']['name']}", gracePeriodSeconds=0)
    eventually("its node goes", lambda: not nodes(api))


def nodes(api: Api) -> list[str]:
    return [node["metadata"]["name"] for node in api.list("/api/v1/nodes", labelSelector=f"{POOL_LABEL}={POOL}")]


def test_with_the_autoscaler_named_it_scales_up_an_empty_pool(launch: Launch, api: Api) -> None:
    answer = launch(autoscaler="gke")
    assert answer["gpus"] == [], "a list of what nodes have, and there are none"
    assert answer["error"] is None
    (pod,) = api.list(PODS, labelSelector=f"skypilot-cluster={answer['cluster']}")
    assert pod["status"]["phase"] == "Running"
    assert pod["spec"]["nodeName"] in nodes(api)
    assert launch(autoscaler="gke")["gpus"] == ["T4"]


def test_without_an_autoscaler_named_it_launches_nothing(launch: Launch, api: Api) -> None:
    """The negative: why `autoscaler` has to be written."""
    answer = launch()
    assert (answer["gpus"], answer["feasible"]) == ([], [])
    assert api.list(PODS, labelSelector="parent=skypilot") == []
