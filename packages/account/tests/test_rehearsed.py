"""``prove`` on a rehearsed cluster, which it knows by its kubeconfig alone: API server and controllers are real."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from account.prove.plan import ENDING_SECONDS, KEPT_SECONDS, LABEL
from packages.account.tests.transcript import PAGE, comparable
from packages.rehearsal.tests.retained_cluster import RetainedCluster, retained_cluster
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.engine.stack import ROOT

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

NAME = "proved"
"""The stack's name here: other tests rehearse the same stack at the same time."""
_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {{gpucluster.dev/pool: {pool}}}
      tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
      containers: [{{name: main, image: x, command: [sleep, "3600"], resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


@pytest.fixture(scope="module")
def retained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetainedCluster]:
    folder = tmp_path_factory.mktemp("proved")
    stack = folder / f"{NAME}.yaml"
    stack.write_text((ROOT / "Pulumi.dev.yaml").read_text())
    with retained_cluster(stack) as cluster:
        yield cluster


@pytest.fixture
def cluster(retained: RetainedCluster) -> Iterator[RetainedCluster]:
    """With no GPU node, and without what a test left."""
    eventually("no GPU node", lambda: "t4" not in retained.output("kubectl get nodes -o name"))
    yield retained
    retained.shell("kubectl delete job,pod --all -n default --wait=false; kubectl delete pod stray -n kube-system "
                   "--ignore-not-found --wait=false")  # fmt: skip


def proved(cluster: RetainedCluster, options: str, code: int) -> dict[str, Any]:
    printed = cluster.shell(f"gpucluster prove {NAME} --yes --max-usd 5 {options}", code)
    report = json.loads((ROOT / "build" / "prove" / NAME / "cluster.json").read_text())
    assert report["verdict"].upper() in printed.splitlines()[-1]
    return {row["id"]: row for row in report["rows"]}


def jobs(cluster: RetainedCluster) -> list[str]:
    return cluster.output(f"kubectl get jobs -n default -l {LABEL} -o name").split()


def test_a_working_cluster_shows_all_but_the_driver_to_its_administrator(cluster: RetainedCluster) -> None:
    rows = proved(cluster, "", 0)
    assert {row["result"] for row in rows.values()} == {"shown", "not shown"}
    assert {each for each, row in rows.items() if row["result"] == "not shown"} == {"driver:t4-1", "driver:t4-4"}
    assert jobs(cluster) == []


def test_the_page_shows_what_is_printed(cluster: RetainedCluster) -> None:
    """test_prove.py has the same in process."""
    (whole, of_cluster), (part, of_stack) = PAGE.steps
    copy = next(cluster.run_dir.glob(f"stack/*Pulumi.{NAME}.yaml"))
    for command, shown in ((whole, of_cluster), (part.replace(PAGE.stack.name, str(copy)), of_stack)):
        printed = cluster.shell(re.sub(r"\bprove dev\b", f"prove {NAME}", command))
        assert comparable(printed) == comparable(re.sub(r"\bdev\b", NAME, shown)), command


def test_a_developers_rights_are_enough_for_the_first_jobs(cluster: RetainedCluster) -> None:
    rows = proved(cluster.as_developer(), "", 0)
    assert {rows[each]["result"] for each in ("job:t4-1", "job:t4-4", "taint:t4-1", "oversized")} == {"shown"}


def test_kill_9_leaves_jobs_that_end_by_themselves(cluster: RetainedCluster) -> None:
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{_JOB.format(name='theirs', pods=4, pool='t4-1')}\nEND")
    eventually("four nodes", lambda: cluster.output("kubectl get nodes -o name").count("t4-1") == 4)
    command = ["gpucluster", "prove", NAME, "--yes", "--max-usd", "5", "--pools", "t4-1", "--minutes", "1"]
    with subprocess.Popen(command, cwd=ROOT, env=cluster.variables, stdout=subprocess.DEVNULL) as process:
        eventually("Jobs", lambda: len(jobs(cluster)) >= 2)
        os.kill(process.pid, signal.SIGKILL)
    created = time.monotonic()
    assert len(jobs(cluster)) >= 2
    while jobs(cluster):
        assert time.monotonic() - created < 60 + ENDING_SECONDS + KEPT_SECONDS
        time.sleep(5)
    assert cluster.output("kubectl get jobs -n default -o name").split() == ["job.batch/theirs"]


def test_a_pool_that_another_user_fills_is_named(cluster: RetainedCluster) -> None:
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{_JOB.format(name='theirs', pods=4, pool='t4-1')}\nEND")
    eventually("four nodes", lambda: cluster.output("kubectl get nodes -o name").count("t4-1") == 4)
    rows = proved(cluster, "--pools t4-1 --minutes 1", 1)
    assert "default/theirs-" in rows["zero:t4-1"]["detail"]
    assert rows["job:t4-1"]["result"] == "failed"
    assert "maxNodes" in rows["job:t4-1"]["detail"]
    assert cluster.output("kubectl get job theirs -n default -o jsonpath={.status.active}") == "4"


def test_a_system_pod_on_a_gpu_node_is_named(cluster: RetainedCluster) -> None:
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{_JOB.format(name='theirs', pods=1, pool='t4-1')}\nEND")
    eventually("a node", lambda: "t4-1" in cluster.output("kubectl get nodes -o name"))
    stray = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stray", "namespace": "kube-system"},
        "spec": {
            "nodeSelector": {"gpucluster.dev/pool": "t4-1"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "main", "image": "x", "command": ["sleep", "3600"]}],
        },
    }
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{yaml.safe_dump(stray)}\nEND")
    eventually("the pod", lambda: "t4-1" in cluster.output("kubectl get pod stray -n kube-system -o wide"))
    rows = proved(cluster, "--pools t4-4", 1)
    assert (rows["system"]["result"], "kube-system/stray" in rows["system"]["detail"]) == ("failed", True)


