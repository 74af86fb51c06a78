"""Entries of a stack file → the pools they become: one per size, twins of a capacity, one per zone where needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from components.settings import capacity
from components.settings.capacity import Reservation
from components.settings.costs import dearest_price, node_price
from components.settings.fields import NO_ZONE, ValidationContext
from components.settings.pools import AdminPool, CpuPool, GpuPool
from components.settings.problems import Problem
from facts.catalog import CloudCatalog, Machine
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import (
    ADMIN_POOL_NAME,
    FlexStart,
    Image,
    Pool,
    PoolGpus,
    TimeSharing,
    Upgrade,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

# Rung → what the pool's name ends in where there are several.
_SUFFIXES: Final[Mapping[str, str]] = {
    "reserved": "reserved",
    "capacity-block": "block",
    "flex-start": "flex",
    "spot": "spot",
    "on-demand": "ondemand",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the pools will be: the cloud's catalogue, the region, and who decides their sizes."""

    catalog: CloudCatalog
    region: str
    autoscaler: str


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """GPUs per node in a stack: the ``smallest``, and those of which some pool has ``whole`` GPUs."""

    smallest: int
    whole: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class PoolEntry:
    """What of an entry decides which pools it becomes. ``sizes`` are GPUs per node; ``(None,)`` of pools without."""

    name: str
    sizes: Sequence[int | None]
    rungs: Sequence[str]
    zones: Sequence[str]
    reservations: Sequence[Reservation] = ()


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One of the resulting pools, called ``name``; ``preference`` orders twins (0 is tried first)."""

    name: str
    size: int | None
    rung: str
    preference: int
    zones: tuple[str, ...]
    reservation: Reservation | None = None

    @property
    def spot(self) -> bool:
        """Whether it is of spot machines."""
        return self.rung == "spot"


def variants(entry: PoolEntry, place: Place) -> Iterator[Variant]:
    """The pools of one entry, of each size in the order in which they are tried."""
    for size in entry.sizes:
        name = entry.name if size is None else f"{entry.name}-{size}"
        for twin in _twins(entry):
            one = replace(twin, name=f"{name}{twin.name}", size=size)
            gpu, zones = size is not None, len(one.zones)
            if place.catalog.pool_per_zone(gpu=gpu, spot=one.spot, zones=zones, autoscaler=place.autoscaler):
                for zone in one.zones:
                    yield replace(one, name=f"{one.name}-{zone_suffix(zone, place.region)}", zones=(zone,))
            else:
                yield one


def _twins(entry: PoolEntry) -> list[Variant]:
    """What a size becomes, ``name`` being what ends the pool's: one for each rung, and for each reservation of it."""
    found: list[Variant] = []
    for preference, rung in enumerate(entry.rungs):
        one = Variant(name=f"-{_SUFFIXES[rung]}", size=None, rung=rung, preference=preference, zones=tuple(entry.zones))
        reservations = [each for each in entry.reservations if each.rung == rung]
        for number, each in enumerate(reservations, start=1):
            name = one.name if number == 1 else f"{one.name}-{number}"
            found.append(replace(one, name=name, zones=(each.zone,) if each.zone else one.zones, reservation=each))
        if not reservations:
            found.append(one)
    return found if len(found) > 1 else [replace(found[0], name="")]


def zone_suffix(zone: str, region: str) -> str:
    """What a zone's name adds to its region's: ``a`` of ``us-west-2a`` and of ``us-central1-a``."""
    return zone.removeprefix(region).lstrip("-")


def gpu_pools(entries: Sequence[GpuPool], place: Place, stack_labels: Mapping[str, str]) -> tuple[Pool, ...]:
    """The pools of valid ``gpuPools``, in a stack whose resources have these labels."""
    sizes = Sizes(
        smallest=min(size for entry in entries for size in entry.gpus_per_node),
        whole=frozenset(size for entry in entries if not _divided(entry) for size in entry.gpus_per_node),
    )
    pools = (pool for index, entry in enumerate(entries) for pool in _gpu_pools(index, entry, place, sizes))
    return tuple(_for_launchers(pool, place, stack_labels) for pool in pools)


def _divided(entry: GpuPool) -> bool:
    return entry.time_sharing is not None or entry.mig is not None


def cpu_pools(entries: Sequence[CpuPool], place: Place, zones: tuple[str, ...]) -> tuple[Pool, ...]:
    """The pools of valid ``cpuPools``, in the stack's ``zones`` unless they name their own."""
    return tuple(pool for index, entry in enumerate(entries) for pool in _cpu_pools(index, entry, place, zones))


