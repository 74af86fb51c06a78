"""Server-side rules: what a cloud refuses although the request's shape is right, one named rule each."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from rehearsal.providers.base import Properties, at, has_unknown

CloudT = TypeVar("CloudT")
Check = Callable[[Properties, CloudT], "str | None"]


@dataclass(frozen=True)
class ServerRule(Generic[CloudT]):
    """``check`` answers with what is wrong, or ``None``. It is put off while one of the inputs it ``reads`` is unknown.

    ``source`` is where the cloud (or the provider) documents the rule.
    """

    id: str
    source: str
    reads: tuple[str, ...]
    check: Check[CloudT]


def broken(rules: Sequence[ServerRule[CloudT]], inputs: Properties, cloud: CloudT) -> str | None:
    """What the first broken rule says; rules about values that are not known yet wait for the update."""
    for rule in rules:
        if any(has_unknown(at(inputs, path)) for path in rule.reads):
            continue
        message = rule.check(inputs, cloud)
        if message:
            return message
    return None


def no_check(inputs: Properties, cloud: Any) -> str | None:
    """Stands for a check that is code, until a module brings it (``Table.check``)."""
    raise NotImplementedError


def declared_rule(id: str, row: Properties) -> ServerRule[Any]:
    """A rule of ``rules.yaml``: ``refuses`` says all (``refusal``), or it ``reads``, and has a check in code."""
    if "refuses" not in row:
        return ServerRule(id, row["source"], tuple(row["reads"]), no_check)
    cases = row["refuses"]
    paths = (path for case in cases for part in (*_parts(case), case.get("each", "").split()) for path in part)
    reads = tuple(row.get("reads") or dict.fromkeys(paths))

    def check(inputs: Properties, cloud: Any) -> str | None:
        return next(filter(None, (refusal(case, inputs, cloud) for case in cases)), None)

    return ServerRule(id, row["source"], reads, check)


def _parts(case: Properties) -> list[Properties]:
    when = case.get("when") or {}
    return [*(when if isinstance(when, list) else [when]), case.get("unless") or {}, case.get("permits") or {}]


def refusal(case: Properties, inputs: Properties, cloud: Any) -> str | None:
    """The ``message`` about inputs that a row of a table refuses, ``None`` if it does not.

    It refuses inputs that are as one of ``when`` says, and not as ``unless`` says. With ``permits`` it refuses of these
    only inputs with another value at one of its paths. All three map a dotted path to a value, a list of values,
    ``true`` (given, and not empty or zero), ``false``, or to tests (``_TESTS``). A message may name inputs: ``{a.b}``,
    ``{a|b}`` (the first that is given), and what is not permitted: ``{path}`` and ``{value}``. ``each`` is the
    path of a list: then paths begin in its items, or in the inputs.
    """
    if "each" in case:
        rest = {key: value for key, value in case.items() if key != "each"}
        items = ({**inputs, **item} for item in at(inputs, case["each"]) or ())
        return next(filter(None, (refusal(rest, item, cloud) for item in items)), None)
    *when, unless, permits = _parts(case)
    if not any(_holds(each, inputs, cloud) for each in when) or (unless and _holds(unless, inputs, cloud)):
        return None
    values = {path: at(inputs, path) for path in permits}
    bad = [path for path, value in values.items() if value is not None and not _is(value, permits[path], inputs, cloud)]
    if permits and not bad:
        return None
    named = {"path": bad[0], "value": values[bad[0]]} if bad else {}

    def field(match: re.Match[str]) -> str:
        paths = match[1].split("|")
        value = next((each for path in paths if (each := named.get(path, at(inputs, path))) is not None), None)
        return str(int(value) if isinstance(value, float) and value.is_integer() else value)

    return _FIELD.sub(field, case["message"])


def _holds(tests: Properties, inputs: Properties, cloud: Any) -> bool:
    return all(_is(at(inputs, path), test, inputs, cloud) for path, test in tests.items())


def _is(value: Any, test: Any, inputs: Properties, cloud: Any) -> bool:
    if isinstance(test, bool):
        return bool(value) is test
    if isinstance(test, list):
        return value in test
    if isinstance(test, dict):
        return all(_TESTS[name](value, each, inputs, cloud) for name, each in test.items())
    return bool(value == test)


def _bound(test: Any, inputs: Properties) -> float:
    """A number, or what is at a path; nothing there is 0."""
    return float(at(inputs, test) or 0) if isinstance(test, str) else float(test)


def _matches(pattern: str, text: str, inputs: Properties) -> bool:
    filled = _FIELD.sub(lambda field: re.escape(str(at(inputs, field[1]))), pattern)
    return re.fullmatch(filled, text) is not None


def _sold(name: Any, what: str, catalog: Any) -> bool:
    """``what``: ``region``, ``machine``, ``machine with GPUs`` or ``machine without GPUs``."""
    if what == "region":
        return name in catalog.regions
    machine = catalog.machines.get(str(name))
    return machine is not None and what in ("machine", f"machine with{'' if machine.gpus else 'out'} GPUs")


def _is_network(text: str, smallest: int, largest: int) -> bool:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        return False
    return network.version == 6 or smallest <= network.prefixlen <= largest


def _distinct(items: Sequence[Any], keys: Sequence[str]) -> bool:
    identities = [tuple(item.get(key) for key in keys) if keys else item for item in items]
    return len(set(identities)) == len(identities)


_FIELD: Final = re.compile(r"\{([a-zA-Z][\w.|]*)\}")
_TESTS: Final[Mapping[str, Callable[[Any, Any, Properties, Any], bool]]] = {
    "given": lambda value, test, *_: (value is not None) is test,
    "not": lambda value, test, inputs, cloud: not _is(value, test, inputs, cloud),
    # A regular expression, which may name inputs as a message does.
    "pattern": lambda value, test, inputs, _: value is not None and _matches(test, str(value), inputs),
    # A number, or the path of one.
    "least": lambda value, test, inputs, _: float(value or 0) >= _bound(test, inputs),
    "most": lambda value, test, inputs, _: float(value or 0) <= _bound(test, inputs),
    "shortest": lambda value, test, *_: len(value or ()) >= test,
    "longest": lambda value, test, *_: len(value or ()) <= test,
    # Of a list: tests of an item, the keys in which items differ (none: they differ themselves), one that is there, the
    # path of one that is not, what all are.
    "any": lambda value, test, inputs, cloud: any(_holds(test, {**inputs, **each}, cloud) for each in value or ()),
    "distinct": lambda value, test, *_: _distinct(value or (), test),
    "has": lambda value, test, *_: test in (value or ()),
    "without": lambda value, test, inputs, _: at(inputs, test) not in (value or ()),
    "items": lambda value, test, inputs, cloud: all(_is(each, test, inputs, cloud) for each in value or ()),
    # Address ranges, with these lengths of an IPv4 prefix.
    "networks": lambda value, test, *_: all(
        _is_network(each, *test) for each in (value if isinstance(value, list) else [value]) if each
    ),
    # Of a map: the pattern of all keys, that of all values, and the keys of which it has exactly one.
    "keys": lambda value, test, *_: all(re.fullmatch(test, key) for key in value or ()),
    "values": lambda value, test, *_: all(re.fullmatch(test, each) for each in (value or {}).values()),
    "one_of": lambda value, test, *_: sum(bool((value or {}).get(key)) for key in test) == 1,
    # What the catalogue has of that name (``_sold``).
    "sold": lambda value, test, _, cloud: _sold(value, test, cloud.catalog),
}


def tag_rules(
    *paths: str, source: str, key: str, value: str, most: int, refusal: str, distinct: bool = False
) -> Sequence[ServerRule[Any]]:
    """Rules about the maps at ``paths``: patterns of a whole key and value, and at ``most`` so many.

    ``refusal`` is the cloud's message, with the tag as ``{key}``. ``distinct``: keys differ in more than case.
    """
    keys, values = re.compile(key), re.compile(value)

    def check(inputs: Properties, path: str) -> str | None:
        tags = at(inputs, path) or {}
        bad = [name for name, text in tags.items() if not (keys.fullmatch(name) and values.fullmatch(str(text)))]
        lower = [name.lower() for name in tags]
        bad += [name for name in tags if distinct and lower.count(name.lower()) > 1]
        bad += list(tags)[most:]
        return refusal.format(key=bad[0]) if bad else None

    def rule(path: str) -> ServerRule[Any]:
        return ServerRule(f"tags-of-{path}", source, (path,), lambda inputs, _: check(inputs, path))

    return [rule(path) for path in paths]


def minors_up(old: str, new: str) -> int:
    """How many minor versions of Kubernetes ``new`` is above ``old``; negative if it is below. No cloud upgrades a
    control plane by more than one at once."""
    return _minor(new) - _minor(old)


def _minor(version: str) -> int:
    return int(version.split(".")[1])


# Of node labels and taints: every cloud checks their form.
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LABEL_PREFIX: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")


def bad_labels(labels: Mapping[str, str]) -> str | None:
    """The first error in labels, ``None`` if all are valid."""
    return next(filter(None, (_bad_label("label", key, value) for key, value in labels.items())), None)


def bad_taints(taints: Iterable[Mapping[str, Any]]) -> str | None:
    """The first error in taints, which differ in key or effect; ``None`` if all are valid."""
    known: set[tuple[str, str]] = set()
    for taint in taints:
        key, effect = taint["key"], taint["effect"]
        if (key, effect) in known:
            return f"Duplicate taint: key '{key}' with effect {effect} appears twice."
        known.add((key, effect))
        if problem := _bad_label("taint", key, taint.get("value") or ""):
            return problem
    return None


def _bad_label(what: str, key: str, value: str) -> str | None:
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (slash and not _LABEL_PREFIX.fullmatch(prefix)):
        return f"Invalid {what} key '{key}': it must be [prefix/]name of letters, digits, '-', '_' and '.'."
    if value and not _LABEL_NAME.fullmatch(value):
        return f"Invalid {what} value '{value}' of key '{key}': at most 63 letters, digits, '-', '_' and '.'."
    return None
