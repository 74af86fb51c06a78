"""Where a job goes: the cheapest pools that take it, or the nearest and everything against it; of several clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from facts.concepts.offer import PoolOffer
from facts.concepts.pool import TEAMS_LABEL, gpu_pool_labels
from facts.jobs.fit import PodRequest, fits, misses, names
from gpu.commands.fit import Place, cheapest_of
from gpu.commands.offer import as_json, calculated
from gpu.start import Start
from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import Run, gpu

SMALL, LARGE = pool("t4-1"), pool("t4-4", size=4)
A100 = pool("a100-1", gpu="nvidia-a100-40gb", hourly_usd=3.0)


def chosen(request: PodRequest, *pools: PoolOffer) -> list[list[str]]:
    return [[one.name for one in fit.pools] for fit in fits(offer(*pools), request)]


def test_the_cheapest_size_that_is_enough_comes_first() -> None:
    assert chosen(PodRequest(), LARGE, A100, SMALL) == [["t4-1"], ["a100-1"], ["t4-4"]]
    assert chosen(PodRequest(gpus=2), LARGE, A100, SMALL) == [["t4-4"]]
    assert chosen(PodRequest(gpu="a100"), LARGE, A100, SMALL) == [["a100-1"]]


def test_without_prices_the_smallest_comes_first_and_behind_those_with_one() -> None:
    unpriced = [pool("t4-1", hourly_usd=None), pool("t4-4", size=4, hourly_usd=None)]
    assert chosen(PodRequest(), *reversed(unpriced), A100) == [["a100-1"], ["t4-1"], ["t4-4"]]


def test_fallback_pools_are_one_place_in_the_order_in_which_they_are_tried() -> None:
    spot = pool("t4-spot", spot=True, hourly_usd=None)
    fallback = pool("t4-ondemand", preference=1)
    assert chosen(PodRequest(), fallback, spot) == [["t4-spot", "t4-ondemand"]]
    assert chosen(PodRequest(spot=True), fallback, spot) == [["t4-spot"]]
    assert chosen(PodRequest(spot=False), fallback, spot) == [["t4-ondemand"]]
    (both,) = fits(offer(fallback, spot), PodRequest())
    assert both.hourly_usd == 1.0, "a spot node never costs more than its twin"


OWN = pool("t4-own", labels={**gpu_pool_labels("t4-own", "nvidia-t4", 1, {}), TEAMS_LABEL: "own"}, teams=["research"])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (PodRequest(namespace="research"), [["t4-own"], ["t4-1"], ["t4-4"]]),
        (PodRequest(namespace="vision"), [["t4-1"], ["t4-4"]]),
        (PodRequest(), [["t4-1"], ["t4-4"]]),
    ],
)
def test_a_pool_for_a_team_comes_first_for_it_and_is_no_place_for_others(
    request_: PodRequest, expected: list[list[str]]
) -> None:
    assert chosen(request_, LARGE, SMALL, OWN) == expected
    assert "for pods of namespace research only" not in str(misses(offer(OWN), PodRequest(namespace="research")))
    assert [miss.lacks for miss in misses(offer(OWN), PodRequest(namespace="vision"))] == [
        ("for pods of namespace research only",)
    ]


def test_a_larger_node_is_larger_than_those_that_the_pods_may_use() -> None:
    """As admission compares them: a node of a team's own is no smaller one for others, nor theirs for it."""
    (fit,) = fits(offer(OWN, LARGE), PodRequest())
    assert not fit.larger
    own_large = replace(LARGE, name="own-4", nodes=replace(LARGE.nodes, teams=("research",)))
    (*_, large) = fits(offer(SMALL, own_large), PodRequest(namespace="research"))
    assert ([each.name for each in large.pools], large.larger) == (["own-4"], False)


