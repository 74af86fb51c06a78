"""A message when a job has ended: what is created for it, where its URL is, and what the pod beside the job posts."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import certifi
import pytest

from gpu.cluster import ClusterError, Reply
from gpu.commands import submission
from gpu.notifier import outcome
from packages.gpu.tests.api_server import serving
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place

__all__ = ["gpu"]

URL = "https://hooks.example.com/services/T0/B0/very-secret"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/gpu-notifier"
ARGUMENTS = ("submit", "--image", "x", "--name", "train", "--detach")


class Cluster(FakeCluster):
    """Has the notifier's account in ``default``."""

    def find(self, path: str) -> dict[str, Any] | None:
        return {} if path == ACCOUNT else None


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    return in_place(monkeypatch, Cluster, submission)


def test_the_url_is_in_a_secret_that_goes_with_the_job_and_nowhere_else(gpu: Run, cluster: type[Cluster]) -> None:
    code, out, err = gpu(*ARGUMENTS, "--notify", URL, "--json")
    assert code == 0
    by_kind = {f"{each['kind']} {each['metadata']['name']}": each for each in cluster.created}
    secret = by_kind["Secret train-notify"]
    assert base64.b64decode(secret["data"]["url"]).decode() == URL
    others = [each for each in cluster.created if each is not secret]
    shown = json.dumps([others, out, err])
    assert "very-secret" not in shown
    assert base64.b64encode(URL.encode()).decode() not in shown
    for each in (secret, by_kind["Job train-notify"]):
        assert [owner["name"] for owner in each["metadata"]["ownerReferences"]] == ["train"]


def test_the_pod_beside_the_job_has_the_account_and_the_jobs_own_pods_do_not(gpu: Run, cluster: type[Cluster]) -> None:
    gpu(*ARGUMENTS, "--notify", URL)
    jobs = {each["metadata"]["name"]: each for each in cluster.created if each["kind"] == "Job"}
    pod = jobs["train-notify"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "gpu-notifier"
    expected = {"name": "URL", "valueFrom": {"secretKeyRef": {"name": "train-notify", "key": "url"}}}
    assert pod["containers"][0]["env"][-1] == expected
    assert "nvidia.com/gpu" not in json.dumps(pod)
    assert "notif" not in json.dumps(jobs["train"])


def test_the_environment_may_hold_the_url(gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_NOTIFY", URL)
    assert gpu(*ARGUMENTS)[0] == 0
    assert "Secret" in {each["kind"] for each in cluster.created}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--notify", "hooks.example.com/very-secret"], 2, "write the webhook's URL"),
        (["--notify", "https://hooks.example.com/very secret"], 2, "write the webhook's URL"),
        (["--notify", URL, "--team", "elsewhere"], 3, "namespace elsewhere has no service account gpu-notifier"),
    ],
)
def test_what_could_not_notify_is_refused_without_printing_the_url(
    gpu: Run, cluster: type[Cluster], options: list[str], code: int, message: str
) -> None:
    exit_code, out, err = gpu(*ARGUMENTS, *options)
    assert (exit_code, message in err, cluster.created) == (code, True, [])
    assert "very" not in out + err


