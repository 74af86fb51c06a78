"""Entries of a stack file → the pools they become: one per size, per capacity type, and per zone where needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, cast

from components.settings.pools.costs import node_price
from components.settings.pools.fixed import of_all
from components.settings.sections import capacity
from components.settings.sections.capacity import Reservation
from components.settings.sections.pools import AdminPool, CpuPool, GpuPool, SharingSetting
from facts.catalog import CloudCatalog, Machine
from facts.catalog.machines import Machines
from facts.concepts.kubernetes import Taint, resource_of
from facts.concepts.parts import CapacityType, Gpus, Image, Nodes, Scaling, SharedGpu, Upgrade
from facts.concepts.pool import (
    ADMIN_POOL_NAME,
    ARCH_LABEL,
    ARM,
    CLASS_LABEL,
    MPS,
    SHARING_LABEL,
    TEAMS_LABEL,
    Pool,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

# Capacity type → what the pool's name ends in where there are several.
_SUFFIXES: Final[Mapping[str, str]] = {
    "reserved": "reserved",
    "capacity-block": "block",
    "flex-start": "flex",
    "spot": "spot",
    "on-demand": "ondemand",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the pools are: the cloud's catalogue, the region, the stack's zones and the autoscaler."""

    catalog: CloudCatalog
    region: str
    zones: tuple[str, ...]
    autoscaler: str


def _expanded(pool: GpuPool | CpuPool, place: Place) -> Iterator[tuple[str, int, tuple[str, ...], Scaling]]:
    """The pools of one entry, of each size in fallback order: name, GPUs per node, zones, and how it scales."""
    for size in pool.gpus_per_node if isinstance(pool, GpuPool) else (0,):
        for end, zones, scaling in _fallback_pools(pool, _zones(pool, size, place) or place.zones):
            name = f"{pool.name}-{size}{end}" if size else f"{pool.name}{end}"
            if place.catalog.machines.pool_per_zone(
                gpu=size > 0, spot=scaling.spot, zones=len(zones), autoscaler=place.autoscaler
            ):
                for zone in zones:
                    yield f"{name}-{zone_suffix(zone, place.region)}", size, (zone,), scaling
            else:
                yield name, size, zones, scaling


def _zones(pool: GpuPool | CpuPool, size: int, place: Place) -> tuple[str, ...]:
    """The entry's zones; unless it names them, those that have the machine with which the autoscaler plans.

    All of the stack's where the list may be another account's and the autoscaler asks the account itself.
    """
    if not isinstance(pool, GpuPool) or not pool.zones or "zones" in pool.model_fields_set:
        return pool.zones
    known, one_zone = place.catalog, pool.fabric is not None or pool.reservation
    if place.region in known.own_zone_names and place.autoscaler not in known.machines.uniform_groups and not one_zone:
        return place.zones
    having = known.machine_zones(_gpu_machines(pool, size, False, place)[0])
    return tuple(zone for zone in pool.zones if having is None or zone in having) or pool.zones


def _fallback_pools(pool: GpuPool | CpuPool, zones: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], Scaling]]:
    """The pools of one size, one for each capacity type, and one for each reservation: the end of the name, which is
    empty if there is one pool only, zones, and how it scales."""
    reservations = pool.reservation if isinstance(pool, GpuPool) else ()
    capacity_types = cast(tuple[CapacityType, ...], pool.capacity)
    chosen: list[tuple[int, CapacityType, int, Reservation | None]] = [
        (preference, capacity_type, number, reservation)
        for preference, capacity_type in enumerate(capacity_types)
        for number, reservation in enumerate(
            [each for each in reservations if each.capacity_type == capacity_type] or [None], start=1
        )
    ]
    for preference, capacity_type, number, reservation in chosen:
        end = f"-{_SUFFIXES[capacity_type]}" + (f"-{number}" if number > 1 else "")
        its_zones = (reservation.zone,) if reservation is not None and reservation.zone else zones
        yield end if len(chosen) > 1 else "", its_zones, _scaling(pool, capacity_type, preference, reservation)