@pytest.mark.parametrize(
    ("pools", "line"),
    [
        ((pool(spot=True),), "t4-1: 1 nvidia-t4 spot per node, "),
        ((pool(),), "t4-1: 1 nvidia-t4 per node, "),
        ((pool("t4-1-spot", spot=True), pool(preference=1)), "t4-1-spot, then t4-1: 1 nvidia-t4 per node, "),
    ],
)
def test_who_gets_a_node_that_may_be_reclaimed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: Run, pools: tuple[PoolOffer, ...], line: str
) -> None:
    with serving(inventory(offer(*pools))) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"gke": url})))
        assert line in gpu("fit")[1]


def test_the_command_knows_whose_pods_it_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: Run) -> None:
    with serving(inventory(offer(OWN))) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"gke": url})))
        assert "1 nvidia-t4 per node, only research, $1.00/h" in gpu("fit", "--team", "research")[1]
        code, out, _ = gpu("fit", "--team", "vision")
        assert (code, "for pods of namespace research only" in " ".join(out.split())) == (1, True)
        assert "1 t4, only research" in gpu("pools")[1]
        code, out, _ = gpu("fit", "--all", "--team", "research")
        assert (code, "t4-own" in out) == (0, True)
        code, _, err = gpu("submit", "--team", "vision", "--image", "busybox", "--dry-run", "--", "true")
        assert (code, "for pods of namespace research only" in " ".join(err.split())) == (1, True)
        code, out, _ = gpu("submit", "--team", "research", "--image", "busybox", "--dry-run", "--", "true")
        assert (code, f"key: {TEAMS_LABEL}" in out) == (0, True)


@pytest.mark.parametrize("field", ["memory_mib", "milli_cpu", "disk_mib"])
def test_what_a_pool_leaves_for_pods_is_the_edge(field: str) -> None:
    most = getattr(SMALL, field)
    assert chosen(PodRequest(**{field: most}), SMALL) == [["t4-1"]]
    assert chosen(PodRequest(**{field: most + 1}), SMALL) == []
    unknown = replace(SMALL, **{field: None})
    assert chosen(PodRequest(**{field: most + 1}), unknown) == [["t4-1"]], "what is not known limits nothing"


@pytest.mark.parametrize(
    ("compared", "request_", "named"),
    [
        (False, PodRequest(memory_mib=1), True),
        (False, PodRequest(milli_cpu=1), True),
        (False, PodRequest(disk_mib=1), True),
        (False, PodRequest(), False),
        (True, PodRequest(memory_mib=1), False),
        (None, PodRequest(memory_mib=1), False),
    ],
)
def test_a_size_that_no_real_node_confirmed_is_named_to_those_who_rely_on_it(
    compared: bool | None, request_: PodRequest, named: bool
) -> None:
    (fit,) = fits(offer(pool("t4-1", compared=compared)), request_)
    assert ("of t4-1 are calculated: no real node was compared" in calculated(fit, request_)) is named
    assert as_json(fit, request_, {})["calculated"] == (["t4-1"] if compared is False else [])


UNPUBLISHED: dict[str, Any] = {"milli_cpu": None, "memory_mib": None, "disk_mib": None, "machine_types": ("own",)}
HAS: dict[str, str] = {"cpu": "15500m", "memory": "62Gi", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "1"}
TOO_MUCH = [("--memory", "900Gi"), ("--cpus", "64"), ("--disk", "2Ti")]
LACKS = ["at most 62Gi of memory per pod", "at most 15.5 CPU per pod", "at most 100Gi of ephemeral storage per pod"]


