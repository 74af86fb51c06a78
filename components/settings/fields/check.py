"""Checks of machine types, GPUs, zones and other words against the catalogue. Each returns its result or raises."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, ValidationInfo

from components.settings.fields.problems import instead, nearest
from components.settings.fields.types import ValidationContext, Zones, context, wrong
from facts.catalog import CloudCatalog, Machine, Resources, SystemPod
from facts.catalog.nodes import CloudNodes

# Out-of-memory kills ended at 5 GB per core, and a g1-small left everything unschedulable:
# https://github.com/dudaji/gke-gpu-auto-scale. With 15 GiB in all the share per core no longer matters.
MIN_GIB_PER_VCPU: Final = 5
ENOUGH_GIB: Final = 15


T = TypeVar("T")


def known_machine(type: str, where: ValidationContext, fitting: Sequence[Machine] = ()) -> Machine | None:
    """The machine of that name; ``None`` only while the cloud itself is not valid. ``fitting``: those that would do."""
    if where.catalog is None:
        return None
    machine = where.catalog.machines.get(type)
    if machine is None:
        # Only of the same series and size: m7g (Arm) is one letter from m7i, but no misspelling of it.
        kind = _kind(type)
        near = nearest(type, [each for each in where.catalog.machines.types if _kind(each) == kind])
        example = fitting[0].type if fitting else where.catalog.machines.default_admin
        raise wrong(
            f"the catalogue has no machine type '{type}' on {where.cloud}",
            f"Did you mean '{near}'?" if near else f"Write for example '{example}'",
        )
    return machine


def series(type: str) -> str:
    """A machine type's name without its size: ``m7g``, ``Standard_Ds_v5``, ``e2-standard``."""
    return re.sub(r"-\d+$|\.[a-z0-9-]+$|(?<=[A-Z])\d+", "", type)


def _kind(type: str) -> tuple[str, list[str]]:
    """What a misspelt name has right: its series up to the first dash or dot, and its numbers."""
    return re.split(r"[.-]", series(type))[0], re.findall(r"\d+", type)


def without_gpus(types: Sequence[str], where: ValidationContext) -> tuple[Machine, ...]:
    """Known machines without GPUs, for CPU and admin pools, the one that the autoscaler plans with first."""
    several(types, where)
    machines = [machine for type in types if (machine := known_machine(type, where)) is not None]
    for machine in machines:
        if machine.gpus:
            raise wrong(
                f"'{machine.type}' has {machine.gpus} {machine.gpu}",
                "Leave it out here, and declare it in gpuPools, where it scales to zero",
            )
    return planned_first(machines)


def with_gpus(types: Sequence[str], gpu: str, sizes: Sequence[int], where: ValidationContext) -> tuple[Machine, ...]:
    """The machines of those names, in each size; with one size, the one that the autoscaler plans with first."""
    several(types, where)
    machines = [_with_gpus(type, gpu, size, sizes, where) for type in types for size in sizes]
    return planned_first([machine for machine in machines if machine is not None]) if len(sizes) == 1 else ()


def _with_gpus(type: str, gpu: str, size: int, sizes: Sequence[int], where: ValidationContext) -> Machine | None:
    known_machine(type, where, where.catalog.machines.having(gpu, size) if where.catalog else ())
    if where.catalog is None:
        return None
    machine = where.catalog.machines.with_gpus(type, gpu, size)
    if machine is not None:
        return machine
    if len(sizes) > 1:
        raise wrong(
            f"'{type}' does not have {size} {gpu}, and gpusPerNode is {list(sizes)}",
            "Leave machineType out, so that each size gets its own machine, or write a pool per machine type",
        )
    fitting = [machine.type for machine in where.catalog.machines.having(gpu, size)]
    raise wrong(f"'{type}' does not have {size} {gpu}", instead(type, fitting) if fitting else "Leave it out")


