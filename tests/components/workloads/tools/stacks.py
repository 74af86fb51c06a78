"""Stacks with tools, as the real program registers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests import recorder
from tests.components.workloads import stacks

CLOUDS: Final = stacks.CLOUDS
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
SECRET: Final = "kubernetes:core/v1:Secret"
TOOLS: Final[dict[str, Any]] = {
    "services": [{"name": "demo", "image": "registry.example/serve:1", "gpu": "t4"}],
    "monitoring": {},
    "queue": {},
    "notebook": {},
    "dashboard": {},
}
"""Keys of ``workloads`` that bring charts of others, with the least that can be written for each."""


@recorder.remembered
def with_all(cloud: str) -> recorder.Recording:
    """All tools with their defaults; the autoscaler is one that the queue can ask."""
    # On GKE the default admin machine has no room for all of them.
    room = {"adminPool": {"machineType": "e2-standard-4"}} if cloud == "gke" else {}
    return stacks.run(cloud, workloads=TOOLS, identities=None, **room, **_askable(cloud))


def with_one(cloud: str, key: str, **written: Any) -> recorder.Recording:
    return stacks.run(cloud, workloads={key: written or TOOLS[key]}, identities=None, **_askable(cloud))


def _askable(cloud: str) -> dict[str, Any]:
    return {"autoscaling": {"autoscaler": "cluster-autoscaler"}} if cloud == "eks" else {}


def releases(recording: recorder.Recording) -> dict[str, dict[str, Any]]:
    return {each.inputs["name"]: each.inputs for each in recording.of_type(RELEASE)}


def places(values: Any, key: str, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Where in the values a key stands, and what for."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if name == key:
            yield path, value
        yield from places(value, key, (*path, name))
