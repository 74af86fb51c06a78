"""A valid stack file → settings: defaults derived, sizes and capacities expanded to pools, costs added up."""

from __future__ import annotations

import re
from collections.abc import Iterable

from components import catalog
from components.catalog import CloudCatalog, Machine
from components.pools import (
    AdminPoolSpec,
    CpuPoolSpec,
    GpuPoolSpec,
    TimeSharing,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)
from components.settings.cpu_pool import CpuPool
from components.settings.gpu_pool import GpuPool
from components.settings.section import Capacity
from components.settings.settings import Settings
from components.settings.stack_file import StackFile

Counts = list[tuple[AdminPoolSpec | GpuPoolSpec | CpuPoolSpec, int]]
"""How many nodes of which pools."""

# Capacity → (suffix of the pool's name, spot, preference) of each resulting pool.
_TWINS: dict[Capacity, tuple[tuple[str, bool, int], ...]] = {
    "spot": (("", True, 0),),
    "on-demand": (("", False, 0),),
    "spot-with-fallback": (("-spot", True, 0), ("-ondemand", False, 1)),
}


def resolve(file: StackFile, *, stack: str, project: str) -> Settings:
    """Everything the file means; expects a file without problems."""
    known = catalog.of(file.cloud)
    zones = file.zones or known.regions()[file.region]
    smallest = min(size for pool in file.gpu_pools for size in pool.gpus_per_node)
    gpu_pools = tuple(
        spec for index, pool in enumerate(file.gpu_pools) for spec in _gpu_pools(index, pool, file, known, smallest)
    )
    cpu_pools = tuple(
        spec for index, pool in enumerate(file.cpu_pools) for spec in _cpu_pools(index, pool, file, known, zones)
    )
    admin_pool = _admin_pool(file, known, zones)
    idle, maximum, unpriced = _costs(file.region, known, admin_pool, gpu_pools, cpu_pools)
    return Settings(
        stack=stack,
        project=project,
        cloud=file.cloud,
        region=file.region,
        zones=zones,
        regional=file.availability == "regional",
        cluster_name=file.cluster_name or default_cluster_name(stack, known.max_name_length()),
        kubernetes=file.kubernetes,
        network=file.network,
        security=file.security,
        autoscaling_profile=file.autoscaling.profile,
        labels=file.labels,
        admin_pool_spec=admin_pool,
        gpu_pool_specs=gpu_pools,
        cpu_pool_specs=cpu_pools,
        budget_hourly_usd=file.budget.max_hourly_usd,
        cost_idle_hourly=idle,
        cost_max_hourly=maximum,
        unpriced=unpriced,
    )