@pytest.fixture
def own_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A cluster that publishes no sizes, with a machine of 62 GiB and a smaller one."""
    content = inventory(offer(pool(capacity_type="fixed", max_nodes=2, **UNPUBLISHED)))
    small, large = ({**READY, "allocatable": {**HAS, **less}} for less in ({"memory": "30Gi"}, {}))
    content.update({NAMESPACE: {}, "/api/v1/pods": [], "/api/v1/nodes": [node("s", **small), node("l", **large)]})
    with serving(content) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"lab": url})))
        yield content


@pytest.mark.parametrize(("option", "lacks"), list(zip(TOO_MUCH, LACKS, strict=True)))
def test_what_no_machine_has_does_not_fit_where_nothing_is_published(
    gpu: Run, own_machines: dict[str, Any], option: tuple[str, str], lacks: str
) -> None:
    """Of own machines and of nodes of others the cluster knows the size, and no autoscaler adds a larger one."""
    for command in (["fit"], ["fit", "--all"], ["submit", "--image", "x", "--dry-run"], ["submit", "--image", "x"]):
        code, *printed = gpu(*command, *option, *(["--", "true"] if command[0] == "submit" else []))
        assert (code, lacks in " ".join(" ".join(printed).split())) == (1, True), command
    code, out, _ = gpu("fit", "--memory", "62Gi", "--cpus", "15", "--disk", "100Gi")
    assert (code, "unknown" in out) == (0, False)
    assert "1 GPU, 15.5 CPU, 62Gi" in gpu("pools")[1]


@pytest.mark.parametrize(
    ("capacity", "because"), [("fixed", "you may not list its nodes"), ("on-demand", "an autoscaler adds its nodes")]
)
def test_a_size_that_nobody_knows_is_said_to_be_unknown(
    gpu: Run, own_machines: dict[str, Any], capacity: str, because: str
) -> None:
    """An autoscaler of others may add a larger node than those that are up."""
    own_machines.update(inventory(offer(pool(capacity_type=capacity, **UNPUBLISHED))))
    own_machines["/api/v1/nodes"] = 403 if capacity == "fixed" else [node("s", **READY)]
    for option in TOO_MUCH:
        code, out, _ = gpu("fit", *option)
        told = " ".join(out.split())
        assert (code, f"(t4-1: its size is not published, and {because}: whether " in told) == (0, True), told
        assert "fits is unknown)" in told
        assert "its size is not published" in gpu("fit", "--all", *option)[1]
    assert "its size" not in gpu("fit")[1]
    assert json.loads(gpu("fit", "--memory", "900Gi", "--json")[1])["fits"][0]["unknownSize"] == ["t4-1"]


def test_no_machine_is_provisioned_where_nothing_scales(gpu: Run, own_machines: dict[str, Any]) -> None:
    own_machines["/api/v1/nodes"] = []
    assert "provisioning" not in (out := gpu("fit")[1])
    assert "none of its machines is in the cluster" in " ".join(out.split())
    (place,) = json.loads(gpu("fit", "--all", "--json")[1])["fits"]
    assert (place["start"], place["startReason"]) == ("waits", "0 of 2 machines are there, and too few GPUs are free")


def test_a_larger_node_for_its_memory_is_known_as_such() -> None:
    (alone,) = fits(offer(LARGE), PodRequest())
    (small, large) = fits(offer(SMALL, LARGE), PodRequest())
    (memory,) = fits(offer(SMALL, LARGE), PodRequest(memory_mib=40 * 1024))
    assert [fit.larger for fit in (alone, small, large, memory)] == [False, False, True, True]


def test_pods_that_work_together_need_room_at_once() -> None:
    assert chosen(PodRequest(workers=3), SMALL) == [["t4-1"]]
    assert chosen(PodRequest(workers=4), SMALL) == []
    assert chosen(PodRequest(workers=12), LARGE) == [["t4-4"]]
    assert chosen(PodRequest(workers=6, memory_mib=30 * 1024), LARGE) == [["t4-4"]]
    assert chosen(PodRequest(workers=7, memory_mib=30 * 1024), LARGE) == []
    (miss,) = misses(offer(SMALL), PodRequest(workers=4))
    assert miss.lacks == ("room for 3 such pods at once, not 4",)


def test_one_share_of_a_gpu_is_all_that_a_pod_gets() -> None:
    shared = pool("shared", allocatable_gpus=8, gpus_per_pod=1, size=2)
    (fit,) = fits(offer(shared), PodRequest())
    assert fit.pods_per_node == 8
    assert chosen(PodRequest(gpus=2), shared) == []


def test_the_nearest_pool_lacks_the_fewest_things_and_all_are_listed() -> None:
    missing = misses(offer(SMALL, LARGE, A100), PodRequest(gpus=2, gpu="a100", memory_mib=100 * 1024, spot=True))
    assert [miss.pool.name for miss in missing] == ["t4-4", "a100-1", "t4-1"]
    expected = ("at most 1 GPU per pod, not 2", "on-demand, not spot", "at most 16Gi of memory per pod, not 100Gi")
    assert missing[1].lacks == expected


def test_a_pool_that_takes_it_is_no_miss() -> None:
    assert [miss.pool.name for miss in misses(offer(SMALL, A100), PodRequest(gpu="t4"))] == ["a100-1"]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("nvidia-a100-40gb", True),
        ("a100", True),
        ("A100-40gb", True),
        ("a10", False),
        ("a100-80gb", False),
        ("", False),
    ],
)
def test_a_gpu_goes_by_its_name_or_some_of_its_words(asked: str, named: bool) -> None:
    assert names("nvidia-a100-40gb", asked) is named


__all__ = ["gpu"]

DEAD = "http://127.0.0.1:1"


ONE = {"nvidia.com/gpu": "1"}
READY = {"conditions": [{"type": "Ready", "status": "True"}], "capacity": ONE, "allocatable": ONE}
NAMESPACE, JOBS = "/api/v1/namespaces/default", "/apis/batch/v1/namespaces/default/jobs"


def node(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"gpucluster.dev/pool": "t4-1"}}, "status": status or READY}


def a_pod(on: str | None = None, **selector: str) -> dict[str, Any]:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    place = {"nodeName": on} if on else {"nodeSelector": selector or {"gpucluster.dev/pool": "t4-1"}}
    return {
        "metadata": {"uid": "p"},
        "spec": {"containers": [limits], **place},
        "status": {"phase": "Running" if on else "Pending"},
    }


@pytest.fixture
def contents() -> dict[str, dict[str, Any]]:
    """``cheap`` has no node, ``warm`` has one and costs more, ``large`` has no T4, ``other`` has no pools of ours."""
    cheap, warm = (inventory(offer(pool("t4-1", hourly_usd=usd))) for usd in (0.5, 2.0))
    for each in (cheap, warm):
        each.update({NAMESPACE: {}, JOBS: {"metadata": {"uid": "u"}}, "/api/v1/pods": []})
    warm["/api/v1/nodes"] = [node("n")]
    large = inventory(offer(pool("h100-8", gpu="nvidia-h100")))
    return {"cheap": cheap, "warm": warm, "large": large, "other": {}}


POSTED: list[Any] = []


@pytest.fixture
def clusters(contents: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kubeconfig of these clusters, one that does not answer, and a second context of ``warm``."""
    POSTED.clear()
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(content, POSTED)) for name, content in contents.items()}
        file = kubeconfig(tmp_path / "config", {**servers, "dead": DEAD}, again="warm")
        monkeypatch.setenv("KUBECONFIG", str(file))
        yield


