"""Patterns and ranges of Azure's requests: reads ``limits.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.sources.collecting import table


@dataclass(frozen=True)
class ValueLimit:
    """A whole string's ``pattern``, or a number's inclusive range."""

    pattern: str = ""
    low: float | None = None
    high: float | None = None


GROUP: Final = ValueLimit(r"[-\w.()]{0,89}[-\w()]")
"""Of every ``resourceGroupName``."""

LIMITS: Final[Mapping[str, Mapping[str, ValueLimit]]] = {
    model: {key: ValueLimit(limit) if isinstance(limit, str) else ValueLimit("", *limit) for key, limit in each.items()}
    for model, each in table(Path(__file__).with_name("limits.yaml")).items()
}
"""Model → property (or name in the address) → what it may be."""