def default_cluster_name(stack: str, limit: int) -> str:
    """``gpu-<stack>``, in the alphabet and length of a cluster's name."""
    return ("gpu-" + re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-"))[:limit].strip("-")


def pool_names(name: str, sizes: Iterable[int], capacity: Capacity) -> list[str]:
    """Names of the pools that one entry of ``gpuPools`` becomes."""
    return [f"{name}-{size}{suffix}" for size in sizes for suffix, _, _ in _TWINS[capacity]]


def cpu_pool_names(name: str, capacity: Capacity) -> list[str]:
    """Names of the pools that one entry of ``cpuPools`` becomes."""
    return [f"{name}{suffix}" for suffix, _, _ in _TWINS[capacity]]


def _gpu_pools(index: int, pool: GpuPool, file: StackFile, known: CloudCatalog, smallest: int) -> Iterable[GpuPoolSpec]:
    extra = tuple(taint.node_taint() for taint in pool.taints)
    for size in pool.gpus_per_node:
        for suffix, spot, preference in _TWINS[pool.capacity]:
            name = f"{pool.name}-{size}{suffix}"
            machine = _machine(pool, size, known)
            yield GpuPoolSpec(
                name=name,
                gpu=pool.gpu,
                accelerator=known.accelerators()[pool.gpu].name,
                gpus_per_node=size,
                machine_type=machine.type,
                min_nodes=pool.min_nodes,
                max_nodes=pool.max_nodes,
                spot=spot,
                preference=preference,
                zones=pool.zones,
                disk_gb=pool.disk_gb,
                image=pool.image,
                drivers=pool.drivers,
                driver_version=pool.driver_version,
                labels=gpu_pool_labels(name, pool.gpu, size, pool.labels),
                taints=gpu_pool_taints(size, smallest, extra),
                reservation=pool.reservation,
                time_sharing=TimeSharing(clients_per_gpu=pool.time_sharing.clients_per_gpu)
                if pool.time_sharing
                else None,
                hourly_usd=_node_price(file.region, machine, pool.disk_gb, spot, known),
                declared_at=f"gpuPools[{index}]",
            )


def _machine(pool: GpuPool, size: int, known: CloudCatalog) -> Machine:
    if pool.machine_type is not None:
        named = known.with_gpus(pool.machine_type, pool.gpu, size)
        if named is None:
            raise AssertionError(f"{pool.machine_type} was accepted for {size} {pool.gpu}")
        return named
    return known.machines_for(pool.gpu, size)[0]


def _cpu_pools(
    index: int, pool: CpuPool, file: StackFile, known: CloudCatalog, zones: tuple[str, ...]
) -> Iterable[CpuPoolSpec]:
    machine = known.machine(pool.machine_type)
    if machine is None:
        raise AssertionError(f"{pool.machine_type} was accepted")
    for suffix, spot, preference in _TWINS[pool.capacity]:
        yield CpuPoolSpec(
            name=f"{pool.name}{suffix}",
            machine_type=pool.machine_type,
            # Only the first choice keeps nodes; its fallback starts empty.
            min_nodes=pool.min_nodes if preference == 0 else 0,
            max_nodes=pool.max_nodes,
            spot=spot,
            preference=preference,
            zones=pool.zones or zones,
            disk_gb=pool.disk_gb,
            labels=cpu_pool_labels(f"{pool.name}{suffix}", pool.labels),
            taints=tuple(taint.node_taint() for taint in pool.taints),
            hourly_usd=_node_price(file.region, machine, pool.disk_gb, spot, known),
            declared_at=f"cpuPools[{index}]",
        )


def _admin_pool(file: StackFile, known: CloudCatalog, zones: tuple[str, ...]) -> AdminPoolSpec:
    machine_type = file.admin_pool.machine_type or known.default_admin_machine()
    machine = known.machine(machine_type)
    if machine is None:
        raise AssertionError(f"{machine_type} was accepted")
    return AdminPoolSpec(
        machine_type=machine_type,
        nodes=file.admin_pool.nodes,
        # A node in another zone would not outlive the one zone that a zonal control plane is in.
        zones=zones if file.availability == "regional" else zones[:1],
        disk_gb=file.admin_pool.disk_gb,
        labels=admin_pool_labels(),
        hourly_usd=_node_price(file.region, machine, file.admin_pool.disk_gb, False, known),
    )


def _node_price(region: str, machine: Machine, disk_gb: int, spot: bool, known: CloudCatalog) -> float | None:
    price, disk = known.machine_price(region, machine, spot=spot), known.disk_price(region, disk_gb)
    return None if price is None or disk is None else price.usd + disk.usd


def _costs(
    region: str,
    known: CloudCatalog,
    admin: AdminPoolSpec,
    gpu_pools: tuple[GpuPoolSpec, ...],
    cpu_pools: tuple[CpuPoolSpec, ...],
) -> tuple[float | None, float | None, tuple[str, ...]]:
    """(idle, maximum, names without a price)."""
    pools: list[GpuPoolSpec | CpuPoolSpec] = [*gpu_pools, *cpu_pools]
    always: Counts = [(admin, admin.total_nodes)]
    unpriced = tuple(pool.name for pool in [admin, *pools] if pool.hourly_usd is None)
    idle = _total(known, [*always, *((pool, pool.min_nodes) for pool in pools)])
    maximum = _total(known, [*always, *((pool, pool.max_nodes) for pool in pools)])
    return idle, maximum, unpriced


def _total(known: CloudCatalog, counts: Counts) -> float | None:
    nodes = sum(count for _, count in counts)
    fees = [known.control_plane_price(), known.nat_price(nodes)]
    total = 0.0
    for fee in fees:
        if fee is None:
            return None
        total += fee.usd
    for pool, count in counts:
        if count and pool.hourly_usd is None:
            return None
        total += count * (pool.hourly_usd or 0.0)
    return total
