"""A cloud's machine types, from its table ``machines.csv``. A type that is not in it is not known, never guessed.

GPUs by their cloud-independent names are in ``gpus.csv``, with memory, and the name that SkyPilot has for each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from facts.catalog import tables
from facts.catalog.model import Gpu, Machine, Provisioning


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The machine types of ``cloud``.

    ``mixed_types`` is how many types a spot pool may consist of (1: a pool has one type). Of two types that are equal
    in size, one in ``last`` comes after the other.
    """

    cloud: str
    mixed_types: int = 1
    last: frozenset[str] = frozenset()

    @property
    def types(self) -> tuple[str, ...]:
        """Every type that has a fixed name."""
        return tuple(_table(self.cloud))

    def get(self, type: str) -> Machine | None:
        """The machine type by name, or ``None`` if it is not known."""
        return _table(self.cloud).get(type)

    def having(self, gpu: str, count: int) -> tuple[Machine, ...]:
        """Machines with exactly ``count`` GPUs of that type, the one that settings derive first."""
        machines = [machine for machine in _table(self.cloud).values() if (machine.gpu, machine.gpus) == (gpu, count)]
        return tuple(sorted(machines, key=lambda m: (m.vcpus, m.memory_gib, m.type in self.last)))

    def with_gpus(self, type: str, gpu: str, count: int) -> Machine | None:
        """The named machine with ``count`` GPUs of that type, or ``None`` if they don't go together."""
        named = self.get(type)
        return named if named is not None and (named.gpu, named.gpus) == (gpu, count) else None

    def topologies(self, type: str) -> Mapping[str, int]:
        """Topology of chips that the machine can be part of → the nodes that have it together; none: it has no TPUs."""
        return {row["topology"]: int(row["nodes"]) for row in tables.rows(self.cloud, "slices") if row["type"] == type}

    @property
    def with_rdma(self) -> tuple[Machine, ...]:
        """The machines with RDMA devices, in the table's order."""
        return tuple(machine for machine in _table(self.cloud).values() if machine.rdma_devices)

    def gpu_counts(self, gpu: str) -> tuple[int, ...]:
        """GPUs per machine that exist, ascending."""
        return tuple(sorted({machine.gpus for machine in _table(self.cloud).values() if machine.gpu == gpu}))

    def spot(self, gpu: str, count: int, *, alike: bool) -> tuple[Machine, ...]:
        """The types that a spot pool may mix: the smallest, then those that have at least its CPU and memory, or, if
        they have to be ``alike``, exactly these.

        An autoscaler plans with the first, so a pod that fits there fits on each. Bare metal takes far longer to start,
        so it is left out where another type has these GPUs.
        """
        every = self.having(gpu, count)
        machines = [machine for machine in every if not machine.type.endswith(".metal")] or every
        sizes = [(machine.vcpus, machine.memory_gib) for machine in machines]
        fitting = (
            machine
            for machine, size in zip(machines, sizes, strict=True)
            if (size == sizes[0] if alike else machine.memory_gib >= machines[0].memory_gib)
        )
        return tuple(fitting)[: self.mixed_types]


@cache
def _table(cloud: str) -> Mapping[str, Machine]:
    arm = {row["family"] for row in tables.rows(cloud, "arm_families")}
    return {row["type"]: _machine(row, arm) for row in tables.rows(cloud, "machines")}


def _machine(row: tables.Row, arm: Collection[str]) -> Machine:
    return Machine(
        type=row["type"],
        family=row["family"],
        vcpus=int(row["vcpus"]),
        memory_gib=float(row["memory_mib"]) / 1024,
        gpu=row["gpu"] or None,
        gpus=int(row["gpus"]),
        shared_core=row["shared_core"] == "yes",
        provisioning=cast(Provisioning, row["provisioning"] or "any"),
        local_ssds=int(row.get("local_ssds") or 0),
        trusted_launch=row.get("trusted_launch") != "no",
        rdma_devices=int(row.get("rdma_devices") or 0),
        arch="arm64" if row["family"] in arm else "amd64",
        blocks=row.get("blocks") == "yes",
    )


GPUS: Final[Mapping[str, Gpu]] = {
    row["name"]: Gpu(name=row["name"], memory_gib=int(row["memory_gib"]), skypilot=row["skypilot"])
    for row in tables.rows("", "gpus")
}