@pytest.mark.parametrize(
    "nodes",
    [
        {"items": 5},
        {"items": ["node"]},
        {"items": [{"metadata": 5}]},
        {"items": [{"metadata": {"labels": 5}, "status": 5}]},
        b"[" * 200_000,
        b"[]",
    ],
    ids=["no-list", "texts", "no-metadata", "odd-fields", "deep", "list"],
)
def test_a_cluster_whose_answer_nobody_can_read_ends_no_choice_among_the_others(
    gpu: Run, contents: dict[str, Any], nodes: Any, request: pytest.FixtureRequest
) -> None:
    contents["warm"]["/api/v1/nodes"] = nodes
    request.getfixturevalue("clusters")
    code, out, err = gpu("fit", "--all", "--gpu", "t4")
    assert code == 0
    assert "cheap" in out
    assert "warm" in out + err


@pytest.mark.usefixtures("clusters")
def test_the_soonest_comes_first_and_the_cheapest_is_named(gpu: Run) -> None:
    code, out, err = gpu("fit", "--all", "--gpu", "t4")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["warm", "cheap"]
    assert "soonest: --context warm (starts at once: a node has 1 GPU free)" in out
    assert "cheapest: --context cheap (no node is up; a node takes some minutes)" in out
    assert "again" not in out, "a second context of the same cluster"
    problems = dict(line.split(": ", 1) for line in err.splitlines())
    assert "no answer" in problems["dead"]
    assert problems["other"] == "publishes no GPU pools"
    assert problems["large"] == "no pool fits; the nearest is h100-8: nvidia-h100, not t4"