def several(types: Sequence[str], where: ValidationContext) -> None:
    """Refuse a type that is listed twice, or several types where a pool of the cloud can have only one."""
    if len(set(types)) < len(types):
        raise wrong(f"a machine type is listed twice: {', '.join(types)}", "Write each type once")
    if len(types) > 1 and where.catalog is not None and not where.catalog.machines.mixed_types > 1:
        raise wrong(
            f"the pool lists {len(types)} machine types, but a pool on {where.cloud} has one",
            f"Write machineType: {types[0]}, or a pool for each",
        )


def mixed_only_on_spot(types: Sequence[str], capacity_types: Sequence[str]) -> None:
    """Several types only help to get spot capacity; on-demand nodes would differ for no reason."""
    if len(types) > 1 and "spot" not in capacity_types:
        raise wrong(
            f"machineType lists {len(types)} types, but only spot pools can mix types",
            "Write capacity: spot, or one machine type",
        )


def planned_first(machines: Sequence[Machine]) -> tuple[Machine, ...]:
    """The machines in ascending size: an autoscaler plans with the first, so no other may be smaller."""
    ordered = sorted(machines, key=lambda machine: (machine.vcpus, machine.memory_gib))
    for machine in ordered[1:]:
        if machine.memory_gib < ordered[0].memory_gib:
            raise wrong(
                f"the autoscaler plans with the type that has the fewest vCPUs, '{ordered[0].type}' "
                f"({ordered[0].memory_gib:g} GiB); pods that fit on it do not fit on '{machine.type}' "
                f"({machine.memory_gib:g} GiB)",
                f"Leave out '{ordered[0].type}' or '{machine.type}'",
            )
    if len({machine.arch for machine in ordered}) > 1:
        raise wrong("machineType lists machines with x86 and with Arm CPUs", "Write types of one kind of CPU")
    return tuple(ordered)


def big_enough(machine: Machine, known: CloudCatalog) -> None:
    """Refuse a machine that is too small for the system pods."""
    instead = f"Write '{known.machines.default_admin}' or leave machineType out"
    if known.nodes.starves_small_nodes:
        _not_starving(machine, instead)
    room, need = known.nodes.allocatable(machine), system_requests(known.nodes)
    # They may use up to twice the memory that they request.
    if room.milli_cpu < need.milli_cpu or room.memory_mib < 2 * need.memory_mib:
        raise wrong(
            f"'{machine.type}' leaves {room.milli_cpu}m CPU and {room.memory_mib} MiB for pods; system "
            f"pods request {need.milli_cpu}m and {need.memory_mib} MiB, and may use twice that memory",
            instead,
        )


def _not_starving(machine: Machine, instead: str) -> None:
    if machine.shared_core:
        raise wrong(f"'{machine.type}' has a shared core: system pods stay unschedulable on it", instead)
    if machine.memory_per_vcpu_gib < MIN_GIB_PER_VCPU and machine.memory_gib < ENOUGH_GIB:
        raise wrong(
            f"'{machine.type}' has {machine.memory_per_vcpu_gib:.3g} GiB per vCPU: system pods run out of memory below "
            f"{MIN_GIB_PER_VCPU} GiB per vCPU unless the machine has {ENOUGH_GIB} GiB in all",
            instead,
        )


def system_requests(nodes: CloudNodes) -> Resources:
    """Requests of all system pods together, as on the only node of a cluster with one admin node."""
    return requests_on(nodes, nodes.system_pods, admin_nodes=1, all_nodes=1, vcpus=0)


def requests_on(
    nodes: CloudNodes, pods: Sequence[SystemPod], *, admin_nodes: int, all_nodes: int, vcpus: float
) -> Resources:
    """Requests of these system pods on ``admin_nodes`` of a cluster that has ``all_nodes`` with ``vcpus``."""
    counts = [admin_nodes if pod.per_node else nodes.system_replicas(pod.name, all_nodes, vcpus) for pod in pods]
    counted = list(zip(counts, (pod.request for pod in pods), strict=True))
    return Resources(
        milli_cpu=sum(count * request.milli_cpu for count, request in counted),
        memory_mib=sum(count * request.memory_mib for count, request in counted),
    )


