"""One entry of ``cpuPools``. A field may look at the fields before it, so their order matters."""

from __future__ import annotations

from pydantic import Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings import machines, places, syntax
from components.settings.context import context
from components.settings.section import (
    Capacity,
    DiskGb,
    MachineTypes,
    Minutes,
    NodeLabels,
    PoolName,
    Section,
    Taints,
)


class CpuPool(Section):
    """Nodes without GPUs beside the admin pool, for inference front ends, preprocessing and general work."""

    name: PoolName = Field(description="what the resulting pools are called after")
    machine_type: MachineTypes = Field(
        default=(),
        description="a machine type without GPUs; a list where spot nodes mix types; 4 vCPUs with 16 GiB unless given",
    )
    capacity: Capacity = Field(
        default="on-demand",
        validate_default=True,
        description="`spot`, `on-demand`, or `spot-with-fallback`: twin pools, spot first",
    )
    min_nodes: StrictInt = Field(default=0, ge=0, description="nodes that stay, over all zones")
    max_nodes: StrictInt = Field(
        ge=1, description="nodes of each resulting pool at most, over all its zones; 1 or more"
    )
    zones: tuple[StrictStr, ...] = Field(default=(), description="the stack's zones unless given")
    disk_gb: DiskGb = Field(default=50, description="boot disk of a node in GB, 20 or more")
    unneeded_minutes: Minutes | None = Field(
        default=None, description="idle minutes until a node goes; the stack's unless given"
    )
    labels: NodeLabels = Field(default_factory=dict, description="further node labels")
    taints: Taints = Field(default=(), description="node taints, each `{key, value, effect}`")

    @field_validator("machine_type")
    @classmethod
    def _machine(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return tuple(machine.type for machine in machines.without_gpus(value, context(info)))

    @field_validator("capacity")
    @classmethod
    def _capacity(cls, value: Capacity, info: ValidationInfo) -> Capacity:
        machines.mixed_only_on_spot(info.data.get("machine_type", ()), value)
        return value

    @field_validator("max_nodes")
    @classmethod
    def _maximum(cls, value: int, info: ValidationInfo) -> int:
        minimum = info.data.get("min_nodes", 0)
        if value < minimum:
            raise syntax.wrong(f"maxNodes {value} is below minNodes {minimum}", f"Write {minimum} or more")
        return value

    @field_validator("zones")
    @classmethod
    def _zones(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return places.zones_in_region(value, context(info))
