"""Rules that make an idle GPU node group free of cost. Pure functions, called by settings and by the gate.

Each takes one ``NodeGroup`` (and limits) and returns the violations, none for a group without GPUs. If a decisive value
is ``UNKNOWN``, it returns one violation marked ``not_evaluated``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup, Violation
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE, Taint
from facts.concepts.pool import GPU_TAINT, resource_taint
from facts.concepts.unknown import UNKNOWN
from policies.rules.rule import Rule, rule
from policies.rules.samples import GPUS

_REPELLING = ("NoSchedule", "NoExecute")
# Taints that say something else than "GPUs": about spot machines, system pods, nodes that are not ready yet.
_NOT_FOR_GPUS = re.compile(r"spot|preempt|ready|startup|initiali[sz]|criticaladdonsonly", re.IGNORECASE)
_MISSPELLED = re.compile(r"nvidia(?:com)?gpu(?:present)?")


def has_gpus(group: NodeGroup) -> bool:
    """Whether the group has GPUs, or may have: an unknown number counts as a GPU group."""
    return group.gpus.per_node is UNKNOWN or group.gpus.per_node != 0


def rented(group: NodeGroup) -> bool:
    """Whether somebody bills the group's GPUs by the hour: a user's own machines cost the same on and off."""
    return has_gpus(group) and group.kind != "owned"


@rule(
    "gpu-zero-minimum",
    title="GPU node groups scale to zero",
    why="An idle GPU node is the most expensive idle machine in the cluster.",
    remedy="Set the minimum to 0: the autoscaler adds nodes when a pod requests a GPU.",
    level="mandatory",
    severity="critical",
    example=replace(GPUS, scaling=replace(GPUS.scaling, min_nodes=1)),
)
def zero_minimum(group: NodeGroup) -> list[Violation]:
    """A GPU group's autoscaler may scale it to zero nodes."""
    if not rented(group) or group.scaling.min_nodes == 0:
        return []
    if group.scaling.min_nodes is UNKNOWN:
        return [_unknown(zero_minimum, group, "min_nodes", "its minimum")]
    nodes = counted(group.scaling.min_nodes, "node")
    message = f"keeps at least {nodes} running even if no pod needs it."
    remedy = ""
    if group.for_system_pods is True:
        message += " It is a group for system pods, which this cloud never scales to zero."
        remedy = (
            "Run system pods in a small group without GPUs, and make this one a group for user pods, with minimum 0."
        )
    return [_violation(zero_minimum, group, message, remedy)]


@rule(
    "gpu-starts-empty",
    title="GPU node groups start without nodes",
    why="Initial nodes are billed before the first job, and a fixed count conflicts with the autoscaler.",
    remedy="Set the initial or fixed node count to 0 and let the autoscaler set the size.",
    level="advisory",
    severity="medium",
    example=replace(GPUS, initial_nodes=2),
)
def starts_empty(group: NodeGroup) -> list[Violation]:
    """A GPU group has no nodes when it is created.

    An autoscaler removes such nodes again, so the rule is advisory by default.
    """
    if not rented(group) or group.initial_nodes == 0:
        return []
    if group.initial_nodes is UNKNOWN:
        return [_unknown(starts_empty, group, "initial_nodes", "its initial node count")]
    nodes = counted(group.initial_nodes, "node")
    return [_violation(starts_empty, group, f"starts with {nodes} that no pod requested.")]


@rule(
    "gpu-autoscaled",
    title="GPU node groups are autoscaled",
    why="Only an autoscaler removes idle nodes and adds nodes when a pod requests a GPU.",
    remedy="Enable autoscaling with a minimum of 0 and a maximum.",
    level="mandatory",
    severity="critical",
    example=replace(GPUS, scaling=replace(GPUS.scaling, autoscaled=False)),
)
def autoscaled(group: NodeGroup) -> list[Violation]:
    """An autoscaler sets the size of a GPU group; it is never fixed."""
    if not rented(group) or group.scaling.autoscaled is True:
        return []
    if group.kind == "machine":
        if group.initial_nodes == 0:
            return []  # it is stopped, or its count is 0
        if group.initial_nodes is UNKNOWN:
            return [_unknown(autoscaled, group, "initial_nodes", "how many machines there are")]
        message = "has GPUs and is in no autoscaled group: it is billed until it is deleted."
        remedy = "Use a node pool that autoscales from 0 and run the work as a pod."
        return [_violation(autoscaled, group, message, remedy, kind="Machine")]
    if group.scaling.autoscaled is UNKNOWN:
        return [_unknown(autoscaled, group, "autoscaled", "whether it is autoscaled")]
    return [_violation(autoscaled, group, "has a fixed size: nothing removes idle nodes.")]


