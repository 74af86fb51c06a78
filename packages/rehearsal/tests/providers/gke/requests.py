"""What Google's provider sends to create a resource: its inputs, in the API's words, which are those of the schema
(``schemas/sources/google/names.yaml``), with the simulated provider's defaults (``resources.yaml``). ``sends.yaml``
has by type what else becomes of them.

The provider leaves out zero values, unless its own code forces one to be sent. A declared block is sent even if all in
it are zero.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import schemas
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import last_part
from rehearsal.providers.gke import GcpProvider
from rehearsal.providers.gke.cloud import TABLE, region_of
from tests.yaml_file import read_yaml

_SENDS: Final = read_yaml(Path(__file__).parent / "sends.yaml")
_NAMES: Final = read_yaml(Path(schemas.__file__).parent / "sources" / "google" / "names.yaml")
_INPUTS: Final = "$inputs"
_MAPS: Final = ("labels", "resourceLabels", "metadata")


@dataclass(frozen=True, kw_only=True)
class CreationRequest:
    """A request: ``path`` and ``body`` are templates of inputs, where ``$inputs`` stands for the resource itself."""

    path: str
    method: str = "POST"
    body: Any = _INPUTS


@dataclass(frozen=True, kw_only=True)
class Sends:
    """How the inputs of a type become the API's object.

    Args:
        token: the type.
        calls: the requests, in their order.
        moved: input path → the API's, from the object's root, where the provider has another than the schema.
        forms: input path → ``text`` (of a number), ``not``, ``sorted``, ``first`` (of a list), ``list`` (of one),
            ``zones`` (with the cluster's own), ``by x`` (a list as a mapping), or the template of a full name.
        zeros: inputs that are sent although they are zero, if they are declared; the schema has those that always are.
        adds: the API's path → what is sent unless it is declared; a nested one only if its block is sent.
    """

    token: str
    calls: Sequence[CreationRequest]
    moved: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    zeros: Sequence[str] = ()
    adds: Mapping[str, Any] = field(default_factory=dict)


def requests(token: str, inputs: Properties) -> list[dict[str, Any]]:
    """Method, path and body of each request that creates a resource with these inputs of a program."""
    sends = _sends(token)
    inputs = GcpProvider.rows[token].with_defaults(TABLE.sent(token, inputs), {})
    place = {"region": region_of(str(inputs.get("location") or "")), **inputs}
    return [
        {"method": call.method, "path": call.path.format_map(place), "body": _filled(call.body, sends, inputs, place)}
        for call in sends.calls
    ]


def _sends(token: str) -> Sends:
    entry = _SENDS[token]
    return Sends(token=token, **{**entry, "calls": [CreationRequest(**call) for call in entry["calls"]]})


def _named(token: str, path: str) -> str | Mapping[str, Any]:
    """What the API calls the input at a path, below the object that it belongs to; ``{}``: it is not sent."""
    parent, _, key = path.rpartition(".")
    objects = schemas.schema("gke")
    found = objects.find(token, parent) if parent else None
    while found is not None and found.type == "list":
        found = found.items
    block = objects.inputs(token) if not parent else objects.objects.get(found.object if found else "")
    name: str | Mapping[str, Any] = _NAMES[token]["table"].get(block.name if block else "", {}).get(key, key)
    return name


def _filled(template: Any, sends: Sends, inputs: Properties, place: Mapping[str, Any]) -> Any:
    if template == _INPUTS:
        return _object(sends, inputs, place)
    if isinstance(template, dict):
        return {key: _filled(each, sends, inputs, place) for key, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, sends, inputs, place) for each in template]
    return template.format_map(place) if isinstance(template, str) else template


def _object(sends: Sends, inputs: Properties, place: Mapping[str, Any]) -> dict[str, Any]:
    body = _element(sends, inputs, "", place)
    for path, value in sends.adds.items():
        parent, _, last = path.rpartition(".")
        block = at(body, parent) if parent else body
        if isinstance(block, dict):
            block.setdefault(last, copy.deepcopy(value))
    return body


def _values(sends: Sends, block: Properties, path: str, to: str, place: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The API's paths and values of a block at an input path, which is sent as ``to``."""
    for key, value in block.items():
        inner = f"{path}.{key}".lstrip(".")
        name = _named(sends.token, inner)
        if (name == {} or key == "deletionPolicy") and inner not in sends.forms:
            continue  # It is in the path, or the provider's own.
        target = sends.moved.get(inner, f"{to}.{name if isinstance(name, str) else key}".lstrip("."))
        value = _formed(sends.forms.get(inner, ""), value, place)
        if isinstance(value, dict) and value and key not in _MAPS:
            if any(f"{inner}.{each}" not in sends.moved for each in value):
                yield target, {}
            yield from _values(sends, value, inner, target, place)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield target, [_element(sends, each, inner, place) for each in value]
        elif value or inner in sends.zeros or _is_forced(sends.token, inner):
            yield target, value


def _is_forced(token: str, path: str) -> bool:
    found = schemas.schema("gke").find(token, path)
    return found is not None and found.sends == "zero"


def _element(sends: Sends, element: Properties, path: str, place: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for to, value in _values(sends, element, path, "", place):
        _put(body, to, value)
    return body


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    *blocks, last = path.split(".")
    for each in blocks:
        body = body.setdefault(each, {})
    if value == {}:
        body.setdefault(last, {})
    else:
        body[last] = value


def _formed(form: str, value: Any, place: Mapping[str, Any]) -> Any:
    if isinstance(value, float):
        value = int(value)
    if form == "text":
        return str(value)
    if form == "not":
        return not value
    if form == "first":
        return value[0]
    if form == "list":
        return [value]
    if form == "sorted":
        return sorted(value)
    if form == "zones":
        location = str(place["location"])
        return sorted({*value, location} if region_of(location) != location else value)
    if form.startswith("by "):
        name = form.removeprefix("by ")
        return {each[name]: {key: part for key, part in each.items() if key != name} for each in value}
    if form:
        _, project, path = value.rpartition("projects/")
        return project + path if project else form.format_map({**place, "value": last_part(value)})
    return value
