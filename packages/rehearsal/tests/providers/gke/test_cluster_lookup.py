"""A cluster of another program: looked up by name and location, and what that program sees of others' pools."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pulumi._types import output_type_types

from packages.rehearsal.tests.providers.gke.account import CLUSTER, POOL, PROJECT, ZONE, Google, cpu_pool, gpu_pool
from rehearsal.providers.base import ProviderError

LOOK_UP = "gcp:container/getCluster:getCluster"
THERE = {"project": PROJECT, "location": ZONE, "name": "gpu-dev"}


@pytest.fixture
def google(tmp_path: Path) -> Google:
    google = Google(tmp_path)
    google.cluster(
        resourceLabels={"team": "platform"}, workloadIdentityConfig={"workloadPool": f"{PROJECT}.svc.id.goog"}
    )
    google.create(POOL, cpu_pool())
    google.create(POOL, gpu_pool())
    return google


def otherwise(answer: Any, declared: Any, where: str = "") -> Iterator[str]:
    """What an answer has otherwise than the SDK declares the function's result: names, lists, blocks."""
    optional = [each for each in typing.get_args(declared) if each is not type(None)]
    origin, kind = typing.get_origin(declared), optional[0] if typing.get_origin(declared) is typing.Union else declared
    if isinstance(answer, list):
        if typing.get_origin(kind) is None or issubclass(typing.get_origin(kind), Mapping):
            yield f"{where} is a list"
        else:
            yield from (each for one in answer for each in otherwise(one, typing.get_args(kind)[0], f"{where}[]"))
    elif isinstance(answer, dict):
        if origin is not None and issubclass(origin, Mapping):
            return
        if not isinstance(kind, type):
            yield f"{where} is a block"
            return
        known = output_type_types(kind)
        yield from (f"{where}.{name} is unknown" for name in answer.keys() - known.keys())
        for name in answer.keys() & known.keys():
            yield from otherwise(answer[name], known[name], f"{where}.{name}")
    elif typing.get_origin(kind) is not None:
        yield f"{where} is a single value"


def test_the_answer_has_the_names_and_forms_of_the_sdk(google: Google) -> None:
    # Here, as it takes seconds: only the worker that runs this test waits for it.
    from pulumi_gcp.container import GetClusterResult

    assert [*otherwise(google.provider.invoke(LOOK_UP, THERE), GetClusterResult)] == []


def test_a_cluster_is_found_with_all_its_pools_whoever_declared_them(google: Google) -> None:
    answer = google.provider.invoke(LOOK_UP, THERE)
    assert (answer["id"], answer["name"]) == (f"projects/{PROJECT}/locations/{ZONE}/clusters/gpu-dev", "gpu-dev")
    assert answer["resourceLabels"] == {"team": "platform"}
    assert answer["workloadIdentityConfigs"] == [{"workloadPool": f"{PROJECT}.svc.id.goog"}]
    assert answer["clusterAutoscalings"] == [{"autoscalingProfile": "BALANCED"}]
    assert answer["releaseChannels"] == [{"channel": "REGULAR"}]
    pools = {each["name"]: each for each in answer["nodePools"]}
    assert {*pools} == {cpu_pool()["name"], gpu_pool()["name"]}
    (config,) = pools[gpu_pool()["name"]]["nodeConfigs"]
    assert config["guestAccelerators"][0]["type"] == "nvidia-tesla-t4"


@pytest.mark.parametrize("other", [{"name": "gpu-prod"}, {"location": "us-central1"}, {"project": "other"}])
def test_a_cluster_of_another_name_place_or_project_is_not_found(google: Google, other: dict[str, str]) -> None:
    asked = {**THERE, **other}
    id = f"projects/{asked['project']}/locations/{asked['location']}/clusters/{asked['name']}"
    with pytest.raises(ProviderError, match=f"^{id} not found$"):
        google.provider.invoke(LOOK_UP, asked)


@pytest.mark.parametrize(
    ("inside", "seen", "replaced"),
    [([{"name": "general"}], ["general", "gpu"], True), ([{"nodeCount": 1}], [None, "gpu"], True), (None, None, False)],
)
def test_another_programs_pool_replaces_a_cluster_that_declares_its_pools_inside(
    tmp_path: Path, inside: Any, seen: Any, replaced: bool
) -> None:
    google = Google(tmp_path)
    made = google.cluster(**({"nodePools": inside, "removeDefaultNodePool": False} if inside else {}))
    assert google.read(CLUSTER, made.id, made.inputs).inputs == made.inputs
    google.create(POOL, gpu_pool(name="gpu"))
    live = google.read(CLUSTER, made.id, made.inputs).inputs or {}
    assert [each.get("name") for each in live["nodePools"]] == seen if seen else "nodePools" not in live
    assert bool(google.diff(CLUSTER, live, made.inputs or {}).replaces) is replaced
    ignored = google.diff(CLUSTER, live, made.inputs or {}, ignored=("nodePools",))
    assert not ignored.replaces, "ignoreChanges of its owner keeps it"
