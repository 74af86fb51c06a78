"""Warns at submission if a GPU workload lacks something, and keeps small pods off large nodes (ADR 0001).

``gpu-placement.yaml`` has the two ValidatingAdmissionPolicies, ``gpu-placement`` (warns) and ``gpu-isolation``
(refuses), and their bindings; this module adds the facts about the stack's pools as variables. They are GA since
Kubernetes 1.30 and run inside the API server: there is no webhook to operate.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.gpu_admission_facts import facts
from components.resources import documents
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.pool import OPT_OUT_LABEL, Pool

PLACEMENT_POLICY: Final = "gpu-placement.gpucluster.dev"
ISOLATION_POLICY: Final = "gpu-isolation.gpucluster.dev"

_FILE: Final = Path(__file__).with_name("gpu-placement.yaml")
_EVICTION: Final = "may be ended by the autoscaler while it runs"
"""Message of the validation for clouds whose autoscaler ends running pods."""


@dataclass(frozen=True, kw_only=True)
class GpuAdmissionArgs:
    """The GPU ``pools`` of ``cluster``; at least one."""

    cluster: Cluster
    pools: Sequence[Pool]


class GpuAdmission(pulumi.ComponentResource):
    """The two policies and their bindings. System pods (namespace ``kube-system``) and DaemonSets are exempt."""

    def __init__(self, name: str, args: GpuAdmissionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:GpuAdmission", name, None, opts)
        cloud = args.cluster.cloud
        for manifest in manifests(
            args.pools,
            adds_gpu_toleration=cloud.adds_gpu_toleration,
            ends_running_pods=cloud.ends_running_pods,
            room=rooms(cloud.name, args.pools),
        ):
            policy = args.cluster.objects.declare(f"{name}-{manifest.suffix}", manifest.policy, self)
            args.cluster.objects.declare(f"{name}-{manifest.suffix}-binding", manifest.binding, self, policy)
        self.register_outputs({"policies": [PLACEMENT_POLICY, ISOLATION_POLICY], "optOutLabel": OPT_OUT_LABEL})


def rooms(cloud: str, pools: Sequence[Pool]) -> dict[str, Resources]:
    """Pool → CPU and memory that its nodes leave for pods; the largest machine type counts, so no warning is false."""
    known = catalog.of(cloud)
    by_pool = {}
    for pool in pools:
        machines = [known.machines.get(type) for type in pool.machine_types]
        free = [known.allocatable(machine) for machine in machines if machine is not None]
        if free and len(free) == len(machines):
            cpu, memory = max(each.milli_cpu for each in free), max(each.memory_mib for each in free)
            by_pool[pool.name] = Resources(milli_cpu=cpu, memory_mib=memory)
    return by_pool


@dataclass(frozen=True, kw_only=True)
class PolicyManifests:
    """A policy and its binding."""

    suffix: str
    policy: Mapping[str, Any]
    binding: Mapping[str, Any]


def manifests(
    pools: Sequence[Pool],
    *,
    adds_gpu_toleration: bool,
    ends_running_pods: bool,
    room: Mapping[str, Resources] | None = None,
) -> tuple[PolicyManifests, PolicyManifests]:
    """The policies for these pools; ``adds_gpu_toleration`` and ``ends_running_pods`` are those of ``Cloud``.

    ``room``: the CPU and memory that a pool's nodes leave for pods; a pool that it does not name fits pods of any size.
    """
    variables = facts(pools, adds_gpu_toleration=adds_gpu_toleration, room=room)
    placement, placement_binding, isolation, isolation_binding = templates()
    validations = placement["spec"]["validations"]
    if not ends_running_pods:
        validations = [validation for validation in validations if validation["message"] != _EVICTION]
    return (
        PolicyManifests(
            suffix="placement",
            policy=_with(placement, variables, validations),
            binding=placement_binding,
        ),
        PolicyManifests(
            suffix="isolation",
            policy=_with(isolation, variables, isolation["spec"]["validations"]),
            binding=isolation_binding,
        ),
    )


@functools.cache
def templates() -> Sequence[Mapping[str, Any]]:
    """The manifests in ``gpu-placement.yaml``: two policies without facts, each followed by its binding."""
    (listed,) = documents(_FILE)
    return listed["items"]


def _with(
    policy: Mapping[str, Any], variables: Sequence[Mapping[str, str]], validations: Sequence[Mapping[str, str]]
) -> Mapping[str, Any]:
    spec = policy["spec"]
    return {**policy, "spec": {**spec, "variables": [*variables, *spec["variables"]], "validations": validations}}
