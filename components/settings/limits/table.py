"""The one reader of ``refused.yaml``: settings that a cloud does not support, whatever else the stack file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

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
    text = (files("components.settings.limits") / "refused.yaml").read_text(encoding="utf-8")
    return tuple(
        Row(key=key, **fields)
        for entry in yaml.safe_load(text.replace("{cloud}", cloud.upper()))
        if cloud in entry["of"]
        for fields in [{name: value for name, value in entry.items() if name not in ("of", "keys")}]
        for key in entry["keys"]
    )