def _scaling(
    pool: GpuPool | CpuPool, capacity_type: CapacityType, preference: int, reservation: Reservation | None
) -> Scaling:
    if isinstance(pool, CpuPool):
        return Scaling(
            # Only the first choice keeps nodes; its fallback starts empty.
            min_nodes=pool.min_nodes if preference == 0 else 0,
            max_nodes=pool.max_nodes,
            capacity_type=capacity_type,
            preference=preference,
            unneeded_minutes=pool.unneeded_minutes,
        )
    flex = (pool.flex_start or capacity.FlexStart()) if capacity_type == "flex-start" else None
    return Scaling(
        min_nodes=pool.min_nodes,
        max_nodes=min(pool.max_nodes, (reservation and reservation.nodes) or pool.max_nodes),
        capacity_type=capacity_type,
        preference=preference,
        compute_class=pool.name if pool.compute_class else None,
        reservation=None if reservation is None else reservation.name,
        block=None if reservation is None else reservation.block,
        reserved_nodes=0 if reservation is None else reservation.nodes or pool.max_nodes,
        max_run_hours=None if flex is None else flex.max_run_hours,
        location_policy=pool.location_policy,
        unneeded_minutes=pool.unneeded_minutes,
    )


def zone_suffix(zone: str, region: str) -> str:
    """What a zone's name adds to its region's: ``a`` of ``us-west-2a`` and of ``us-central1-a``."""
    return zone.removeprefix(region).lstrip("-")


def gpu_pools(entries: Sequence[GpuPool], place: Place, stack_labels: Mapping[str, str]) -> tuple[Pool, ...]:
    """The pools of the entries of ``gpuPools`` without problems, in a stack whose resources have these labels."""
    complete = [(index, entry) for index, entry in enumerate(entries) if entry.complete]
    resources = {resource_of(entry.gpu) for _, entry in complete}
    of_resource = {each: of_all([one for _, one in complete if resource_of(one.gpu) == each]) for each in resources}
    smallest = {each: min(size for one in of_resource[each] for size in one.gpus_per_node) for each in resources}
    # Sizes of which some pool has whole GPUs.
    open_to_all = of_all([entry for _, entry in complete])
    whole = {size for entry in open_to_all if not _divided(entry) for size in entry.gpus_per_node}
    pools = (pool for index, entry in complete for pool in _gpu_pools(index, entry, place, smallest, whole))
    return tuple(_for_launchers(pool, place, stack_labels) for pool in pools)


def _divided(entry: GpuPool) -> bool:
    return entry.time_sharing is not None or entry.mps is not None or entry.mig is not None


def cpu_pools(entries: Sequence[CpuPool], place: Place) -> tuple[Pool, ...]:
    """The same of ``cpuPools``, in the stack's zones unless they name their own."""
    complete = ((index, entry) for index, entry in enumerate(entries) if entry.complete)
    return tuple(pool for index, entry in complete for pool in _cpu_pools(index, entry, place))


