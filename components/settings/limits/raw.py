"""``raw``: inputs of the cloud's provider for what has no setting yet, checked against the provider's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from components.settings.fields.problems import Problem, instead
from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.raw import Raw
from schemas import Object, Property, Schema, schema

_EXPECTED: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "text"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "list": ((list,), "a list"),
    "map": ((dict,), "a mapping"),
    "object": ((dict,), "a mapping"),
}


def problems(settings: Settings) -> Iterator[Problem]:
    """Inputs that the provider does not have, and inputs that the program sets itself."""
    known = catalog.of(settings.cloud).choices.raw
    yield from _problems(settings.cloud, settings.raw, known.cluster, "raw")
    checked = set[str]()
    for pool in settings.pools:
        if not pool.raw or pool.declared_at in checked:
            continue
        checked.add(pool.declared_at)
        where = f"{pool.declared_at}.raw"
        yield from _problems(settings.cloud, pool.raw, known.pool_of.get(settings.autoscaler, known.pool), where)


def _problems(cloud: str, raw: Mapping[str, Any], known: Raw, where: str) -> Iterator[Problem]:
    if not raw:
        return
    yield from (Problem(f"{where}.{path}", "the program sets it", remedy) for path, remedy in _owned(raw, known, ""))
    if known.inputs:
        for key in (each for each in raw if each not in {*known.inputs, *known.owned}):
            kind = known.token.rpartition(":")[2]
            yield Problem(f"{where}.{key}", f"{kind} has no field '{key}'", instead(key, known.inputs))
        return
    provider = schema(cloud)
    yield from _block(raw, provider.inputs(known.token), provider, where)


def _owned(raw: Mapping[str, Any], known: Raw, before: str) -> Iterator[tuple[str, str]]:
    """The paths that the program owns, without what is below them, and what to write instead."""
    for key, value in raw.items():
        if (remedy := known.owner(f"{before}{key}")) is not None:
            yield f"{before}{key}", remedy
        elif isinstance(value, Mapping):
            yield from _owned(value, known, f"{before}{key}.")


def _block(raw: Mapping[str, Any], known: Object, provider: Schema, where: str) -> Iterator[Problem]:
    for key, value in raw.items():
        declared = known.properties.get(key)
        if declared is None:
            yield Problem(f"{where}.{key}", f"the provider has no input '{key}'", instead(key, tuple(known.properties)))
        else:
            yield from _value(value, declared, provider, f"{where}.{key}")


def _value(value: Any, declared: Property, provider: Schema, where: str) -> Iterator[Problem]:
    if not _fits(value, declared):
        words = _EXPECTED[declared.type][1]
        yield Problem(where, f"'{value}' is not {words}", f"Write {words}")
    elif declared.enum and value not in declared.enum:
        yield Problem(where, f"'{value}' is not one of {', '.join(declared.enum)}", instead(str(value), declared.enum))
    elif declared.type == "object":
        yield from _block(value, provider.objects[declared.object], provider, where)
    elif declared.type in ("list", "map") and declared.items is not None:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            step = f"[{key}]" if isinstance(key, int) else f".{key}"
            yield from _value(each, declared.items, provider, f"{where}{step}")


def _fits(value: Any, declared: Property) -> bool:
    """Whether it has the input's type. In Python ``True`` is an ``int``; for a provider it is not a number."""
    if declared.type not in _EXPECTED:
        return True
    types = _EXPECTED[declared.type][0]
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
