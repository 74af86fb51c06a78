"""Tells people at submission what a GPU workload lacks, and keeps small pods off large nodes (ADR 0001).

Two ValidatingAdmissionPolicies (GA since Kubernetes 1.30, evaluated inside the API server, no webhook to keep alive):

- ``gpu-placement`` warns about a workload that no pool could run, that misses the pool it should try first, or that the
  autoscaler may end while it runs, and names the lines to add. It looks at pods and at the pod templates of the kinds
  people write, so that ``kubectl apply`` prints the warning.
- ``gpu-isolation`` refuses a pod that tolerates a larger node size than it needs.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pulumi

from components import gpu_admission_cel as cel
from components.cluster import Cluster
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.pool import OPT_OUT_LABEL, Pool

PLACEMENT_POLICY: Final = "gpu-placement.gpucluster.dev"
ISOLATION_POLICY: Final = "gpu-isolation.gpucluster.dev"

API: Final = "admissionregistration.k8s.io/v1"
_CHANGES: Final = ["CREATE", "UPDATE"]
PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
WORKLOADS: Final = (
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": _CHANGES, "resources": ["replicationcontrollers"]},
    {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": _CHANGES,
        "resources": ["deployments", "replicasets", "statefulsets"],
    },
    {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": _CHANGES, "resources": ["jobs", "cronjobs"]},
)


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
    """Pool → what a node of it leaves for pods; of several machine types the most, so that no warning is false."""
    known = catalog.of(cloud)
    found = {}
    for pool in pools:
        machines = [known.machines.get(type) for type in pool.machine_types]
        free = [known.allocatable(machine) for machine in machines if machine is not None]
        if free and len(free) == len(machines):
            cpu, memory = max(each.milli_cpu for each in free), max(each.memory_mib for each in free)
            found[pool.name] = Resources(milli_cpu=cpu, memory_mib=memory)
    return found


@dataclass(frozen=True, kw_only=True)
class PolicyManifests:
    """A policy and the binding that puts it in force."""

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
    """The policies for these pools; ``adds_gpu_toleration`` and ``ends_running_pods`` as a ``Cloud`` has them.

    ``room`` is what a node of a pool leaves for pods; a pool that it does not name holds pods of any size.
    """
    facts = cel.facts(pools, adds_gpu_toleration=adds_gpu_toleration, room=room)
    placement = _policy(
        PLACEMENT_POLICY,
        action="Warn",
        rules=[PODS, *WORKLOADS],
        conditions=[cel.WRITTEN_BY_A_USER, cel.ASKS_FOR_GPUS],
        variables=facts
        + cel.PLACEMENT_VARIABLES
        + cel.ISOLATION_VARIABLES
        + cel.TWIN_VARIABLES
        + cel.EVICTION_VARIABLES,
        validations=[
            *cel.PLACEMENT_VALIDATIONS,
            cel.ISOLATION_VALIDATION,
            cel.TWIN_VALIDATION,
            *([cel.EVICTION_VALIDATION] if ends_running_pods else []),
        ],
        suffix="placement",
    )
    isolation = _policy(
        ISOLATION_POLICY,
        action="Deny",
        rules=[PODS],
        conditions=[cel.ASKS_FOR_GPUS, cel.NOT_OF_A_DAEMON_SET],
        variables=facts + cel.PLACEMENT_VARIABLES + cel.ISOLATION_VARIABLES,
        validations=[cel.ISOLATION_VALIDATION],
        suffix="isolation",
    )
    return placement, isolation


def _policy(
    name: str,
    *,
    action: Literal["Warn", "Deny"],
    rules: Sequence[Mapping[str, Any]],
    conditions: Sequence[Mapping[str, str]],
    variables: Sequence[Mapping[str, str]],
    validations: Sequence[Mapping[str, str]],
    suffix: str,
) -> PolicyManifests:
    policy = {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            # A refusal that cannot be evaluated must not let the pod through; a warning must not stop it.
            "failurePolicy": "Fail" if action == "Deny" else "Ignore",
            "matchConstraints": {"resourceRules": list(rules), "namespaceSelector": cel.NOT_SYSTEM_NAMESPACE},
            "matchConditions": list(conditions),
            "variables": list(variables),
            "validations": list(validations),
        },
    }
    binding = {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": [action]},
    }
    return PolicyManifests(suffix=suffix, policy=policy, binding=binding)
