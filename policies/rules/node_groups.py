"""What makes a group of GPU nodes free while nobody uses it. Pure functions, called by settings and by the gate.

Each takes one ``NodeGroup`` (and limits) and returns the violations, none for a group without GPUs. A value that is
``UNKNOWN`` where it decides yields one violation marked ``undecided``.
"""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.declared import NodeGroup, Violation
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.rules.rule import rule
from policies.rules.samples import GPUS

_REPELLING = ("NoSchedule", "NoExecute")


def has_gpus(group: NodeGroup) -> bool:
    """Whether the group has GPUs, or may have: an unknown number counts as a GPU group."""
    return group.gpus_per_node is UNKNOWN or group.gpus_per_node != 0


@rule(
    "gpu-zero-minimum",
    title="GPU nodes have the minimum zero",
    why="A GPU node that stays up while nobody uses it is the most expensive idle machine in the cluster.",
    remedy="Set the autoscaler's minimum of every GPU node group to 0.",
    level="mandatory",
    severity="critical",
    example=replace(GPUS, min_nodes=1),
)
def zero_minimum(group: NodeGroup) -> list[Violation]:
    """A GPU group's autoscaler may go down to no nodes at all."""
    remedy = "Set the minimum to 0: the autoscaler adds nodes when a pod asks for a GPU."
    if not has_gpus(group) or group.min_nodes == 0:
        return []
    if group.min_nodes is UNKNOWN:
        return [_undecided(zero_minimum.id, group, "min_nodes", "its minimum", remedy)]
    message = (
        f"GPU node group '{group.name}' keeps at least {group.min_nodes} node(s), paid for while nobody uses them."
    )
    if group.for_system_pods is True:
        message += " It is for the cluster's own pods, and its cloud never lets such a group become empty."
        remedy = "Give system pods a small group without GPUs, and make this one a group for user pods, with minimum 0."
    return [_broken(zero_minimum.id, group, message, remedy)]


@rule(
    "gpu-starts-empty",
    title="GPU node groups start without nodes",
    why="Nodes made at creation are paid for before the first job, and a fixed count works against the autoscaler.",
    remedy="Set the initial node count to 0 and declare no fixed node count.",
    level="advisory",
    severity="medium",
    example=replace(GPUS, initial_nodes=2),
)
def starts_empty(group: NodeGroup) -> list[Violation]:
    """A GPU group has no nodes when it is created.

    An autoscaler takes such nodes away again, so this is advice unless the configuration says more.
    """
    remedy = "Set the initial or fixed node count to 0 and let the autoscaler own the size."
    if not has_gpus(group) or group.initial_nodes == 0:
        return []
    if group.initial_nodes is UNKNOWN:
        return [_undecided(starts_empty.id, group, "initial_nodes", "its initial node count", remedy)]
    message = f"GPU node group '{group.name}' starts with {group.initial_nodes} node(s) that no pod asked for."
    return [_broken(starts_empty.id, group, message, remedy)]


@rule(
    "gpu-autoscaled",
    title="GPU node groups are autoscaled",
    why="Only an autoscaler removes idle nodes and adds them when a pod asks for a GPU.",
    remedy="Enable autoscaling on the group, with a minimum of 0 and a maximum.",
    level="mandatory",
    severity="critical",
    example=replace(GPUS, autoscaled=False),
)
def autoscaled(group: NodeGroup) -> list[Violation]:
    """A GPU group's size is an autoscaler's business, never fixed."""
    remedy = "Enable autoscaling with a minimum of 0 and a maximum."
    if not has_gpus(group) or group.autoscaled is True:
        return []
    if group.kind == "machine":
        if group.initial_nodes == 0:
            return []  # it is stopped, or there is none of it
        if group.initial_nodes is UNKNOWN:
            return [_undecided(autoscaled.id, group, "initial_nodes", "how many machines there are", remedy)]
        message = (
            f"Machine '{group.name}' has GPUs and is in no autoscaled group: it runs, and costs, until it is deleted."
        )
        return [
            _broken(autoscaled.id, group, message, "Use a node pool that autoscales from 0 and run the work as a pod.")
        ]
    if group.autoscaled is UNKNOWN:
        return [_undecided(autoscaled.id, group, "autoscaled", "whether it is autoscaled", remedy)]
    return [
        _broken(
            autoscaled.id, group, f"GPU node group '{group.name}' has a fixed size: nothing removes idle nodes.", remedy
        )
    ]


