"""``gpuPools``, ``cpuPools`` and ``adminPool``. A field may look at the fields before it, so their order matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from components.settings import capacity, check, fields
from components.settings.capacity import FallbackOrder, FlexStart, Reservations
from components.settings.fields import Section, ValidationContext, context, wrong
from components.settings.problems import HERE
from facts.catalog import Machine
from facts.concepts.declared import NodeGroup, Violation
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.parts import CapacityType
from policies.rules import node_groups


class SharingSetting(Section):
    """Several pods share one GPU, and each requests one GPU."""

    clients_per_gpu: StrictInt = Field(ge=2, le=48)


class UpgradeSetting(Section):
    """How nodes are upgraded, where the cloud has a setting per pool (docs/operations.md)."""

    max_surge: StrictInt | None = Field(default=None, ge=0, le=20)
    max_unavailable: StrictInt | None = Field(default=None, ge=0, le=20)
    drain_minutes: StrictInt | None = Field(default=None, ge=1, le=1440)

    @field_validator("max_unavailable")
    @classmethod
    def _some(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value == 0 and info.data.get("max_surge") == 0:
            raise wrong("with maxSurge and maxUnavailable 0 no node can be upgraded", "Write maxUnavailable: 1")
        return value


class GpuPool(Section):
    """A pool of nodes with one GPU type. Nodes are created for pending pods and removed when idle."""

    name: fields.PoolName
    gpu: Annotated[StrictStr, check.checked(check.gpu_name)]
    gpus_per_node: fields.Sizes = Field(default=(1,), validate_default=True)
    machine_type: fields.MachineTypes = Field(default=(), validate_default=True)
    topology: StrictStr | None = Field(default=None, validate_default=True)
    reservation: Reservations = ()
    flex_start: FlexStart | None = None
    capacity: FallbackOrder = Field(
        default=("on-demand",),
        validate_default=True,
        description=capacity.DESCRIPTION.format(words=", ".join(f"`{each}`" for each in capacity.CAPACITY_TYPES)),
    )
    min_nodes: StrictInt = Field(default=0, ge=0)
    max_nodes: StrictInt
    zones: fields.Zones = Field(default=(), validate_default=True)
    location_policy: (
        Annotated[StrictStr, check.one_of(lambda known: known.choices.location_policies, "location policy")] | None
    ) = None
    disk_gb: fields.DiskGb = 100
    hourly_usd: fields.Usd | None = None
    image: Annotated[StrictStr, check.checked(check.image)] | None = None
    drivers: Literal["managed", "daemonset", "none"] = "managed"
    driver_version: Literal["default", "latest"] = "default"
    time_sharing: SharingSetting | None = None
    mps: SharingSetting | None = None
    mig: Literal["1g", "2g", "3g", "4g", "7g"] | None = None
    unneeded_minutes: fields.Minutes | None = None
    placement: Literal["compact"] | None = None
    fabric: Literal["rdma"] | None = None
    image_streaming: fields.Flag | None = None
    compute_class: fields.Flag = False
    upgrade: UpgradeSetting | None = None
    labels: fields.GpuNodeLabels = Field(default_factory=dict)
    taints: fields.Taints = ()
    raw: fields.RawInputs = Field(default_factory=dict)

    @field_validator("gpus_per_node")
    @classmethod
    def _sizes(cls, value: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        if not value:
            raise wrong("the list is empty", "Write a number such as 1, or a list such as [1, 4]")
        if len(set(value)) < len(value):
            raise wrong(f"a size is listed twice: {list(value)}", "Write each size once")
        if "gpu" in info.data:
            check.gpus_per_node(value, info.data["gpu"], context(info))
        return tuple(sorted(value))

    @field_validator("machine_type")
    @classmethod
    def _machine(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "gpu" in info.data and "gpus_per_node" in info.data:
            ordered = check.with_gpus(value, info.data["gpu"], info.data["gpus_per_node"], context(info))
            return tuple(machine.type for machine in ordered) or value
        for type in value:
            check.known_machine(type, context(info))
        return value

    @field_validator("topology")
    @classmethod
    def _topology(cls, value: str | None, info: ValidationInfo) -> str | None:
        known = context(info).catalog
        if value is None or known is None or not {"gpu", "gpus_per_node", "machine_type"} <= info.data.keys():
            return value
        for machine in _machines(info, context(info)):
            topologies = known.machines.topologies(machine.type)
            if not topologies:
                raise wrong(f"{machine.type} has no TPUs, whose chips alone have a topology", "Leave it out")
            if value not in topologies:
                words = ", ".join(topologies)
                raise wrong(f"{machine.type} ({machine.gpus} chips) is in no slice {value}", f"Write one of {words}")
        return value

    @field_validator("capacity")
    @classmethod
    def _capacity(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "reservation" not in info.data:
            return value
        flex = info.data.get("flex_start") is not None
        capacity_types = capacity.of_gpus(value, info.data["reservation"], flex, context(info))
        check.mixed_only_on_spot(info.data.get("machine_type", ()), capacity_types)
        if {"gpu", "gpus_per_node", "machine_type"} <= info.data.keys():
            _check_offered(capacity_types, info)
        return capacity_types

    @field_validator("min_nodes")
    @classmethod
    def _minimum(cls, value: int, info: ValidationInfo) -> int:
        _judge(node_groups.zero_minimum(_group(info, min_nodes=value)))
        return value

    @field_validator("max_nodes")
    @classmethod
    def _maximum(cls, value: int, info: ValidationInfo) -> int:
        _judge(node_groups.ceiling(_group(info, max_nodes=value)))
        return value

    @field_validator("zones")
    @classmethod
    def _zones(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if value:
            return check.zones_in_region(value, context(info))
        if not {"gpu", "gpus_per_node", "machine_type"} <= info.data.keys():
            return ()
        where = context(info)
        having = {zone for machine in _machines(info, where) for zone in check.machine_zones(machine, where)}
        return tuple(zone for zone in where.zones if zone in having)

    @field_validator("mps", "mig")
    @classmethod
    def _one_way(cls, value: SharingSetting | str | None, info: ValidationInfo) -> SharingSetting | str | None:
        others = [key for key in ("time_sharing", "mps") if info.data.get(key) is not None]
        if value is not None and others:
            names = f"{info.field_name} or {to_camel(others[0])}"
            raise wrong("a GPU can be partitioned or shared in one way, not both", f"Leave out {names}")
        return value

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if value.get(GPU_RESOURCE, "true") != "true":
            raise wrong(f"the label {GPU_RESOURCE} must be 'true': the node has a GPU", f"Write {GPU_RESOURCE}: 'true'")
        known = context(info).catalog
        own = known.labels.of_gpu(info.data["gpu"]) if known is not None and "gpu" in info.data else {}
        for key in sorted(own.keys() & value.keys()):
            if own[key] != value[key]:
                raise wrong(f"the label {key} is '{own[key]}' on every node with this GPU", "Leave it out")
        return value


class CpuPool(Section):
    """Nodes without GPUs in addition to the admin pool: for inference front ends, preprocessing and general work."""

    name: fields.PoolName
    machine_type: fields.MachineTypes = ()
    capacity: FallbackOrder = Field(
        default=("on-demand",),
        validate_default=True,
        description=capacity.DESCRIPTION.format(words="`spot`, `on-demand`"),
    )
    min_nodes: StrictInt = Field(default=0, ge=0)
    max_nodes: StrictInt = Field(ge=1)
    zones: check.ZonesOfRegion = ()
    disk_gb: fields.DiskGb = 50
    unneeded_minutes: fields.Minutes | None = None
    upgrade: UpgradeSetting | None = None
    labels: fields.NodeLabels = Field(default_factory=dict)
    taints: fields.Taints = ()
    raw: fields.RawInputs = Field(default_factory=dict)

    @field_validator("machine_type")
    @classmethod
    def _machine(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return tuple(machine.type for machine in check.without_gpus(value, context(info)))

    @field_validator("capacity")
    @classmethod
    def _capacity(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        capacity_types = capacity.of_cpus(value)
        check.mixed_only_on_spot(info.data.get("machine_type", ()), capacity_types)
        return capacity_types

    @field_validator("max_nodes")
    @classmethod
    def _maximum(cls, value: int, info: ValidationInfo) -> int:
        minimum = info.data.get("min_nodes", 0)
        if value < minimum:
            raise wrong(f"maxNodes {value} is below minNodes {minimum}", f"Write {minimum} or more")
        return value


class AdminPool(Section):
    """The pool that always has nodes. System pods run on it."""

    machine_type: fields.MachineTypes = ()
    capacity: Literal["on-demand", "spot"] = Field(default="on-demand", validate_default=True)
    nodes: StrictInt = Field(default=1, ge=1, le=10)
    max_nodes: StrictInt | None = Field(default=None, ge=1)
    disk_gb: fields.DiskGb = 50

    @field_validator("machine_type")
    @classmethod
    def _machine(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = context(info).catalog
        ordered = check.without_gpus(value, context(info))
        for machine in ordered:
            if known is not None:
                check.big_enough(machine, known)
        return tuple(machine.type for machine in ordered)

    @field_validator("capacity")
    @classmethod
    def _capacity(cls, value: Literal["on-demand", "spot"], info: ValidationInfo) -> Literal["on-demand", "spot"]:
        check.mixed_only_on_spot(info.data.get("machine_type", ()), (value,))
        return value


def _group(info: ValidationInfo, *, min_nodes: int = 0, max_nodes: int | None = None) -> NodeGroup:
    return NodeGroup(
        name=info.data.get("name", HERE),
        cloud=context(info).cloud or "",
        gpus_per_node=1,
        autoscaled=True,
        min_nodes=min_nodes,
        max_nodes=max_nodes,
    )


def _judge(violations: list[Violation]) -> None:
    for violation in violations:
        raise wrong(violation.message, violation.remedy)


def _check_offered(capacity_types: Sequence[CapacityType], info: ValidationInfo) -> None:
    """Refuse a capacity type in which the cloud does not offer the machine."""
    known = context(info).catalog
    flex = known is not None and "flex-start" not in known.choices.unsupported_capacity
    for machine in _machines(info, context(info)):
        reserved = machine.provisioning == "spot-or-reservation"
        offered: tuple[CapacityType, ...] = (
            "spot",
            "flex-start",
            *(("reserved", "capacity-block") if reserved else ()),
        )
        refused = next((capacity_type for capacity_type in capacity_types if capacity_type not in offered), None)
        if machine.provisioning == "any" or refused is None:
            continue
        ways = ["spot", *(["flex-start"] if flex else []), *(["with a reservation"] if reserved else [])]
        raise wrong(
            f"{machine.type} ({machine.gpus} {machine.gpu}) is only available as {' or '.join(ways)}, not {refused}",
            f"Write capacity: spot{' or flex-start' if flex else ''}" + (", or add a reservation" if reserved else ""),
        )


def _machines(info: ValidationInfo, where: ValidationContext) -> Iterator[Machine]:
    """The machines that the pool's sizes may get."""
    known, gpu, chosen = where.catalog, info.data["gpu"], info.data["machine_type"]
    if known is None:
        return
    for size in info.data["gpus_per_node"]:
        if not chosen:
            yield from known.machines.having(gpu, size)[:1]
        for type in chosen:
            machine = known.machines.with_gpus(type, gpu, size)
            if machine is not None:
                yield machine