@pytest.mark.usefixtures("clusters")
def test_a_job_of_several_nodes_is_compared_by_all_of_them(gpu: Run) -> None:
    _, out, _ = gpu("fit", "--all", "--gpu", "t4", "--workers", "3", "--json")
    answer = json.loads(out)
    expected = [("cheap", 1.5, 0, "minutes"), ("warm", 6.0, 1, "minutes")]
    assert [(each["context"], each["hourlyUsd"], each["nodesUp"], each["start"]) for each in answer["fits"]] == expected
    assert set(answer["others"]) == {"large", "other", "dead"}


FULL = {"involvedObject": {"kind": "Pod", "uid": "p"}, "lastTimestamp": "2026-01-01T09:05:00Z"}
DRY = {**FULL, "reason": "FailedScaleUp", "message": "GCE out of resources"}


@pytest.mark.parametrize(
    ("of_warm", "stage", "why"),
    [
        ({"pods": [a_pod("n")]}, "minutes", "no node has room"),
        ({"nodes": [node("n"), node("m")], "pods": [a_pod("n")]}, "now", "a node has 1 GPU free"),
        ({"nodes": [node("n", conditions=[], allocatable={"nvidia.com/gpu": "1"})]}, "minutes", "no node has room"),
        ({"nodes": [node(n) for n in "nml"], "pods": [a_pod(n) for n in "nml"]}, "waits", "3 nodes of at most 3"),
        ({"pods": [a_pod("n"), a_pod()], "events": [DRY]}, "waits", "last attempt 2026-01-01 09:05 UTC"),
        ({"pods": [a_pod("n"), a_pod(elsewhere="x")], "events": [DRY]}, "minutes", "no node has room"),
        ({"pods": 403}, "if-room", "starts at once if a node has room"),
        ({"pods": 403, "nodes": 403}, "unknown", "you may not list nodes"),
        ({"namespaces/default/resourcequotas": [{"status": {"hard": {"requests.nvidia.com/gpu": "2"},
          "used": {"requests.nvidia.com/gpu": "2"}}}]}, "waits", "the namespace's quota has 0 GPUs left"),
    ],
)  # fmt: skip
def test_when_it_starts_is_what_free_gpus_and_pods_that_wait_tell(
    gpu: Run, contents: dict[str, Any], request: pytest.FixtureRequest, of_warm: dict[str, Any], stage: str, why: str
) -> None:
    contents["warm"].update({f"/api/v1/{path}": content for path, content in of_warm.items()})
    request.getfixturevalue("clusters")
    _, out, _ = gpu("fit", "--all", "--gpu", "t4", "--json")
    (warm,) = [each for each in json.loads(out)["fits"] if each["context"] == "warm"]
    assert (warm["start"], why in warm["startReason"]) == (stage, True), warm["startReason"]


