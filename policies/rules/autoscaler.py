"""Whether a cluster has a node autoscaler, with the permissions and the information that it needs, and whether a
kube-system pod keeps it from removing an idle node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from facts.concepts import iam
from facts.concepts.autoscaler import Autoscaler, AutoscalerCall, ScalingGroup
from facts.concepts.declared import DisruptionBudget, NodeGroup, PodRole, Stack, UnknownReason, Violation, Workload
from facts.concepts.kubernetes import REPLICATED
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.clusters import clusters_with_gpus
from policies.rules.node_groups import rented
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER, CPUS, GPUS, TAGS, WEB, program, scaler
from policies.rules.scheduling import admits, distinct

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
    title="The cluster has a node autoscaler",
    why="Where the cloud runs no autoscaler, a minimum of 0 means that no GPU node is ever added.",
    remedy="Deploy cluster-autoscaler or Karpenter on the always-on CPU nodes.",
    level="advisory",
    severity="high",
    example=program(replace(CLUSTER, managed_autoscaler=False), GPUS, WEB),
)
def present(stack: Stack) -> Iterator[Violation]:
    """A cluster whose cloud runs no autoscaler has one among the stack's workloads.

    A stack without any workload is not checked: another program declares what runs in its cluster.
    """
    for cluster, groups in clusters_with_gpus(stack):
        if not any(rented(group) for group in groups):
            continue  # nothing to add or remove
        scales = {workload.scales_nodes for workload in stack.workloads if workload.unknown_reason is None}
        if cluster.managed_autoscaler is True or not scales or True in scales:
            continue
        if UNKNOWN in scales or cluster.managed_autoscaler is UNKNOWN:
            yield present.unknown(cluster.title, "whether it has an autoscaler", cluster.resource)
        else:
            message = f"{cluster.title} has GPU node groups and no autoscaler: nothing adds or removes GPU nodes."
            yield present.violation(message, cluster.resource)


@rule(
    "autoscaler-sees-group",
    title="The autoscaler discovers every GPU node group",
    why="A group that no autoscaler discovers keeps its size: zero nodes, or idle nodes forever.",
    remedy="Give the group the tags that the autoscaler discovers groups by.",
    level="mandatory",
    severity="high",
    example=program(replace(GPUS, scaling_group=ScalingGroup("l4", TAGS)), scaler("other")),
)
def sees_each_group(stack: Stack) -> Iterator[Violation]:
    """The autoscaler of the cluster discovers each GPU group.

    Where the stack declares no autoscaler that discovers groups, an autoscaler of another program may; that is unknown.
    """
    finders = finders_of(stack)
    for group in stack.groups:
        if group.gpus.per_node == 0 or group.kind == "machine":
            continue
        if finders and group.scaling_group is not None:
            discovered: Maybe[bool] = either(finds(finder, group.scaling_group) for finder in finders)
        else:
            discovered = group.discoverable if group.discoverable is True else UNKNOWN
        if discovered is True:
            continue
        not_evaluated = discovered is UNKNOWN or group.gpus.per_node is UNKNOWN
        message, reason = f"GPU node group '{group.name}' ", None
        remedy = _discovery_remedy(finders)
        if not not_evaluated:
            message += (
                f"does not match what the autoscaler discovers groups by ({_criteria(finders)}): it keeps its size."
            )
        elif group.discoverable is False and not finders:
            lacks = "lacks the tags for discovery by an autoscaler, and no autoscaler in this program names it"
            message += f"{lacks}."
            reason = UnknownReason(f"it {lacks}", remedy)
        else:
            message += "may not be discovered by the autoscaler: unknown at preview, checked at update: its tags."
        yield sees_each_group.violation(
            message, group.resource, remedy=remedy, not_evaluated=not_evaluated, unknown_reason=reason
        )


@rule(
    "autoscaler-knows-template",
    title="The autoscaler knows labels and taints of empty node groups",
    why="It plans the first node of a group by tags. A label or taint that has no tag is ignored.",
    remedy="Add a node-template tag for each label and taint to the Auto Scaling group.",
    level="mandatory",
    severity="high",
    example=program(replace(GPUS, scaling_group=ScalingGroup("l4", TAGS)), scaler("ml")),
)
def knows_each_template(stack: Stack) -> Iterator[Violation]:
    """The tags of each GPU group tell the autoscaler every label and taint of its nodes, unless it may ask the cloud
    for those of the group."""
    for group in stack.groups if finders_of(stack) else ():
        if group.gpus.per_node == 0 or group.kind == "machine" or group.scaling_group is None:
            continue
        missing, unknown = _missing_hints(group, group.scaling_group)
        described = _described(group.scaling_group, stack)
        if described is not False:  # a tag with another value still misleads it
            wrong = [hint for hint in missing if hint[1] in group.scaling_group.tags]
            rest = [hint for hint in (*missing, *unknown) if hint not in wrong]
            missing, unknown = wrong, rest if described is UNKNOWN else []
        tags = ", ".join(f"{key}={value}" for _, key, value in missing or unknown)
        remedy = f"Tag the Auto Scaling group itself, not the node group: {tags}."
        name = f"GPU node group '{group.name}'"
        if missing:
            message = f"{name}: while it is empty, the autoscaler does not know its "
            message += f"{', '.join(name for name, _, _ in missing)}: it adds nodes that the pod cannot use, or none."
            not_evaluated = group.gpus.per_node is UNKNOWN
            yield knows_each_template.violation(message, group.resource, remedy=remedy, not_evaluated=not_evaluated)
        elif unknown:
            what = "its tags for the autoscaler" + (", or what its role allows" if described is UNKNOWN else "")
            none = described is UNKNOWN and all(role.elsewhere for role in stack.pod_roles)
            reason = UnknownReason(_ROLE_ELSEWHERE, remedy) if none else None
            yield knows_each_template.unknown(name, what, group.resource, remedy=remedy, reason=reason)


_ROLE_ELSEWHERE: Final = (
    "the program does not declare the autoscaler's role, which may allow it to ask for the group's labels and taints"
)


def _described(group: ScalingGroup, stack: Stack) -> Maybe[bool]:
    """Whether the autoscaler that discovers the group may ask the cloud for its labels and taints; unknown where the
    program does not declare its role."""
    call, answers = group.described_by, []
    if call is None:
        return False
    for workload in stack.workloads:
        if (scaler := workload.autoscaler) is None or finds(scaler, group) is False:
            continue
        own = [role for role in stack.pod_roles if not role.of_nodes and _runs_as(role, workload, scaler) is not False]
        roles = own or [role for role in stack.pod_roles if role.of_nodes]
        allowed = [UNKNOWN if role.elsewhere else _allowed(call, role, []) for role in roles]
        answers.append(both(allowed) if allowed else UNKNOWN)
    return both(answers) if answers else False


@rule(
    "autoscaler-permitted",
    title="The autoscaler has the permissions it needs",
    why="If one permission is missing, groups keep their size: pods stay Pending or idle nodes keep running.",
    remedy="Allow the autoscaler's role every action that it needs on the groups of this cluster.",
    level="mandatory",
    severity="high",
    example=replace(
        program(GPUS, scaler("ml")),
        pod_roles=(PodRole("scaler", "kube-system", "scaler", ({"Statement": []},)),),
    ),
)
def permitted(stack: Stack) -> Iterator[Violation]:
    """Each autoscaler's role allows its actions. A role that the stack does not declare is not checked.

    Without a role of its own it has the role of its node, if the stack declares that role and the cluster.
    """
    pod_roles = [role for role in stack.pod_roles if not role.of_nodes]
    for workload in stack.workloads:
        if (scaler := workload.autoscaler) is None:
            continue
        answers = [(role, _runs_as(role, workload, scaler)) for role in pod_roles]
        own = [(role, answer is True) for role, answer in answers if answer is not False]
        for role, certain in own:
            if not role.elsewhere:
                yield from _role_violations(workload, scaler, role, stack, certain=certain)
        if not own and stack.clusters:
            yield from _node_role_violations(workload, scaler, stack)


def _runs_as(role: PodRole, workload: Workload, scaler: Autoscaler) -> Maybe[bool]:
    accounts = _equal(role.service_account, scaler.service_account)
    return both((_equal(role.namespace, workload.namespace), accounts))


def _node_role_violations(workload: Workload, scaler: Autoscaler, stack: Stack) -> list[Violation]:
    """The autoscaler may run on any node: it is a violation only if no node role allows its actions."""
    roles = [role for role in stack.pod_roles if role.of_nodes]
    by_role = [list(_role_violations(workload, scaler, role, stack, certain=True)) for role in roles]
    refused = [violations[0] for violations in by_role if violations and not violations[0].not_evaluated]
    return refused[:1] if refused and len(refused) == len(roles) else []


def finders_of(stack: Stack) -> list[Autoscaler]:
    """The autoscalers that discover groups by tag or by name."""
    declared = [workload.autoscaler for workload in stack.workloads if workload.autoscaler is not None]
    return [
        autoscaler
        for autoscaler in declared
        if autoscaler.discovery is UNKNOWN or autoscaler.groups is UNKNOWN or autoscaler.discovery or autoscaler.groups
    ]


def finds(autoscaler: Autoscaler, group: ScalingGroup) -> Maybe[bool]:
    """Whether the autoscaler discovers this group: it has all tags of one set, or its name is listed."""
    sets, names = autoscaler.discovery, autoscaler.groups
    by_tags = (
        UNKNOWN if sets is UNKNOWN else either(both(_has_tag(group, *tag) for tag in tags.items()) for tags in sets)
    )
    by_name = UNKNOWN if names is UNKNOWN else either(_is_named(group, name) for name in names)
    return either((by_tags, by_name))


def _has_tag(group: ScalingGroup, key: str, value: str) -> Maybe[bool]:
    if key not in group.tags:
        return UNKNOWN if group.open else False
    return True if not value else _equal(group.tags[key], value)


def _is_named(group: ScalingGroup, name: str) -> Maybe[bool]:
    return UNKNOWN if group.name is UNKNOWN else re.fullmatch(group.name, name) is not None


def _missing_hints(group: NodeGroup, scaling: ScalingGroup) -> tuple[list[_Hint], list[_Hint]]:
    """The tags that are certainly missing or wrong, and those that may be."""
    expected: list[tuple[str, str, Maybe[str]]] = []
    labels = {} if group.nodes.labels is UNKNOWN else group.nodes.labels
    for key, value in labels.items():
        if value is not None and key not in _KNOWN_LABELS:
            expected.append((f"label {key}", f"{_HINT}label/{key}", value))
    for taint in () if group.nodes.taints is UNKNOWN else group.nodes.taints:
        expected.append((f"taint {taint.key}", f"{_HINT}taint/{taint.key}", f"{taint.value or ''}:{taint.effect}"))
    answers = [(name, key, value, _is_tagged(scaling, key, value)) for name, key, value in expected]
    missing = [(name, key, _shown(value)) for name, key, value, tagged in answers if tagged is False]
    unknown = [(name, key, _shown(value)) for name, key, value, tagged in answers if tagged is UNKNOWN]
    return missing, unknown


def _is_tagged(scaling: ScalingGroup, key: str, value: Maybe[str]) -> Maybe[bool]:
    if key in scaling.tags:
        return _equal(scaling.tags[key], value)
    return UNKNOWN if scaling.open else False


def _role_violations(
    workload: Workload, autoscaler: Autoscaler, role: PodRole, stack: Stack, *, certain: bool
) -> Iterator[Violation]:
    name = workload.title
    if role.assumable is not True:
        message = f"{name} cannot assume the role '{role.role}': its trust policy does not allow it."
        remedy = "Allow the pod identity service to assume the role and to tag its sessions."
        yield _permission(message, remedy, workload, not_evaluated=not certain or role.assumable is UNKNOWN)
        return
    groups = [
        group
        for group in stack.groups
        if group.scaling_group is not None
        and group.gpus.per_node != 0
        and _equal(role.cluster, group.cluster) is not False
        and finds(autoscaler, group.scaling_group) is True
    ]
    answers = {right: _allowed(right, role, groups) for right in autoscaler.rights}
    refused = sorted(right.action for right, answer in answers.items() if answer is False)
    unknown = sorted(right.action for right, answer in answers.items() if answer is UNKNOWN)
    if refused:
        subject = "has no role of its own, and its node's role" if role.of_nodes else "scales nodes, and its role"
        message = f"{name} {subject} '{role.role}' does not allow {', '.join(refused)}."
        yield _permission(message, _remedy(refused, autoscaler, role.of_nodes), workload, not_evaluated=not certain)
    elif unknown:
        message = f"{name}: unknown at preview, checked at update: whether its role '{role.role}' allows "
        yield _permission(message + f"{', '.join(unknown)}.", "The update checks it.", workload, not_evaluated=True)


def _allowed(right: AutoscalerCall, role: PodRole, groups: list[NodeGroup]) -> Maybe[bool]:
    """Whether the role allows the call; a call on groups has to be allowed for every discovered group."""
    calls = [_call_on(right, group) for group in groups] if right.on_group else []
    # A call on no group sets itself what conditions check (a region, the tags of a new machine), so they are met.
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
    kinds = (role.policies,) if role.boundary is None else (role.policies, (role.boundary,))
    return both(
        iam.allows(policies, call)
        for policies in kinds
        for call in calls or [iam.AuthorizationRequest(right.action, right.resource, None)]
    )


def _call_on(right: AutoscalerCall, group: NodeGroup) -> iam.AuthorizationRequest:
    assert group.scaling_group is not None
    region = UNKNOWN if group.region is None else group.region
    return iam.AuthorizationRequest(
        right.action,
        right.resource,
        {"aws:RequestedRegion": region},
        tags=group.scaling_group.tags,
        more_tags=group.scaling_group.open,
    )


def _remedy(refused: list[str], autoscaler: Autoscaler, of_nodes: bool) -> str:
    if of_nodes:
        return "Give its service account a role that allows these actions; node roles should not."
    changing = {right.action for right in autoscaler.rights if right.on_group}
    remedy = "Allow these actions in a policy of the role"
    if changing & set(refused):
        remedy += "; a condition on tags must match the tags of the cluster's groups"
    return remedy + "."


def _discovery_remedy(finders: Sequence[Autoscaler]) -> str:
    criteria = _criteria(finders)
    if criteria:
        return f"Give the group what the autoscaler discovers groups by: {criteria}."
    remedy = "Tag the group k8s.io/cluster-autoscaler/enabled=true and k8s.io/cluster-autoscaler/<cluster>=owned, "
    return remedy + "or name it in the autoscaler's --nodes."


def _criteria(finders: Sequence[Autoscaler]) -> str:
    """What the autoscalers discover groups by, in words."""
    sets = [tags for finder in finders if finder.discovery is not UNKNOWN for tags in finder.discovery]
    names = [name for finder in finders if finder.groups is not UNKNOWN for name in finder.groups]
    texts = (" and ".join(f"{key}={value}" if value else key for key, value in tags.items()) for tags in sets)
    return "; ".join([*(f"the tags {text}" for text in texts), *(f"the name {name}" for name in names)])


def _equal(one: Maybe[str | None], other: Maybe[str | None]) -> Maybe[bool]:
    """Whether both are the same; ``UNKNOWN`` where one is unknown or absent."""
    return UNKNOWN if UNKNOWN in (one, other) or None in (one, other) else one == other


def _shown(value: Maybe[str]) -> str:
    return "<value>" if value is UNKNOWN else value


def _permission(message: str, remedy: str, workload: Workload, *, not_evaluated: bool) -> Violation:
    return permitted.violation(message, workload.resource, remedy=remedy, not_evaluated=not_evaluated)


# The cluster autoscaler does not remove a node with a pod of kube-system (DaemonSets aside) unless a
# PodDisruptionBudget lets the pod be evicted:
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node
@rule(
    "system-pods-evictable",
    title="System pods can be evicted from autoscaled nodes",
    why="The cluster autoscaler does not remove a node with a kube-system pod unless a PodDisruptionBudget allows it.",
    remedy=(
        "Add a PodDisruptionBudget with maxUnavailable: 1 that selects its pods, or the pod annotation "
        'cluster-autoscaler.kubernetes.io/safe-to-evict: "true".'
    ),
    level="advisory",
    severity="medium",
    example=program(CPUS, replace(WEB, name="metrics", namespace="kube-system")),
)
def system_pods_evictable(stack: Stack) -> Iterator[Violation]:
    """A long-running kube-system workload that may run on autoscaled nodes has a budget that allows eviction."""
    groups = distinct(stack).groups
    budgets: dict[str, list[DisruptionBudget]] = {}
    for budget in stack.budgets:
        budgets.setdefault(budget.namespace, []).append(budget)
    for workload in stack.workloads:
        if workload.namespace != "kube-system" or workload.kind not in REPLICATED or workload.safe_to_evict is True:
            continue
        on = either(_may_run_on(workload, group) for group in groups)
        if on is False:
            continue
        allowed = either(_allows_eviction(budget, workload) for budget in budgets.get(workload.namespace, ()))
        if allowed is True:
            continue
        if UNKNOWN in (on, allowed) or workload.safe_to_evict is UNKNOWN:
            what = "whether its pods keep an idle node running"
            yield system_pods_evictable.unknown(workload.title, what, workload.resource)
        else:
            message = f"{workload.title} has no PodDisruptionBudget that allows eviction: "
            message += "the autoscaler cannot remove its node."
            yield system_pods_evictable.violation(message, workload.resource)


def _may_run_on(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    if group.kind == "machine" or group.scaling.autoscaled is False:
        return False
    return both((group.scaling.autoscaled, admits(workload, group)))


def _allows_eviction(budget: DisruptionBudget, workload: Workload) -> Maybe[bool]:
    if budget.match_labels is UNKNOWN or workload.pod_labels is UNKNOWN:
        return UNKNOWN
    labels = workload.pod_labels
    return both((all(labels.get(key) == value for key, value in budget.match_labels.items()), budget.allows_eviction))
