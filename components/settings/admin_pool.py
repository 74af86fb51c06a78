"""``adminPool``: the nodes that are always there for the cluster's own pods, and how small they may be."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, StrictInt, ValidationInfo, field_validator

from components.catalog import CloudCatalog, Machine, Resources
from components.settings import machines
from components.settings.context import context
from components.settings.section import DiskGb, MachineTypes, Section
from components.settings.syntax import wrong

# Out-of-memory kills ended at 5 GB per core, and a g1-small left everything unschedulable:
# https://github.com/dudaji/gke-gpu-auto-scale. With 15 GiB in all the share per core no longer matters.
MIN_GIB_PER_VCPU: Final = 5
ENOUGH_GIB: Final = 15


class AdminPool(Section):
    """The one pool that never goes away."""

    machine_type: MachineTypes = Field(
        default=(),
        description="a machine type; a list where spot nodes mix types; the catalogue's smallest unless given",
    )
    capacity: Literal["on-demand", "spot"] = Field(
        default="on-demand", validate_default=True, description="`spot` is cheaper, and may be taken away with the pods"
    )
    nodes: StrictInt = Field(default=1, ge=1, le=10, description="nodes per zone of the control plane")
    max_nodes: StrictInt | None = Field(
        default=None, ge=1, description="nodes at most, over all zones: the autoscaler adds some; fixed unless given"
    )
    disk_gb: DiskGb = Field(default=50, description="boot disk of a node in GB, 20 or more")

    @field_validator("machine_type")
    @classmethod
    def _machine(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = context(info).catalog
        ordered = machines.without_gpus(value, context(info))
        for machine in ordered:
            if known is not None:
                big_enough(machine, known)
        return tuple(machine.type for machine in ordered)

    @field_validator("capacity")
    @classmethod
    def _capacity(cls, value: Literal["on-demand", "spot"], info: ValidationInfo) -> Literal["on-demand", "spot"]:
        machines.mixed_only_on_spot(info.data.get("machine_type", ()), value)
        return value


def big_enough(machine: Machine, known: CloudCatalog) -> None:
    """Refuse a machine that is known to starve the cluster's own pods."""
    instead = f"Write '{known.default_admin_machine()}' or leave machineType out"
    if machine.shared_core:
        raise wrong(
            f"'{machine.type}' shares its core with other machines: system pods stay unschedulable on it", instead
        )
    if machine.memory_per_vcpu_gib < MIN_GIB_PER_VCPU and machine.memory_gib < ENOUGH_GIB:
        raise wrong(
            f"'{machine.type}' has {machine.memory_per_vcpu_gib:.3g} GiB per vCPU: system pods run out of memory below "
            f"{MIN_GIB_PER_VCPU} GiB per vCPU unless the machine has {ENOUGH_GIB} GiB in all",
            instead,
        )
    room, need = known.allocatable(machine), system_requests(known)
    if room.milli_cpu < need.milli_cpu or room.memory_mib < need.memory_mib:
        raise wrong(
            f"'{machine.type}' leaves {room.milli_cpu}m CPU and {room.memory_mib} MiB for pods, and the cluster's own "
            f"pods ask for {need.milli_cpu}m and {need.memory_mib} MiB",
            instead,
        )


def system_requests(known: CloudCatalog) -> Resources:
    """What all system pods ask for when one node runs every one of them, as in a cluster with one admin node."""
    requests = [pod.request for pod in known.system_pods()]
    return Resources(
        milli_cpu=sum(request.milli_cpu for request in requests),
        memory_mib=sum(request.memory_mib for request in requests),
    )
