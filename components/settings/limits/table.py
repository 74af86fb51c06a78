"""The one reader of ``refused.yaml`` and ``forms.yaml``: rules about single keys of a stack file, cloud by cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, kw_only=True)
class Row:
    """One key of an entry of ``refused.yaml``, which documents the fields."""

    key: str
    message: str
    remedy: str
    value: object = None
    autoscaler: str | None = None
    together: Mapping[str, object] = field(default_factory=dict)

    def refuses(self, value: object) -> bool:
        """Whether the key may not have this value; left out, ``false``, 0 and an empty mapping ask for nothing."""
        return value not in (None, False, {}, ()) if self.value is None else value == self.value


@cache
def rows(cloud: str) -> tuple[Row, ...]:
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
