"""Checks of machine types, GPUs and zones against the catalogue. Each returns its value or raises."""

from __future__ import annotations

from components.catalog import Machine
from components.settings.context import Context
from components.settings.problems import instead, nearest
from components.settings.syntax import wrong


def zones_in_region(zones: tuple[str, ...], where: Context) -> tuple[str, ...]:
    """Zones of the stack's region, none twice."""
    if len(set(zones)) < len(zones):
        raise wrong(f"a zone is there twice: {', '.join(zones)}", "Write each zone once")
    for zone in zones:
        if where.region_zones and zone not in where.region_zones:
            raise wrong(f"'{zone}' is not a zone of {where.region}", instead(zone, where.region_zones))
    return zones


def gpu_name(name: str, where: Context) -> str:
    """A GPU that the cloud gives out, by its cloud-independent name."""
    if where.catalog is None or name in where.catalog.accelerators():
        return name
    plain = name.lower().replace("nvidia-tesla-", "nvidia-")
    withdrawn = where.catalog.withdrawn_gpus().get(plain)
    if withdrawn is not None:
        raise wrong(f"'{name}' is no longer available: {withdrawn.reason}", f"Write '{withdrawn.successor}'")
    own_names = {accelerator.name: gpu for gpu, accelerator in where.catalog.accelerators().items()}
    if name in own_names:
        raise wrong(f"'{name}' is {where.cloud}'s own name", f"Write '{own_names[name]}', the same on every cloud")
    known = tuple(where.catalog.accelerators())
    bare = {gpu.removeprefix("nvidia-"): gpu for gpu in known}
    near = bare.get(plain.removeprefix("nvidia-")) or nearest(plain, known)
    remedy = f"Did you mean '{near}'?" if near else f"Write one of {', '.join(known)}"
    raise wrong(f"there is no GPU '{name}' on {where.cloud}", remedy)


def gpus_per_node(sizes: tuple[int, ...], gpu: str, where: Context) -> None:
    """Every size is one that some machine offers."""
    if where.catalog is None:
        return
    counts = where.catalog.gpu_counts(gpu)
    if missing := [size for size in sizes if size not in counts]:
        listed = ", ".join(str(count) for count in counts)
        raise wrong(
            f"no machine on {where.cloud} has {' or '.join(map(str, missing))} {gpu}",
            f"{gpu} comes in {listed} per node",
        )


def machine_with_gpus(type: str, gpu: str, sizes: tuple[int, ...], where: Context) -> None:
    """The machine exists and takes each of the sizes."""
    if where.catalog is None:
        return
    known_machine(type, where)
    for size in sizes:
        if where.catalog.with_gpus(type, gpu, size) is None:
            fitting = [machine.type for machine in where.catalog.machines_for(gpu, size)]
            if len(sizes) > 1:
                raise wrong(
                    f"'{type}' does not have {size} {gpu}, and gpusPerNode is {list(sizes)}",
                    "Leave machineType out, so that each size gets its own machine, or write a pool per machine type",
                )
            raise wrong(f"'{type}' does not have {size} {gpu}", instead(type, fitting) if fitting else "Leave it out")


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


def machine_without_gpus(type: str, where: Context) -> Machine | None:
    """A known machine without GPUs, as for CPU and admin pools."""
    machine = known_machine(type, where)
    if machine is not None and machine.gpus:
        raise wrong(
            f"'{type}' has {machine.gpus} {machine.gpu}", "Declare it below gpuPools, where it can reach zero nodes"
        )
    return machine


def gpu_zones(gpu: str, where: Context) -> tuple[str, ...]:
    """The stack's zones that have the GPU; all of them where no list is known."""
    known = where.catalog.gpu_zones(gpu) if where.catalog else None
    if known is None or not where.zones:
        return where.zones
    if having := tuple(zone for zone in where.zones if zone in known):
        return having
    in_region = [zone for zone in where.region_zones if zone in known]
    if in_region:
        raise wrong(
            f"none of the stack's zones ({', '.join(where.zones)}) is known to have {gpu}",
            f"In {where.region} these have it: {', '.join(in_region)}; add one to the stack's or to the pool's zones",
        )
    regions = sorted({zone.rsplit("-", 1)[0] for zone in known})
    raise wrong(
        f"no zone of {where.region} is known to have {gpu}",
        f"Use a region that has it ({', '.join(regions)}), or name the pool's zones if the cloud has added it since",
    )