def _gpu_pools(index: int, pool: GpuPool, place: Place, smallest: Mapping[str, int], whole: set[int]) -> Iterator[Pool]:
    known, resource = place.catalog, resource_of(pool.gpu)
    extra = tuple(taint.node_taint() for taint in pool.taints)
    for name, size, zones, scaling in _expanded(pool, place):
        machines = _gpu_machines(pool, size, scaling.spot, place, zones)
        gpus = _gpus(pool, size, machines[0], known)
        shares = gpus.shares if size in whole else 1
        cloud_labels = {} if gpus.topology is None else known.labels.of_chips(gpus.accelerator, gpus.topology)
        fabric = replace(known.nodes.fabric, devices=machines[0].rdma_devices) if pool.fabric else None
        fabric_labels = known.labels.fabric if fabric is not None else {}
        selected = {
            **({CLASS_LABEL: pool.name} if pool.compute_class else {}),
            **({SHARING_LABEL: MPS} if pool.mps else {}),
            **({TEAMS_LABEL: pool.name} if pool.teams else {}),
            **_arch_label(machines),
        }
        cloud_taints = (*(known.labels.spot_taints if scaling.spot else ()), *_repelling(selected))
        nodes: Nodes = Nodes(
            machine_types=tuple(machine.type for machine in machines),
            zones=zones,
            labels=gpu_pool_labels(
                name,
                pool.gpu,
                size,
                {**known.labels.of_gpu(pool.gpu), **cloud_labels, **fabric_labels, **selected, **pool.labels},
            ),
            taints=_distinct(
                gpu_pool_taints(size, smallest[resource], (*cloud_taints, *extra), shares=shares, resource=resource)
            ),
            cloud_labels=cloud_labels,
            image=cast(Image, (pool.image or known.nodes.images[0]).partition("@")[0]),
            image_version=(pool.image or "").partition("@")[2] or None,
            image_streaming=pool.image_streaming,
            disk_gb=pool.disk_gb,
            compact=pool.placement == "compact",
            fabric=fabric,
            upgrade=_upgrade(pool),
            teams=pool.teams,
            **asdict(node_price(known, place.region, machines, pool.disk_gb, spot=scaling.spot, own=pool.hourly_usd)),
        )
        yield Pool(
            name=name,
            role="gpu",
            nodes=nodes,
            scaling=scaling,
            gpus=gpus,
            declared_at=f"gpuPools[{index}]",
            raw=pool.raw,
            own_hourly_usd=pool.hourly_usd,
        )


def _arch_label(machines: Sequence[Machine]) -> dict[str, str]:
    return {ARCH_LABEL: ARM} if machines[0].arch == ARM else {}


def _repelling(selected: Mapping[str, str]) -> list[Taint]:
    """Taints that keep pods away which do not select these labels."""
    return [Taint(key, value, "NoSchedule") for key, value in selected.items()]


def _for_launchers(pool: Pool, place: Place, stack_labels: Mapping[str, str]) -> Pool:
    """The pool with the labels by which launchers select it; a user's label of the same key wins."""
    launcher_labels = place.catalog.labels.of_launchers(pool, place.autoscaler, stack_labels)
    nodes = replace(pool.nodes, labels={**launcher_labels, **pool.nodes.labels})
    return replace(pool, nodes=nodes)


def _gpus(pool: GpuPool, size: int, machine: Machine, known: CloudCatalog) -> Gpus:
    topologies = known.machines.topologies(machine.type)
    topology = pool.topology or next(iter(topologies), None)
    return Gpus(
        type=pool.gpu,
        accelerator=known.machines.accelerators[pool.gpu].name,
        per_node=size,
        resource=resource_of(pool.gpu),
        drivers=pool.drivers,
        driver_version=pool.driver_version,
        time_sharing=_shared(pool.time_sharing),
        mps=_shared(pool.mps),
        mig=pool.mig,
        topology=topology,
        slice_nodes=topologies.get(topology or "", 0),
    )


def _shared(setting: SharingSetting | None) -> SharedGpu | None:
    return None if setting is None else SharedGpu(clients_per_gpu=setting.clients_per_gpu)


def _upgrade(pool: GpuPool | CpuPool) -> Upgrade | None:
    return None if pool.upgrade is None else Upgrade(**pool.upgrade.model_dump())


