"""A container for shells: entered when it runs, entered again while it lasts, ended when nobody uses it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from facts.jobs.runner import until_idle
from gpu.commands import dev, jobs
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place

__all__ = ["gpu"]

# Removes the sign of use in its fifth call, then is quick.
SLEEP = """#!/bin/sh
echo >> {folder}/calls
if [ $(wc -l < {folder}/calls) -eq 5 ]; then {change}; fi
"""


def rounds(folder: Path, change: str) -> tuple[int, int]:
    """The exit code of a container that ends after 20 idle seconds, and how many rounds of 10 seconds it took."""
    for name in ("bin", "proc/1", "pts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "proc/1/comm").write_text("sh\n")
    (folder / "bin/sleep").write_text(SLEEP.format(folder=folder, change=change))
    (folder / "bin/sleep").chmod(0o755)
    command = [word.replace("/proc", f"{folder}/proc").replace("/dev/pts", f"{folder}/pts") for word in until_idle(20)]
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, timeout=60, check=False)
    return done.returncode, len((folder / "calls").read_text().splitlines())


@pytest.mark.parametrize(
    ("in_use", "change", "expected"),
    [
        pytest.param("proc/1/comm", "true", [0, 2], id="only shells are left"),
        pytest.param("proc/7/comm", "rm -r {folder}/proc/7", [0, 6], id="a program"),
        pytest.param("pts/0", "touch -d '2 minutes ago' {folder}/pts/0", [0, 6], id="a shell that is used"),
        pytest.param("pts/0", "kill -TERM $PPID", [0, 5], id="it is told to stop"),
    ],
)
def test_it_lasts_while_it_is_used(tmp_path: Path, in_use: str, change: str, expected: list[int]) -> None:
    (tmp_path / in_use).parent.mkdir(parents=True)
    (tmp_path / in_use).write_text("python\n")
    assert rounds(tmp_path, change.format(folder=tmp_path)) == tuple(expected)


class Cluster(FakeCluster):
    """Runs what is created."""

    def find(self, path: str) -> dict[str, Any] | None:
        of_jobs = "/apis/batch/v1/namespaces/default/jobs"
        jobs_by_path = {f"{of_jobs}/{each['metadata']['name']}": each for each in self.created}
        job = jobs_by_path.get(path)
        return None if job is None else {**job, "metadata": {**job["metadata"], "uid": "u"}, "status": {}}

    def list(self, path: str, **query: Any) -> list[dict[str, Any]]:
        about = {"name": "dev-x", "namespace": "default", "uid": "p", "creationTimestamp": "2026-11-22T08:00:00Z"}
        return [{"metadata": about, "spec": {}, "status": {"phase": "Running"}}]

    def list_if_allowed(self, path: str, **query: Any) -> list[dict[str, Any]] | None:
        return []


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the command becomes; it ends there."""
    words: list[str] = []

    def become(program: str, arguments: list[str]) -> None:
        words[:] = arguments
        raise SystemExit(0)

    in_place(monkeypatch, Cluster, dev, jobs)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("os.execv", become)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    return words


def test_a_shell_opens_and_is_entered_again(gpu: Run, executed: list[str]) -> None:
    code, _, err = gpu("dev", "--gpus", "4", "--idle", "10m", "--timeout", "2h")
    assert code == 0
    assert "dev ends after 10m without use, at the latest after 2h" in err
    assert "VS Code attaches to pod dev-… in default" in err
    assert "spot" not in err
    place = ["kubectl", "--context", "here", "--namespace", "default"]
    assert executed[:9] == [*place, "exec", "-it", "pod/dev-x", "--"]
    job = dev.ClusterClient().find("/apis/batch/v1/namespaces/default/jobs/dev")
    assert job is not None
    pod = job["spec"]["template"]["spec"]
    assert pod["activeDeadlineSeconds"] == 7200
    assert pod["containers"][0]["command"][-1] == "600"
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 4, "ephemeral-storage": "51200Mi"}
    assert job["spec"]["ttlSecondsAfterFinished"] == 60
    executed.clear()
    code, _, err = gpu("dev")
    assert (code, err, executed[5]) == (0, "", "exec"), "nothing is created"


def test_who_edits_files_on_a_spot_node_is_told_that_they_may_be_lost(gpu: Run, executed: list[str]) -> None:
    code, _, err = gpu("dev")
    told = "the cloud may reclaim a spot node at any time: its files are then lost; --no-spot avoids that"
    assert (code, told in " ".join(err.split())) == (0, True), err


def test_without_a_terminal_no_container_is_made_and_one_that_is_there_reads_commands(
    gpu: Run, executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu("dev", "--name", "mine")
    executed.clear()
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    code, _, err = gpu("dev", "--gpu", "t4")
    assert (code, executed) == (2, [])
    assert "needs a terminal" in err
    assert "gpu submit -- python train.py" in err
    assert dev.ClusterClient().find("/apis/batch/v1/namespaces/default/jobs/dev") is None
    assert gpu("dev", "--name", "mine")[0] == 0
    assert executed[5:7] == ["exec", "-i"]


def test_a_job_that_is_no_container_for_shells_is_left_alone(gpu: Run, executed: list[str]) -> None:
    pod = {"spec": {"containers": [{"command": ["python"]}]}}
    dev.ClusterClient().create({"metadata": {"name": "train", "namespace": "default"}, "spec": {"template": pod}})
    code, _, err = gpu("dev", "--name", "train")
    assert (code, "choose another --name" in err, executed) == (1, True, [])


@pytest.mark.parametrize(("owner", "code"), [("ada", 0), ("eve", 1), ("", 0)])
def test_nobody_enters_a_container_of_another_user(gpu: Run, executed: list[str], owner: str, code: int) -> None:
    gpu("dev")
    job = dev.ClusterClient().find("/apis/batch/v1/namespaces/default/jobs/dev")
    assert job is not None
    assert job["metadata"]["annotations"]["gpucluster.dev/user"] == "ada"
    job["metadata"]["annotations"]["gpucluster.dev/user"] = owner
    executed.clear()
    assert (gpu("dev")[0], bool(executed)) == (code, code == 0)
    assert (gpu("dev", "--name", "mine")[0], bool(executed)) == (0, True)


def test_ports_are_forwarded_from_the_jobs_pod(gpu: Run, executed: list[str]) -> None:
    gpu("dev")
    code, _, err = gpu("forward", "dev", "8888", "8000:80")
    assert (code, "other users of this computer" in err, "keep the program's own login on" in err) == (0, True, True)
    assert executed[5:] == ["port-forward", "pod/dev-x", "8888", "8000:80"]
    executed.clear()
    for wrong in ("http", "80:", ":80"):
        assert gpu("forward", "dev", wrong)[0] == 2
    assert executed == []


def test_without_kubectl_nothing_is_created(gpu: Run, executed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    code, _, err = gpu("dev")
    assert (code, "kubectl" in err) == (3, True)
    assert dev.ClusterClient().find("/apis/batch/v1/namespaces/default/jobs/dev") is None