def _gpu_pools(index: int, pool: GpuPool, place: Place, sizes: Sizes) -> Iterator[Pool]:
    known = place.catalog
    extra = tuple(taint.node_taint() for taint in pool.taints)
    for size in pool.gpus_per_node:
        entry = PoolEntry(
            name=pool.name, sizes=(size,), rungs=pool.capacity, zones=pool.zones, reservations=pool.reservation
        )
        for variant in variants(entry, place):
            part = _gpu_part(pool, size, variant, known)
            shares = part.shares if size in sizes.whole else 1
            machines = _gpu_machines(pool, size, variant.spot, place)
            spot_taints = known.spot_taints if variant.spot else ()
            yield Pool(
                name=variant.name,
                role="gpu",
                gpu_part=part,
                machine_types=tuple(machine.type for machine in machines),
                min_nodes=pool.min_nodes,
                max_nodes=min(pool.max_nodes, (variant.reservation and variant.reservation.nodes) or pool.max_nodes),
                spot=variant.spot,
                preference=variant.preference,
                zones=variant.zones,
                location_policy=pool.location_policy,
                disk_gb=pool.disk_gb,
                image=cast(Image, pool.image or known.images[0]),
                labels=gpu_pool_labels(variant.name, pool.gpu, size, {**known.gpu_labels(pool.gpu), **pool.labels}),
                taints=_distinct(gpu_pool_taints(size, sizes.smallest, (*spot_taints, *extra), shares=shares)),
                unneeded_minutes=pool.unneeded_minutes,
                upgrade=_upgrade(pool),
                compact=pool.placement == "compact",
                image_streaming=pool.image_streaming,
                hourly_usd=node_price(known, place.region, machines[0], pool.disk_gb, spot=variant.spot),
                dearest_hourly_usd=dearest_price(known, place.region, machines, pool.disk_gb, spot=variant.spot),
                declared_at=f"gpuPools[{index}]",
                raw=pool.raw,
            )


def _for_launchers(pool: Pool, place: Place, stack_labels: Mapping[str, str]) -> Pool:
    """The pool with the labels by which launchers find it, unless the user has given it others of these names."""
    found = place.catalog.launcher_labels(pool, place.autoscaler, stack_labels)
    return replace(pool, labels={**found, **pool.labels})


def _gpu_part(pool: GpuPool, size: int, variant: Variant, known: CloudCatalog) -> PoolGpus:
    sharing, reservation = pool.time_sharing, variant.reservation
    flex = (pool.flex_start or capacity.FlexStart()) if variant.rung == "flex-start" else None
    return PoolGpus(
        type=pool.gpu,
        accelerator=known.accelerators[pool.gpu].name,
        per_node=size,
        drivers=pool.drivers,
        driver_version=pool.driver_version,
        reservation=None if reservation is None else reservation.name,
        block=None if reservation is None else reservation.block,
        flex_start=None if flex is None else FlexStart(max_run_hours=flex.max_run_hours),
        time_sharing=TimeSharing(clients_per_gpu=sharing.clients_per_gpu) if sharing else None,
        mig=pool.mig,
    )


def _upgrade(pool: GpuPool | CpuPool) -> Upgrade | None:
    return None if pool.upgrade is None else Upgrade(**pool.upgrade.model_dump())


def _gpu_machines(pool: GpuPool, size: int, spot: bool, place: Place) -> tuple[Machine, ...]:
    """The types a pool may consist of, the planned one first; several only of spot nodes."""
    known = place.catalog
    if not pool.machine_type:
        mixed = known.spot_mix(pool.gpu, size, place.autoscaler)
        return mixed if spot else known.machines.having(pool.gpu, size)[:1]
    named = [known.machines.with_gpus(type, pool.gpu, size) for type in pool.machine_type]
    accepted = tuple(machine for machine in named if machine is not None)
    if len(accepted) < len(named):
        raise AssertionError(f"{pool.machine_type} was accepted for {size} {pool.gpu}")
    return accepted if spot else accepted[:1]


def _cpu_pools(index: int, pool: CpuPool, place: Place, zones: tuple[str, ...]) -> Iterator[Pool]:
    known = place.catalog
    entry = PoolEntry(name=pool.name, sizes=(None,), rungs=pool.capacity, zones=pool.zones or zones)
    for variant in variants(entry, place):
        machines = _machines(pool.machine_type or (known.default_cpu_machine,), variant.spot, known)
        spot_taints = known.spot_taints if variant.spot else ()
        yield Pool(
            name=variant.name,
            role="cpu",
            machine_types=tuple(machine.type for machine in machines),
            image=cast(Image, known.images[0]),
            # Only the first choice keeps nodes; its fallback starts empty.
            min_nodes=pool.min_nodes if variant.preference == 0 else 0,
            max_nodes=pool.max_nodes,
            spot=variant.spot,
            preference=variant.preference,
            zones=variant.zones,
            disk_gb=pool.disk_gb,
            labels=cpu_pool_labels(variant.name, pool.labels),
            taints=_distinct((*spot_taints, *(taint.node_taint() for taint in pool.taints))),
            unneeded_minutes=pool.unneeded_minutes,
            upgrade=_upgrade(pool),
            hourly_usd=node_price(known, place.region, machines[0], pool.disk_gb, spot=variant.spot),
            dearest_hourly_usd=dearest_price(known, place.region, machines, pool.disk_gb, spot=variant.spot),
            declared_at=f"cpuPools[{index}]",
            raw=pool.raw,
        )


