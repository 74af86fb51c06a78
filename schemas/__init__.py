"""What each cloud's provider takes and answers, resource type by resource type; generated (``make schemas``).

The simulated providers check inputs against ``<cloud>.json``. ``<cloud>.pyi`` holds the same as ``TypedDict``s, for
type checkers. Both are generated from the vendors' packages, which nothing else needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

FOLDER: Final = Path(__file__).parent

Type = Literal["string", "boolean", "integer", "number", "list", "map", "object", "any"]

ZEROS: Final[Mapping[str, Any]] = {"string": "", "boolean": False, "integer": 0, "number": 0.0}
"""The zero value of each type of scalars."""


@dataclass(frozen=True, kw_only=True)
class Property:
    """One input. ``items`` are a list's elements or a map's values, ``keys`` its keys, ``object`` a block's object.

    ``pattern`` is the whole string's; ``minimum`` and ``maximum`` of a number and ``shortest`` and ``longest`` of a
    string, list or map are inclusive. ``format`` is one of Google's (``int64``, ``google-duration``, …) or what AWS
    makes of it: of text a ``boolean`` or an ``integer``, of a block a ``list`` of one, of a map a list of ``pairs``.
    ``sent`` is its name in AWS's request, if it is part of it. ``refused`` says why an input is not simulated.

    What the provider does with it, where its own source says so: ``replaces``, any ``change`` of it, ``some`` or the
    ``presence`` of the block (adding or removing it), the resource; or any is sent and ``refused`` by the cloud.
    ``computed``: left out, it stays as the cloud has it; else it is the ``default``; ``unordered``: a list whose order
    means nothing. It ``sends`` the ``zero`` value of an input that is left out of a declared block; or sends the input
    on ``creation`` only, and no later change of it.
    """

    type: Type
    required: bool = False
    items: Property | None = None
    keys: Property | None = None
    object: str = ""
    enum: tuple[str, ...] = ()
    pattern: str = ""
    format: str = ""
    minimum: float | None = None
    maximum: float | None = None
    shortest: int | None = None
    longest: int | None = None
    sent: str = ""
    refused: str = ""
    replaces: Literal["", "change", "some", "presence", "refused"] = ""
    computed: bool = False
    default: Any = None
    unordered: bool = False
    sends: Literal["", "zero", "creation"] = ""


@dataclass(frozen=True, kw_only=True)
class Object:
    """A block of inputs. ``name`` is the vendor's name for it; ``server`` are the fields that only the vendor sets,
    ``lacking`` those that the vendor's API has and this version of the provider does not."""

    name: str
    properties: Mapping[str, Property]
    server: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """One resource type: the inputs' ``object``, and the ``outputs`` with their types.

    ``api`` is what the provider calls: Google's API, Azure's version, or the request of AWS that makes the resource.
    """

    api: str
    object: str
    outputs: Mapping[str, Type]


@dataclass(frozen=True)
class Schema:
    """Everything that is known about one cloud's provider; ``sources`` are the packages and versions it was made of."""

    sources: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, ResourceType] = field(default_factory=dict)
    objects: Mapping[str, Object] = field(default_factory=dict)

    def inputs(self, token: str) -> Object:
        """The inputs of a resource type; ``KeyError`` if the schema does not describe it."""
        return self.objects[self.resources[token].object]

    def every(self, token: str) -> Iterator[tuple[str, Property]]:
        """All inputs of a resource type with their dotted paths, those in blocks and lists of blocks included."""
        yield from self._below(self.resources[token].object, "", ())

    def _below(self, name: str, above: str, inside: tuple[str, ...]) -> Iterator[tuple[str, Property]]:
        for key, each in self.objects[name].properties.items():
            yield above + key, each
            while each.type == "list" and each.items:
                each = each.items
            if each.object and each.object not in inside:
                yield from self._below(each.object, f"{above}{key}.", (*inside, name))

    def find(self, token: str, path: str) -> Property | None:
        """The input at a dotted path, through lists, maps and blocks; ``None`` if there is none."""
        current: Property | None = Property(type="object", object=self.resources[token].object)
        for key in path.split("."):
            while current and current.type == "list":
                current = current.items
            if current is None:
                return None
            block = self.objects.get(current.object)
            current = current.items if current.type == "map" else block.properties.get(key) if block else None
        return current


@cache
def schema(cloud: str) -> Schema:
    """The schema of ``gke``, ``eks`` or ``aks``, read on first use; raises ``FileNotFoundError`` for another name."""
    raw = json.loads((FOLDER / f"{cloud}.json").read_text(encoding="utf-8"))
    return Schema(
        sources=raw["sources"],
        resources={token: ResourceType(**_tuples(each)) for token, each in raw["resources"].items()},
        objects={name: _object(each) for name, each in raw["objects"].items()},
    )


def _object(raw: dict[str, Any]) -> Object:
    properties = {key: _property(each) for key, each in raw["properties"].items()}
    return Object(**{**_tuples(raw), "properties": properties})


def _property(raw: dict[str, Any]) -> Property:
    nested = {key: _property(raw[key]) for key in ("items", "keys") if key in raw}
    return Property(**{**_tuples(raw), **nested})


def _tuples(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