def test_a_dry_run_prints_all_but_the_secret(gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_NOTIFY", URL)
    exit_code, out, err = gpu(*ARGUMENTS, "--dry-run")
    assert (exit_code, cluster.created, "kind: Job" in out) == (0, [], True)
    assert "left out: what --notify creates" in err
    assert "very" not in out + err


def test_without_a_right_nothing_is_left(gpu: Run, cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    create = cluster.create

    def refusing(self: Cluster, manifest: dict[str, Any]) -> Reply:
        if manifest["kind"] == "Secret":
            raise ClusterError("secrets is forbidden", 403)
        return create(self, manifest)

    monkeypatch.setattr(cluster, "create", refusing)
    assert gpu(*ARGUMENTS, "--notify", URL)[0] == 3
    assert cluster.deleted == ["/apis/batch/v1/namespaces/default/jobs/train"]


def a_job(kind: str | None, *, runs: int = 1, ended: str = "2026-01-01T02:05:00Z", **status: Any) -> dict[str, Any]:
    metadata = {"name": "train", "namespace": "ml", "creationTimestamp": "2026-01-01T00:00:00Z"}
    condition = {"type": kind, "status": "True", "lastTransitionTime": ended}
    conditions = [condition] if kind else []
    return {"metadata": metadata, "spec": {"completions": runs}, "status": {**status, "conditions": conditions}}


@pytest.mark.parametrize(
    ("job", "reason", "text"),
    [
        ({"kind": "Complete"}, None, "GPU job train in ml succeeded 2 h 5 min after it was submitted"),
        (
            {"kind": "Failed", "ended": "2026-01-01T00:07:59Z"},
            None,
            "GPU job train in ml failed 7 min after it was submitted",
        ),
        ({"kind": "Failed"}, "DeadlineExceeded", "GPU job train in ml timed out 2 h 5 min after it was submitted"),
        (
            {"kind": "Failed", "runs": 10, "succeeded": 8},
            "Evicted",
            "GPU job train in ml failed 2 h 5 min after it was submitted (8 of 10 runs succeeded)",
        ),
        ({"kind": None, "active": 1}, None, None),
        ({"kind": "FailureTarget"}, None, None),
        ({"kind": "Suspended"}, None, None),
    ],
)
def test_how_a_job_ended_in_a_sentence(job: dict[str, Any], reason: str | None, text: str | None) -> None:
    assert outcome(a_job(**job), [{"status": {"phase": "Failed", "reason": reason}}]) == text


JOB, PODS, HOOK = "/apis/batch/v1/namespaces/ml/jobs/train", "/api/v1/namespaces/ml/pods", "/services/very-secret"


def run_beside(job_objects: dict[str, Any], hook: dict[str, Any], folder: Path) -> tuple[int, str, list[Any]]:
    """What ``python -c`` does in the pod: its exit code, its output and what the webhook got."""
    (folder / "token").write_text("t")
    (folder / "ca.crt").write_bytes(Path(certifi.where()).read_bytes())
    posted: list[Any] = []
    with serving(job_objects) as api, serving(hook, posted) as webhook:
        place = {"NAMESPACE": "ml", "JOB": "train", "URL": webhook + HOOK}
        own = {"SERVICE_ACCOUNT_FOLDER": str(folder), "API_SERVER": api, "POLL_SECONDS": "0.001"}
        script = (Path(submission.__file__).parents[1] / "notifier.py").read_text()
        command = ["python3", "-I", "-c", script]
        done = subprocess.run(command, env={**os.environ, **place, **own}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr, posted


def test_the_end_is_posted_once_and_the_url_is_not_in_the_log(tmp_path: Path) -> None:
    timed_out = [{"status": {"phase": "Failed", "reason": "DeadlineExceeded"}}]
    code, log, posted = run_beside({JOB: a_job("Failed"), PODS: timed_out}, {HOOK: {}}, tmp_path)
    assert (code, posted) == (0, [{"text": "GPU job train in ml timed out 2 h 5 min after it was submitted"}])
    assert "very-secret" not in log


def test_a_webhook_that_refuses_is_tried_again_and_then_the_pod_fails(tmp_path: Path) -> None:
    code, log, _ = run_beside({JOB: a_job("Complete"), PODS: []}, {HOOK: 500}, tmp_path)
    assert code == 1
    assert log.count("the webhook did not accept it: 500") == 9
    assert "very-secret" not in log


def test_of_a_job_that_was_stopped_there_is_no_message(tmp_path: Path) -> None:
    code, _, posted = run_beside({}, {HOOK: {}}, tmp_path)
    assert (code, posted) == (0, [])
