"""Whether anything adds and removes the nodes of a cluster, is allowed to, and knows enough of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from facts.concepts import iam
from facts.concepts.declared import (
    Autoscaler,
    AutoscalerCall,
    NodeGroup,
    PodRole,
    ScalingGroup,
    Stack,
    Violation,
    Workload,
)
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.clusters import clusters_with_gpus
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER, GPUS, TAGS, WEB, program, scaler

_HINT: Final = "k8s.io/cluster-autoscaler/node-template/"
# The autoscaler derives these itself from the machine type and the zone.
_KNOWN_LABELS: Final = (
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)
_Hint = tuple[str, str, str]
"""What is missing in words, the tag's key, and its value."""


@rule(
    "autoscaler-present",
    title="Something scales the nodes",
    why="Where the cloud runs no autoscaler, a minimum of 0 means that no GPU node ever comes.",
    remedy="Deploy cluster-autoscaler or Karpenter with the cluster.",
    level="advisory",
    severity="high",
    example=program(replace(CLUSTER, managed_autoscaler=False), GPUS, WEB),
)
def present(stack: Stack) -> list[Violation]:
    """A cluster whose cloud runs no autoscaler has one among the stack's workloads.

    A stack without any workload is not judged: what runs in its cluster is declared elsewhere.
    """
    remedy = "Deploy cluster-autoscaler or Karpenter, on the always-on CPU nodes."
    found = []
    for cluster, _ in clusters_with_gpus(stack):
        scales = {workload.scales_nodes for workload in stack.workloads if workload.doubt is None}
        if cluster.managed_autoscaler is True or not scales:
            continue
        if True in scales:
            continue
        undecided = UNKNOWN in scales or cluster.managed_autoscaler is UNKNOWN
        message = (
            f"Cluster '{cluster.name}' has GPU node groups and no autoscaler: its GPU nodes never come, or never go."
        )
        if undecided:
            message = f"Cluster '{cluster.name}': unknown at preview, checked at update: whether it has an autoscaler."
        found.append(Violation(present.id, message, remedy, undecided=undecided, resource=cluster.resource))
    return found


@rule(
    "autoscaler-sees-group",
    title="The autoscaler sees every GPU node group",
    why="A group that no autoscaler finds keeps its size: none, or idle for ever.",
    remedy="Give the group the tags by which the autoscaler discovers groups.",
    level="mandatory",
    severity="high",
    example=program(replace(GPUS, scaling=ScalingGroup("l4", TAGS)), scaler("other")),
)
def sees_each_group(stack: Stack) -> list[Violation]:
    """The autoscaler of the cluster can find each GPU group.

    Where the stack declares no autoscaler that looks for groups, it stays open whether the one elsewhere finds them.
    """
    finders = finders_of(stack)
    found = []
    for group in stack.groups:
        if group.gpus_per_node == 0 or group.kind == "machine":
            continue
        if finders and group.scaling is not None:
            seen: Maybe[bool] = either(finds(finder, group.scaling) for finder in finders)
        else:
            seen = group.discoverable if group.discoverable is True else UNKNOWN
        if seen is True:
            continue
        undecided = seen is UNKNOWN or group.gpus_per_node is UNKNOWN
        remedy, message = _how_to_be_seen(finders), f"GPU node group '{group.name}' "
        if not undecided:
            message += f"is not among the groups that the autoscaler looks for ({_sought(finders)}): it keeps its size."
        elif group.discoverable is False and not finders:
            message += "lacks the tags by which an autoscaler finds it, and no autoscaler here names it."
        else:
            message += "may be missed by the autoscaler: unknown at preview, checked at update: its tags."
        found.append(Violation(sees_each_group.id, message, remedy, undecided=undecided, resource=group.resource))
    return found


@rule(
    "autoscaler-knows-template",
    title="The autoscaler knows the nodes of an empty group",
    why="It plans the first node of a group by tags; what they leave out, no pod can ask for, or runs into.",
    remedy="Put every label and taint of the group as a node-template tag on its Auto Scaling group.",
    level="mandatory",
    severity="high",
    example=program(replace(GPUS, scaling=ScalingGroup("l4", TAGS)), scaler("ml")),
)
def knows_each_template(stack: Stack) -> list[Violation]:
    """An autoscaler that reads tags in place of nodes is told every label and taint of each GPU group.

    It asks the cloud for a managed group's labels and taints only until the group has had a node.
    """
    found = []
    for group in stack.groups if finders_of(stack) else ():
        if group.gpus_per_node == 0 or group.kind == "machine" or group.scaling is None:
            continue
        missing, unknown = _untold(group, group.scaling)
        undecided = not missing or group.gpus_per_node is UNKNOWN
        if not missing and not unknown:
            continue
        if missing:
            message = f"GPU node group '{group.name}': while it is empty, the autoscaler does not know its "
            message += f"{', '.join(kind for kind, _, _ in missing)}: it adds nodes for pods that do not fit, or none."
        else:
            message = (
                f"GPU node group '{group.name}': unknown at preview, checked at update: its tags for the autoscaler."
            )
        tags = ", ".join(f"{key}={value}" for _, key, value in missing or unknown)
        remedy = f"Tag the Auto Scaling group itself, not the node group: {tags}."
        found.append(Violation(knows_each_template.id, message, remedy, undecided=undecided, resource=group.resource))
    return found