SUBMIT = ("submit", "--image", "x", "--name", "train", "--gpu", "t4", "--detach")


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize(("choice", "context"), [("soonest", "warm"), ("cheapest", "cheap")])
def test_a_job_goes_to_the_cluster_that_was_asked_for(gpu: Run, choice: str, context: str) -> None:
    code, out, err = gpu(*SUBMIT, "--cluster", choice, "--json")
    assert code == 0, err
    assert json.loads(out)["context"] == context
    assert f"context {context}: " in err
    hint = "`gpu stop train --context warm`" if context == "warm" else "`gpu stop train`"
    assert hint in " ".join(err.split()), "the current context needs no option"
    assert [each["kind"] for each in POSTED] == ["Job"]


def test_a_full_cluster_or_one_without_the_namespace_gets_no_job(
    gpu: Run, contents: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    contents["warm"]["/api/v1/pods"] = [a_pod("n"), a_pod()]
    contents["warm"]["/api/v1/events"] = [DRY]
    del contents["cheap"][NAMESPACE]
    request.getfixturevalue("clusters")
    code, out, err = gpu(*SUBMIT, "--cluster", "cheapest", "--json")
    assert (code, json.loads(out)["context"]) == (0, "warm")
    assert "cheap: has no namespace default" in err
    assert "context warm: waits: the cloud is out of capacity" in err


@pytest.mark.usefixtures("clusters")
def test_a_job_that_fits_nowhere_or_names_a_context_too_is_refused(gpu: Run) -> None:
    assert gpu(*SUBMIT, "--cluster", "soonest", "--gpus", "8")[0] == 1
    code, _, err = gpu(*SUBMIT, "--cluster", "soonest", "--context", "warm")
    assert (code, "write one of them" in err) == (2, True)
    assert POSTED == []


@pytest.mark.usefixtures("clusters")
def test_where_nothing_fits_the_answer_is_no(gpu: Run) -> None:
    code, out, _ = gpu("fit", "--all", "--gpu", "b200")
    assert (code, out) == (1, "no pool fits in any cluster of your kubeconfig that answered\n")
    code, _, err = gpu("fit", "--all", "--context", "warm")
    assert (code, "write one of them" in err) == (2, True)


SPOT = {"capacity_type": "spot", "spot": True}


@pytest.mark.parametrize(
    ("here", "there", "cheapest"),
    [
        # Spot at 0.4 of 1.2 on demand beside spot of unknown price, 1.0 on demand: like is compared with like.
        (
            {**SPOT, "hourly_usd": 0.4, "on_demand_usd": 1.2},
            {**SPOT, "hourly_usd": 1.0, "on_demand_usd": 1.0, "price_at_most": True},
            "there",
        ),
        (
            {**SPOT, "hourly_usd": 0.4, "on_demand_usd": 1.2},
            {**SPOT, "hourly_usd": 1.3, "on_demand_usd": 1.3, "price_at_most": True},
            "here",
        ),
        # Both are known.
        (
            {**SPOT, "hourly_usd": 0.4, "on_demand_usd": 1.2},
            {**SPOT, "hourly_usd": 0.5, "on_demand_usd": 1.0},
            "here",
        ),
        # At the same price on demand the one that may be less.
        ({"hourly_usd": 1.0}, {**SPOT, "hourly_usd": 1.0, "on_demand_usd": 1.0, "price_at_most": True}, "there"),
        # An older cluster publishes no price on demand.
        ({**SPOT, "hourly_usd": 0.4}, {**SPOT, "hourly_usd": 1.0, "price_at_most": True}, "here"),
    ],
)
def test_prices_are_compared_like_with_like(here: dict[str, Any], there: dict[str, Any], cheapest: str) -> None:
    pools = [pool("here", **here), pool("there", gpu="nvidia-a100-40gb", **there)]
    assert chosen(PodRequest(), *pools)[0] == [cheapest]
    each = [fits(offer(one), PodRequest())[0] for one in pools]
    start = Start("minutes", "no node is up")
    places = [
        Place(cluster=cast(Any, None), fit=fit, nodes=None, start=start, hourly_usd=fit.hourly_usd, nodes_needed=1)
        for fit in each
    ]
    assert [one.name for one in cheapest_of(places).fit.pools] == [cheapest]
