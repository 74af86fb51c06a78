"""What a job of ``gpu submit`` saves in a claim is what a later pod prints, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from facts.jobs.job import TrainingJobSpec, manifests
from gpu.commands.saved_logs import reader_of
from rehearsal.cluster.api import Api, Object
from rehearsal.workloads.kubelet import SavedOutput


class Statuses:
    """An API that takes the pods' statuses alone."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def merge(self, path: str, change: Object) -> None:
        assert change == {"status": {"phase": "Failed"}}
        self.failed.append(path.split("/")[-2])


def bound(job: Object, uid: str, phase: str = "Running", namespace: str = "default") -> Object:
    """A pod of a Job, as the Job controller makes it."""
    name = job["metadata"]["name"]
    about = {"name": uid, "uid": uid, "namespace": namespace, "labels": {"batch.kubernetes.io/job-name": name}}
    return {"metadata": about, "spec": job["spec"]["template"]["spec"], "status": {"phase": phase}}


@pytest.fixture
def api() -> Statuses:
    return Statuses()


@pytest.fixture
def saved(api: Statuses, tmp_path: Path) -> SavedOutput:
    (tmp_path / "logs").mkdir()
    return SavedOutput(cast(Api, api), tmp_path / "claims", tmp_path / "logs")


def training(**changes: Any) -> Object:
    usual: dict[str, Any] = {"name": "train", "namespace": "default", "image": "x", "pools": ("t4-1",), "taints": ()}
    return manifests(TrainingJobSpec(**{**usual, "command": ("python", "train.py"), "volume": "shared", **changes}))[0]


def printed(tmp_path: Path) -> list[str]:
    return (tmp_path / "logs" / "reader.log").read_text().splitlines()


def test_a_job_s_line_is_printed_by_the_pod_that_reads_its_file(saved: SavedOutput, tmp_path: Path) -> None:
    job = training()
    for phase in ("Pending", "Running", "Succeeded"):
        saved.note(bound(job, "pod", phase))
    saved.note(bound(job, "second attempt", "Succeeded"))
    saved.note(bound(reader_of(job, "/shared/.logs/train/0.log"), "reader"))
    first, second = printed(tmp_path)
    assert first == second
    assert first.startswith("train: a rehearsal simulates its machines, so this program did not run.")


@pytest.mark.parametrize(
    ("job", "file", "namespace"),
    [
        (training(), "/shared/.logs/train/1.log", "default"),  # another run's
        (training(volume=None), "/shared/.logs/train/0.log", "default"),  # saves nothing
        (training(), "/shared/.logs/train/0.log", "ml"),  # another namespace's claim
        (training(), "/shared/../default/shared/.logs/train/0.log", "default"),
        (training(), "/etc/hostname", "default"),
    ],
)
def test_a_pod_that_reads_another_file_fails(
    saved: SavedOutput, api: Statuses, tmp_path: Path, job: Object, file: str, namespace: str
) -> None:
    saved.note(bound(job, "pod"))
    saved.note(bound(reader_of(job, file), "reader", namespace=namespace))
    assert api.failed == ["reader"]
    assert list((tmp_path / "logs").iterdir()) == []