@rule(
    "gpu-ceiling",
    title="GPU node groups have a maximum size",
    why="A job that requests a thousand GPUs by mistake must not get them.",
    remedy="Set the group's maximum number of nodes.",
    level="mandatory",
    severity="high",
    limits={
        "maxGpus": {
            "wider": "higher",
            "type": ["integer", "null"],
            "minimum": 1,
            "description": "Maximum GPUs of one node group; null for no limit except the group's maximum.",
        }
    },
    example=replace(GPUS, scaling=replace(GPUS.scaling, max_nodes=100)),
    example_limits={"maxGpus": 64},
)
def ceiling(group: NodeGroup, max_gpus: int | None = None) -> list[Violation]:
    """A GPU group has a maximum of at least one node and, with ``max_gpus``, at most that many GPUs in all."""
    remedy = f"Set the group's maximum number of nodes, at most {max_gpus} GPUs in all." if max_gpus else ""
    if not has_gpus(group) or group.scaling.autoscaled is False:
        return []
    if group.scaling.max_nodes is UNKNOWN:
        if max_gpus is None and "max_nodes" in group.unknown_reasons:
            return []  # it has a maximum, and there is no limit to compare it with
        return [_unknown(ceiling, group, "max_nodes", "its maximum", remedy)]
    if group.scaling.max_nodes is None:
        message = "has no maximum: a runaway job can scale it without limit."
        return [_violation(ceiling, group, message, remedy)]
    if group.scaling.max_nodes < 1:
        message = f"has the maximum {group.scaling.max_nodes}: it can never have a node."
        return [_violation(ceiling, group, message, "Set the maximum to 1 or more, or remove the group.")]
    if max_gpus is None:
        return []
    if group.gpus.per_node is UNKNOWN:
        return [_unknown(ceiling, group, "gpus_per_node", "its GPUs per node", remedy)]
    gpus = group.gpus_of(group.scaling.max_nodes, group.gpus.per_node)
    if gpus <= max_gpus:
        return []
    counted = f"{group.scaling.max_nodes} x {group.gpus.per_node}"
    if gpus > group.scaling.max_nodes * group.gpus.per_node:
        counted += ", and the rest of its limit on smaller machines"
    message = f"may grow to {gpus} GPUs ({counted})."
    if (unlisted := group.unknown_reasons.get("gpus_per_node")) is not None:
        message = f"{message} A node counts {group.gpus.per_node}, because {unlisted.why}."
        remedy = f"{remedy} {unlisted.remedy}"
    return [_violation(ceiling, group, message, remedy)]


@rule(
    "gpu-taint",
    title="GPU nodes carry the GPU taint",
    why="Without it, system pods and CPU jobs run on GPU nodes, and the autoscaler cannot remove these nodes.",
    remedy=f"Add the taint {GPU_TAINT} to the group.",
    level="mandatory",
    severity="critical",
    remediable=True,
    example=replace(GPUS, nodes=replace(GPUS.nodes, taints=())),
)
def gpu_taint(group: NodeGroup) -> list[Violation]:
    """A GPU group repels every pod that does not tolerate the GPU taint, or one of its own.

    Its key is the resource by which pods request the GPUs, such as ``nvidia.com/gpu``.
    """
    if not has_gpus(group) or group.kind == "machine":
        return []
    if group.nodes.taints is UNKNOWN:
        return [_unknown(gpu_taint, group, "taints", "its taints")]
    if any(taint.key == group.gpus.resource and taint.effect in _REPELLING for taint in group.nodes.taints):
        return []
    if any(_reserves(group, taint) for taint in group.nodes.taints):
        return []  # gpu-taint-key reports it
    # Keys only: a value may come from a secret, which the engine hands over unwrapped.
    taints = ", ".join(f"{taint.key}:{taint.effect}" for taint in group.nodes.taints) or "none"
    message = f"lacks the GPU taint (its taints: {taints}): any pod can keep its nodes up, unless its cloud adds it."
    return [_violation(gpu_taint, group, message, _own(gpu_taint, group))]


