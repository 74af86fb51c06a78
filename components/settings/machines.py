"""Checks of machine types against the catalogue, one or a list of them. Each returns what it found or raises."""

from __future__ import annotations

from collections.abc import Sequence

from components.catalog import Machine
from components.settings.context import Context
from components.settings.problems import instead, nearest
from components.settings.section import Capacity
from components.settings.syntax import wrong


def known_machine(type: str, where: Context) -> Machine | None:
    """The machine of that name; ``None`` only while the cloud itself is not valid."""
    if where.catalog is None:
        return None
    machine = where.catalog.machine(type)
    if machine is None:
        near = nearest(type, where.catalog.machine_types())
        example = where.catalog.default_admin_machine()
        remedy = (
            f"Did you mean '{near}'?" if near else f"Write a machine type of {where.cloud}, for example '{example}'"
        )
        raise wrong(f"there is no machine type '{type}' on {where.cloud}", remedy)
    return machine


def without_gpus(types: Sequence[str], where: Context) -> tuple[Machine, ...]:
    """Known machines without GPUs, as for CPU and admin pools, the planned one first."""
    several(types, where)
    found = [machine for type in types if (machine := known_machine(type, where)) is not None]
    for machine in found:
        if machine.gpus:
            raise wrong(
                f"'{machine.type}' has {machine.gpus} {machine.gpu}",
                "Declare it below gpuPools, where it can reach zero nodes",
            )
    return planned_first(found)


def with_gpus(types: Sequence[str], gpu: str, sizes: Sequence[int], where: Context) -> tuple[Machine, ...]:
    """The machines of those names, each with each of the sizes; for one size the planned one first."""
    several(types, where)
    found = [_with_gpus(type, gpu, size, sizes, where) for type in types for size in sizes]
    return planned_first([machine for machine in found if machine is not None]) if len(sizes) == 1 else ()


def _with_gpus(type: str, gpu: str, size: int, sizes: Sequence[int], where: Context) -> Machine | None:
    known_machine(type, where)
    if where.catalog is None:
        return None
    machine = where.catalog.with_gpus(type, gpu, size)
    if machine is not None:
        return machine
    if len(sizes) > 1:
        raise wrong(
            f"'{type}' does not have {size} {gpu}, and gpusPerNode is {list(sizes)}",
            "Leave machineType out, so that each size gets its own machine, or write a pool per machine type",
        )
    fitting = [machine.type for machine in where.catalog.machines_for(gpu, size)]
    raise wrong(f"'{type}' does not have {size} {gpu}", instead(type, fitting) if fitting else "Leave it out")


def several(types: Sequence[str], where: Context) -> None:
    """Refuse a list that names a type twice, or several where the cloud's pools have one."""
    if len(set(types)) < len(types):
        raise wrong(f"a machine type is there twice: {', '.join(types)}", "Write each type once")
    if len(types) > 1 and where.catalog is not None and not where.catalog.mixes_machines():
        raise wrong(
            f"{len(types)} machine types in one pool, and a pool on {where.cloud} has one",
            f"Write one of them, or a pool for each: machineType: {types[0]}",
        )


def mixed_only_on_spot(types: Sequence[str], capacity: Capacity) -> None:
    """Several types are several chances to get spot capacity; nodes on demand would only differ without need."""
    if len(types) > 1 and capacity == "on-demand":
        raise wrong(
            f"machineType lists {len(types)} types, and only spot nodes are mixed",
            "Write capacity: spot, or one machine type",
        )


def planned_first(machines: Sequence[Machine]) -> tuple[Machine, ...]:
    """The machines in ascending size: an autoscaler plans with the first, so every other must offer as much."""
    ordered = sorted(machines, key=lambda machine: (machine.vcpus, machine.memory_gib))
    for machine in ordered[1:]:
        if machine.memory_gib < ordered[0].memory_gib:
            raise wrong(
                f"an autoscaler plans with the type of the fewest vCPUs, '{ordered[0].type}' "
                f"({ordered[0].memory_gib:g} GiB), and pods that fit there would not fit '{machine.type}' "
                f"({machine.memory_gib:g} GiB)",
                f"Leave out '{ordered[0].type}' or '{machine.type}'",
            )
    return tuple(ordered)