@rule(
    "gpu-ceiling",
    title="GPU node groups have a ceiling",
    why="A job that asks for a thousand GPUs by mistake must not get them.",
    remedy="Set the autoscaler's maximum of every GPU node group.",
    level="mandatory",
    severity="high",
    limits={
        "maxGpus": {
            "type": ["integer", "null"],
            "minimum": 1,
            "description": "Most GPUs one node group may grow to; null for no limit but the group's own maximum.",
        }
    },
    example=replace(GPUS, max_nodes=100),
    example_limits={"maxGpus": 64},
)
def ceiling(group: NodeGroup, max_gpus: int | None = None) -> list[Violation]:
    """A GPU group has a maximum of at least one node and, with ``max_gpus``, at most that many GPUs in all."""
    remedy = "Set the maximum number of nodes" + (f", at most {max_gpus} GPUs in all." if max_gpus else ".")
    if not has_gpus(group) or group.autoscaled is False:
        return []
    if group.max_nodes is UNKNOWN:
        if max_gpus is None and "max_nodes" in group.doubts:
            return []  # something limits it; how far is no matter without a limit of ours
        return [_undecided(ceiling.id, group, "max_nodes", "its maximum", remedy)]
    if group.max_nodes is None:
        return [
            _broken(
                ceiling.id,
                group,
                f"GPU node group '{group.name}' has no maximum: a runaway job has no ceiling.",
                remedy,
            )
        ]
    if group.max_nodes < 1:
        message = f"GPU node group '{group.name}' has the maximum {group.max_nodes}: it can never have a node."
        return [_broken(ceiling.id, group, message, "Set the maximum to 1 or more, or remove the group.")]
    if max_gpus is None:
        return []
    if group.gpus_per_node is UNKNOWN:
        return [_undecided(ceiling.id, group, "gpus_per_node", "its GPUs per node", remedy)]
    gpus = group.max_nodes * group.gpus_per_node
    if gpus <= max_gpus:
        return []
    message = f"GPU node group '{group.name}' may grow to {gpus} GPUs ({group.max_nodes} x {group.gpus_per_node})."
    return [_broken(ceiling.id, group, message, remedy)]


@rule(
    "gpu-taint",
    title="GPU nodes carry the GPU taint",
    why="Without it system pods and CPU jobs land on GPU nodes, and the autoscaler can never remove these.",
    remedy="Declare the taint nvidia.com/gpu=present:NoSchedule on every GPU node group.",
    level="mandatory",
    severity="critical",
    remediable=True,
    example=replace(GPUS, taints=()),
)
def gpu_taint(group: NodeGroup) -> list[Violation]:
    """A GPU group repels every pod that does not tolerate the GPU taint (key ``nvidia.com/gpu``)."""
    remedy = f"Add the taint {GPU_TAINT} to the group."
    if not has_gpus(group) or group.kind == "machine":
        return []
    if group.taints is UNKNOWN:
        return [_undecided(gpu_taint.id, group, "taints", "its taints", remedy)]
    same_key = [taint for taint in group.taints if taint.key == GPU_RESOURCE]
    if any(taint.effect in _REPELLING for taint in same_key):
        return []
    # Keys only: a value may come from a secret, which the engine hands over unwrapped.
    seen = ", ".join(f"{taint.key}:{taint.effect}" for taint in group.taints) or "none"
    message = f"GPU node group '{group.name}' lacks the GPU taint (its taints: {seen}): any pod may keep it up."
    return [_broken(gpu_taint.id, group, message, remedy)]


@rule(
    "gpu-present-label",
    title="GPU nodes carry the label of GPU nodes",
    why="NVIDIA's charts select it; without it, and without a node feature discovery, no pod gets a GPU.",
    remedy="Declare the label nvidia.com/gpu.present=true on every GPU node group.",
    level="advisory",
    severity="low",
    remediable=True,
    example=GPUS,
)
def present_label(group: NodeGroup) -> list[Violation]:
    """A GPU group's nodes have the label by which NVIDIA's chart places the device plugin.

    https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/values.yaml
    """
    remedy = f"Add the label {GPU_PRESENT_LABEL}=true to the group."
    if not has_gpus(group) or group.kind != "pool":
        return []
    value = UNKNOWN if group.labels is UNKNOWN else group.labels.get(GPU_PRESENT_LABEL)
    if value == "true":
        return []
    if value is UNKNOWN:
        return [_undecided(present_label.id, group, "labels", "its labels", remedy)]
    message = (
        f"GPU node group '{group.name}' lacks the label {GPU_PRESENT_LABEL}=true: unless something else detects its "
        "GPUs, NVIDIA's device plugin does not start there."
    )
    return [_broken(present_label.id, group, message, remedy)]


