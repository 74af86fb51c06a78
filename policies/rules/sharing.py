"""GPUs that several pods share or that pods claim, and whether the autoscaler knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from facts.concepts.declared import GpuClaim, GpuSharing, NodeGroup, Stack, Violation
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.parts import SharedGpu
from facts.concepts.unknown import UNKNOWN, Maybe, either
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, program
from policies.rules.scheduling import selects

# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
PLANNED_GPUS: Final = f"k8s.io/cluster-autoscaler/node-template/resources/{GPU_RESOURCE}"


@rule(
    "gpu-sharing-visible",
    title="The autoscaler knows how GPUs are shared",
    why="GPU replicas of a device plugin exist on running nodes only. From zero, too many nodes are added, or none.",
    remedy="Declare the sharing on the node group where the cloud offers that, or give each pod a whole GPU.",
    level="mandatory",
    severity="high",
    example=program(GPUS, GpuSharing("ConfigMap 'device-plugin'", 4)),
)
def visible(stack: Stack) -> Iterator[Violation]:
    """No device plugin shares GPUs without the autoscaler's knowledge.

    The autoscaler plans new nodes by the GPUs their group declares. A device plugin that announces more, or announces
    them under another name, does so on running nodes only: from zero, too many nodes are added, or none. A group whose
    tags declare the replicas to the autoscaler is allowed.
    """
    autoscaled = [g for g in stack.groups if has_gpus(g) and g.kind != "machine" and g.scaling.autoscaled is not False]
    for sharing in stack.sharing:
        groups = _groups_of(sharing, autoscaled, stack)
        answers = [(group.name, _planned(group, sharing.replicas)) for group in groups]
        unplanned = [name for name, answer in answers if answer is False]
        if unplanned and sharing.replicas is not UNKNOWN:
            names = ", ".join(f"'{name}'" for name in unplanned[:3])
            message = (
                f"{sharing.what} advertises each GPU {sharing.replicas} times; the autoscaler of {names} does not know."
            )
            yield visible.violation(message, sharing.resource)
        elif unplanned or any(answer is UNKNOWN for _, answer in answers):
            yield visible.unknown(sharing.what, "how many pods share a GPU", sharing.resource)


@rule(
    "gpu-claims-scale",
    title="Pools grow for what pods ask for",
    why="Devices exist on running nodes only. No node is started for a pod with a claim: it stays Pending.",
    remedy=(
        "Request nvidia.com/gpu in the limits of a container, and declare parts of GPUs on the pool. To claim whole "
        "GPUs: Karpenter 1.15 or newer with settings.enableDRA; on GKE a pool without driver installation, with the "
        "labels cloud.google.com/gke-nvidia-gpu-dra-driver and gke-no-default-nvidia-gpu-device-plugin."
    ),
    level="mandatory",
    severity="high",
    example=program(GPUS, GpuClaim("ResourceClaimTemplate 'gpu'", "gpu.nvidia.com")),
)
def claims_scale(stack: Stack) -> Iterator[Violation]:
    """No pod claims GPUs (dynamic resource allocation) where pools grow from zero.

    A driver publishes a node's devices once the node runs. cluster-autoscaler plans with those of an empty group only
    where its part for the cloud describes them: on GKE the whole GPUs of a pool with its label, by their model and
    architecture, not by what a selector may ask besides. Karpenter leaves pods with claims out unless an alpha feature
    is on. Claims of other devices are not judged.
    """
    autoscaled = [g for g in stack.groups if has_gpus(g) and g.kind != "machine" and g.scaling.autoscaled is not False]
    plans = [each.autoscaler.claims for each in stack.workloads if each.autoscaler is not None]
    if not autoscaled or True in plans:
        return
    names = ", ".join(f"'{group.name}'" for group in autoscaled[:3])
    planned = either(group.plans_claims for group in autoscaled)
    for claim in stack.claims:
        whole = claim.device_class is not UNKNOWN and not claim.device_class.startswith("mig.")
        if whole and planned is True and not claim.selective:
            continue
        if claim.device_class is UNKNOWN or UNKNOWN in plans or (whole and planned is not False):
            yield claims_scale.unknown(claim.what, "whether its GPUs make a pool grow", claim.resource)
        else:
            message = (
                f"{claim.what} claims devices of {claim.device_class}; no empty pool grows for that, such as {names}."
            )
            yield claims_scale.violation(message, claim.resource)


def as_advertised(stack: Stack) -> Stack:
    """The stack with GPUs that are shared as often as its device plugins say, where it has their configuration.

    That a plugin says more than the autoscaler knows is for ``gpu-sharing-visible``.
    """
    groups = list(stack.groups)
    with_gpus = [group for group in groups if has_gpus(group) and group.gpus.of_nvidia and group.kind != "machine"]
    for sharing in stack.sharing:
        meant = [] if sharing.replicas is UNKNOWN else _groups_of(sharing, with_gpus, stack)
        for place, group in enumerate(groups):
            if sharing.replicas is not UNKNOWN and any(
                each.resource == group.resource and each.name == group.name for each in meant
            ):
                shared = SharedGpu(clients_per_gpu=max(sharing.replicas, group.gpus.shares, 1))
                groups[place] = replace(group, gpus=replace(group.gpus, time_sharing=shared))
    return replace(stack, groups=tuple(groups))


def _groups_of(sharing: GpuSharing, groups: list[NodeGroup], stack: Stack) -> list[NodeGroup]:
    """The groups on whose nodes the configuration may be in use: that whose boot data has it, those of the workloads
    that mount it, else all."""
    own = [group for group in groups if group.resource and group.resource == sharing.resource]
    if own:
        return own
    users = [workload for workload in stack.workloads if sharing.config_map in workload.config_maps]
    if not users:
        return groups
    return [group for group in groups if any(selects(user, group) is not False for user in users)]


def _planned(group: NodeGroup, replicas: Maybe[int]) -> Maybe[bool]:
    """Whether the autoscaler plans with the multiplied GPUs."""
    if group.scaling_group is None:
        return False
    planned = group.scaling_group.tags.get(PLANNED_GPUS, UNKNOWN if group.scaling_group.open else "")
    if planned is UNKNOWN or replicas is UNKNOWN or group.gpus.per_node is UNKNOWN:
        return UNKNOWN
    return planned == str(group.gpus.per_node * replicas)
