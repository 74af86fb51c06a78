"""The order of a ComputeClass, and which objects GKE's API server accepts as one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from facts.catalog import of
from packages.rehearsal.tests.providers.gke.account import POOL, Google, gpu_pool
from packages.rehearsal.tests.simulated_cluster import eventually, tools
from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.cloud import SimulatedCloud, Store
from rehearsal.providers.gke.node_pool import PATH, ClassOrder
from rehearsal.providers.gke.nodes import CLASS_LABEL
from rehearsal.providers.gke.system import system_objects

LABELS = {CLASS_LABEL: "t4"}
TAINTS = [{"key": CLASS_LABEL, "value": "t4", "effect": "NO_SCHEDULE"}]


def in_class(name: str, **config: Any) -> dict[str, Any]:
    return gpu_pool(name=name, nodeConfig={"labels": LABELS, "taints": TAINTS, **config})


def of_pools(*priorities: list[str], name: str = "t4", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"priorities": [{"nodepools": each} for each in priorities], **spec}}


def ranks(google: Google) -> dict[str, float | None]:
    return {name: group.rank for name, group in google.fleet.groups.items()}


def order(google: Google) -> ClassOrder:
    return ClassOrder(SimulatedCloud(Store(google.directory, "gcp"), google.fleet, lambda: of("gke"), google.config))


def test_the_first_priority_that_names_a_pool_is_its_place_whatever_google_would_prefer(google: Google) -> None:
    google.fleet.objects[PATH] = [of_pools(["a", "b"], ["spot"], ["a"])]
    google.cluster()
    for name, spot in (("a", False), ("b", False), ("spot", True)):
        google.create(POOL, in_class(name, spot=spot))
    assert ranks(google) == {"a": 0, "b": 0, "spot": 1}
    google.provider.close()


def test_a_pool_that_no_priority_names_is_not_scaled(google: Google) -> None:
    google.fleet.objects[PATH] = [of_pools(["a"])]
    google.cluster()
    google.create(POOL, in_class("b"))
    assert not google.fleet.groups["b"].scaling.autoscaled
    assert google.fleet.groups["b"].not_scaled_because == "no priority of ComputeClass t4 names the pool"
    google.provider.close()


def test_unless_the_class_scales_up_anyway_and_then_it_is_last(google: Google) -> None:
    google.fleet.objects[PATH] = [of_pools(["a"], whenUnsatisfiable="ScaleUpAnyway")]
    google.cluster()
    google.create(POOL, in_class("b"))
    assert ranks(google) == {"b": 1}
    google.provider.close()


def test_a_class_orders_its_own_pools_alone(google: Google) -> None:
    google.fleet.objects[PATH] = [of_pools(["plain", "other"], name="other")]
    google.cluster()
    google.create(POOL, gpu_pool(name="plain", nodeConfig={"spot": False}))
    google.create(POOL, in_class("other", spot=False))
    assert ranks(google) == {"plain": 2, "other": 2}
    google.provider.close()


def test_a_class_that_comes_or_changes_later_orders_its_pools(google: Google) -> None:
    google.cluster()
    for name in ("a", "b"):
        google.create(POOL, in_class(name, spot=False))
    google.provider.close()
    assert ranks(google) == {"a": 2, "b": 2}
    look = order(google).look
    google.fleet.objects[PATH] = [of_pools(["b"], ["a"])]
    look()
    assert ranks(google) == {"a": 1, "b": 0}
    google.fleet.objects[PATH] = [of_pools(["a"], ["b"])]
    look()
    assert ranks(google) == {"a": 0, "b": 1}
    google.fleet.fail = "apply_group"
    look()


def test_only_a_cluster_with_pools_of_a_class_is_watched(google: Google) -> None:
    def watching() -> bool:
        return any(isinstance(thread, ClassOrder) for thread in threading.enumerate())

    google.cluster()
    google.create(POOL, gpu_pool(name="plain"))
    assert not watching()
    google.create(POOL, in_class("a"))
    assert watching()
    google.restart()  # a new process goes on
    assert watching()
    google.provider.close()
    assert not watching()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("classes")
    (kind,) = [each for each in system_objects({}) if each["kind"] == "CustomResourceDefinition"]
    with ControlPlane(folder, tools=tools()) as plane:
        plane.api.apply_manifest(kind)
        # The API server serves a new kind a moment later.
        eventually("it is served", lambda: not refusal(plane.api, NODEPOOLS).startswith("404"))
        yield plane.api


def refusal(api: Api, spec: dict[str, Any]) -> str:
    manifest = {"apiVersion": "cloud.google.com/v1", "kind": "ComputeClass", "metadata": {"name": "x"}, "spec": spec}
    try:
        api.submit(PATH, manifest, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return str(error)
    return ""


NODEPOOLS = {"priorities": [{"nodepools": ["a"]}]}


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({**NODEPOOLS, "whenUnsatisfiable": "DoNotScaleUp", "nodePoolAutoCreation": {"enabled": False}}, ""),
        ({"priorities": [{"spot": True, "gpu": {"type": "nvidia-l4", "count": 1}}]}, ""),
        ({"priorities": [{"nodepools": ["a"], "priorityScore": 1}]}, ""),
        ({"priorities": [{"nodepools": ["a"], "spot": True}]}, "Nodepool field cannot be set along with other"),
        ({**NODEPOOLS, "autopilot": {"enabled": True}}, "Nodepools priority cannot be used when Autopilot"),
        ({**NODEPOOLS, "whenUnsatisfiable": "Wait"}, "Unsupported value"),
        ({**NODEPOOLS, "autoscalingPolicy": {"consolidationDelayMinutes": 0}}, "greater than or equal to 1"),
        ({**NODEPOOLS, "priority": []}, "unknown field"),
        ({"priorities": [{}]}, "should have at least 1 properties"),
    ],
)
def test_the_api_server_accepts_what_google_s_does(api: Api, spec: dict[str, Any], words: str) -> None:
    assert words in refusal(api, spec)
    assert bool(words) == bool(refusal(api, spec))