# https://docs.cloud.google.com/compute/docs/regions-zones/ai-zones
_AI_ZONE: Final = re.compile(r"[a-z0-9-]+-ai\d+[a-z]?")


def zones_in_region(zones: tuple[str, ...], where: ValidationContext) -> tuple[str, ...]:
    """Zones of the stack's region, none twice."""
    if len(set(zones)) < len(zones):
        raise wrong(f"a zone is listed twice: {', '.join(zones)}", "Write each zone once")
    if zones == (where.outside_zones,):
        return zones
    for zone in zones:
        if where.region_zones and zone not in where.region_zones:
            whole = [_whole_zone(each, where) for each in zones]
            if None not in whole:
                remedy = f"Write zones: [{', '.join(map(str, whole))}]"
                raise wrong(f"'{zone}' is only the end of a zone's name", remedy)
            if _AI_ZONE.fullmatch(zone):
                listed = ", ".join(where.region_zones)
                raise wrong(f"'{zone}' is an AI zone, which this catalogue does not have", f"Write one of {listed}")
            listed = ", ".join(where.region_zones)
            own_names = where.catalog.own_zone_names if where.catalog is not None else ()
            if where.region in own_names and re.fullmatch(rf"{where.region}[a-z]", zone):
                message = (
                    f"'{zone}' is not in this catalogue: zones of {where.region} have another letter in each account"
                )
                raise wrong(message, f"Write one of {listed}")
            raise wrong(f"'{zone}' is not a zone of {where.region}", instead(zone, where.region_zones))
    return zones


def _whole_zone(zone: str, where: ValidationContext) -> str | None:
    """The zone of the region that has this name, or its end: ``1``, ``a``."""
    return next(
        (each for each in where.region_zones if zone in (each, each.removeprefix(str(where.region)).strip("-"))), None
    )


def gpu_name(name: str, where: ValidationContext) -> str:
    """A GPU that the cloud offers, by its cloud-independent name."""
    if where.catalog is None or name in where.catalog.machines.accelerators:
        return name
    words = [word for word in re.split(r"[^a-z0-9]+|x(?=\d+$)", name.lower()) if word not in ("", "nvidia", "tesla")]
    plain = "-".join(["nvidia", *words])
    if (machine := where.catalog.machines.get(name)) is not None and machine.gpu:
        raise wrong(
            f"'{name}' is a machine type",
            f"Write gpu: {machine.gpu}, gpusPerNode: {machine.gpus} and machineType: {name}",
        )
    withdrawn = where.catalog.machines.withdrawn_gpus.get(plain)
    if withdrawn is not None:
        raise wrong(f"'{name}' is no longer available: {withdrawn.reason}", f"Write '{withdrawn.successor}'")
    own_names = {accelerator.name: gpu for gpu, accelerator in where.catalog.machines.accelerators.items()}
    if name in own_names:
        raise wrong(f"'{name}' is {where.cloud}'s own name", f"Write '{own_names[name]}', the same on every cloud")
    known = tuple(where.catalog.machines.accelerators)
    # Parts of a name (h100, a100-80gb) come first. A misspelling begins with the model's letter and number: to difflib
    # nvidia-b300 is the nearest to nvidia-h300, another and a dearer GPU.
    alike = [gpu for gpu in known if _model(gpu) and _model(plain).startswith(_model(gpu))]
    shared = {gpu: len({*words} & {*gpu.split("-")}) for gpu in alike if {_model(plain)} & {*gpu.split("-")} & {*words}}
    near = [gpu for gpu, count in shared.items() if count == max(shared.values())]
    near = near or [gpu for gpu in (nearest(plain, alike),) if gpu]
    remedy = f"Did you mean {' or '.join(repr(gpu) for gpu in near)}?" if near else f"Write one of {', '.join(known)}"
    raise wrong(f"there is no GPU '{name}' on {where.cloud}", remedy)