@rule(
    "autoscaler-permitted",
    title="The autoscaler may do its work",
    why="One missing right, and the groups keep their size: pods wait, or idle nodes stay.",
    remedy="Allow the autoscaler's role every action that it needs, on the groups of this cluster.",
    level="mandatory",
    severity="high",
    example=replace(
        program(GPUS, scaler("ml")),
        pod_roles=(PodRole("scaler", "kube-system", "scaler", ({"Statement": []},)),),
    ),
)
def permitted(stack: Stack) -> list[Violation]:
    """Each autoscaler's role allows what it has to do. A role that the stack does not declare is not judged.

    Without a role of its own it has that of its node, if the stack declares that and the cluster.
    """
    found = []
    given = [role for role in stack.pod_roles if not role.of_nodes]
    for workload in stack.workloads:
        if (scaler := workload.autoscaler) is None:
            continue
        answers = [(role, both((_equal(role.namespace, workload.namespace), _runs_as(scaler, role)))) for role in given]
        own = [(role, answer is True) for role, answer in answers if answer is not False]
        for role, certain in own:
            if not role.elsewhere:
                found += _judged(workload, scaler, role, stack, certain=certain)
        if not own and stack.clusters:
            found += _judged_as_node(workload, scaler, stack)
    return found


def _judged_as_node(workload: Workload, scaler: Autoscaler, stack: Stack) -> list[Violation]:
    """The autoscaler may be on any node: it is wrong only if no node's role allows what it has to do."""
    roles = [role for role in stack.pod_roles if role.of_nodes]
    verdicts = [list(_judged(workload, scaler, role, stack, certain=True)) for role in roles]
    refused = [found[0] for found in verdicts if found and not found[0].undecided]
    return refused[:1] if refused and len(refused) == len(roles) else []


def finders_of(stack: Stack) -> list[Autoscaler]:
    """The autoscalers that look for groups by tag or by name."""
    declared = [workload.autoscaler for workload in stack.workloads if workload.autoscaler is not None]
    return [one for one in declared if one.discovery is UNKNOWN or one.groups is UNKNOWN or one.discovery or one.groups]


def finds(autoscaler: Autoscaler, group: ScalingGroup) -> Maybe[bool]:
    """Whether the autoscaler looks for this group: it has all tags of one set, or its name is listed."""
    sets, names = autoscaler.discovery, autoscaler.groups
    by_tags = UNKNOWN if sets is UNKNOWN else either(_carries(group, wanted) for wanted in sets)
    by_name = UNKNOWN if names is UNKNOWN else either(_is_named(group, name) for name in names)
    return either((by_tags, by_name))


def _carries(group: ScalingGroup, wanted: Mapping[str, str]) -> Maybe[bool]:
    return both(_has_tag(group, key, value) for key, value in wanted.items())


def _has_tag(group: ScalingGroup, key: str, value: str) -> Maybe[bool]:
    if key not in group.tags:
        return UNKNOWN if group.open else False
    return True if not value else _equal(group.tags[key], value)


def _is_named(group: ScalingGroup, name: str) -> Maybe[bool]:
    return UNKNOWN if group.name is UNKNOWN else re.fullmatch(group.name, name) is not None


def _untold(group: NodeGroup, scaling: ScalingGroup) -> tuple[list[_Hint], list[_Hint]]:
    """The tags that are certainly missing or wrong, and those that may be."""
    wanted: list[tuple[str, str, Maybe[str]]] = []
    labels = {} if group.labels is UNKNOWN else group.labels
    for key, value in labels.items():
        if value is not None and key not in _KNOWN_LABELS:
            wanted.append((f"label {key}", f"{_HINT}label/{key}", value))
    for taint in () if group.taints is UNKNOWN else group.taints:
        wanted.append((f"taint {taint.key}", f"{_HINT}taint/{taint.key}", f"{taint.value or ''}:{taint.effect}"))
    answers = [(what, key, value, _told(scaling, key, value)) for what, key, value in wanted]
    missing = [(what, key, _shown(value)) for what, key, value, told in answers if told is False]
    unknown = [(what, key, _shown(value)) for what, key, value, told in answers if told is UNKNOWN]
    return missing, unknown


