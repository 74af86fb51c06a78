"""Names of the pools that a stack file becomes: too long, or there twice. Judged before anything else is valid."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping

from components.catalog import CloudCatalog
from components.pools import ADMIN_POOL_NAME
from components.settings.context import Context
from components.settings.expansion import variants
from components.settings.problems import Problem
from components.settings.resolve import pool_name
from components.settings.section import Capacity


def name_problems(raw: Mapping[str, object], where: Context) -> list[Problem]:
    """Problems of the resulting names; from unchecked values, so that no other error hides them."""
    known = where.catalog
    if known is None:
        return []
    limit = known.max_name_length()
    taken: dict[str, str] = {ADMIN_POOL_NAME: "adminPool"}
    found: list[Problem] = []
    for path, names in (*_gpu_names(raw, where, known), *_cpu_names(raw, where, known)):
        clash = next((name for name in names if name in taken), None)
        if clash is not None:
            found.append(
                Problem(
                    path,
                    f"there would be two pools called '{clash}', here and from {taken[clash]}",
                    "Choose another name; every resulting pool needs its own",
                )
            )
        longest = max(names, key=len, default="")
        if len(longest) > limit:
            message = f"the resulting pool name '{longest}' has {len(longest)} characters, {where.cloud} allows {limit}"
            found.append(Problem(path, message, f"Shorten the name by {len(longest) - limit} or more"))
        taken |= {name: path.removesuffix(".name") for name in names}
    return found


def _gpu_names(raw: Mapping[str, object], where: Context, known: CloudCatalog) -> Iterator[tuple[str, list[str]]]:
    for index, pool in _entries(raw.get("gpuPools")):
        sizes = pool.get("gpusPerNode", 1)
        sizes = [sizes] if isinstance(sizes, int) else sizes
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            suffixes = _suffixes(raw, pool, where, known, gpu=True)
            names = [pool_name(str(pool["name"]), size, end) for size in dict.fromkeys(sizes) for end in suffixes]
            yield f"gpuPools[{index}].name", names


def _cpu_names(raw: Mapping[str, object], where: Context, known: CloudCatalog) -> Iterator[tuple[str, list[str]]]:
    for index, pool in _entries(raw.get("cpuPools")):
        suffixes = _suffixes(raw, pool, where, known, gpu=False)
        yield f"cpuPools[{index}].name", [f"{pool['name']}{end}" for end in suffixes]


def _suffixes(
    raw: Mapping[str, object], pool: Mapping[str, object], where: Context, known: CloudCatalog, *, gpu: bool
) -> list[str]:
    capacity = pool.get("capacity", "on-demand")
    if capacity not in typing.get_args(Capacity):
        capacity = "on-demand"
    return [
        variant.suffix
        for variant in variants(
            known,
            typing.cast(Capacity, capacity),
            where.region or "",
            _zones(pool, where, known, gpu=gpu),
            gpu=gpu,
            autoscaler=_autoscaler(raw, known),
        )
    ]


def _zones(pool: Mapping[str, object], where: Context, known: CloudCatalog, *, gpu: bool) -> tuple[str, ...]:
    written, name = pool.get("zones"), pool.get("gpu")
    if isinstance(written, list) and written:
        return tuple(dict.fromkeys(str(zone) for zone in written))
    having = known.gpu_zones(name) if gpu and isinstance(name, str) and name in known.accelerators() else None
    return where.zones if having is None else tuple(zone for zone in where.zones if zone in having)


def _autoscaler(raw: Mapping[str, object], known: CloudCatalog) -> str:
    section = raw.get("autoscaling")
    written = section.get("autoscaler") if isinstance(section, Mapping) else None
    return written if isinstance(written, str) and written in known.autoscalers() else known.autoscalers()[0]


def _entries(pools: object) -> Iterator[tuple[int, Mapping[str, object]]]:
    for index, pool in enumerate(pools if isinstance(pools, list) else ()):
        if isinstance(pool, Mapping) and isinstance(pool.get("name"), str):
            yield index, pool
