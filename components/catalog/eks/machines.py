"""Machine types on EKS, from ``machines.csv`` beside this file: every type has a fixed size and fixed GPUs.

The table holds all x86 types with whole NVIDIA GPUs and the general-purpose, compute and memory families that node
groups commonly use (C, M, R from the fourth generation on, and T), without bare metal for CPU types. It was taken from
Amazon's ``DescribeInstanceTypes`` as kept in https://github.com/getmoto/moto/tree/5.2.5/moto/ec2/resources
(``instance_types.json.gz``), and a test holds every row against it. ``memory_mib`` is the machine's nominal memory.

How a type can be bought (large types often only with a capacity block) is not in that listing, so it is not refused.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from components.catalog.model import Machine

# T machines earn CPU credits for the time that they idle: a fraction of a core, as Amazon's own pages say.
_BURSTABLE: Final = ("t2", "t3", "t3a")
_MIXED_TYPES: Final = 5
# Amazon's price list has no on-demand price for it: it is sold in capacity blocks, and p5en is the same size.
_NOT_ON_DEMAND: Final = ("p5e.48xlarge",)


def machine(type: str) -> Machine | None:
    """The machine type, or ``None`` if it is not known."""
    return _table().get(type)


def machine_types() -> tuple[str, ...]:
    """Every type."""
    return tuple(_table())


def machines_for(gpu: str, count: int) -> tuple[Machine, ...]:
    """Machines with ``count`` GPUs, the smallest first; of two equal ones the one that is sold on demand."""
    found = [machine for machine in _table().values() if (machine.gpu, machine.gpus) == (gpu, count)]
    return tuple(sorted(found, key=lambda machine: (machine.vcpus, machine.memory_gib, machine.type in _NOT_ON_DEMAND)))


def spot_machines(gpu: str, count: int) -> tuple[Machine, ...]:
    """The smallest type with ``count`` GPUs, then up to four that have at least its CPU and memory.

    An autoscaler plans with the first, so a pod that fits there fits on each. Bare metal is left out: it takes far
    longer to start.
    """
    found = [machine for machine in machines_for(gpu, count) if not machine.type.endswith(".metal")]
    return tuple(machine for machine in found if machine.memory_gib >= found[0].memory_gib)[:_MIXED_TYPES]


def with_gpus(type: str, gpu: str, count: int) -> Machine | None:
    """The named machine if it has ``count`` of that GPU."""
    named = machine(type)
    return named if named is not None and (named.gpu, named.gpus) == (gpu, count) else None


def gpu_counts(gpu: str) -> tuple[int, ...]:
    """GPUs per machine that exist, ascending."""
    return tuple(sorted({machine.gpus for machine in _table().values() if machine.gpu == gpu}))


@cache
def _table() -> Mapping[str, Machine]:
    text = (files("components.catalog.eks") / "data" / "machines.csv").read_text(encoding="utf-8")
    return {row["type"]: _machine(row) for row in csv.DictReader(text.splitlines())}


def _machine(row: Mapping[str, str]) -> Machine:
    family = row["type"].partition(".")[0]
    return Machine(
        type=row["type"],
        family=family,
        vcpus=int(row["vcpus"]),
        memory_gib=int(row["memory_mib"]) / 1024,
        gpu=row["gpu"] or None,
        gpus=int(row["gpus"]),
        shared_core=family in _BURSTABLE,
    )