def test_the_report_stands_beside_the_rehearsals(cluster: RetainedCluster) -> None:
    proved(cluster, "--pools t4-1", 0)
    folder = ROOT / "build" / "prove" / NAME
    report = json.loads((folder / "cluster.json").read_text())
    rehearsed = json.loads(Path(ROOT / "build" / "rehearsal" / NAME / "report.json").read_text())
    assert report["stack"] == rehearsed["stack"] == NAME
    (node,) = report["pools"]["t4-1"]["nodes"]
    assert node["allocatable"]["nvidia.com/gpu"] == "1"
    assert any(words.startswith("Scheduled: ") for words in report["pools"]["t4-1"]["events"])
    assert {row["what"] for row in report["differences"]} <= {"seconds until its first job runs (compressed time)"}


def test_a_wrong_label_and_a_job_of_somebody_else_are_named_while_the_pool_is_proved(cluster: RetainedCluster) -> None:
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{_JOB.format(name='theirs', pods=1, pool='t4-1')}\nEND")
    eventually("a node", lambda: "t4-1" in cluster.output("kubectl get nodes -o name"))
    cluster.output("kubectl label node -l gpucluster.dev/pool=t4-1 --overwrite gpucluster.dev/gpu=nvidia-l4")
    rows = proved(cluster, "--pools t4-1", 1)
    assert "label gpucluster.dev/gpu is 'nvidia-l4', declared is 'nvidia-t4'" in rows["nodes"]["detail"]
    assert (rows["zero:t4-1"]["result"], "default/theirs-" in rows["zero:t4-1"]["detail"]) == ("not shown", True)
    assert rows["job:t4-1"]["result"] == "shown"
    assert cluster.output("kubectl get job theirs -n default -o jsonpath={.status.active}") == "1"


def test_a_quota_of_the_namespace_is_named(cluster: RetainedCluster) -> None:
    cluster.output("kubectl create quota theirs -n default --hard=requests.nvidia.com/gpu=0")
    try:
        rows = proved(cluster, "--pools t4-1 --minutes 1", 1)
    finally:
        cluster.output("kubectl delete quota theirs -n default")
    assert (rows["job:t4-1"]["result"], "quota exceeded" in rows["job:t4-1"]["detail"]) == ("failed", True)


def test_a_removed_taint_is_named(cluster: RetainedCluster) -> None:
    """The last one: other pods may move to such a node, which then stays."""
    cluster.output(f"cat <<'END' | kubectl apply -f -\n{_JOB.format(name='theirs', pods=1, pool='t4-1')}\nEND")
    taints = "kubectl get nodes -l gpucluster.dev/pool=t4-1 -o jsonpath={.items[*].spec.taints[*].key}"
    eventually("a node with its taint alone", lambda: cluster.output(taints) == "nvidia.com/gpu")
    cluster.output("kubectl taint node -l gpucluster.dev/pool=t4-1 nvidia.com/gpu-")
    rows = proved(cluster, "--pools t4-1", 1)
    assert "taint nvidia.com/gpu=present:NoSchedule is missing" in rows["nodes"]["detail"]
    assert rows["taint:t4-1"]["result"] == "failed"
