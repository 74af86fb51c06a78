"""What an API server refuses to change in an object that the program declares is replaced, or refused here, too."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from packages.rehearsal.tests.upgrade.deployment import IMMUTABLE, ClusterObjects
from packages.rehearsal.tests.upgrade.released import program
from packages.rehearsal.tests.upgrade.test_upgrade import STACKS, deployed
from rehearsal.cluster.api import Api, ApiError, NoSuchKindError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import CallContext, Previous, ProviderError
from rehearsal.providers.kubernetes.manifest import Kind, kind_of, replacing, to_api

REFUSED: Final = re.compile(r"immutable|may not be changed|cannot change|updates to \w+ are forbidden")
GROWS: Final = {("v1/PersistentVolumeClaim", "spec.resources.requests.storage")}
"""In a claim that is bound, which none is here."""


def test_a_change_of_an_immutable_field_is_refused() -> None:
    cluster, call = ClusterObjects({}, {}), CallContext("urn", "kubernetes:scheduling.k8s.io/v1:PriorityClass", "it")
    before = Previous({"metadata": {"name": "it"}, "value": 1, "description": "one"}, {})
    assert cluster.update(call, "it", before, {**before.inputs, "description": "two"}, 0)
    with pytest.raises(ProviderError, match="value: field is immutable"):
        cluster.update(call, "it", before, {**before.inputs, "value": 2}, 0)


def declared(folder: Path) -> dict[Kind, dict[str, Any]]:
    """Of each kind the object with most in it, in all stacks of the released version that today's program updates."""
    largest: dict[Kind, dict[str, Any]] = {}
    for number, stack in enumerate(STACKS):
        (own := folder / str(number)).mkdir()
        deployment = deployed(stack, own)
        deployment.update(program(ROOT))
        for each in deployment.resources.values():
            type = each.registration.type
            if not type.startswith("kubernetes:") or ":helm.sh/" in type:
                continue
            kind = kind_of(type, each.inputs)
            if not kind.patch and len(json.dumps(each.inputs)) > len(json.dumps(largest.get(kind, {}))):
                largest[kind] = each.inputs
    return largest


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    else:
        yield path, value


def changed(item: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with another value at the path."""
    item = copy.deepcopy(item)
    block: Any = item
    for step in path[:-1]:
        block = block[step]
    block[path[-1]] = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
    return item


def fixed(api: Api, place: str) -> Iterator[tuple[Any, ...]]:
    """The paths at which the API server refuses another value."""
    live = api.get(place)
    kept = {key: each for key, each in live["metadata"].items() if key in ("name", "namespace")}
    item = {**{key: each for key, each in live.items() if key != "status"}, "metadata": kept}
    for path, value in leaves(item):
        if path[0] in ("apiVersion", "kind", "metadata"):
            continue
        try:
            api.apply(place, changed(item, path, value), dryRun="All")
        except ApiError as error:
            if REFUSED.search(str(error)):
                yield path


@pytest.mark.rehearsal
def test_what_an_api_server_refuses_to_change_is_replaced_or_known(control_plane: ControlPlane, tmp_path: Path) -> None:
    api, immutable, probed = control_plane.api, dict[str, set[str]](), set[str]()
    for kind, inputs in declared(tmp_path).items():
        try:
            resource = api.resource(kind.api_version, kind.kind)
        except NoSuchKindError:
            continue  # Another project's, whose definition nobody installed here.
        item = to_api({**inputs, "apiVersion": kind.api_version, "kind": kind.kind})
        namespace = item["metadata"].get("namespace", "default")
        if resource.namespaced:
            api.apply_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        api.apply_manifest(item)
        paths = set(fixed(api, resource.path(item["metadata"]["name"], namespace)))
        known = replacing(kind, tuple(paths), mutable_secrets=True, mutable_config_maps=True)
        named = {".".join(step for step in path if isinstance(step, str)) for path in paths - {*known}}
        immutable[str(kind)] = {path for path in named if (str(kind), path) not in GROWS}
        probed.add(str(kind))
    assert probed > {*IMMUTABLE, "apps/v1/DaemonSet"}
    assert {kind: paths for kind, paths in immutable.items() if paths} == {
        kind: {*paths} for kind, paths in IMMUTABLE.items()
    }
