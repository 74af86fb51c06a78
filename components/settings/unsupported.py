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

from facts.catalog import PLUGINS


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
_HOURS: Final = {"dai": 24, "day": 24, "week": 168, "month": 730}
_BUDGET: Final = re.compile(r"(max|maximum)?(usd|dollars)?(per)?(?P<period>[a-z]+?)(ly)?(max|maximum)?(usd|dollars)?")


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
    key: str, section_keys: Iterable[str], file_keys: Iterable[str] = (), *, cloud: object = None, value: object = None
) -> tuple[str, str] | None:
    """What is wrong with a key that its section does not have, and what to write instead.

    Args:
        key: the key as written.
        section_keys: the keys of its section.
        file_keys: the keys at the top of a stack file.
        cloud: what the file says under ``cloud``.
        value: what the file says under ``key``.

    Returns:
        ``None`` if no table knows the key.
    """
    word, existing = plain(key), {*section_keys, *file_keys}
    if (per_hour := _hourly_budget(word, value)) is not None and "maxHourlyUsd" in existing:
        return f"there is no key '{key}': the budget is per hour", per_hour
    if (other := synonyms().get(word)) is not None and other.partition(":")[0] in existing:
        return f"there is no key '{key}'", f"Write {other}"
    entry = next((entry for entry in unsupported_keys() if entry.keys and re.fullmatch(entry.keys, word)), None)
    if entry is None:
        return None
    if cloud in entry.supported:
        return f"there is no key '{key}'", f"Write {entry.supported[str(cloud)]} in an entry of gpuPools"
    return entry.answer


def _hourly_budget(word: str, value: object) -> str | None:
    """The remedy for a budget with a period other than an hour."""
    match = _BUDGET.fullmatch(word)
    hours = _HOURS.get(match["period"]) if match is not None else None
    if hours is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"Write maxHourlyUsd: the amount divided by {hours} hours"
    return f"Write maxHourlyUsd: {value / hours:.3g}, which is {value:g} divided by {hours} hours"


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
