"""``gpu list`` shows age and user and takes filters; ``gpu stop --mine`` stops what is mine and has not ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.ledger import USER
from facts.concepts.pool import POOL_LABEL
from gpu.cluster import ClusterClient, ClusterError
from gpu.commands.jobs import JOBS_AT_ONCE, gpu_job
from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import Run, gpu

__all__ = ["gpu"]

JOBS = "/apis/batch/v1/namespaces/default/jobs"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ME = {"status": {"userInfo": {"username": "ada"}}}


def job(name: str, minutes: float, user: str = "", ended: str = "") -> dict[str, Any]:
    """A job that is ``minutes`` old."""
    created = (datetime.now(timezone.utc) - timedelta(minutes=minutes, seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": created}
    metadata |= {"annotations": {USER: user}} if user else {}
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    conditions = [{"type": ended, "status": "True"}] if ended else []
    status = {"conditions": conditions, "succeeded": int(ended == "Complete")}
    return {"metadata": metadata, "spec": {"template": {"spec": {"containers": [container]}}}, "status": status}


def every() -> tuple[dict[str, Any], ...]:
    return (
        job("done", 1, "ada", "Complete"),
        job("train-1", 90, "ada"),
        job("train-2", 2, "eve"),
        job("other", 3 * 1440),
        job("failed", 30, "ada", "Failed"),
    )


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    with ExitStack() as stack:

        def with_objects(me: Any = ME) -> None:
            jobs = every()
            named = {f"{JOBS}/{each['metadata']['name']}": each for each in jobs}
            there = {**inventory(offer(pool())), JOBS: [*jobs], **named, REVIEW: me}
            there |= {f"/api/v1/namespaces/default/{kind}": [] for kind in ("pods", "events")}
            url = stack.enter_context(serving(there))
            monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))

        yield with_objects


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["train-2", "train-1", "other", "done", "failed"]),
        (["--mine"], ["train-1", "done", "failed"]),
        (["--unfinished"], ["train-2", "train-1", "other"]),
        (["--mine", "--unfinished"], ["train-1"]),
        (["train-*"], ["train-2", "train-1"]),
        (["done"], ["done"]),
        (["train-*", "--mine"], ["train-1"]),
    ],
)
def test_the_newest_come_first_and_those_that_ended_last(
    serve: Callable[..., None], gpu: Run, arguments: list[str], names: list[str]
) -> None:
    serve()
    assert [row["name"] for row in json.loads(gpu("list", *arguments, "--json")[1])] == names


@pytest.mark.parametrize(
    ("spec", "at_once"),
    [
        ({}, 2),
        ({"parallelism": 4, "completions": 4, "completionMode": "Indexed"}, 8),
        ({"parallelism": 3, "completions": 10}, 6),
        ({"parallelism": 5, "completions": 2}, 4),
        ({"parallelism": 0, "completions": 2}, 0),
    ],
)
def test_the_gpus_of_a_job_are_those_of_all_its_pods(
    serve: Callable[..., None], gpu: Run, monkeypatch: pytest.MonkeyPatch, spec: dict[str, int], at_once: int
) -> None:
    """As `gpu top` counts them once they run."""
    one = job("pair", 1)
    one["spec"] |= spec
    one["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 2
    monkeypatch.setitem(globals(), "every", lambda: (one,))
    serve()
    (row,) = json.loads(gpu("list", "--json")[1])
    assert (row["gpus"], row["gpusAtOnce"]) == (2, at_once)
    assert gpu("list")[1].splitlines()[1].split()[3] == str(at_once)


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (pool(hourly_usd=0.1), "stopped train-1: $0.10 so far"),
        (pool(hourly_usd=None), "stopped train-1"),
        (None, "stopped train-1"),
    ],
)
def test_a_stopped_job_says_what_it_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: Run, published: Any, said: str
) -> None:
    """An hour on one of the pool's nodes, which was there before; what is not known whole is not said."""
    started = (datetime.now(timezone.utc) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    train = job("train-1", 90)
    node = {"metadata": {"name": "n", "creationTimestamp": "2026-11-01T00:00:00Z", "labels": {POOL_LABEL: "t4-1"}}}
    pod = {
        "metadata": {"name": "train-1-x", "namespace": "default", "creationTimestamp": started},
        "spec": {**train["spec"]["template"]["spec"], "nodeName": "n"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": started}],
            "containerStatuses": [{"state": {"running": {"startedAt": started}}}],
        },
    }
    there = {f"{JOBS}/train-1": train, **({} if published is None else inventory(offer(published)))}
    there |= {"/api/v1/nodes": [node], "/api/v1/namespaces/default/pods": [pod]}
    with serving(there) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))
        code, _, err = gpu("stop", "train-1")
    assert (code, err) == (0, f"{said}\n")


def test_what_a_stopped_job_cost_is_in_its_month(serve: Callable[..., None], gpu: Run) -> None:
    serve()
    code, _, err = gpu("cost", "gone")
    assert code == 3
    assert "no job gone in default" in " ".join(err.split())
    assert "--month" in err


