"""Every machine type with GPUs (or AWS's chips) that a program may name, those included that no stack file offers.

What the catalogue offers comes from its own tables. ``<cloud>/data/other_machines.csv`` adds what it leaves out:
machines that were withdrawn, have a part of one GPU (Kubernetes sees that as one), are sold in racks, or
differ in their network only.

- EKS: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html (read on 2026-11-21); a test holds the counts to
  Amazon's ``DescribeInstanceTypes`` as moto keeps it, which has no P2, P3 and G3 any more and no p6e. AMD's g4ad
  and the trn, inf, dl and vt accelerators are not NVIDIA GPUs.
- AKS: https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from facts import catalog
from facts.catalog import tables
from facts.concepts.kubernetes import GPU_RESOURCE, RESOURCES, resource_of
from facts.concepts.pool import Arch


@dataclass(frozen=True, kw_only=True)
class GpuMachine:
    """The ``gpus`` of type ``gpu`` in a machine, in Kubernetes' count: a ``part`` of one GPU is one."""

    type: str
    gpu: str
    gpus: int
    arch: Arch = "amd64"
    part: bool = False


@cache
def gpu_machines(cloud: str) -> Mapping[str, GpuMachine]:
    """Machine type → its GPUs.

    Raises:
        KeyError: a cloud without a catalogue.
    """
    known = catalog.of(cloud).machines
    machines = {}
    for name in known.types:
        machine = known.get(name)
        if machine is not None and machine.gpu is not None:
            machines[name] = GpuMachine(type=name, gpu=machine.gpu, gpus=machine.gpus, arch=machine.arch)
    for row in (row for row in tables.rows(cloud, "other_machines") if row["gpu"]):
        arch: Arch = "arm64" if row["arch"] == "arm64" else "amd64"
        part = row["part"] == "yes"
        machines[row["type"]] = GpuMachine(
            type=row["type"], gpu=row["gpu"], gpus=int(row["gpus"]), arch=arch, part=part
        )
    return machines


def most_gpus(cloud: str, alike: Callable[[str], bool] = lambda _: True) -> int:
    """The most GPUs that a listed machine has, of those whose types are ``alike`` or, without any, of the cloud's."""
    machines = [machine for machine in gpu_machines(cloud).values() if resource_of(machine.gpu) != RESOURCES["google"]]
    return max(machine.gpus for machine in [each for each in machines if alike(each.type)] or machines)


def lists(cloud: str, type: str) -> bool:
    """Whether a machine type, or a link to it, is one with GPUs of the cloud's tables; Azure ignores its case."""
    return type.rpartition("/")[2].lower().removesuffix("_promo") in _in_lower_case(cloud)


@cache
def _in_lower_case(cloud: str) -> frozenset[str]:
    return frozenset(name.lower() for name in gpu_machines(cloud))


def resource_of_machines(cloud: str, types: Iterable[Any]) -> str:
    """The resource by which pods request the GPUs of the first of these machine types that the cloud's tables list, in
    any case; NVIDIA's if they list none of them."""
    listed = (_resources(cloud).get(each.lower()) for each in types if isinstance(each, str))
    return next((resource for resource in listed if resource is not None), GPU_RESOURCE)


@cache
def _resources(cloud: str) -> Mapping[str, str]:
    return {name.lower(): resource_of(machine.gpu) for name, machine in gpu_machines(cloud).items()}


def most_within(gpus: int, machines: Sequence[tuple[int, float]]) -> float:
    """The most that machines come to which share a limit of ``gpus``: each has GPUs, and a value (its price, or its
    GPUs again). Of very many GPUs those of the best machine per GPU count, as if parts of it could be had."""
    if gpus > _COUNTED_ONE_BY_ONE:
        return gpus * max((value / count for count, value in machines if count <= gpus), default=0.0)
    best = [0.0]
    for room in range(1, gpus + 1):
        best.append(max([best[-1], *(best[room - count] + value for count, value in machines if count <= room)]))
    return best[-1]


_COUNTED_ONE_BY_ONE: Final = 10_000
