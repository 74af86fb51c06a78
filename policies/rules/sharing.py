"""GPUs that several pods share, and what the autoscaler makes of it."""

from __future__ import annotations

from typing import Final

from facts.concepts.declared import GpuSharing, NodeGroup, Stack, Violation
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, program
from policies.rules.scheduling import selects

# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
PLANNED_GPUS: Final = f"k8s.io/cluster-autoscaler/node-template/resources/{GPU_RESOURCE}"


@rule(
    "gpu-sharing-visible",
    title="The autoscaler sees how GPUs are shared",
    why="GPUs that a device plugin multiplies show only on existing nodes: from zero, too many nodes come or none.",
    remedy="Declare the sharing on the node group where the cloud offers that, or give each pod a whole GPU.",
    level="mandatory",
    severity="high",
    example=program(GPUS, GpuSharing("ConfigMap 'device-plugin'", 4)),
)
def visible(stack: Stack) -> list[Violation]:
    """No device plugin multiplies GPUs behind the back of an autoscaler.

    The autoscaler plans new nodes by the GPUs their group declares. A device plugin that announces more, or announces
    them under another name, shows only on nodes that exist already: from zero, too many nodes come, or none. A group
    whose tags tell the autoscaler of the multiplied GPUs is fine.
    """
    autoscaled = [g for g in stack.groups if has_gpus(g) and g.kind != "machine" and g.autoscaled is not False]
    remedy = "Declare the sharing on the node group where the cloud offers that, or give each pod a whole GPU."
    found = []
    for sharing in stack.sharing:
        concerned = _concerned(sharing, autoscaled, stack)
        answers = [(group.name, _planned(group, sharing.replicas)) for group in concerned]
        hidden = [name for name, answer in answers if answer is False]
        if hidden and sharing.replicas is not UNKNOWN:
            names = ", ".join(f"'{name}'" for name in hidden[:3])
            message = (
                f"{sharing.what} offers each GPU {sharing.replicas} times, which the autoscaler of {names} cannot see."
            )
            found.append(Violation(visible.id, message, remedy, resource=sharing.resource))
        elif hidden or any(answer is UNKNOWN for _, answer in answers):
            message = f"{sharing.what}: unknown at preview, checked at update: how many pods share a GPU."
            found.append(Violation(visible.id, message, remedy, undecided=True, resource=sharing.resource))
    return found


def _concerned(sharing: GpuSharing, groups: list[NodeGroup], stack: Stack) -> list[NodeGroup]:
    """The groups on whose nodes the configuration may be in use: those of the workloads that mount it, else all."""
    users = [workload for workload in stack.workloads if sharing.config_map in workload.config_maps]
    if not users:
        return groups
    return [group for group in groups if any(selects(user, group) is not False for user in users)]


def _planned(group: NodeGroup, replicas: Maybe[int]) -> Maybe[bool]:
    """Whether the autoscaler plans with the multiplied GPUs."""
    if group.scaling is None:
        return False
    told = group.scaling.tags.get(PLANNED_GPUS, UNKNOWN if group.scaling.open else "")
    if told is UNKNOWN or replicas is UNKNOWN or group.gpus_per_node is UNKNOWN:
        return UNKNOWN
    return told == str(group.gpus_per_node * replicas)