@rule(
    "gpu-uniform-sizes",
    title="GPU node groups have one size",
    why="The autoscaler takes all nodes of a group for alike; a mix wakes nodes that a pod does not fit or fill.",
    remedy="Make one node group for each number of GPUs per node.",
    level="mandatory",
    severity="high",
    example=replace(GPUS, other_gpus_per_node=(4,)),
)
def uniform_sizes(group: NodeGroup) -> list[Violation]:
    """All machine types of a GPU group have the same number of GPUs: the autoscaler takes its nodes for alike."""
    if group.gpus_per_node is UNKNOWN or not group.other_gpus_per_node:
        return []
    counts = ", ".join(str(count) for count in sorted((*group.other_gpus_per_node, group.gpus_per_node)))
    message = (
        f"GPU node group '{group.name}' mixes machine types with {counts} GPUs: the autoscaler counts on the first "
        "type alone, adds nodes that the pod does not fit, or nodes larger than it needs."
    )
    return [_broken(uniform_sizes.id, group, message, "Make one node group for each number of GPUs per node.")]


@rule(
    "accelerator-zero-minimum",
    title="Other accelerators have the minimum zero",
    why="A node with TPUs, Trainium, Gaudi or AMD's GPUs costs as much idle as one with NVIDIA's.",
    remedy="Let an autoscaler own the group's size, with a minimum of 0.",
    level="advisory",
    severity="high",
    example=replace(GPUS, name="tpu", gpus_per_node=0, accelerators="TPUs", min_nodes=1),
)
def accelerator_minimum(group: NodeGroup) -> list[Violation]:
    """No nodes of a group with other accelerators than NVIDIA's are always up; those that are get noted."""
    if group.accelerators is None or group.autoscaled is UNKNOWN:
        return []
    nodes = group.min_nodes if group.autoscaled and group.kind != "machine" else group.initial_nodes
    if nodes == 0:
        return []
    if nodes is UNKNOWN:
        message = (
            f"Node group '{group.name}': unknown at preview, checked at update: how many of its nodes are always up."
        )
        doubt = group.doubts.get("min_nodes")
        undecided = Violation(accelerator_minimum.id, message, accelerator_minimum.remedy, undecided=True, doubt=doubt)
        return [replace(undecided, resource=group.resource)]
    message = f"Node group '{group.name}' always has {nodes} node(s) with {group.accelerators}, in use or not."
    return [Violation(accelerator_minimum.id, message, accelerator_minimum.remedy, resource=group.resource)]


@rule(
    "gpu-uniform-models",
    title="GPU node groups have one GPU model",
    why="A job that fits one model's memory may fail on the other, and no label tells which one it gets.",
    remedy="Make one node group for each GPU model.",
    level="mandatory",
    severity="high",
    example=replace(GPUS, gpu_models=("L4", "T4")),
)
def uniform_models(group: NodeGroup) -> list[Violation]:
    """All machine types of a GPU group have the same GPU: a job gets the memory and the speed that it was made for."""
    if len(group.gpu_models) < 2:
        return []
    message = (
        f"GPU node group '{group.name}' mixes GPU models ({', '.join(group.gpu_models)}): which one a job gets, and "
        "whether it fits its memory, is left to chance."
    )
    return [_broken(uniform_models.id, group, message, "Make one node group for each GPU model.")]


def _broken(rule: str, group: NodeGroup, message: str, remedy: str) -> Violation:
    if group.gpus_per_node is UNKNOWN:
        doubt = group.doubts.get("gpus_per_node")
        message = f"If it has GPUs: {message}"
        return Violation(rule, message, remedy, undecided=True, resource=group.resource, doubt=doubt)
    return Violation(rule, message, remedy, resource=group.resource)


def _undecided(rule: str, group: NodeGroup, field: str, what: str, remedy: str) -> Violation:
    message = f"GPU node group '{group.name}': unknown at preview, checked at update: {what}."
    doubt = group.doubts.get(field)
    return Violation(rule, message, remedy, undecided=True, resource=group.resource, doubt=doubt)
