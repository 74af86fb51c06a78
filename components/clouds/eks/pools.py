"""EKS managed node groups. Sizes are totals over the group's zones.

The program declares no Auto Scaling groups: EKS always drains the nodes of managed groups before it terminates them
(https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html), and a GPU pool has one zone, so that AWS
does not rebalance zones. No setting prevents one thing: on a rebalance recommendation, which is not an interruption
yet, EKS starts another spot machine and drains the first (same page, "Spot").

A GPU group with nodes keeps its disk, image, machine type, subnets, role and Kubernetes version, and what its labels,
taints and tags say of its machines. They change at the first update that finds it empty, so that such a change never
ends a job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import pulumi

from components.clouds.base import RunningNodes
from components.clouds.declare import eks as declare
from components.clouds.eks.context import NodesContext
from components.clouds.eks.node_template import eks_taint, image_type, launch_template
from components.clouds.eks.running_groups import (
    RunningGroup,
    as_deployed,
    if_known,
    of_running,
    scaling_group,
    tag_of_running,
    tags_that_stay,
    unless_replaced,
    unless_running,
)
from components.clouds.raw import beside
from components.resources import CustomResource
from facts.catalog.eks import node_tags
from facts.catalog.eks.nodes import surge_nodes
from facts.concepts.kubernetes import CLOUD_EFFECTS, RESOURCES
from facts.concepts.parts import Capacity, Image
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import eks

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_SUBNET: Final = "aws:ec2/subnet:Subnet"
_TAG: Final = "aws:autoscaling/tag:Tag"
_SIZE: Final = "scalingConfig.desiredSize"
_DIGITS: Final = 8
_IMAGES: Final[tuple[Image, ...]] = ("al2023", "bottlerocket")

# What EKS cannot change of a group: https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html
_FIXED: Final = ("subnetIds", "nodeRoleArn", "capacityType", "instanceTypes", "amiType")

# The machine type stays the group's, where the autoscaler looks for it; AWS's page has it in the template. As here:
# https://aws-ia.github.io/terraform-aws-eks-blueprints/patterns/machine-learning/ml-capacity-block does the same.
_CAPACITY_TYPES: Final[Mapping[Capacity, str]] = {"spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}


def node_pool(
    context: NodesContext, name: str, pool: Pool, needs: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> CustomResource:
    """One pool as a managed node group, which waits for ``needs``; the admin pool is permanent."""
    template = launch_template(context, name, pool, opts)
    version = context.version
    template_version = template.outputs["latestVersion"].apply(lambda latest: str(int(latest)))
    ami_type = image_type(pool)
    capacity = capacity_type(pool)
    state = context.deployed.outputs(NODE_GROUP, name)
    machines = {"capacityType": capacity, "instanceTypes": list(pool.nodes.machine_types), "amiType": ami_type}
    former = state.get("nodeGroupName")
    group_name = _name(context, state, pool, machines)
    running = context.running(group_name, needs) if pool.scaling.autoscaled else None
    gpus = _running_gpus(context, name, pool, running) if pool.role == "gpu" and running is not None else None
    deployed = None if gpus is None else gpus.apply(lambda group: as_deployed(group, state))
    # As one output: the SDK counts the dependencies of a list's to all values that are made of ``running``.
    subnets = pulumi.Output.from_input(context.subnets(pool.nodes.zones))
    inputs: eks.NodeGroup = {
        "clusterName": context.name,
        "nodeGroupName": group_name,
        "version": unless_running(deployed, lambda group: group.version, version),
        "nodeRoleArn": unless_running(deployed, lambda group: group.role, context.node_role_arn),
        "subnetIds": unless_running(deployed, lambda group: list(group.subnets), subnets),
        "capacityType": capacity,
        "instanceTypes": unless_running(
            deployed, lambda group: list(group.machine_types), list(pool.nodes.machine_types)
        ),
        "amiType": unless_running(deployed, lambda group: group.image_type, ami_type),
        "labels": _labels(pool, gpus, state),
        "scalingConfig": {
            "minSize": pool.scaling.min_nodes,
            "maxSize": pool.scaling.max_nodes,
            "desiredSize": pool.scaling.min_nodes,
        },
        "updateConfig": _update(pool),
        "launchTemplate": {
            "id": template.id,
            "version": unless_running(deployed, lambda group: group.template_version, template_version),
        },
        "tags": dict(context.settings.labels),
    }
    if running is not None:
        _add_sizes(cast("dict[str, Any]", inputs), pool, running if gpus is None else gpus, state)
    if gpus is not None:
        target = {
            "version": version,
            "template_version": template_version,
            "image_type": ami_type,
            "machine_types": pool.nodes.machine_types,
            "subnets": subnets,
            "role": context.node_role_arn,
        }
        _report_deferred_changes(pool, gpus, target)
    if running is not None and state:
        _warn_of_disturbing_changes(pool, running if gpus is None else gpus, state)
    if pool.role != "admin":
        inputs["taints"] = _taints(pool, gpus, state)
    options = pulumi.ResourceOptions(
        depends_on=list(needs),
        # Two groups of one name cannot exist side by side.
        delete_before_replace=former in (None, group_name),
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="120m", delete="60m"),
        # Not the state's value: that is older than what an update with `--refresh` compares with.
        ignore_changes=[_SIZE] if running is not None and _has_limits(pool, state) else [],
    )
    group = declare(
        NODE_GROUP,
        name,
        beside(inputs, pool.raw, f"{pool.declared_at}.raw"),
        pulumi.ResourceOptions.merge(opts, options),
        outputs=["resources"],
    )
    # Instances get them from their group at launch; a changed template would replace running ones.
    _tag(f"{name}-label", group, context.settings.labels, opts, on_machines=True)
    if pool.scaling.autoscaled and context.settings.autoscaler == "cluster-autoscaler":
        planned = _planned(pool, _node_template(context, pool), gpus, _deployed_template(context, name))
        _tag(f"{name}-tag", group, planned, opts, on_machines=False)
    return group


def running_nodes(context: NodesContext) -> RunningNodes:
    """A group with nodes keeps their device plugin, as all else that describes them."""

    def busy(pool: Pool) -> pulumi.Output[str]:
        if (group := context.running(pool.name, ())) is None:
            return pulumi.Output.from_input("")
        its = unless_replaced(group, capacity_type(pool), pool.nodes.zones)
        return its.apply(lambda running: f"nodes ({running.nodes})" if running.nodes else "")

    def image(pool: Pool) -> Image:
        groups = context.deployed.beginning(NODE_GROUP, "").values()
        types = [str(each["amiType"]) for each in groups if each["nodeGroupName"] == pool.name]
        images: set[Image] = {each for each in _IMAGES if any(type.startswith(each.upper()) for type in types)}
        # Clusters that one program joins may each have a pool of this name.
        return images.pop() if len(images) == 1 else pool.nodes.image

    return RunningNodes(deployed=context.deployed, busy=busy, image=image)


def _running_gpus(
    context: NodesContext, name: str, pool: Pool, running: pulumi.Output[RunningGroup]
) -> pulumi.Output[RunningGroup]:
    """The group, unless it is replaced, and whether its shares change."""
    before, target = _deployed_template(context, name), _node_template(context, pool)
    offered = [f"{node_tags.RESOURCE}{resource}" for resource in RESOURCES.values()]
    change = any((before.get(tag) or "0") != (target.get(tag) or "0") for tag in offered)
    group = unless_replaced(running, capacity_type(pool), pool.nodes.zones)
    return group.apply(lambda its: replace(its, shares_change=change))


def _node_template(context: NodesContext, pool: Pool) -> Mapping[str, str]:
    return node_tags.node_template(pool, joined=context.settings.existing_cluster is not None)


def _deployed_template(context: NodesContext, name: str) -> Mapping[str, str]:
    deployed = context.deployed.beginning(_TAG, f"{name}-tag-").items()
    return {f"{node_tags.NODE_TEMPLATE}/{suffix}": str(its["tag"]["value"]) for suffix, its in deployed}


def capacity_type(pool: Pool) -> str:
    """As EKS spells it, also in a label of nodes."""
    return _CAPACITY_TYPES.get(pool.scaling.capacity_type, "ON_DEMAND")


def _has_machines(context: NodesContext, group: Mapping[str, Any], pool: Pool, machines: Mapping[str, Any]) -> bool:
    """Whether the ``group`` in the stack's state has these, in the pool's zones: EKS cannot change them of a group.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html
    """
    ids, zones = (context.deployed.ends(_SUBNET, "", output) for output in ("id", "availabilityZone"))
    own = {zones[each] for each, id in ids.items() if id in group["subnetIds"]}
    # Which zones the subnets of an existing network are in is not in the state, but how many there are.
    where = sorted(own) == sorted(pool.nodes.zones) if own else len(group["subnetIds"]) == len(pool.nodes.zones)
    return where and all(group.get(key) == value for key, value in machines.items())


def _name(context: NodesContext, state: Mapping[str, Any], pool: Pool, machines: Mapping[str, Any]) -> str:
    """The name of the group, whose ``state`` is the stack's.

    An admin group with other machines gets another name, so that it is made before the former one goes: without it
    there would be no DNS, no autoscaler and no controller of volumes for ten minutes.
    """
    former = state.get("nodeGroupName")
    if pool.role != "admin" or former is None:
        return pool.name
    if _has_machines(context, state, pool, machines):
        return str(former)
    digest = hashlib.sha256(json.dumps([machines, sorted(pool.nodes.zones)], sort_keys=True).encode()).hexdigest()
    return f"{pool.name}-{digest[:_DIGITS]}"


def _update(pool: Pool) -> eks.NodeGroupUpdateConfig:
    """https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html"""
    at_once = (pool.nodes.upgrade.max_unavailable if pool.nodes.upgrade else None) or 1
    return {"maxUnavailable": at_once, "updateStrategy": "DEFAULT" if surge_nodes(pool) else "MINIMAL"}


def _add_sizes(
    inputs: dict[str, Any], pool: Pool, running: pulumi.Output[RunningGroup], state: Mapping[str, Any]
) -> None:
    """The desired size of a group that an autoscaler changes; what its nodes run waits for an update of its limits.

    The provider sends all sizes if one of them differs, and only after it has waited for a version: by then the
    autoscaler may have set another. `resourceNodeGroupUpdate` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/node_group.go
    """
    # EKS refuses a minimum above the size that a group has:
    # https://github.com/hashicorp/terraform-provider-aws/issues/18310
    inputs["scalingConfig"]["desiredSize"] = running.apply(lambda group: max(group.nodes, pool.scaling.min_nodes))
    if not state or _has_limits(pool, state):
        return
    stays, template = _stays(inputs, pool, running, state), inputs["launchTemplate"]
    versions = str(state["version"]), str((state.get("launchTemplate") or {}).get("version", ""))
    target = pulumi.Output.all(inputs["version"], template["version"])
    rolls = if_known(target).apply(lambda its: its is None or tuple(its) != versions)
    kept = stays.apply(lambda same: pulumi.Output.from_input(versions if same else target))
    inputs["version"], template["version"] = kept.apply(lambda its: its[0]), kept.apply(lambda its: its[1])
    pulumi.Output.all(stays, rolls).apply(lambda both: _report_sizes_first(pool) if all(both) else None)


def _report_sizes_first(pool: Pool) -> None:
    pulumi.info(f"pool {pool.name} gets its minimum and maximum first: run `up` again to change what its nodes run")


def _stays(
    inputs: Mapping[str, Any], pool: Pool, running: pulumi.Output[RunningGroup], state: Mapping[str, Any]
) -> pulumi.Output[bool]:
    """Whether EKS changes the group in place, and makes no other."""
    declared = pulumi.Output.all(*(inputs[key] for key in _FIXED))
    before = [state.get(key) for key in _FIXED]

    def stays(group: RunningGroup) -> pulumi.Input[bool]:
        # In other zones the subnets may not be there yet.
        if not state or group.zones != frozenset(pool.nodes.zones):
            return False
        return declared.apply(lambda values: _ordered(values) == _ordered(before))

    return running.apply(stays)


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Values of ``_FIXED``, of which the first are a set."""
    subnets, *others = values
    return [sorted(subnets or ()), *others]


