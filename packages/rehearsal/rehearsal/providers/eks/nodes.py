"""Managed node groups as an observer needs them: the labels that EKS adds, and the machines that result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from facts.catalog.eks.nodes import disk_mib, max_pods
from facts.catalog.model import Machine
from facts.concepts.kubernetes import Effect, Taint
from facts.concepts.parts import Capacity, Nodes, Scaling
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.machines.gpu_parts import parts
from rehearsal.providers.eks.machines.instance_types import architecture, gpu_resource, instance_type
from rehearsal.providers.eks.network import SUBNET, subnets
from rehearsal.providers.eks.rules import DEFAULT_AMI_TYPE
from rehearsal.providers.eks.scaling_group import types_of
from rehearsal.simulation import Advertiser, NodeShape, SimulatedNodeGroup

EFFECTS: Final[Mapping[str, Effect]] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_CAPACITY_TYPES: Final[Mapping[str, Capacity]] = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}
_PREFIX: Final = "eks.amazonaws.com/"
_DEFAULT_DISK_GB: Final = 20


def node_group(
    account: Account, inputs: Properties, zones: tuple[str, ...], desired: int, template: Mapping[str, Any]
) -> SimulatedNodeGroup:
    """The machines behind a node group whose inputs were checked: shaped like its first type, ``desired`` of them.

    A spot group gets whichever of its types is cheap and plentiful that hour, so its nodes have the GPUs of the least.
    ``template`` is the version of its launch template, empty without one.
    """
    types = types_of(inputs, template)
    machine = instance_type(account, types[0])
    if machine is None:
        raise ValueError(f"node group {inputs['nodeGroupName']}: no machine for {types}")
    ami, data = inputs.get("amiType") or DEFAULT_AMI_TYPE, template.get("LaunchTemplateData") or {}
    disk = disk_mib("bottlerocket" if _is_bottlerocket(ami) else "al2023", _disk_gb(inputs, data))
    spot = inputs.get("capacityType") == "SPOT"
    reserved = at(data, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
    efa = efa_devices(data)
    return SimulatedNodeGroup(
        name=inputs["nodeGroupName"],
        cluster=inputs["clusterName"],
        machine=replace(_machine(account, machine, disk), efa=efa),
        efa=efa,
        nodes=Nodes(
            machine_types=(machine.type,),
            zones=zones,
            labels=node_labels(inputs, machine, template),
            taints=tuple(
                Taint(taint["key"], taint.get("value") or None, EFFECTS[taint["effect"]])
                for taint in inputs.get("taints") or []
            ),
            hourly_usd=account.hourly_usd(machine, account.region, spot=spot),
        ),
        scaling=Scaling(
            autoscaled=False,
            min_nodes=desired,
            max_nodes=desired,
            capacity_type=_CAPACITY_TYPES.get(inputs.get("capacityType") or "", "on-demand"),
            reservation=reserved or None,
        ),
        gpus_advertised_by=advertiser(ami, machine.gpus),
        offered_gpus=_offered(account, types if spot else types[:1], ami, machine, str(data.get("UserData") or "")),
    )


def node_labels(inputs: Properties, machine: Machine, template: Mapping[str, Any]) -> dict[str, str]:
    """Every label that a node of the group gets: those declared and EKS's; region and zone come with the node.

    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
    """
    labels = {
        f"{_PREFIX}capacityType": inputs.get("capacityType") or "ON_DEMAND",
        f"{_PREFIX}nodegroup": inputs["nodeGroupName"],
        f"{_PREFIX}nodegroup-image": scaling_group.image_id(inputs),
        "beta.kubernetes.io/instance-type": machine.type,
        "node.kubernetes.io/instance-type": machine.type,
    }
    if template:
        labels[f"{_PREFIX}sourceLaunchTemplateId"] = template["LaunchTemplateId"]
        labels[f"{_PREFIX}sourceLaunchTemplateVersion"] = str(template["VersionNumber"])
    return {**labels, **(inputs.get("labels") or {})}


def advertiser(ami_type: str, gpus: int) -> Advertiser:
    """Who makes the ``gpus`` of a node allocatable.

    AL2023's NVIDIA image has the driver and wants a device plugin, Bottlerocket's has both, and any other image needs
    a driver first: https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin.html. AL2023's Neuron
    image is like NVIDIA's: https://docs.aws.amazon.com/eks/latest/userguide/device-management-neuron.html
    """
    if gpus and "NEURON" in ami_type:
        return "neuron-plugin"
    if not gpus or (_is_bottlerocket(ami_type) and "NVIDIA" in ami_type):
        return "cloud"
    return "device-plugin" if "NVIDIA" in ami_type or ami_type == "AL2_x86_64_GPU" else "daemonset"


def efa_devices(template: Mapping[str, Any]) -> int:
    """The EFA devices of a node, by its launch template's data: one for each such interface."""
    return sum(each.get("InterfaceType") in ("efa", "efa-only") for each in template.get("NetworkInterfaces") or ())