def _gpu_machines(pool: GpuPool, size: int, spot: bool, place: Place, zones: Sequence[str] = ()) -> tuple[Machine, ...]:
    """The machine types of a pool, the one that the autoscaler plans with first; several only for spot, and only those
    that the ``zones`` have."""
    known = place.catalog
    if not pool.machine_type:
        first, *others = known.machines.spot_mix(pool.gpu, size, place.autoscaler)
        mixed = (first, *(each for each in others if not {*(known.machine_zones(each) or zones)}.isdisjoint(zones)))
        # The nodes of a fabric are of one type.
        return mixed if spot and not pool.fabric else known.machines.having(pool.gpu, size)[:1]
    named = [known.machines.with_gpus(type, pool.gpu, size) for type in pool.machine_type]
    accepted = tuple(machine for machine in named if machine is not None)
    if len(accepted) < len(named):
        raise AssertionError(f"{pool.machine_type} was accepted for {size} {pool.gpu}")
    return accepted if spot else accepted[:1]


def _cpu_pools(index: int, pool: CpuPool, place: Place) -> Iterator[Pool]:
    known = place.catalog
    for name, _, zones, scaling in _expanded(pool, place):
        machines = _machines(pool.machine_type or (known.machines.default_cpu,), scaling.spot, known.machines)
        selected = _arch_label(machines)
        cloud_taints = (*(known.labels.spot_taints if scaling.spot else ()), *_repelling(selected))
        nodes: Nodes = Nodes(
            machine_types=tuple(machine.type for machine in machines),
            zones=zones,
            labels=cpu_pool_labels(name, {**selected, **pool.labels}),
            taints=_distinct((*cloud_taints, *(taint.node_taint() for taint in pool.taints))),
            image=cast(Image, known.nodes.images[0]),
            disk_gb=pool.disk_gb,
            upgrade=_upgrade(pool),
            **asdict(node_price(known, place.region, machines, pool.disk_gb, spot=scaling.spot, own=pool.hourly_usd)),
        )
        yield Pool(
            name=name,
            role="cpu",
            nodes=nodes,
            scaling=scaling,
            declared_at=f"cpuPools[{index}]",
            raw=pool.raw,
            own_hourly_usd=pool.hourly_usd,
        )


def admin_pool(pool: AdminPool, place: Place, zones: tuple[str, ...]) -> Pool:
    """The admin pool, with its nodes in each of the ``zones`` of the control plane."""
    known = place.catalog
    spot = pool.capacity == "spot"
    machines = _machines(pool.machine_type or (known.machines.default_admin,), spot, known.machines)
    nodes: Nodes = Nodes(
        machine_types=tuple(machine.type for machine in machines),
        zones=zones,
        labels={**admin_pool_labels(), **_arch_label(machines)},
        image=cast(Image, known.nodes.images[0]),
        disk_gb=pool.disk_gb,
        **asdict(node_price(known, place.region, machines, pool.disk_gb, spot=spot, own=pool.hourly_usd)),
    )
    fewest = pool.nodes * len(zones)
    scaling: Scaling = Scaling(
        min_nodes=fewest,
        max_nodes=fewest if pool.max_nodes is None else pool.max_nodes,
        autoscaled=pool.max_nodes is not None,
        capacity_type=pool.capacity,
    )
    return Pool(
        name=ADMIN_POOL_NAME,
        role="admin",
        nodes=nodes,
        scaling=scaling,
        declared_at="adminPool",
        own_hourly_usd=pool.hourly_usd,
    )


def _machines(types: Sequence[str], spot: bool, known: Machines) -> tuple[Machine, ...]:
    machines = tuple(machine for type in types if (machine := known.get(type)) is not None)
    if len(machines) < len(types):
        raise AssertionError(f"{types} was accepted")
    return machines if spot else machines[:1]


def _distinct(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """Without duplicates: a file may repeat the taint that the cloud puts on spot nodes."""
    return tuple(dict.fromkeys(taints))


def pool_names(entry: GpuPool | CpuPool, place: Place) -> list[str]:
    """The names of the pools that an entry becomes."""
    # No name depends on these, so that an invalid one hides no name.
    entry = entry.model_copy(update={"min_nodes": 0, "max_nodes": 1, "unneeded_minutes": None})
    return [name for name, *_ in _expanded(entry, place)]
