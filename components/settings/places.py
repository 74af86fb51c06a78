"""Checks of GPUs, zones, images and autoscalers against the catalogue. Each returns its value or raises."""

from __future__ import annotations

from collections.abc import Sequence

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


def gpu_zones(gpu: str, where: Context) -> tuple[str, ...]:
    """The stack's zones that have the GPU; all of them where no list is known."""
    known = where.catalog.gpu_zones(gpu) if where.catalog else None
    if where.catalog is None or known is None or not where.zones:
        return where.zones
    if having := tuple(zone for zone in where.zones if zone in known):
        return having
    in_region = [zone for zone in where.region_zones if zone in known]
    if in_region:
        raise wrong(
            f"none of the stack's zones ({', '.join(where.zones)}) is known to have {gpu}",
            f"In {where.region} these have it: {', '.join(in_region)}; add one to the stack's or to the pool's zones",
        )
    regions = [region for region, zones in where.catalog.regions().items() if set(zones) & set(known)]
    raise wrong(
        f"no zone of {where.region} is known to have {gpu}",
        f"Use a region that has it ({', '.join(sorted(regions))}), "
        "or name the pool's zones if the cloud has added it since",
    )


def listed(value: str, known: Sequence[str], what: str, where: Context) -> str:
    """One of the words that the cloud's catalogue lists."""
    if where.catalog is None or value in known:
        return value
    if not known:
        raise wrong(f"{where.cloud} has no {what}", "Leave it out")
    raise wrong(f"there is no {what} '{value}' on {where.cloud}, which has {', '.join(known)}", instead(value, known))
