"""A cloud's machine types, from its table ``machines.csv``. A type that is not in it is not known, never guessed.

GPUs by their cloud-independent names are in ``gpus.csv``, with memory, and the name that SkyPilot has for each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, cast

from facts.catalog import tables
from facts.catalog.model import Accelerator, Gpu, Machine, Provisioning, WithdrawnGpu


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The machine types of ``cloud``, its GPUs, and how its autoscalers make pools of them."""

    cloud: str
    default_admin: str = ""
    """Of the admin pool, unless the stack file names another."""
    default_cpu: str = ""
    """Of CPU pools: 4 vCPUs with 16 GiB."""
    mixed_types: int = 1
    """How many types a spot pool may consist of (1: a pool has one type)."""
    last: frozenset[str] = frozenset()
    """Of two types that are equal in size, one of these comes after the other."""
    uniform_groups: frozenset[str] = frozenset()
    """Autoscalers that plan a group of machines as if all were alike and in one zone, so that a GPU pool has to be one
    pool for each zone, and its machines have to be of one size."""
    one_type: frozenset[str] = frozenset()
    """Autoscalers whose pools have one machine type each, where others may mix several for spot."""

    @property
    def accelerators(self) -> Mapping[str, Accelerator]:
        """GPU name → the cloud's accelerator."""
        return accelerators(self.cloud)

    @cached_property
    def withdrawn_gpus(self) -> Mapping[str, WithdrawnGpu]:
        """GPUs that the cloud had once, by the names people still write."""
        return {row["name"]: WithdrawnGpu(**row) for row in tables.rows(self.cloud, "withdrawn_gpus")}

    @property
    def types(self) -> tuple[str, ...]:
        """Every type that has a fixed name."""
        return tuple(_table(self.cloud))

    def get(self, type: str) -> Machine | None:
        """The machine type by name, or ``None`` if it is not known."""
        return _table(self.cloud).get(type)

    def sized(self, type: str) -> Machine | None:
        """The machine type by name in any case (Azure ignores it), those included that programs name and no stack file
        offers; ``None`` if its size is not known."""
        return self.get(type) or _in_lower_case(self.cloud).get(type.lower())

    def of_family(self, family: str) -> tuple[Machine, ...]:
        """The machines of a family, those included that no stack file offers."""
        return tuple(machine for machine in _in_lower_case(self.cloud).values() if machine.family == family)

    def having(self, gpu: str, count: int) -> tuple[Machine, ...]:
        """Machines with exactly ``count`` GPUs of that type, the one that settings derive first."""
        machines = _by_gpus(self.cloud).get((gpu, count), ())
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
        return tuple(sorted(count for name, count in _by_gpus(self.cloud) if name == gpu))

    def pool_per_zone(self, *, gpu: bool, spot: bool, zones: int, autoscaler: str) -> bool:
        """Whether such a pool, which is to be in that many zones, has to be one pool for each zone.

        A pool of spot GPUs is called after its zone even if it has one: more zones are what it will want next.
        """
        return gpu and (spot or zones > 1) and autoscaler in self.uniform_groups

    def mixes_types(self, autoscaler: str) -> bool:
        """Whether a spot pool may have several machine types."""
        return self.mixed_types > 1 and autoscaler not in self.one_type

    def spot_mix(self, gpu: str, count: int, autoscaler: str) -> tuple[Machine, ...]:
        """The types that a spot pool mixes unless the stack file names some: the smallest, then those that have at
        least its CPU and memory, or, if the autoscaler needs them to be alike, exactly these.

        An autoscaler plans with the first, so a pod that fits there fits on each. Bare metal takes far longer to start,
        so it is left out where another type has these GPUs.
        """
        every, alike = self.having(gpu, count), autoscaler in self.uniform_groups
        machines = [machine for machine in every if not machine.type.endswith(".metal")] or every
        sizes = [(machine.vcpus, machine.memory_gib) for machine in machines]
        fitting = (
            machine
            for machine, size in zip(machines, sizes, strict=True)
            if (size == sizes[0] if alike else machine.memory_gib >= machines[0].memory_gib)
        )
        return tuple(fitting)[: self.mixed_types if self.mixes_types(autoscaler) else 1]


@cache
def accelerators(cloud: str) -> Mapping[str, Accelerator]:
    """GPU name → the cloud's accelerator."""
    return {row["gpu"]: _accelerator(row) for row in tables.rows(cloud, "gpus")}


def _accelerator(row: tables.Row) -> Accelerator:
    return Accelerator(
        gpu=row["gpu"],
        name=row["name"],
        quota=row["quota"] or None,
        quota_family=row["quota_family"] or None,
        partitions={size.partition(".")[0]: size for size in row["partitions"].split()},
    )


@cache
def _table(cloud: str) -> Mapping[str, Machine]:
    arm = {row["family"] for row in tables.rows(cloud, "arm_families")}
    return {row["type"]: _machine(row, arm) for row in tables.rows(cloud, "machines")}


@cache
def _by_gpus(cloud: str) -> Mapping[tuple[str | None, int], tuple[Machine, ...]]:
    """GPU and number of them → the machines, in the table's order."""
    machines: dict[tuple[str | None, int], tuple[Machine, ...]] = {}
    for machine in _table(cloud).values():
        key = (machine.gpu, machine.gpus)
        machines[key] = (*machines.get(key, ()), machine)
    return machines


@cache
def _in_lower_case(cloud: str) -> Mapping[str, Machine]:
    sized = (row for row in tables.rows(cloud, "other_machines") if row["vcpus"])
    others = (_machine(row, [row["family"]] if row["arch"] == "arm64" else ()) for row in sized)
    return {machine.type.lower(): machine for machine in (*_table(cloud).values(), *others)}


def _machine(row: tables.Row, arm: Collection[str]) -> Machine:
    return Machine(
        type=row["type"],
        family=row["family"],
        vcpus=int(row["vcpus"]),
        memory_gib=float(row["memory_mib"]) / 1024,
        gpu=row["gpu"] or None,
        gpus=int(row["gpus"]),
        shared_core=row.get("shared_core") == "yes",
        provisioning=cast(Provisioning, row.get("provisioning") or "any"),
        local_ssds=int(row.get("local_ssds") or 0),
        local_gb=int(row.get("local_gb") or 0),
        trusted_launch=row.get("trusted_launch") != "no",
        rdma_devices=int(row.get("rdma_devices") or 0),
        arch="arm64" if row["family"] in arm else "amd64",
        blocks=row.get("blocks") == "yes",
    )


GPUS: Final[Mapping[str, Gpu]] = {
    row["name"]: Gpu(name=row["name"], memory_gib=int(row["memory_gib"]), skypilot=row["skypilot"])
    for row in tables.rows("", "gpus")
}
