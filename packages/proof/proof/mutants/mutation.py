"""What a mutant is, and which mutants a program has. The mutated program imports this, so it stays cheap.

Inputs are as they are on the wire, as JSON: a secret is an object with a signature, an unknown value a text.
"""

from __future__ import annotations

import copy
import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from zlib import crc32

from rehearsal.providers.differences import Path, format_path
from rehearsal.providers.marshal import SIGNATURE, UNKNOWN_VALUES

Mutation = Literal["dropped", "emptied", "flipped", "moved"]
"""``moved``: another value of the same kind, such as another zone, role, range or name, or ten times the number."""
Key = tuple[str, str, str, str]
JSON_TEXT: Final = "{}"
"""The step of a path into a text that holds a JSON object."""
DEPENDS_ON: Final[Path] = ("(dependsOn)",)
"""The path of the resource option, which is no input."""

_NUMBER: Final = re.compile(r"(\d+)([smhd%]|Gi|Mi)?")
_PLACE: Final = re.compile(r"[a-z]+(-[a-z]+)*-?\d+-?[a-y]")
# What Google's enumerations have for "no value": https://google.aip.dev/126
_NOTHING: Final = re.compile(r"UNSPECIFIED$|^UNKNOWN$")
_OPPOSITES: Final = {"true": "false", "false": "true"}


@dataclass(frozen=True)
class Registered:
    """One resource as the program registered it, with the ``id`` and the ``outputs`` that it got.

    ``waits``: it has the option ``dependsOn``. ``after``: URNs of all that it depends on.
    """

    type: str
    name: str
    urn: str
    inputs: Mapping[str, Any]
    waits: bool = False
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Mutant:
    """A change of one input of one resource; ``value`` is the new one as JSON, of ``moved`` only."""

    type: str
    name: str
    path: Path
    mutation: Mutation
    value: str = ""

    @property
    def key(self) -> Key:
        """What identifies it in the table: type, name, path and mutation."""
        return self.type, self.name, format_path(self.path), self.mutation

    @property
    def text(self) -> str:
        """The new value, if it is a text."""
        value = json.loads(self.value or "0")
        return value if isinstance(value, str) else ""

    def applied(self, inputs: Any) -> Any:
        """``inputs`` with the change; unchanged where the path leads nowhere, as through values not known yet."""
        return self._changed(copy.deepcopy(inputs), self.path)

    def _changed(self, value: Any, path: Path) -> Any:
        if _signed(value):
            return {**value, "value": self._changed(value["value"], path)} if "value" in value else value
        if not path:
            return self._new(value)
        step: Any = path[0]
        rest = path[1:]
        if step == JSON_TEXT:
            inner = _loaded(value)
            return value if inner is None else json.dumps(self._changed(inner, rest))
        if step not in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
            return value
        if not rest and self.mutation == "dropped":
            del value[step]
        else:
            value[step] = self._changed(value[step], rest)
        return value

    def _new(self, value: Any) -> Any:
        if isinstance(value, str) and value in UNKNOWN_VALUES:
            return value
        if self.mutation == "flipped":
            return _OPPOSITES[value] if isinstance(value, str) else not value
        return type(value)() if self.mutation == "emptied" else json.loads(self.value)


def mutants_of(program: Iterable[Registered], enum: Callable[[str, str], tuple[str, ...]]) -> list[Mutant]:
    """All mutants of a program, one for resources of a type that have the same value at the same path.

    ``enum``: type and path without indices → the values that the provider's schema lists.
    """
    places = [
        (each, path, value)
        for each in sorted(program, key=lambda each: (each.type, each.name))
        for path, value in (*_places(each.inputs, ()), *([(DEPENDS_ON, None)] if each.waits else ()))
    ]
    known: dict[tuple[str, str], list[str]] = {}
    for each, path, value in places:
        if isinstance(value, str):
            known.setdefault((each.type, general(path)), []).append(value)
    mutants: list[Mutant] = []
    known_effects: set[str] = set()
    for each, path, value in places:
        place = (each.type, general(path))
        for mutation, new in _mutations(path, value, (*enum(*place), *known.get(place, ()))):
            one = Mutant(each.type, each.name, path, mutation, new)
            # Without its only element a list is empty, too: each effect once.
            effect = json.dumps([each.urn, path == DEPENDS_ON, one.applied(each.inputs)], sort_keys=True)
            kind = json.dumps([*place, mutation, value], sort_keys=True)
            mutants += [] if known_effects & {effect, kind} else [one]
            known_effects |= {effect, kind}
    return mutants


