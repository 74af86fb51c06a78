"""``gpuPools``, ``cpuPools`` and ``adminPool``. A field may look at the fields before it, so their order matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, StrictInt, StrictStr, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from components.settings.fields import check
from components.settings.fields import types as fields
from components.settings.fields.problems import HERE
from components.settings.fields.types import Section, ValidationContext, context, wrong
from components.settings.sections import capacity
from components.settings.sections.capacity import FallbackOrder, FlexStart, Reservations
from components.settings.sections.teams import POOL_TEAMS, PoolTeams
from facts.catalog import Machine
from facts.concepts.declared import NodeGroup, Violation
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.parts import CapacityType, Gpus, Scaling
from policies.rules import node_groups

MOST_ADMIN_NODES: Final = 10
"""Admin nodes in each zone."""

_HOURLY_USD: Final = (
    "what one node costs per hour, in US dollars, in place of the list price, for outputs, budgets and `gpu fit`, and "
    "for the gate where the list price is lower or not known, if it is no less than the cheapest known price of that "
    "machine type, or of as many of the cloud's dearest GPUs; of several ways to get it, the dearest"
)


class SharingSetting(Section):
    """Several pods share one GPU, and each requests one GPU."""

    clients_per_gpu: StrictInt = Field(ge=2, le=48, description="pods that share one GPU, 2 to 48")


class UpgradeSetting(Section):
    """How nodes are upgraded, where the cloud has a setting per pool (docs/operations.md)."""

    max_surge: StrictInt | None = Field(default=None, ge=0, le=20, description="extra nodes during an upgrade, 0 to 20")
    max_unavailable: StrictInt | None = Field(
        default=None, ge=0, le=20, description="nodes that may be unavailable during an upgrade, 0 to 20"
    )
    drain_minutes: StrictInt | None = Field(
        default=None, ge=1, le=1440, description="minutes in which pods must leave a node, 1 to 1440; on AKS 5 or more"
    )

    @field_validator("max_unavailable")
    @classmethod
    def _some(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value == 0 and info.data.get("max_surge") == 0:
            raise wrong("with maxSurge and maxUnavailable 0 no node can be upgraded", "Write maxUnavailable: 1")
        return value


class GpuPool(Section):
    """A pool of nodes with one GPU type. Nodes are created for pending pods and removed when idle."""

    name: fields.PoolName = Field(description="prefix of the names of the resulting pools")
    gpu: Annotated[StrictStr, check.checked(check.gpu_name)] = Field(
        description="GPU type, such as `nvidia-t4`, `nvidia-l4` or `nvidia-a100-40gb`"
    )
    gpus_per_node: fields.Sizes = Field(
        default=(1,), validate_default=True, description="GPUs per node. A list creates one pool per size"
    )
    machine_type: fields.MachineTypes = Field(
        default=(),
        validate_default=True,
        description="machine type, or a list for spot nodes of several types. Default: the smallest with these GPUs; "
        "spot nodes also use larger ones where cloud and autoscaler can mix types",
    )
    topology: StrictStr | None = Field(
        default=None,
        validate_default=True,
        description="how the chips of a slice of TPUs are connected, such as `4x4`: a pool is one slice, whose nodes "
        "start together. Default: each node by itself",
    )
    reservation: Reservations = Field(
        default=(), description="reserved machines that the pool uses: a name, a mapping, or a list of them"
    )
    flex_start: FlexStart | None = Field(default=None, description="how long flex-start nodes run")
    capacity: FallbackOrder = Field(
        default=("on-demand",),
        validate_default=True,
        description=capacity.DESCRIPTION.format(words=", ".join(f"`{each}`" for each in capacity.CAPACITY_TYPES)),
    )
    min_nodes: StrictInt = Field(default=0, ge=0, description="always 0: GPU pools scale to zero")
    max_nodes: StrictInt = Field(description="maximum nodes of each resulting pool, over all its zones; 1 or more")
    zones: fields.Zones = Field(
        default=(),
        validate_default=True,
        description="zones of the pool. Default: of the stack's zones, those known to have the machine of its size, or "
        "all where the autoscaler asks your account. `none`: as in the stack's zones",
    )
    location_policy: (
        Annotated[StrictStr, check.one_of(lambda known: known.choices.location_policies, "location policy")] | None
    ) = Field(
        default=None,
        description="`any`: any zone that has capacity, unused reservations first. `balanced`: spread over the zones",
    )
    disk_gb: fields.DiskGb = Field(default=100, description="boot disk of a node in GB, 20 or more")
    hourly_usd: fields.Usd | None = Field(
        default=None,
        description=f"{_HOURLY_USD}. TPU7x needs it: its list price is not known",
    )
    image: Annotated[StrictStr, check.checked(check.image)] | None = Field(
        default=None,
        description="operating system of the nodes, with `@` and a version to pin it where the cloud can "
        "(`al2023@v20261101`). Default: the newest of the first that the cloud offers",
    )
    drivers: Literal["managed", "daemonset", "none"] = Field(
        default="managed",
        description="who installs the GPU driver: the cloud, its image or, for AMD's GPUs, the program (`managed`), a "
        "DaemonSet in the cluster, or you (`none`)",
    )
    driver_version: Literal["default", "latest"] = Field(
        default="default", description="driver version that the cloud installs"
    )
    time_sharing: SharingSetting | None = Field(default=None, description="lets several pods share a GPU in turns")
    mps: SharingSetting | None = Field(
        default=None,
        description="lets several pods use a GPU at once, each with its part of the memory (NVIDIA's MPS). Their "
        "namespaces admit `hostIPC`",
    )
    mig: Literal["1g", "2g", "3g", "4g", "7g"] | None = Field(
        default=None, description="size of the MIG slices into which each GPU is partitioned"
    )
    unneeded_minutes: fields.Minutes | None = Field(
        default=None, description="minutes after which an idle node is removed. Default: the stack's"
    )
    placement: Literal["compact"] | None = Field(
        default=None,
        description="`compact`: nodes close to each other, for jobs on several nodes. Default: no placement policy",
    )
    fabric: Literal["rdma"] | None = Field(
        default=None,
        description="`rdma`: the nodes' RDMA devices (EFA) are usable, and jobs on several nodes get them. Whole "
        "machines that have them, of one type, in one zone and of one capacity type. Default: jobs on several nodes "
        "use TCP, which is many times slower",
    )
    image_streaming: fields.Flag | None = Field(
        default=None,
        description="start containers before their image is fully pulled, where the cloud supports it. To switch it "
        "off again, write `false`: GKE leaves a pool without the key as it was",
    )
    compute_class: fields.Flag = Field(
        default=False,
        description="GKE only: one ComputeClass, named as the entry, tries the capacity types of the entry in any "
        "order. Only pods that select the class use the entry, as `gpu submit`, `gpuJobs` and the stack's services do; "
        "a pod that only sets a GPU limit does not",
    )
    upgrade: UpgradeSetting | None = Field(default=None, description="how nodes are upgraded")
    teams: PoolTeams = Field(default=(), description=POOL_TEAMS)
    labels: fields.GpuNodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: fields.Taints = Field(default=(), description="additional node taints, each `{key, value, effect}`")
    raw: fields.RawInputs = Field(
        default_factory=dict, description="additional inputs of the pool's own resource, like `raw` of the stack"
    )

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
            raise wrong(
                f"the label {GPU_RESOURCE} must be 'true': the node has a GPU",
                f"Write labels: {{{GPU_RESOURCE}: 'true'}}",
            )
        known = context(info).catalog
        own = known.labels.of_gpu(info.data["gpu"]) if known is not None and "gpu" in info.data else {}
        for key in sorted(own.keys() & value.keys()):
            if own[key] != value[key]:
                raise wrong(f"the label {key} is '{own[key]}' on every node with this GPU", "Leave it out")
        return value


class CpuPool(Section):
    """Nodes without GPUs in addition to the admin pool: for inference front ends, preprocessing and general work."""

    name: fields.PoolName = Field(description="prefix of the names of the resulting pools")
    machine_type: fields.MachineTypes = Field(
        default=(),
        description="machine type without GPUs, or a list for spot nodes of several types. Default: 4 vCPUs "
        "with 16 GiB",
    )
    capacity: FallbackOrder = Field(
        default=("on-demand",),
        validate_default=True,
        description=capacity.DESCRIPTION.format(words="`spot`, `on-demand`"),
    )
    min_nodes: StrictInt = Field(default=0, ge=0, description="nodes that always run, over all zones")
    max_nodes: StrictInt = Field(
        ge=1, description="maximum nodes of each resulting pool, over all its zones; 1 or more"
    )
    zones: check.ZonesOfRegion = Field(
        default=(), description="zones of the pool. Default: the stack's zones. `none`: as in the stack's zones"
    )
    disk_gb: fields.DiskGb = Field(default=50, description="boot disk of a node in GB, 20 or more")
    hourly_usd: fields.Usd | None = Field(default=None, description=_HOURLY_USD)
    unneeded_minutes: fields.Minutes | None = Field(
        default=None, description="minutes after which an idle node is removed. Default: the stack's"
    )
    upgrade: UpgradeSetting | None = Field(default=None, description="how nodes are upgraded")
    labels: fields.NodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: fields.Taints = Field(default=(), description="node taints, each `{key, value, effect}`")
    raw: fields.RawInputs = Field(
        default_factory=dict, description="additional inputs of the pool's own resource, like `raw` of the stack"
    )

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

    machine_type: fields.MachineTypes = Field(
        default=(),
        description="machine type, or a list for spot nodes of several types. Default: a small machine that system "
        "pods fit on (see below)",
    )
    capacity: Literal["on-demand", "spot"] = Field(
        default="on-demand",
        validate_default=True,
        description="capacity type. `spot` is cheaper, but the cloud may reclaim the nodes with the pods on them",
    )
    nodes: StrictInt = Field(default=1, ge=1, le=MOST_ADMIN_NODES, description="nodes per zone of the control plane")
    max_nodes: StrictInt | None = Field(
        default=None,
        ge=1,
        description="maximum nodes over all zones; setting it enables autoscaling. Default: a fixed size",
    )
    disk_gb: fields.DiskGb = Field(default=50, description="boot disk of a node in GB, 20 or more")
    hourly_usd: fields.Usd | None = Field(default=None, description=_HOURLY_USD)

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
        gpus=Gpus(per_node=1),
        scaling=Scaling(min_nodes=min_nodes, max_nodes=max_nodes),
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
