"""Settings that a cloud does not support, whatever else the stack file says: those of ``refused.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic.alias_generators import to_snake

from components.settings.limits.table import Row, rows
from components.settings.problems import Problem
from components.settings.settings import Settings

# Key of the stack file → attribute of the settings or a pool, where it is not the key's own name.
_ATTRIBUTES: Final[Mapping[str, str]] = {
    "adminPool.capacity": "admin_pool.capacity_type",
    "adminPool.maxNodes": "admin_pool.autoscaled",
    "autoscaling.unneededMinutes": "unneeded_minutes",
    "drivers": "gpus.drivers",
    "driverVersion": "gpus.driver_version",
    "mig": "gpus.mig",
    "placement": "compact",
    "timeSharing": "gpus.time_sharing",
}


def problems(settings: Settings, section: str = "") -> Iterator[Problem]:
    """What a cloud refuses in the whole file, or in one section such as ``network.existing``."""
    pools = {"gpuPools": settings.gpu_pools, "cpuPools": settings.cpu_pools, "pools": settings.pools}
    for row in rows(settings.cloud):
        if not row.key.startswith(section) or row.autoscaler not in (None, settings.autoscaler):
            continue
        first, _, key = row.key.partition(".")
        if first not in pools and _is_refused(settings, row.key, row):
            yield Problem(row.key, row.message, row.remedy)
        for pool in pools.get(first, ()):
            if _is_refused(pool, key, row):
                yield Problem(f"{pool.declared_at}.{key}", row.message, row.remedy)


def _is_refused(of: Any, key: str, row: Row) -> bool:
    return row.refuses(_value(of, key)) and all(_value(of, other) == value for other, value in row.together.items())


def _value(of: Any, key: str) -> Any:
    """The value of a key; ``None`` if a section on the way is left out."""
    for name in _ATTRIBUTES.get(key, to_snake(key)).split("."):
        of = None if of is None else getattr(of, name)
    return of
