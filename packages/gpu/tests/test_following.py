"""Following a job: Ctrl-C stops following, a second one asks before it stops the job; deleted logs are reported."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import typer

from gpu.cluster import ClusterClient, ClusterError
from gpu.commands import following, jobs
from packages.gpu.tests.offers import offer, pool


class FakeCluster(ClusterClient):
    """Notes what is deleted."""

    def __init__(self) -> None:
        self.namespace = "ml"
        self.deleted: list[str] = []

    def delete(self, path: str) -> None:
        self.deleted.append(path)


def interrupted(monkeypatch: pytest.MonkeyPatch, *, again: bool, terminal: bool, answer: bool) -> list[str]:
    """What is deleted after Ctrl-C, and another one if ``again``, with ``answer`` to the question."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    cluster = FakeCluster()
    monkeypatch.setattr(following, "_watch", interrupt)
    monkeypatch.setattr("time.sleep", interrupt if again else lambda _: None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: answer)
    following.follow(cluster, "train")
    return cluster.deleted


@pytest.mark.parametrize(
    ("again", "terminal", "answer"),
    [
        pytest.param(False, True, True, id="once"),
        pytest.param(True, True, False, id="twice, and no"),
        pytest.param(True, False, True, id="nobody to ask"),
    ],
)
def test_the_job_runs_on(monkeypatch: pytest.MonkeyPatch, again: bool, terminal: bool, answer: bool) -> None:
    assert interrupted(monkeypatch, again=again, terminal=terminal, answer=answer) == []


def test_twice_and_yes_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = interrupted(monkeypatch, again=True, terminal=True, answer=True)
    assert path == "/apis/batch/v1/namespaces/ml/jobs/train"


class Ended(ClusterClient):
    """Has a job of two runs that is done, and the pod of the second; the first went with its node."""

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        self.context, self.namespace = context or "here", namespace or "ml"

    def find(self, path: str) -> dict[str, Any] | None:
        done = {"conditions": [{"type": "Complete", "status": "True"}]}
        metadata = {"name": "train", "namespace": "ml", "uid": "u"}
        return {"metadata": metadata, "spec": {"completions": 2}, "status": done}

    def list(self, path: str, **query: Any) -> list[dict[str, Any]]:
        about = {"name": "train-1-x", "namespace": "ml", "uid": "p", "creationTimestamp": "2026-11-22T08:00:00Z"}
        index = {"batch.kubernetes.io/job-completion-index": "1"}
        status = {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {}}}]}
        return [{"metadata": {**about, "annotations": index}, "spec": {}, "status": status}] if "pods" in path else []

    def offer(self) -> Any:
        return offer(pool())

    def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
        return [("2026-11-22T08:00:01Z", "its words")]


def test_stop_with_an_unknown_name_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneJob(FakeCluster):
        deleted: list[str] = []  # noqa: RUF012  of all instances

        def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
            self.context, self.namespace = context or "here", namespace or "ml"

        def find(self, path: str) -> dict[str, Any] | None:
            return {} if path.endswith("/train") else None

    monkeypatch.setattr(jobs, "ClusterClient", OneJob)
    with pytest.raises(ClusterError, match="no job nope in ml; no job was stopped"):
        jobs.stop(["train", "nope"])
    assert OneJob.deleted == []
    jobs.stop(["train"])
    assert OneJob.deleted == ["/apis/batch/v1/namespaces/ml/jobs/train"]


@pytest.mark.parametrize("no_follow", [True, False])
def test_a_log_that_went_with_its_node_is_said_to_be_gone(
    no_follow: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jobs, "ClusterClient", Ended)
    with pytest.raises(typer.Exit) if no_follow else nullcontext():
        jobs.logs("train", index=0, no_follow=no_follow)
    assert "deleted with its node" in capsys.readouterr().err
    jobs.logs("train", index=1, no_follow=no_follow)
    output = capsys.readouterr()
    assert output.out == "its words\n"
    assert "deleted" not in output.err
    with pytest.raises(typer.Exit) as refused:
        jobs.logs("train", index=2, no_follow=no_follow)
    assert refused.value.exit_code == 2
    assert "0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize(("written", "index"), [("2", 2), ("", 0), ("x", 0), ("-1", 0), ("1e3", 0), ("9" * 5000, 0)])
def test_the_index_of_a_pod_is_a_number_whatever_a_colleague_writes(written: str, index: int) -> None:
    assert following.index_of({"metadata": {"annotations": {following.INDEX_ANNOTATION: written}}}) == index


def test_texts_of_events_are_as_long_as_kubernetes_writes_them() -> None:
    class Noisy(FakeCluster):
        def list_if_allowed(self, path: str, **query: Any) -> list[dict[str, Any]]:
            return [{"message": "x" * 1_000_000}, {"message": None}, {}]

    assert [len(event["message"]) for event in following.events_of(Noisy(), "ml")] == [4096, 0, 0]