@rule(
    "gpu-taint-key",
    title="GPU nodes carry the taint that clouds and charts know",
    why="NVIDIA's charts and the clouds tolerate nvidia.com/gpu only. Another taint keeps GPU pods away as well.",
    remedy=f"Add the taint {GPU_TAINT}, or name your own key in taintKeys and tolerate it in every GPU pod.",
    level="advisory",
    severity="medium",
    limits={
        "taintKeys": {
            "wider": "more",
            "type": "array",
            "items": {"type": "string"},
            "description": "Keys of taints by which your GPU nodes repel other pods, instead of nvidia.com/gpu.",
        }
    },
    example=replace(GPUS, nodes=replace(GPUS.nodes, taints=(Taint("sku", "gpu", "NoSchedule"),))),
)
def taint_key(group: NodeGroup, taint_keys: tuple[str, ...] = ()) -> list[Violation]:
    """A GPU group that repels pods does so with its resource (``nvidia.com/gpu``), or with one of ``taint_keys``."""
    if not has_gpus(group) or group.kind == "machine" or group.nodes.taints is UNKNOWN:
        return []
    if any(
        taint.key in (group.gpus.resource, *taint_keys) and taint.effect in _REPELLING for taint in group.nodes.taints
    ):
        return []
    own = [taint for taint in group.nodes.taints if _reserves(group, taint)]
    if not own:
        return []
    keys = ", ".join(f"{taint.key}:{taint.effect}" for taint in own)
    message = f"repels pods with {keys}, not with {group.gpus.resource}: "
    message += "device plugins, monitoring and GPU pods must tolerate that taint themselves."
    return [_violation(taint_key, group, message, _own(taint_key, group))]


@rule(
    "gpu-present-label",
    title="GPU nodes have the label nvidia.com/gpu.present",
    why="NVIDIA's charts select it. Without it and without node feature discovery, no pod gets a GPU.",
    remedy=f"Add the label {GPU_PRESENT_LABEL}=true to the group.",
    level="advisory",
    severity="low",
    remediable=True,
    example=GPUS,
)
def present_label(group: NodeGroup) -> list[Violation]:
    """A GPU group's nodes have the label by which NVIDIA's chart places the device plugin.

    https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/values.yaml
    """
    if not has_gpus(group) or group.kind != "pool" or group.gpus.resource != GPU_RESOURCE:
        return []
    value = UNKNOWN if group.nodes.labels is UNKNOWN else group.nodes.labels.get(GPU_PRESENT_LABEL)
    if value == "true":
        return []
    if value is UNKNOWN:
        return [_unknown(present_label, group, "labels", "its labels")]
    message = f"lacks the label {GPU_PRESENT_LABEL}=true: unless node feature discovery sets it, "
    message += "the device plugin of NVIDIA's chart does not start there."
    return [_violation(present_label, group, message)]


@rule(
    "gpu-uniform-sizes",
    title="All nodes of a GPU node group have the same number of GPUs",
    why="The autoscaler assumes that all nodes of a group are equal. A mix adds nodes that are too small or too large.",
    remedy="Create one node group for each number of GPUs per node.",
    level="mandatory",
    severity="high",
    example=replace(GPUS, other_gpus_per_node=(4,)),
)
def uniform_sizes(group: NodeGroup) -> list[Violation]:
    """All machine types of a GPU group have the same number of GPUs: the autoscaler assumes so."""
    if group.gpus.per_node is UNKNOWN or not group.other_gpus_per_node:
        return []
    counts = " or ".join(str(count) for count in sorted((*group.other_gpus_per_node, group.gpus.per_node)))
    message = f"mixes machine types with {counts} GPUs: the autoscaler plans with the first type only, "
    message += "so it adds nodes that are too small for the pod, or larger than needed."
    return [_violation(uniform_sizes, group, message)]


