"""Several clusters: where a job starts soonest and where it is cheapest; one that does not answer stops nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import Run, gpu

__all__ = ["gpu"]

DEAD = "http://127.0.0.1:1"


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``cheap`` has no node, ``warm`` has one and costs more, ``large`` has no T4, ``other`` has no pools of ours."""
    warm = inventory(offer(pool("t4-1", hourly_usd=2.0)))
    warm["/api/v1/nodes"] = [{"metadata": {"name": "n", "labels": {"gpucluster.dev/pool": "t4-1"}}}]
    cheap = inventory(offer(pool("t4-1", hourly_usd=0.5)))
    cheap["/api/v1/nodes"] = 403
    contents = {"cheap": cheap, "warm": warm, "large": inventory(offer(pool("h100-8", gpu="nvidia-h100"))), "other": {}}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(content)) for name, content in contents.items()}
        file = kubeconfig(tmp_path / "config", {**servers, "dead": DEAD}, again="warm")
        monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(file))
        yield


@pytest.mark.usefixtures("clusters")
def test_the_soonest_comes_first_and_the_cheapest_is_named(gpu: Run) -> None:
    code, out, err = gpu("fit", "--all", "--gpu", "t4")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["warm", "cheap"]
    assert "soonest: --context warm (starts at once if a node has room)" in out
    assert "cheapest: --context cheap" in out
    assert "again" not in out, "a second context of the same cluster"
    problems = dict(line.split(": ", 1) for line in err.splitlines())
    assert "no answer" in problems["dead"]
    assert problems["other"] == "publishes no GPU pools"
    assert problems["large"] == "no pool fits; the nearest is h100-8: nvidia-h100, not t4"


@pytest.mark.usefixtures("clusters")
def test_a_job_of_several_nodes_is_compared_by_all_of_them(gpu: Run) -> None:
    _, out, _ = gpu("fit", "--all", "--gpu", "t4", "--workers", "3", "--json")
    answer = json.loads(out)
    assert [(each["context"], each["hourlyUsd"], each["nodesUp"]) for each in answer["fits"]] == [
        ("warm", 6.0, 1),
        ("cheap", 1.5, None),
    ]
    assert set(answer["others"]) == {"large", "other", "dead"}


@pytest.mark.usefixtures("clusters")
def test_where_nothing_fits_the_answer_is_no(gpu: Run) -> None:
    code, out, _ = gpu("fit", "--all", "--gpu", "b200")
    assert (code, out) == (1, "no pool fits in any cluster of your kubeconfig that answered\n")
    code, _, err = gpu("fit", "--all", "--context", "warm")
    assert (code, "write one of them" in err) == (2, True)
