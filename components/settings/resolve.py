"""A valid stack file → settings: defaults derived, sizes, capacities and zones expanded to pools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from components import catalog
from components.catalog import CloudCatalog, Machine
from components.pools import (
    AdminPoolSpec,
    CpuPoolSpec,
    GpuPoolSpec,
    Image,
    TimeSharing,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)
from components.settings.costs import costs, node_price
from components.settings.cpu_pool import CpuPool
from components.settings.expansion import variants
from components.settings.gpu_pool import GpuPool
from components.settings.settings import Settings
from components.settings.stack_file import StackFile
from policies.rules.model import Taint


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
    nat = file.network.nat or ("per-zone" if file.availability == "regional" else "single")
    gateways = len(zones) if nat == "per-zone" else 1
    cost = costs(known, admin_pool, [*gpu_pools, *cpu_pools], gateways=gateways)
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
        nat_per_zone=nat == "per-zone",
        autoscaling_profile=file.autoscaling.profile,
        autoscaler=autoscaler_of(file, known),
        expander=file.autoscaling.expander,
        unneeded_minutes=file.autoscaling.unneeded_minutes,
        addons=file.addons,
        labels=file.labels,
        admin_pool_spec=admin_pool,
        gpu_pool_specs=gpu_pools,
        cpu_pool_specs=cpu_pools,
        budget_hourly_usd=file.budget.max_hourly_usd,
        cost_idle_hourly=cost.idle,
        cost_max_hourly=cost.maximum,
        unpriced=cost.unpriced,
    )


def default_cluster_name(stack: str, limit: int) -> str:
    """``gpu-<stack>``, in the alphabet and length of a cluster's name."""
    return ("gpu-" + re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-"))[:limit].strip("-")


def autoscaler_of(file: StackFile, known: CloudCatalog) -> str:
    """Who decides the size of the stack's pools."""
    return file.autoscaling.autoscaler or known.autoscalers()[0]


def pool_name(name: str, size: int, suffix: str) -> str:
    """The name of one of the pools that an entry of ``gpuPools`` becomes."""
    return f"{name}-{size}{suffix}"


def _gpu_pools(index: int, pool: GpuPool, file: StackFile, known: CloudCatalog, smallest: int) -> Iterator[GpuPoolSpec]:
    extra = tuple(taint.node_taint() for taint in pool.taints)
    for size in pool.gpus_per_node:
        for variant in variants(
            known, pool.capacity, file.region, pool.zones, gpu=True, autoscaler=autoscaler_of(file, known)
        ):
            name = pool_name(pool.name, size, variant.suffix)
            machines = _gpu_machines(pool, size, variant.spot, known)
            spot_taints = known.spot_taints() if variant.spot else ()
            yield GpuPoolSpec(
                name=name,
                gpu=pool.gpu,
                accelerator=known.accelerators()[pool.gpu].name,
                gpus_per_node=size,
                machine_type=machines[0].type,
                machine_types=tuple(machine.type for machine in machines),
                min_nodes=pool.min_nodes,
                max_nodes=pool.max_nodes,
                spot=variant.spot,
                preference=variant.preference,
                zones=variant.zones,
                disk_gb=pool.disk_gb,
                image=cast(Image, pool.image or known.images()[0]),
                drivers=pool.drivers,
                driver_version=pool.driver_version,
                labels=gpu_pool_labels(name, pool.gpu, size, {**known.gpu_labels(pool.gpu), **pool.labels}),
                taints=_distinct(gpu_pool_taints(size, smallest, (*spot_taints, *extra))),
                reservation=pool.reservation,
                time_sharing=TimeSharing(clients_per_gpu=pool.time_sharing.clients_per_gpu)
                if pool.time_sharing
                else None,
                mig=pool.mig,
                unneeded_minutes=pool.unneeded_minutes,
                hourly_usd=node_price(known, file.region, machines[0], pool.disk_gb, spot=variant.spot),
                declared_at=f"gpuPools[{index}]",
            )


def _gpu_machines(pool: GpuPool, size: int, spot: bool, known: CloudCatalog) -> tuple[Machine, ...]:
    """The types a pool may consist of, the planned one first; several only of spot nodes."""
    if not pool.machine_type:
        return known.spot_machines(pool.gpu, size) if spot else known.machines_for(pool.gpu, size)[:1]
    named = [known.with_gpus(type, pool.gpu, size) for type in pool.machine_type]
    accepted = tuple(machine for machine in named if machine is not None)
    if len(accepted) < len(named):
        raise AssertionError(f"{pool.machine_type} was accepted for {size} {pool.gpu}")
    return accepted if spot else accepted[:1]


def _cpu_pools(
    index: int, pool: CpuPool, file: StackFile, known: CloudCatalog, zones: tuple[str, ...]
) -> Iterator[CpuPoolSpec]:
    for variant in variants(
        known, pool.capacity, file.region, pool.zones or zones, gpu=False, autoscaler=autoscaler_of(file, known)
    ):
        name = f"{pool.name}{variant.suffix}"
        machines = _machines(pool.machine_type or (known.default_cpu_machine(),), variant.spot, known)
        spot_taints = known.spot_taints() if variant.spot else ()
        yield CpuPoolSpec(
            name=name,
            machine_type=machines[0].type,
            machine_types=tuple(machine.type for machine in machines),
            # Only the first choice keeps nodes; its fallback starts empty.
            min_nodes=pool.min_nodes if variant.preference == 0 else 0,
            max_nodes=pool.max_nodes,
            spot=variant.spot,
            preference=variant.preference,
            zones=variant.zones,
            disk_gb=pool.disk_gb,
            labels=cpu_pool_labels(name, pool.labels),
            taints=_distinct((*spot_taints, *(taint.node_taint() for taint in pool.taints))),
            unneeded_minutes=pool.unneeded_minutes,
            hourly_usd=node_price(known, file.region, machines[0], pool.disk_gb, spot=variant.spot),
            declared_at=f"cpuPools[{index}]",
        )


def _admin_pool(file: StackFile, known: CloudCatalog, zones: tuple[str, ...]) -> AdminPoolSpec:
    pool = file.admin_pool
    spot = pool.capacity == "spot"
    machines = _machines(pool.machine_type or (known.default_admin_machine(),), spot, known)
    return AdminPoolSpec(
        machine_type=machines[0].type,
        machine_types=tuple(machine.type for machine in machines),
        nodes=pool.nodes,
        max_nodes=pool.max_nodes,
        # A node in another zone would not outlive the one zone that a zonal control plane is in.
        zones=zones if file.availability == "regional" else zones[:1],
        disk_gb=pool.disk_gb,
        labels=admin_pool_labels(),
        spot=spot,
        hourly_usd=node_price(known, file.region, machines[0], pool.disk_gb, spot=spot),
    )


def _machines(types: Sequence[str], spot: bool, known: CloudCatalog) -> tuple[Machine, ...]:
    found = tuple(machine for type in types if (machine := known.machine(type)) is not None)
    if len(found) < len(types):
        raise AssertionError(f"{types} was accepted")
    return found if spot else found[:1]


def _distinct(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """A file may repeat the taint that the cloud puts on spot nodes."""
    return tuple(dict.fromkeys(taints))
