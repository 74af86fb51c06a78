"""Ctrl-C while a job is watched: it ends the watching; a second one asks, and only then ends the job."""

from __future__ import annotations

import pytest

from gpu.cluster import Cluster
from gpu.commands import following


class FakeCluster(Cluster):
    """Notes what is deleted."""

    def __init__(self) -> None:
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
    following.follow(cluster, "ml", "train")
    return cluster.deleted


@pytest.mark.parametrize(
    ("again", "terminal", "answer"),
    [(False, True, True), (True, True, False), (True, False, True)],
    ids=["once", "twice, and no", "nobody to ask"],
)
def test_the_job_runs_on(monkeypatch: pytest.MonkeyPatch, again: bool, terminal: bool, answer: bool) -> None:
    assert interrupted(monkeypatch, again=again, terminal=terminal, answer=answer) == []


def test_twice_and_yes_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = interrupted(monkeypatch, again=True, terminal=True, answer=True)
    assert path == "/apis/batch/v1/namespaces/ml/jobs/train"
