"""Rules about single keys of a stack file, cloud by cloud: settings that a cloud does not support (``refused.yaml``),
and how it writes names, IDs and principals (``forms.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml
from pydantic.alias_generators import to_snake

from components.settings.problems import Problem
from components.settings.settings import Settings
from facts.concepts.pool import Pool

# Key of the stack file → attribute of the settings or a pool, where it is not the key's own name.
_ATTRIBUTES: Final[Mapping[str, str]] = {
    "adminPool.capacity": "admin_pool.capacity_type",
    "adminPool.maxNodes": "admin_pool.autoscaled",
    "autoscaling.unneededMinutes": "unneeded_minutes",
    "placement": "compact",
}


_ANY: Final = object()
_NOTHING: Final = (None, False, {}, (), "")
"""Values that ask for nothing; 0 is equal to ``false``."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One key of an entry of ``refused.yaml``, which documents the fields."""

    key: str
    message: str
    remedy: str
    value: object = _ANY
    within: tuple[int, int] | None = None
    autoscaler: str | None = None
    together: Mapping[str, object] = field(default_factory=dict)
    present: Sequence[str] = ()

    def problem(self, path: str, value: Any) -> Problem | None:
        """The problem of a key at ``path`` that has this value; ``None`` if it may have it."""
        words = {"value": str(value), "count": str(len(value)) if isinstance(value, tuple) else ""}
        if self.within is not None and value not in _NOTHING:
            number = int(value.rpartition("/")[2]) if isinstance(value, str) else value
            nearest = min(max(number, self.within[0]), self.within[1])
            refused, words = number != nearest, {**words, "prefix": f"/{number}", "nearest": str(nearest)}
        else:
            refused = value not in _NOTHING if self.value is _ANY else value == self.value
        return Problem(path, _filled(self.message, words), _filled(self.remedy, words)) if refused else None


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


@cache
def refused_rows(cloud: str) -> tuple[Row, ...]:
    """The rows of a cloud."""
    return tuple(Row(key=key, **fields) for key, fields in entries("refused", cloud))


@cache
def entries(table: str, cloud: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The keys in a table of a cloud, each with the other fields of its entry; ``{cloud}`` is its name in capitals."""
    text = (files("components.settings.limits") / f"{table}.yaml").read_text(encoding="utf-8")
    return tuple(
        (key, {name: value for name, value in entry.items() if name not in ("of", "keys")})
        for entry in yaml.safe_load(text.replace("{cloud}", cloud.upper()))
        if cloud in entry["of"]
        for key in entry["keys"]
    )


def refused(settings: Settings, section: str = "") -> Iterator[Problem]:
    """What a cloud refuses in the whole file, or in one section such as ``network.existing``."""
    pools = {"gpuPools": settings.gpu_pools, "cpuPools": settings.cpu_pools, "pools": settings.pools}
    for row in refused_rows(settings.cloud):
        if not row.key.startswith(section) or row.autoscaler not in (None, settings.autoscaler):
            continue
        first, _, key = row.key.partition(".")
        holders = [(f"{pool.declared_at}.{key}", pool, key) for pool in pools.get(first, ())]
        for path, of, own in holders if first in pools else [(row.key, settings, row.key)]:
            together = all(_value(of, other, settings) == value for other, value in row.together.items())
            if together and all(_value(of, other, settings) not in _NOTHING for other in row.present):
                problem = row.problem(path, _value(of, own, settings))
                yield from [problem] if problem is not None else []


def _value(of: Any, key: str, file: Settings) -> Any:
    """The value of a key of a pool, or of the file; ``None`` if a section on the way is left out."""
    steps = _ATTRIBUTES.get(key, to_snake(key)).split(".")
    of = of if _holder(of, steps[0]) is not None else file
    for name in steps:
        of = None if of is None else getattr(_holder(of, name), name)
    return of


def _holder(of: Any, name: str) -> Any:
    """What has an attribute of this name: the record itself, or a part of a pool; ``None`` if none has."""
    parts = (of, of.nodes, of.scaling, of.gpus) if isinstance(of, Pool) else (of,)
    return next((part for part in parts if hasattr(part, name)), None)


def other_forms(
    settings: Settings, section: str = "", known: Mapping[str, re.Pattern[str]] | None = None
) -> Iterator[Problem]:
    """Texts of another form, in the whole file or in one section; a key that is left out is of any.

    ``known`` are the patterns that ``forms.yaml`` only names.
    """
    region = settings.region
    for key, form in entries("forms", settings.cloud):
        for path, text in _texts(settings, key) if key.startswith(section) else ():
            match = re.fullmatch(form.get("written") or (known or {})[form["known"]], text)
            if match is None:
                yield Problem(path, f"'{text}' is not {form['is_not']}", form["remedy"].replace("{region}", region))
            elif (its := match.groupdict().get("region", region)) != region:
                needs = f"{settings.cloud.upper()} needs one in the cluster's region, {region}"
                yield Problem(path, f"the key is in {its}, but {needs}", form["elsewhere"].replace("{region}", region))


def _texts(of: Any, key: str, before: str = "") -> Iterator[tuple[str, str]]:
    """The texts at a key with their paths, such as ``access[0].who``. That of a list of texts is the list's own."""
    step, _, rest = key.partition(".")
    name = step.removesuffix("[]")
    value, path = getattr(of, to_snake(name)), f"{before}{name}"
    listed = enumerate(value) if step.endswith("[]") else ((None, value),)
    for number, entry in listed:
        where = path if number is None else f"{path}[{number}]"
        if rest and entry is not None:
            yield from _texts(entry, rest, f"{where}.")
        elif not rest:
            yield from ((where, text) for text in ([entry] if isinstance(entry, str) else entry or ()))


def without_refused(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The file without the keys that ``refused.yaml`` has for its ``cloud``, and a problem for each."""
    cleaned, problems = deepcopy(dict(raw)), []
    listed = [(key, cleaned.get(key)) for key in ("adminPool", "gpuPools", "cpuPools")]
    pools = [
        (f"{key}[{i}].", entry) for key, value in listed if isinstance(value, list) for i, entry in enumerate(value)
    ]
    pools += [(f"{key}.", value) for key, value in listed]
    places = {"": [("", cleaned)], "pools": pools, "workloads": [("workloads.", cleaned.get("workloads"))]}
    for row in refused_rows(str(raw["cloud"])):
        section, _, key = row.key.rpartition(".")
        for where, entry in places.get(section, ()):
            if isinstance(entry, dict) and key in entry:
                del entry[key]
                problems.append(Problem(f"{where}{key}", row.message, row.remedy))
    return cleaned, problems