def admin_pool(pool: AdminPool, place: Place, zones: tuple[str, ...]) -> Pool:
    """The admin pool, with its nodes in each of the ``zones`` of the control plane."""
    known = place.catalog
    spot = pool.capacity == "spot"
    machines = _machines(pool.machine_type or (known.default_admin_machine,), spot, known)
    nodes = pool.nodes * len(zones)
    return Pool(
        name=ADMIN_POOL_NAME,
        role="admin",
        machine_types=tuple(machine.type for machine in machines),
        image=cast(Image, known.images[0]),
        min_nodes=nodes,
        max_nodes=nodes if pool.max_nodes is None else pool.max_nodes,
        autoscaled=pool.max_nodes is not None,
        zones=zones,
        disk_gb=pool.disk_gb,
        labels=admin_pool_labels(),
        spot=spot,
        hourly_usd=node_price(known, place.region, machines[0], pool.disk_gb, spot=spot),
        dearest_hourly_usd=dearest_price(known, place.region, machines, pool.disk_gb, spot=spot),
    )


def _machines(types: Sequence[str], spot: bool, known: CloudCatalog) -> tuple[Machine, ...]:
    found = tuple(machine for type in types if (machine := known.machines.get(type)) is not None)
    if len(found) < len(types):
        raise AssertionError(f"{types} was accepted")
    return found if spot else found[:1]


def _distinct(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """A file may repeat the taint that the cloud puts on spot nodes."""
    return tuple(dict.fromkeys(taints))


def name_problems(raw: Mapping[str, object], where: ValidationContext) -> list[Problem]:
    """Resulting names that are too long or there twice; of unchecked entries, so that no other error hides them."""
    known = where.catalog
    if known is None:
        return []
    place = Place(catalog=known, region=where.region or "", autoscaler=_autoscaler(raw, known))
    limit = known.max_name_length
    taken: dict[str, str] = {ADMIN_POOL_NAME: "adminPool"}
    found: list[Problem] = []
    for path, entry in _entries(raw, where):
        names = [variant.name for variant in variants(entry, place)]
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


def _entries(raw: Mapping[str, object], where: ValidationContext) -> Iterator[tuple[str, PoolEntry]]:
    """The entries that have a name, and sizes if they need them; what else is wrong with them counts as not written."""
    for key in ("gpuPools", "cpuPools"):
        pools = raw.get(key)
        for index, pool in enumerate(pools if isinstance(pools, list) else ()):
            if not isinstance(pool, Mapping) or not isinstance(name := pool.get("name"), str):
                continue
            sizes = _sizes(pool) if key == "gpuPools" else (None,)
            gpu = pool.get("gpu") if key == "gpuPools" else None
            rungs, reservations = capacity.in_raw(pool)
            zones = _zones(pool, gpu, where)
            entry = PoolEntry(name=name, sizes=sizes, rungs=rungs, zones=zones, reservations=reservations)
            yield f"{key}[{index}].name", entry


def _sizes(pool: Mapping[str, object]) -> tuple[int, ...]:
    written = pool.get("gpusPerNode", 1)
    listed = written if isinstance(written, list) else [written]
    sizes = [size for size in listed if isinstance(size, int)]
    return tuple(dict.fromkeys(sizes)) if len(sizes) == len(listed) else ()


def _zones(pool: Mapping[str, object], gpu: object, where: ValidationContext) -> tuple[str, ...]:
    written = pool.get("zones")
    if written == NO_ZONE:
        return (where.outside_zones,) if where.outside_zones else ()
    if isinstance(written, list) and written:
        return tuple(dict.fromkeys(str(zone) for zone in written))
    return where.zones_with(gpu) if isinstance(gpu, str) else where.zones


def _autoscaler(raw: Mapping[str, object], known: CloudCatalog) -> str:
    section = raw.get("autoscaling")
    written = section.get("autoscaler") if isinstance(section, Mapping) else None
    return written if isinstance(written, str) and written in known.autoscalers else known.autoscalers[0]
