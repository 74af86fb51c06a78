"""Reads ``refused.yaml``: settings that a cloud does not support, whatever else the stack file says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml
from pydantic.alias_generators import to_snake

from components.settings.problems import Problem
from components.settings.settings import Settings

# Key of the stack file → attribute of the settings or a pool, where it is not the key's own name.
_ATTRIBUTES: Final[Mapping[str, str]] = {
    "adminPool.capacity": "admin_pool.capacity_type",
    "autoscaling.unneededMinutes": "unneeded_minutes",
    "drivers": "gpus.drivers",
    "driverVersion": "gpus.driver_version",
    "mig": "gpus.mig",
    "placement": "compact",
    "timeSharing": "gpus.time_sharing",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One key of an entry of ``refused.yaml``, which documents the fields."""

    key: str
    message: str
    remedy: str
    value: object = None
    autoscaler: str | None = None

    def refuses(self, value: object) -> bool:
        """Whether the key may not have this value; left out, ``false``, 0 and an empty mapping ask for nothing."""
        return value not in (None, False, {}) if self.value is None else value == self.value


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


def problems(settings: Settings, section: str = "") -> Iterator[Problem]:
    """What a cloud refuses in the whole file, or in one section such as ``network.existing``."""
    pools = {"gpuPools": settings.gpu_pools, "cpuPools": settings.cpu_pools, "pools": settings.pools}
    for row in rows(settings.cloud):
        if not row.key.startswith(section) or row.autoscaler not in (None, settings.autoscaler):
            continue
        first, _, key = row.key.partition(".")
        if first not in pools and row.refuses(_value(settings, row.key)):
            yield Problem(row.key, row.message, row.remedy)
        for pool in pools.get(first, ()):
            if row.refuses(_value(pool, key)):
                yield Problem(f"{pool.declared_at}.{key}", row.message, row.remedy)


def _value(of: Any, key: str) -> Any:
    """The value of a key; ``None`` if a section on the way is left out."""
    for name in _ATTRIBUTES.get(key, to_snake(key)).split("."):
        of = None if of is None else getattr(of, name)
    return of