def _has_limits(pool: Pool, group: Mapping[str, Any]) -> bool:
    sizes = group.get("scalingConfig") or {}
    return (sizes.get("minSize"), sizes.get("maxSize")) == (pool.scaling.min_nodes, pool.scaling.max_nodes)


def _report_deferred_changes(
    pool: Pool, running: pulumi.Output[RunningGroup], target: Mapping[str, pulumi.Input[Any]]
) -> None:
    """Report the changes that wait until the group has no nodes."""

    def report(values: Sequence[object]) -> None:
        group, fields = values
        assert isinstance(group, RunningGroup)
        if group.nodes and (differences := group.differences(cast("Mapping[str, Any]", fields))):
            pulumi.info(
                f"pool {pool.name} has nodes ({group.nodes}): run `up` again when it has none to change {differences}"
            )

    # A preview does not know the version of a template that changes.
    known = {key: if_known(pulumi.Output.from_input(value)) for key, value in target.items()}
    pulumi.Output.all(running, pulumi.Output.all(**known)).apply(report)


def _warn_of_disturbing_changes(pool: Pool, running: pulumi.Output[RunningGroup], state: Mapping[str, Any]) -> None:
    """Warn of what reaches running nodes with this update, and the pods on them."""
    ending = [taint for taint in pool.nodes.taints if taint.effect == "NoExecute"]
    former = [each for each in state.get("taints") or () if each["effect"] == CLOUD_EFFECTS["NoExecute"]]
    # A pod may tolerate one value of a key alone.
    there = {(each["key"], each.get("value") or None) for each in former}
    changes = [f"its taint {one.key} ends their pods" for one in ending if (one.key, one.value or None) not in there]

    def warn(group: RunningGroup) -> None:
        if group.nodes and changes:
            what = f"pool {pool.name} has nodes ({group.nodes}), and {', and '.join(changes)}"
            pulumi.warn(f"{what}. Wait until nobody needs these pods")

    running.apply(warn)