def _told(scaling: ScalingGroup, key: str, value: Maybe[str]) -> Maybe[bool]:
    if key in scaling.tags:
        return _equal(scaling.tags[key], value)
    return UNKNOWN if scaling.open else False


def _judged(
    workload: Workload, autoscaler: Autoscaler, role: PodRole, stack: Stack, *, certain: bool
) -> Iterator[Violation]:
    name = f"{workload.kind} '{workload.namespace}/{workload.name}'"
    if role.assumable is not True:
        message = f"{name} cannot be given the role '{role.role}': its trust policy does not let the cluster do so."
        remedy = "Let the service that gives roles to pods assume the role and tag its sessions."
        yield _permission(message, remedy, workload, undecided=not certain or role.assumable is UNKNOWN)
        return
    groups = [
        group
        for group in stack.groups
        if group.scaling is not None
        and group.gpus_per_node != 0
        and _equal(role.cluster, group.cluster) is not False
        and finds(autoscaler, group.scaling) is True
    ]
    answers = {right: _allowed(right, role, groups) for right in autoscaler.rights}
    refused = sorted(right.action for right, answer in answers.items() if answer is False)
    unknown = sorted(right.action for right, answer in answers.items() if answer is UNKNOWN)
    if refused:
        whose = "has no role of its own, and its node's role" if role.of_nodes else "scales nodes, and its role"
        message = f"{name} {whose} '{role.role}' does not allow {', '.join(refused)}."
        yield _permission(message, _remedy(refused, autoscaler, role.of_nodes), workload, undecided=not certain)
    elif unknown:
        message = f"{name}: unknown at preview, checked at update: whether its role '{role.role}' allows "
        yield _permission(message + f"{', '.join(unknown)}.", "Nothing to do yet.", workload, undecided=True)


def _allowed(right: AutoscalerCall, role: PodRole, groups: list[NodeGroup]) -> Maybe[bool]:
    """On a call for groups: what all groups that the autoscaler finds have in common decides."""
    if not right.on_group:
        # What such a call is about, it says itself: its conditions (a region, the tags of a new machine) are met.
        return iam.allows(role.policies, iam.AuthorizationRequest(right.action, right.resource, None))
    calls = [_call_on(right, group) for group in groups] or [
        iam.AuthorizationRequest(right.action, right.resource, None)
    ]
    return both(iam.allows(role.policies, call) for call in calls)


def _call_on(right: AutoscalerCall, group: NodeGroup) -> iam.AuthorizationRequest:
    assert group.scaling is not None
    region = UNKNOWN if group.region is None else group.region
    return iam.AuthorizationRequest(
        right.action,
        right.resource,
        {"aws:RequestedRegion": region},
        tags=group.scaling.tags,
        more_tags=group.scaling.open,
    )


def _remedy(refused: list[str], autoscaler: Autoscaler, of_nodes: bool) -> str:
    if of_nodes:
        return "Give its service account a role that allows these actions; nodes should not have them."
    changing = {right.action for right in autoscaler.rights if right.on_group}
    remedy = "Allow these actions in a policy of the role"
    if changing & set(refused):
        remedy += "; a condition on tags has to name tags that the cluster's groups carry"
    return remedy + "."


def _runs_as(autoscaler: Autoscaler, role: PodRole) -> Maybe[bool]:
    return _equal(autoscaler.service_account, role.service_account)


def _how_to_be_seen(finders: Sequence[Autoscaler]) -> str:
    sought = _sought(finders)
    if sought:
        return f"Make the tags of the group and those that the autoscaler looks for the same: {sought}."
    remedy = "Tag the group k8s.io/cluster-autoscaler/enabled=true and k8s.io/cluster-autoscaler/<cluster>=owned, "
    return remedy + "or name it in the autoscaler's --nodes."


def _sought(finders: Sequence[Autoscaler]) -> str:
    """What the autoscalers look for, in words."""
    sets = [wanted for finder in finders if finder.discovery is not UNKNOWN for wanted in finder.discovery]
    names = [name for finder in finders if finder.groups is not UNKNOWN for name in finder.groups]
    tags = (" and ".join(f"{key}={value}" if value else key for key, value in wanted.items()) for wanted in sets)
    return "; ".join([*(f"the tags {listed}" for listed in tags), *(f"the name {name}" for name in names)])


def _equal(one: Maybe[str | None], other: Maybe[str | None]) -> Maybe[bool]:
    """Whether both are the same; what is not known, or not said, may be."""
    return UNKNOWN if UNKNOWN in (one, other) or None in (one, other) else one == other


def _shown(value: Maybe[str]) -> str:
    return "<value>" if value is UNKNOWN else value


def _permission(message: str, remedy: str, workload: Workload, *, undecided: bool) -> Violation:
    return Violation(permitted.id, message, remedy, undecided=undecided, resource=workload.resource)
