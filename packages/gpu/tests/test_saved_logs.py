"""A job's output outlives its pod: the container saves it, and ``gpu logs`` reads it or says where it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.jobs.job import TrainingJobSpec, manifests
from facts.jobs.sweep import Sweep
from gpu.cluster import ClusterError
from gpu.commands import jobs, saved_logs
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place

__all__ = ["gpu"]

PROGRAM = """
import signal, sys, time
def stop(*_):
    print("stopping", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, stop)
print("to output", flush=True)
print("to error", file=sys.stderr, flush=True)
if sys.argv[1] == "wait":
    time.sleep(60)
sys.exit(int(sys.argv[1]))
"""


def made(**changes: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"name": "train", "namespace": "ml", "image": "x", "pools": ("t4-1",), "taints": ()}
    return manifests(TrainingJobSpec(**{**usual, "volume": "shared", **changes}))[0]


class Container:
    """Runs a job's command as its container would, with the container's folders moved to ``folder``."""

    def __init__(self, folder: Path, *argument: str, **changes: Any) -> None:
        job = made(command=(sys.executable, "-c", PROGRAM, *argument), **changes)
        self.annotations = job["metadata"].get("annotations")
        command = job["spec"]["template"]["spec"]["containers"][0]["command"]
        self.shared, memory = folder / "shared", folder / "memory"
        memory.mkdir(exist_ok=True)
        self.command = [word.replace("/dev/shm", str(memory)).replace("/shared", str(self.shared)) for word in command]

    def start(self, **variables: str) -> subprocess.Popen[str]:
        environment = {**os.environ, **variables}
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        return subprocess.Popen(self.command, env=environment, stdout=pipe, stderr=both, text=True)


def test_the_output_is_printed_and_saved_with_the_programs_exit_code(tmp_path: Path) -> None:
    container = Container(tmp_path, "3")
    assert container.annotations == {"gpucluster.dev/logs": "/shared/.logs/train"}
    container.shared.mkdir()
    process = container.start()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert sorted(out.splitlines()) == ["to error", "to output"]
    file = container.shared / ".logs" / "train" / "0.log"
    assert file.read_text() == out
    assert file.parents[1].stat().st_mode & 0o777 == 0o777, "jobs of other users save theirs beside it"


def test_each_run_of_a_sweep_has_its_own_file_and_a_second_attempt_is_appended(tmp_path: Path) -> None:
    container = Container(tmp_path, "0", sweep=Sweep({"lr": ("1", "2")}))
    container.shared.mkdir()
    for _ in range(2):
        assert container.start(JOB_COMPLETION_INDEX="1").wait(60) == 0
        assert not [*(tmp_path / "memory").iterdir()], "pods with MPS share that folder"
    (file,) = (container.shared / ".logs" / "train").iterdir()
    assert (file.name, len(file.read_text().splitlines())) == ("1.log", 4)


def test_a_signal_reaches_the_program_whose_last_words_are_saved(tmp_path: Path) -> None:
    container = Container(tmp_path, "wait")
    container.shared.mkdir()
    process = container.start()
    assert process.stdout is not None
    first = [process.stdout.readline(), process.stdout.readline()]
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait(60) == 7
    assert rest == "stopping\n"
    assert (container.shared / ".logs" / "train" / "0.log").read_text() == "".join(first) + rest


def test_a_program_runs_although_nothing_can_be_saved(tmp_path: Path) -> None:
    container = Container(tmp_path, "0")
    container.shared.write_text("no folder")
    process = container.start()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, sorted(out.splitlines())) == (0, ["to error", "to output"])


@pytest.mark.parametrize("changes", [{"volume": None}, {"command": ()}])
def test_without_a_volume_or_a_command_nothing_is_saved(changes: dict[str, Any]) -> None:
    job = made(**{"command": ("true",), **changes})
    assert "annotations" not in job["metadata"]
    assert job["spec"]["template"]["spec"]["containers"][0].get("command", ["true"]) == ["true"]


class Cluster(FakeCluster):
    """Has a finished job of two runs, whose pods were deleted. ``phase``: how the reader ends."""

    saves = True
    sees_nodes = False
    phase = "Succeeded"
    published = offer(pool())

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        super().__init__(context, namespace or "ml")

    def offer(self) -> Any:
        return self.published

    def find(self, path: str) -> dict[str, Any] | None:
        annotations = {"annotations": {"gpucluster.dev/logs": "/shared/.logs/train"}} if self.saves else {}
        template = {"spec": {"priorityClassName": "gpucluster-low"}}
        return {
            "metadata": {"name": "train", "namespace": "ml", "uid": "u", **annotations},
            "spec": {"completions": 2, "completionMode": "Indexed", "template": template},
            "status": {"conditions": [{"type": "Complete", "status": "True"}]},
        }

    def list(self, path: str, **query: Any) -> list[dict[str, Any]]:
        reads = query.get("labelSelector", "").startswith("batch.kubernetes.io/job-name=gpu-logs-")
        return [{"metadata": {"name": "reader"}, "status": {"phase": self.phase}}] if reads else []

    def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
        assert (namespace, pod) == ("ml", "reader")
        return [("2026-11-22T08:00:01Z", "step 1"), ("2026-11-22T08:00:02Z", "step 2")]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    monkeypatch.setattr("time.sleep", lambda _: None)
    return in_place(monkeypatch, Cluster, jobs)


@pytest.mark.parametrize("options", [(), ("--no-follow",)])
def test_a_saved_log_is_read_by_a_pod_that_goes(gpu: Run, cluster: type[Cluster], options: tuple[str, ...]) -> None:
    code, out, err = gpu("logs", "train", "--index", "1", *options)
    assert (code, out) == (0, "step 1\nstep 2\n")
    assert "deleted with its node" in err
    (reader,) = cluster.created
    spec = reader["spec"]["template"]["spec"]
    assert spec["containers"][0]["command"][-1] == "/shared/.logs/train/1.log"
    assert spec["volumes"] == [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}]
    assert spec["priorityClassName"] == "gpucluster-low"
    assert "nvidia.com/gpu" not in str(reader)
    assert cluster.deleted == [f"/apis/batch/v1/namespaces/ml/jobs/{reader['metadata']['name']}"]


@pytest.mark.parametrize("phase", ["Failed", "Pending"])
def test_a_log_that_cannot_be_read_is_reported_and_the_reader_is_deleted(
    gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    monkeypatch.setattr(cluster, "phase", phase)
    monkeypatch.setattr(saved_logs, "_SECONDS", 0.05)
    code, out, err = gpu("logs", "train", "--no-follow")
    assert (code, out) == (1, "")
    assert "train has saved no log in /shared/.logs/train/0.log" in err
    assert len(cluster.deleted) == 1


CLOUD_LOGS = "cloud-logs read {region} cluster={cluster} namespace={namespace} pods={pods}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_command": CLOUD_LOGS}, "cloud-logs read region cluster=gpu-dev namespace=ml pods=^train-1-"),
        ({"volume_namespace": "default"}, "in namespace default save theirs in the shared volume"),
        ({}, "nothing saves logs here; ask your administrator for `workloads: {sharedVolume: {}}`\n"),
        ({"log_setting": "addons: [logs]"}, "for `workloads: {sharedVolume: {}}` or `addons: [logs]`\n"),
    ],
)
def test_a_log_that_was_not_saved_is_in_the_clouds_store_or_lost(
    gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(cluster, "saves", False)
    monkeypatch.setattr(cluster, "published", replace(offer(pool()), **changes))
    code, out, err = gpu("logs", "train", "--index", "1", "--no-follow")
    assert (code, out) == (1, "")
    assert message in err
    assert cluster.created == []


def test_a_log_that_was_deleted_although_its_pod_was_not_is_read_as_well(
    gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {}}}]}
    about = {"name": "train-0-x", "namespace": "ml", "uid": "p", "creationTimestamp": "2026-11-22T08:00:00Z"}

    class NodeGone(cluster):
        def list(self, path: str, **query: Any) -> list[dict[str, Any]]:
            pods = [{"metadata": about, "spec": {}, "status": ended}] if path.endswith("/pods") else []
            return super().list(path, **query) or pods

        def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
            if pod == "train-0-x":
                raise ClusterError("nodes not found", 404)
            return super().log(namespace, pod, since)

    monkeypatch.setattr(jobs, "ClusterClient", NodeGone)
    for options in ((), ("--no-follow",)):
        assert gpu("logs", "train", *options)[:2] == (0, "step 1\nstep 2\n")