def _labels(
    pool: Pool, running: pulumi.Output[RunningGroup] | None, state: Mapping[str, Any]
) -> pulumi.Input[dict[str, str]]:
    target, deployed = pool.nodes.labels, state.get("labels") or {}
    if running is None:
        return dict(target)
    return running.apply(
        lambda group: dict(of_running(group, [*deployed.items()], [*target.items()], lambda of: of[0]))
    )


def _taints(
    pool: Pool, running: pulumi.Output[RunningGroup] | None, state: Mapping[str, Any]
) -> pulumi.Input[list[eks.NodeGroupTaint]]:
    target, deployed = [eks_taint(taint) for taint in pool.nodes.taints], state.get("taints") or ()
    if running is None:
        return target
    return running.apply(lambda group: of_running(group, deployed, target, lambda taint: str(taint["key"])))


def _planned(
    pool: Pool, tags: Mapping[str, str], running: pulumi.Output[RunningGroup] | None, deployed: Mapping[str, str]
) -> Mapping[str, pulumi.Input[str]]:
    """The tags from which the autoscaler plans nodes, as long as the group starts the nodes of before."""
    if running is None:
        return tags
    tags = {**dict.fromkeys(tags_that_stay(deployed, tags), ""), **tags}

    def value(tag: str, target: str) -> pulumi.Output[str]:
        return running.apply(lambda group: tag_of_running(group, deployed, tag, target, pool.nodes.machine_types))

    return {tag: value(tag, target) for tag, target in tags.items()}


def _tag(
    name: str,
    group: CustomResource,
    tags: Mapping[str, pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
    *,
    on_machines: bool,
) -> None:
    """Tag the Auto Scaling group behind ``group``, and with it machines that start from now on, or the group alone."""

    def its_name(values: Sequence[object]) -> str:
        resources, urn = values
        if (name := scaling_group({"resources": resources})) is None:
            raise pulumi.RunError(f"EKS could not make this node group. Run `pulumi up --replace '{urn}'`")
        return name

    autoscaling_group = pulumi.Output.all(group.outputs["resources"], group.urn).apply(its_name)
    # A group is deleted with its tags; deleting them one by one first would only take time.
    options = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(deleted_with=group))
    for key, value in tags.items():
        tag: eks.TagTag = {"key": key, "value": value, "propagateAtLaunch": on_machines}
        suffix = key.removeprefix(node_tags.NODE_TEMPLATE + "/")
        declare(_TAG, f"{name}-{suffix}", {"autoscalingGroupName": autoscaling_group, "tag": tag}, options)