@rule(
    "accelerator-zero-minimum",
    title="Node groups with other accelerators scale to zero",
    why="An idle node with TPUs, Trainium, Gaudi or AMD GPUs costs as much as one with NVIDIA GPUs.",
    remedy="Let an autoscaler set the group's size, with a minimum of 0.",
    level="advisory",
    severity="high",
    example=replace(
        GPUS,
        name="tpu",
        gpus=replace(GPUS.gpus, per_node=0),
        accelerators="TPUs",
        scaling=replace(GPUS.scaling, min_nodes=1),
    ),
)
def accelerator_minimum(group: NodeGroup) -> list[Violation]:
    """Reports always-on nodes with accelerators other than NVIDIA's."""
    if group.accelerators is None or group.scaling.autoscaled is UNKNOWN or has_gpus(group):
        return []
    nodes = group.scaling.min_nodes if group.scaling.autoscaled and group.kind != "machine" else group.initial_nodes
    if nodes == 0:
        return []
    if nodes is UNKNOWN:
        reason, what = group.unknown_reasons.get("min_nodes"), "how many of its nodes are always up"
        return [accelerator_minimum.unknown(group.title, what, group.resource, reason=reason)]
    message = f"{group.title} always has {counted(nodes, 'node')} with {group.accelerators}, idle or not."
    return [accelerator_minimum.violation(message, group.resource)]


@rule(
    "gpu-uniform-models",
    title="All nodes of a GPU node group have the same GPU model",
    why="A job that fits the memory of one model may fail on the other, and no label tells them apart.",
    remedy="Create one node group for each GPU model.",
    level="mandatory",
    severity="high",
    example=replace(GPUS, gpu_models=("L4", "T4")),
)
def uniform_models(group: NodeGroup) -> list[Violation]:
    """All machine types of a GPU group have the same GPU model, so that a job gets the memory and speed it expects."""
    if len(group.gpu_models) < 2:
        return []
    message = f"mixes GPU models ({', '.join(group.gpu_models)}): which one a job gets, "
    message += "and whether it fits into its memory, is random."
    return [_violation(uniform_models, group, message)]


def _own(rule: Rule[...], group: NodeGroup) -> str:
    """The rule's remedy with the taint of the group's own resource."""
    return rule.remedy.replace(str(GPU_TAINT), str(resource_taint(group.gpus.resource)))


def _reserves(group: NodeGroup, taint: Taint) -> bool:
    """Whether a taint of the user's own keeps the group's nodes for some pods."""
    domain = taint.key.partition("/")[0] if "/" in taint.key else ""
    by_cloud = any(domain == known or domain.endswith(f".{known}") for known in group.cloud_label_domains)
    misspelled = _MISSPELLED.fullmatch("".join(filter(str.isalnum, taint.key.lower())))
    return taint.effect in _REPELLING and not (by_cloud or misspelled or _NOT_FOR_GPUS.search(taint.key))


def _violation(
    rule: Rule[...], group: NodeGroup, predicate: str, remedy: str = "", kind: str = "GPU node group"
) -> Violation:
    message = f"{kind} '{group.name}' {predicate}"
    if group.without_gpus:
        message = f"{message} It asks for no GPUs, and does not exclude machines with GPUs."
        remedy = f"{group.without_gpus} If it is for GPUs: {remedy or rule.remedy}"
    if group.gpus.per_node is UNKNOWN:
        reason = group.unknown_reasons.get("gpus_per_node")
        message = f"If it has GPUs: {message}"
        return rule.violation(message, group.resource, remedy=remedy, not_evaluated=True, unknown_reason=reason)
    return rule.violation(message, group.resource, remedy=remedy)


def _unknown(rule: Rule[...], group: NodeGroup, field: str, subject: str, remedy: str = "") -> Violation:
    reason = group.unknown_reasons.get(field)
    return rule.unknown(f"GPU node group '{group.name}'", subject, group.resource, remedy=remedy, reason=reason)