def general(path: Path) -> str:
    """A path without indices."""
    return ".".join(step for step in path if isinstance(step, str))


def groups_of(mutants: Iterable[Mutant], size: int) -> list[list[Mutant]]:
    """Groups of at most ``size`` in which no mutant hides another: none changes what contains another's input."""
    groups: list[list[Mutant]] = []
    for one in mutants:
        fitting = (each for each in groups if len(each) < size and not any(_conflict(one, other) for other in each))
        if (group := next(fitting, None)) is None:
            groups.append(group := [])
        group.append(one)
    return groups


def ordered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """In an order in which no change moves the place of a later one: higher indices first."""
    return sorted(mutants, key=lambda one: [(isinstance(step, int), step) for step in one.path], reverse=True)


def _conflict(one: Mutant, other: Mutant) -> bool:
    """Whether one is inside the other, or both take each other's value: together they may change nothing."""
    shorter = min(len(one.path), len(other.path))
    inside = one.name == other.name and one.path[:shorter] == other.path[:shorter]
    exchange = one.mutation == other.mutation == "moved" and general(one.path) == general(other.path)
    return one.type == other.type and (inside or exchange)


def _places(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every value below ``value`` with its path; ``None`` is no value."""
    if (inner := _loaded(value)) is not None:
        path, value = (*path, JSON_TEXT), inner
    each = sorted(value.items()) if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, item in each:
        item = item.get("value", item) if _signed(item) else item
        if item is not None:
            yield (*path, step), item
            yield from () if _signed(item) else _places(item, (*path, step))


def _signed(value: Any) -> bool:
    """Whether a value is the wire's form of what JSON has not: a secret, an asset, a reference."""
    return isinstance(value, Mapping) and SIGNATURE in value


def _loaded(text: Any) -> Any:
    """The JSON object in a text; ``None`` if there is none."""
    try:
        return json.loads(text) if isinstance(text, str) and text.startswith("{") else None
    except json.JSONDecodeError:
        return None


def _mutations(path: Path, value: Any, others: Iterable[str]) -> Iterator[tuple[Mutation, str]]:
    yield "dropped", ""
    if isinstance(value, bool) or (isinstance(value, str) and value in _OPPOSITES):
        yield "flipped", ""
        return
    if isinstance(value, (Mapping, list, str)) and value and not _signed(value):
        yield "emptied", ""
    if isinstance(value, (int, float)):
        yield "moved", json.dumps(value * 10 or 1)
    elif isinstance(value, str) and _loaded(value) is None:
        yield "moved", json.dumps(_moved(value, others, f"{crc32(repr(path).encode()) % 4096:03x}"))


def _moved(value: str, others: Iterable[str], salt: str) -> str:
    """Another text of the same kind; ``salt`` keeps equal texts at two places from moving together."""
    if number := _NUMBER.fullmatch(value):
        return f"{int(number[1]) * 10 or 1}{number[2] or ''}"
    if re.fullmatch(r"[\d.]+/\d+", value):
        network = ipaddress.IPv4Network(value)
        start = (int(network.network_address) + (1 << 24)) % (1 << 32)
        return str(ipaddress.IPv4Network((start, network.prefixlen))) if network.prefixlen >= 8 else "10.0.0.0/8"
    other = next((one for one in others if one and one != value and not _NOTHING.search(one)), None)
    if other is not None:
        return other
    return value[:-1] + chr(ord(value[-1]) + 1) if _PLACE.fullmatch(value) else f"{value}-{salt}"