def _model(gpu: str) -> str:
    """The first letter with a number in a GPU's name: ``a100``, ``t4``."""
    match = re.search(r"(?<![a-z])[a-z]+[0-9]+", gpu)
    return match[0] if match else ""


def gpus_per_node(sizes: tuple[int, ...], gpu: str, where: ValidationContext) -> None:
    """Refuse a size that no machine has."""
    if where.catalog is None:
        return
    counts = where.catalog.machines.gpu_counts(gpu)
    if missing := [size for size in sizes if size not in counts]:
        machines = where.catalog.machines
        # The same model under another name: Azure has one or two H100 per machine as NVL alone.
        others = [
            each
            for each in machines.accelerators
            if each != gpu and _model(gpu) in each.split("-") and {*missing} <= {*machines.gpu_counts(each)}
        ]
        numbers = " or ".join(map(str, missing))
        raise wrong(
            f"no machine on {where.cloud} has {numbers} {gpu}",
            f"Write one of {', '.join(map(str, counts))}"
            + (f", or gpu: {' or '.join(others)}, which there is with {numbers}" if others else ""),
        )


def machine_zones(machine: Machine, where: ValidationContext) -> tuple[str, ...]:
    """The stack's zones that have the machine with GPUs; all zones if no list is known."""
    having = where.zones_with(machine)
    if having or not where.zones or where.catalog is None:
        return having
    known = where.catalog.machine_zones(machine) or ()
    alike = where.catalog.machines.having(machine.gpu or "", machine.gpus)
    others = [each.type for each in alike if where.zones_with(each)]
    in_region = [zone for zone in where.region_zones if zone in known]
    regions = [region for region, zones in where.catalog.regions.items() if set(zones) & set(known)]
    remedy = f"Use a region that has it ({', '.join(sorted(regions))})"
    if in_region:
        remedy = f"Write zones: [{', '.join(in_region)}] in the pool, or add one of them to the zones of the stack"
    place = f"the stack ({', '.join(where.zones)})" if in_region else where.region
    raise wrong(
        f"no zone of {place} is known to have {machine.gpu} (machine type {machine.type})",
        (f"Write machineType: {others[0]}" if others else remedy)
        + "; or write the pool's zones if your account is offered it there",
    )


def image(value: str, where: ValidationContext) -> str:
    """One of the catalogue's images, perhaps with a version behind ``@``."""
    family, pinned, version = value.partition("@")
    if where.catalog is None:
        return value
    listed(family, where.catalog.nodes.images, "image", where)
    if pinned and where.catalog.nodes.image_version is None:
        raise wrong(f"{where.cloud} chooses the version of the image itself", f"Write image: {family}")
    if pinned and where.catalog.nodes.image_version and not where.catalog.nodes.image_version.fullmatch(version):
        raise wrong(f"'{version}' is not a version of an image", f"Write for example {family}@v20261101")
    return value


def checked(check: Callable[[T, ValidationContext], T]) -> AfterValidator:
    """Accepts what the check returns."""

    def accept(value: T, info: ValidationInfo) -> T:
        return check(value, context(info))

    return AfterValidator(accept)


def one_of(words: Callable[[CloudCatalog], Sequence[str]], what: str) -> AfterValidator:
    """Accepts one of the ``words`` of the cloud's catalogue, or a list of them."""

    def check(value: str | Sequence[str], info: ValidationInfo) -> str | Sequence[str]:
        where = context(info)
        for word in [value] if isinstance(value, str) else value:
            listed(word, words(where.catalog) if where.catalog is not None else (), what, where)
        return value

    return AfterValidator(check)


def listed(value: str, known: Sequence[str], what: str, where: ValidationContext) -> str:
    """One of the words that the cloud's catalogue lists."""
    if where.catalog is None or value in known:
        return value
    if not known:
        raise wrong(f"{where.cloud} has no {what}", "Leave it out")
    raise wrong(f"{where.cloud} has no {what} '{value}'", instead(value, known))


ZonesOfRegion = Annotated[Zones, checked(zones_in_region)]
