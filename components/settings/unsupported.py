"""Answers to keys and values that a stack file does not have: what is unsupported, and what to write instead.

``unsupported_keys.yaml`` lists what is unsupported, ``synonyms.csv`` other words for keys that exist. Both are read
only when a stack file has an unknown key or value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

import yaml

from facts import catalog
from facts.catalog import PLUGINS
from facts.concepts.durations import HOURS_PER_MONTH


@dataclass(frozen=True, kw_only=True)
class UnsupportedKey:
    """A feature that no key has. The fields are those of ``unsupported_keys.yaml``, which documents them."""

    feature: str
    instead: str
    keys: str = ""
    values: str = ""
    of: tuple[str, ...] = ()
    supported: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> tuple[str, str]:
        """What is wrong, and what to write or do instead."""
        return f"{self.feature} not supported", self.instead


_CLOUD_OF_PLUGIN: Final = {"".join(filter(str.isalnum, plugin)): cloud for cloud, plugin in PLUGINS.items()}
_COMPANIES: Final = {
    "google": "gcp",
    "googlecloud": "gcp",
    "amazon": "aws",
    "azure": "azurenative",
    "microsoft": "azurenative",
}
# A period in a key such as maxDailyUsd, without "ly" → its hours.
_HOURS: Final = {"hour": 1, "dai": 24, "day": 24, "week": 168, "month": HOURS_PER_MONTH, "year": 8760, "annual": 8760}
_AFFIX: Final = r"(max|maximum|limit|budget|cost|spend|usd|dollars?|eur|euros?|per)*"
_BUDGET: Final = re.compile(rf"{_AFFIX}(?P<period>{'|'.join(_HOURS)})(ly)?{_AFFIX}")


@cache
def unsupported_keys() -> tuple[UnsupportedKey, ...]:
    """All entries of ``unsupported_keys.yaml``, in its order."""
    text = (files("components.settings") / "unsupported_keys.yaml").read_text(encoding="utf-8")
    return tuple(UnsupportedKey(**entry) for entry in yaml.safe_load(text.replace("{clouds}", ", ".join(PLUGINS))))


@cache
def synonyms() -> Mapping[str, str]:
    """Another word for a key → what to write, in the same section or at the top of the file."""
    text = (files("components.settings") / "synonyms.csv").read_text(encoding="utf-8")
    rows = {row["word"]: row["write"] for row in csv.DictReader(text.splitlines())}
    return {**rows, **dict.fromkeys(PLUGINS, "raw: {…}")}


def plain(word: str) -> str:
    """A word as the tables have it: in lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]+", "", word.lower())


def for_key(
    key: str,
    section_keys: Iterable[str],
    file_keys: Iterable[str] = (),
    *,
    cloud: object = None,
    value: object = None,
    in_pool: bool = False,
) -> tuple[str, str] | None:
    """What is wrong with a key that its section does not have, and what to write instead.

    Args:
        key: the key as written.
        section_keys: the keys of its section.
        file_keys: the keys at the top of a stack file.
        cloud: what the file says under ``cloud``.
        value: what the file says under ``key``.
        in_pool: whether it is a key of a pool.

    Returns:
        ``None`` if no table knows the key.
    """
    word, existing = plain(key), {*section_keys, *file_keys}
    if (per_hour := _hourly_budget(word, value)) is not None and existing & {"maxHourlyUsd", "budget"}:
        return f"there is no key '{key}': the budget is in US dollars per hour", per_hour
    offered = catalog.of(str(cloud)).choices.autoscalers if cloud in PLUGINS else ()
    if word == "autoscaler" and value not in offered and (answer := for_value(word, value)) is not None:
        return answer
    if (other := synonyms().get(word)) is not None and other.partition(":")[0] in existing:
        return f"there is no key '{key}'", f"Write {other}"
    entry = next((entry for entry in unsupported_keys() if entry.keys and re.fullmatch(entry.keys, word)), None)
    if entry is None:
        return _provider_input(key, cloud, in_pool=in_pool)
    if cloud in entry.supported:
        return f"there is no key '{key}'", f"Write {entry.supported[str(cloud)]} in an entry of gpuPools"
    return entry.answer


def _hourly_budget(word: str, value: object) -> str | None:
    """The remedy for a budget with a period other than an hour."""
    match = _BUDGET.fullmatch(word)
    hours = _HOURS.get(match["period"]) if match is not None else None
    if hours is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or "eur" in word:
        return "Write budget: {maxHourlyUsd: …}, US dollars" + (f" divided by {hours} hours" if hours > 1 else "")
    divided = f", which is {value:g} divided by {hours} hours" if hours > 1 else ""
    return f"Write budget: {{maxHourlyUsd: {value / hours:.3g}}}{divided}"


def _provider_input(key: str, cloud: object, *, in_pool: bool) -> tuple[str, str] | None:
    """The answer to an input of the cloud's provider: ``raw`` takes it, or the program sets it."""
    if cloud not in PLUGINS:
        return None
    known = catalog.of(str(cloud)).choices.raw
    resource = known.pool if in_pool else known.cluster
    if in_pool and known.pool_of:
        return None  # which inputs there are depends on the autoscaler
    from schemas import schema  # a correct stack file needs no list of the provider's inputs

    provider = schema(str(cloud))
    inputs = provider.inputs(resource.token).properties
    blocks = {name: provider.objects[each.object] for name, each in inputs.items() if in_pool and each.object}
    inside = [name for name, block in blocks.items() if key in block.properties]
    if key not in inputs and not inside:
        return None
    path = key if key in inputs else f"{inside[0]}.{key}"
    if (remedy := resource.owner(path)) is not None:
        return f"the program sets the provider's input '{path}'", remedy
    if path == key and inputs[key].type not in ("object", "list", "map"):
        return None  # name, project, location …: the stack file has its own words for them
    written = f"{{{key}: …}}" if path == key else f"{{{inside[0]}: {{{key}: …}}}}"
    return f"there is no key '{key}'; the cloud's provider has an input of that name", f"Write raw: {written}"


def for_value(key: str, value: object) -> tuple[str, str] | None:
    """What is wrong with a value of ``key`` that was refused, and what to write instead; ``None`` if no table knows it.

    For a list, one matching value is enough.
    """
    cloud = _CLOUD_OF_PLUGIN.get(_COMPANIES.get(word := plain(str(value)), word)) if key == "cloud" else None
    if cloud is not None:
        return f"'{value}' is the name of a company or a provider", f"Write {cloud}"
    entry = entry_for_value(key, value)
    return None if entry is None else entry.answer


def entry_for_value(key: str, value: object) -> UnsupportedKey | None:
    """The entry of ``unsupported_keys.yaml`` that matches a value of ``key``, or a value in its list."""
    values = value if isinstance(value, list | tuple) else [value]
    words = [plain(each) for each in values if isinstance(each, str)]
    return next(
        (
            entry
            for entry in unsupported_keys()
            if key in entry.of and any(re.fullmatch(entry.values, word) for word in words)
        ),
        None,
    )