def test_each_has_its_age_and_its_user(serve: Callable[..., None], gpu: Run) -> None:
    serve()
    _, out, _ = gpu("list")
    head, *lines = out.splitlines()
    assert head.split() == ["job", "user", "age", "GPUs", "complete", "state"]
    assert [line.split()[:3] for line in lines] == [
        ["train-2", "eve", "2m"],
        ["train-1", "ada", "1h"],
        ["other", "–", "3d"],
        ["done", "ada", "1m"],
        ["failed", "ada", "30m"],
    ]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nothing-*"], "no GPU jobs matching nothing-* in namespace default"),
        (
            ["--mine", "--unfinished", "train-2"],
            "no unfinished GPU jobs matching train-2 of yours in namespace default",
        ),
    ],
)
def test_nothing_found_says_what_was_looked_for(
    serve: Callable[..., None], gpu: Run, arguments: list[str], text: str
) -> None:
    serve()
    assert gpu("list", *arguments)[:2] == (0, f"{text}\n")


@pytest.mark.parametrize(
    ("arguments", "me", "code", "text"),
    [
        (["--mine", "--yes"], ME, 0, "stopped train-1"),
        (["--mine"], ME, 2, "this would stop 1 job in default: train-1; confirm it with --yes"),
        (["--mine", "--yes"], {"status": {"userInfo": {"username": "nobody"}}}, 0, "no unfinished GPU jobs of yours"),
        (["--mine", "--yes"], 404, 1, "the cluster does not say who you are"),
        (["train-1", "--mine"], ME, 2, "name the jobs, or write --mine"),
        ([], ME, 2, "name the jobs, or write --mine"),
        (["train-1"], ME, 0, "stopped train-1"),
    ],
)
def test_mine_are_stopped_together_after_a_question(
    serve: Callable[..., None], gpu: Run, arguments: list[str], me: Any, code: int, text: str
) -> None:
    serve(me)
    got, out, err = gpu("stop", *arguments)
    assert got == code
    assert text in " ".join((out + err).split())
    assert (out + err).count("stopped") <= 1, "nothing of others, and nothing that ended"


@pytest.mark.parametrize("arguments", [["list"], ["cost"], ["why", "train-1"]], ids=" ".join)
@pytest.mark.parametrize("several", [True, False])
def test_with_several_contexts_a_command_names_its_cluster(
    serve: Callable[..., None], gpu: Run, tmp_path: Path, arguments: list[str], several: bool
) -> None:
    serve()
    if several:
        another_context(tmp_path / "config")
    _, out, err = gpu(*arguments)
    assert err.startswith("context here, namespace default\n") is several
    assert "context" not in out


def another_context(config: Path) -> None:
    """A second context, which is not the current one."""
    url = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"]
    kubeconfig(config, {"here": url, "there": url})


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "this would stop 1 job in default in context here: train-1; confirm it with --yes or name the cluster"),
        (["--yes"], 0, "stopped train-1 in context here"),
        (["--context", "there"], 0, "stopped train-1 in context there"),
    ],
)
def test_stop_asks_where_several_clusters_are_known_and_none_is_named(
    serve: Callable[..., None], gpu: Run, tmp_path: Path, arguments: list[str], code: int, text: str
) -> None:
    serve()
    another_context(tmp_path / "config")
    got, _, err = gpu("stop", "train-1", *arguments)
    assert got == code
    assert text in " ".join(err.split())


@pytest.mark.parametrize("expired", [False, True])
def test_a_list_is_read_in_pages_and_no_large_text_of_a_job_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expired: bool
) -> None:
    """Jobs of 1.5 MiB, which anybody in the namespace makes without a GPU's cost, filled the user's memory."""
    jobs: list[Any] = [job(f"train-{index}", 1) for index in range(120)]
    large = {
        "name": "main",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "command": ["x" * 1000],
        "args": ["y" * 999],
    }
    large["env"] = [{"name": "CHECKPOINTS", "value": "z" * 1000}]
    jobs[119]["spec"]["template"]["spec"]["containers"] = [large]
    jobs[119]["metadata"] |= {"managedFields": ["f" * 1000]}
    jobs[119]["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "a" * 1000, USER: "ada"}
    jobs.insert(50, None) if expired else None  # the API server no longer knows where the list went on
    with serving({JOBS: jobs}) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))
        listed = ClusterClient().list(JOBS, page=JOBS_AT_ONCE, keep=gpu_job)
    assert [each["metadata"]["name"] for each in listed] == [f"train-{index}" for index in range(120)]
    assert len(json.dumps(listed[119])) < 600
    assert listed[119]["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "CHECKPOINTS"}]
    assert listed[119]["metadata"]["annotations"] == {USER: "ada"}


def test_a_list_without_an_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cluster of several kept `gpu fit --all` and TAB from all others."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": "http://127.0.0.1:1"})))
    monkeypatch.setattr(ClusterClient, "get", lambda *_, **__: {"items": [], "metadata": {"continue": "again"}})
    with pytest.raises(ClusterError, match="not that of a Kubernetes API server"):
        ClusterClient().list(JOBS)