def _offered(account: Account, types: Sequence[str], ami: str, planned: Machine, user_data: str) -> int | None:
    """The GPUs that a node of one of the types offers, before a device plugin pod shares them; ``None``: those of the
    first type."""
    fewest = min(machine.gpus for name in types if (machine := instance_type(account, name)) is not None)
    if user_data and advertiser(ami, planned.gpus) == "cloud":
        fewest *= parts(planned.gpu or "", user_data)
    return None if fewest == planned.gpus else fewest


def _disk_gb(inputs: Properties, template: Mapping[str, Any]) -> int:
    """The volume on which a group's nodes keep images and pods' files; ``template`` is its launch template's data.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (``diskSize``)
    """
    device = "/dev/xvdb" if _is_bottlerocket(inputs.get("amiType") or DEFAULT_AMI_TYPE) else "/dev/xvda"
    mappings = template.get("BlockDeviceMappings") or []
    sizes = [int(at(one, "Ebs.VolumeSize") or 0) for one in mappings if one.get("DeviceName") == device]
    return next(filter(None, sizes), 0) or int(inputs.get("diskSize") or _DEFAULT_DISK_GB)


def _is_bottlerocket(ami_type: str) -> bool:
    return ami_type.startswith("BOTTLEROCKET")


def _machine(account: Account, machine: Machine, disk: int) -> NodeShape:
    allocatable = account.catalog.nodes.allocatable(machine)
    accelerator = account.catalog.machines.accelerators.get(machine.gpu or "")
    return NodeShape(
        cpu=machine.vcpus,
        memory_gib=machine.memory_gib,
        gpus=machine.gpus,
        gpu_name=accelerator.name if accelerator else machine.gpu or "",
        reserved_milli_cpu=machine.vcpus * 1000 - allocatable.milli_cpu,
        reserved_memory_mib=int(machine.memory_gib * 1024) - allocatable.memory_mib,
        max_pods=max_pods(machine),
        disk_mib=disk,
        gpu_resource=gpu_resource(machine.type),
        arch={"x86_64": "amd64"}.get(cpus := architecture(account, machine.type), cpus),
    )


NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
DELETING = "DELETING"
"""The status of a group whose deletion has begun."""


@dataclass(frozen=True)
class DeclaredGroup:
    """One managed node group. ``base`` has its machines as their nodes really are, and is not autoscaled.

    ``labels`` are what DescribeNodegroup reports; ``nodegroup_tags`` are the group's own tags, which its Auto Scaling
    group ``asg_name`` does not get; the sizes and what begins with ``asg`` are that group's (zones in AWS's order).
    """

    asg_name: str
    base: SimulatedNodeGroup
    min_size: int
    max_size: int
    desired: int
    labels: Mapping[str, str]
    nodegroup_tags: Mapping[str, str]
    asg_arn: str
    asg_zones: tuple[str, ...]
    asg_tags: Mapping[str, str]


def declared_groups(account: Account) -> list[DeclaredGroup]:
    """Every node group as it is now, oldest first. ``desired`` is the Auto Scaling group's."""
    with account.store.held():
        records = {asg_name(each): each for each in account.store.all(NODE_GROUP)}
        groups = scaling_group.describe_all(account, list(records))
        return [declared_group(account, records[name], group) for name, group in groups.items()]


def is_leaving(account: Account, cluster: str, name: str) -> bool:
    """Whether the group's deletion has begun, or it is gone."""
    record = account.store.get(NODE_GROUP, f"{cluster}:{name}")
    return record is None or record.outputs.get("status") == DELETING


def declared_group(account: Account, record: Record, group: Mapping[str, Any]) -> DeclaredGroup:
    """A node group as it is now; ``group`` is its Auto Scaling group as AWS describes it."""
    inputs = record.inputs
    desired = int(group["DesiredCapacity"])
    template = scaling_group.template_of(account, inputs)
    return DeclaredGroup(
        asg_name=group["AutoScalingGroupName"],
        base=node_group(account, inputs, zones_of(account, inputs), desired, template),
        min_size=int(group["MinSize"]),
        max_size=int(group["MaxSize"]),
        desired=desired,
        labels=dict(inputs.get("labels") or {}),
        nodegroup_tags=dict(inputs.get("tags") or {}),
        asg_arn=group["AutoScalingGroupARN"],
        asg_zones=tuple(group["AvailabilityZones"]),
        asg_tags={tag["Key"]: tag.get("Value") or "" for tag in group.get("Tags") or ()},
    )


def asg_name(record: Record) -> str:
    """The Auto Scaling group of a recorded node group."""
    return str(record.outputs["resources"][0]["autoscalingGroups"][0]["name"])


def zones_of(account: Account, inputs: Properties) -> tuple[str, ...]:
    """The zones of a group's subnets."""
    known = [account.store.get(SUBNET, id) for id in inputs["subnetIds"]]
    # A subnet never moves, so there is no need to ask for those that were made here.
    if all(known):
        return tuple(sorted({record.outputs["availabilityZone"] for record in known if record}))
    return zones_in(subnets(account, inputs["subnetIds"]))


def zones_in(described: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The zones of subnets that AWS described."""
    return tuple(sorted({subnet["AvailabilityZone"] for subnet in described}))
