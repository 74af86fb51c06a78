"""Warns at submission if a GPU workload lacks something, and keeps small pods off large nodes (ADR 0001).

``gpu-placement.yaml`` has the two ValidatingAdmissionPolicies, ``gpu-placement`` (warns) and ``gpu-isolation``
(refuses), and their bindings; this module adds the facts about the stack's pools as variables. They are GA since
Kubernetes 1.30 and run inside the API server: there is no webhook to operate.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pulumi

from components.cluster import PoolsCluster
from components.resources import documents
from components.users import MPS_POD_SECURITY
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.kubernetes import GPU_RESOURCE, Taint, node_taints
from facts.concepts.pool import (
    GPU_LABEL,
    MPS,
    OPT_OUT_LABEL,
    ROLE_LABEL,
    SHARING_LABEL,
    Pool,
    by_resource,
    gpus_per_pod,
    resource_taint,
    selected_labels,
)

PLACEMENT_POLICY: Final = "gpu-placement.gpucluster.dev"
ISOLATION_POLICY: Final = "gpu-isolation.gpucluster.dev"
CLAIMS_POLICY: Final = "gpu-claims.gpucluster.dev"
TEAMS_POLICY: Final = "gpu-teams.gpucluster.dev"
MPS_POLICY: Final = "mps-pods.gpucluster.dev"

# Messages about pods that reach none of the pools: in a cluster that somebody else made they are for other nodes.
_OF_OTHERS: Final = (
    "requests GPUs, but its nodeSelector or node affinity matches no GPU pool",
    "requests more GPUs per pod than any node of the selected pools has",
    "requests GPUs, but does not tolerate the taints of any pool that has enough of them",
    "selects nodes by a label that only running nodes have",
)
# There, a label that no pool has selects other nodes.
_IGNORED_KEYS: Final = ("!(k in variables.labelKeys) || ", "!(e.key in variables.labelKeys) || ")
_FILE: Final = Path(__file__).with_name("gpu-placement.yaml")
ISOLATION_LABEL: Final = "gpucluster.dev/isolation"
ENFORCED: Final = "enforced"
"""Label, and its value, of the namespaces in a cluster that somebody else made whose pods may be refused."""
# Where no pool is for teams, nothing is said of them.
_IF_TEAMS: Final = (
    "(!(p in variables.teams) || request.namespace in variables.teams[p] || "
    "variables.tolerations.exists(o, o.?key.orValue('') in ['', 'gpucluster.dev/teams'])) && "
)
_NAMED_TOLERATIONS: Final = "variables.pod.?tolerations.orValue([]).filter(o, o.?key.orValue('') != '')"
# One that tolerates everything without GPUs is of an agent of the cluster.
_TEAMS_TOLERATIONS: Final = (
    "variables.pod.?tolerations.orValue([]).filter(o, o.?key.orValue('') != '' || variables.gpus > 0 || "
    "size(variables.pod.?resourceClaims.orValue([])) > 0)"
)
_NAMES_TEAMS: Final = (
    "object.spec.?tolerations.orValue([]).exists(o, o.?key.orValue('') in ['', 'gpucluster.dev/teams'])"
)
_OF_TEAMS: Final = "may run in a pool that is for other teams"
"""Message of the validation for pools with ``teams``."""
_EVICTION: Final = "may be ended by the autoscaler while it runs"
"""Message of the validation for clouds whose autoscaler ends running pods."""


@dataclass(frozen=True, kw_only=True)
class GpuAdmissionArgs:
    """The GPU ``pools`` of ``cluster``; at least one."""

    cluster: PoolsCluster
    pools: Sequence[Pool]


class GpuAdmission(pulumi.ComponentResource):
    """The policies and their bindings. System pods (namespace ``kube-system``) are exempt, and DaemonSets but from
    those on pools for teams."""

    def __init__(self, name: str, args: GpuAdmissionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:GpuAdmission", name, None, opts)
        cloud, settings = args.cluster.cloud, args.cluster.settings
        joined = settings.existing_cluster is not None
        for manifest in manifests(
            args.pools,
            adds_gpu_toleration=cloud.adds_gpu_toleration,
            ends_running_pods=cloud.ends_running_pods,
            room=rooms(cloud.name, args.pools),
            others=cloud.joining[settings.autoscaler].node_labels if joined else None,
        ):
            self._declare(args, f"{name}-{manifest.suffix}", manifest.policy, manifest.binding)
        if not joined:
            self._declare_rest(name, args)
        self.register_outputs({"policies": [PLACEMENT_POLICY, ISOLATION_POLICY], "optOutLabel": OPT_OUT_LABEL})

    def _declare_rest(self, name: str, args: GpuAdmissionArgs) -> None:
        """Policies on what names no pool: in a cluster that somebody else made it may be about theirs."""
        cloud = args.cluster.cloud
        planned = catalog.of(cloud.name).labels.gpu_claims.items()
        for resource, pools in by_resource(args.pools).items():
            autoscaled = any(pool.scaling.autoscaled and not pool.scaling.owned for pool in pools)
            # The author of a claim names no pool, so one that grows for it makes the warning false.
            if autoscaled and not any(planned and planned <= pool.nodes.labels.items() for pool in pools):
                self._declare(args, f"{name}-{_prefix(resource)}claims", *claims(resource))
        if any(pool.gpus.mps for pool in args.pools):
            self._declare(args, f"{name}-mps", *mps_pods())

    def _declare(
        self, args: GpuAdmissionArgs, name: str, policy: Mapping[str, Any], binding: Mapping[str, Any]
    ) -> None:
        declared = args.cluster.objects.declare(name, policy, self)
        args.cluster.objects.declare(f"{name}-binding", binding, self, declared)


def _known(labels: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if value is not None}


def claims(resource: str = GPU_RESOURCE) -> Sequence[Mapping[str, Any]]:
    """The policy on claims for devices of a resource, and its binding: the clouds' pools do not grow for them."""
    file, prefix = Path(__file__).with_name("gpu-claims.yaml"), _prefix(resource)
    return documents(file, name=f"{prefix}{CLAIMS_POLICY}", resource=resource, word=prefix[:-1] or "gpu")


def mps_pods() -> Sequence[Mapping[str, Any]]:
    """The policy on pods in people's namespaces of a stack with MPS, and its binding."""
    path = Path(__file__).with_name("mps-pods.yaml")
    return documents(path, name=MPS_POLICY, namespaces=MPS_POD_SECURITY, label=SHARING_LABEL, value=MPS)


def rooms(cloud: str, pools: Sequence[Pool]) -> dict[str, Resources]:
    """Pool → CPU and memory that its nodes leave for pods at most; the largest machine type counts, so no warning is
    false."""
    known = catalog.of(cloud)
    by_pool = {}
    for pool in pools:
        machines = [machine for type in pool.nodes.machine_types if (machine := known.machines.get(type)) is not None]
        if machines and len(machines) == len(pool.nodes.machine_types):
            most = [known.nodes.most(machine) for machine in machines]
            by_pool[pool.name] = Resources(
                milli_cpu=max(each.milli_cpu for each in most), memory_mib=max(each.memory_mib for each in most)
            )
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
    others: Callable[[Pool], Mapping[str, str | None]] | None = None,
) -> tuple[PolicyManifests, ...]:
    """Two policies for each resource of these pools, and a third where a pool is for teams; ``adds_gpu_toleration`` and
    ``ends_running_pods`` are those of ``Cloud``.

    ``room``: the CPU and memory that a pool's nodes leave for pods; a pool that it does not name fits pods of any size.
    ``others``: in a cluster that somebody else made, the labels that the cloud sets on a pool's nodes. There the
    policies say nothing about pods that reach none of the pools, and refuse in namespaces with ``ISOLATION_LABEL``.
    """
    every: list[PolicyManifests] = []
    if others is not None:
        pools = [
            replace(pool, nodes=replace(pool.nodes, labels={**_known(others(pool)), **pool.nodes.labels}))
            for pool in pools
        ]
    for resource, members in (by_resource(pools) or {GPU_RESOURCE: []}).items():
        variables = facts(members, adds_gpu_toleration=adds_gpu_toleration, room=room)
        placement, placement_binding, isolation, isolation_binding = templates(resource)
        if not any(pool.nodes.teams for pool in members):
            placement, isolation = _without(placement, _IF_TEAMS), _without(isolation, _IF_TEAMS)
        if others is not None:
            placement = _without(placement, *_IGNORED_KEYS)
            isolation = _only_enforced(_without(isolation, *_IGNORED_KEYS))
        left_out = {
            *_pointless(members),
            *(() if ends_running_pods else (_EVICTION,)),
            *(() if others is None else _OF_OTHERS),
        }
        warned, refused = (
            [each for each in policy["spec"]["validations"] if each["message"] not in {*left_out, *elsewhere}]
            for policy, elsewhere in ((placement, ()), (isolation, (_OF_TEAMS,) if others is None else ()))
        )
        every += (
            PolicyManifests(
                suffix=f"{_prefix(resource)}placement",
                policy=_with(placement, variables, warned),
                binding=placement_binding,
            ),
            PolicyManifests(
                suffix=f"{_prefix(resource)}isolation",
                policy=_with(isolation, variables, refused),
                binding=isolation_binding,
            ),
        )
        if any(pool.nodes.teams for pool in members):
            named = _TEAMS_TOLERATIONS if others is None else _NAMED_TOLERATIONS
            every += (_for_teams(resource, isolation, isolation_binding, variables, named),)
    return tuple(every)


def _for_teams(
    resource: str,
    isolation: Mapping[str, Any],
    binding: Mapping[str, Any],
    variables: Sequence[Mapping[str, str]],
    tolerations: str,
) -> PolicyManifests:
    """The policy on pools for teams, from that on sizes. It holds for pods of DaemonSets and pods with claims, too, and
    in all namespaces; in a cluster that somebody else made, for pods that name the taint of such a pool, which none of
    theirs does. ``tolerations``: those that count."""
    name = f"{_prefix(resource)}{TEAMS_POLICY}"
    spec = isolation["spec"]
    selector = {
        key: value for key, value in spec["matchConstraints"]["namespaceSelector"].items() if key != "matchLabels"
    }
    changed = {
        "tolerations": lambda _: tolerations,
        # Not "fitting": how many GPUs a claim is for is not in the pod.
        "reachable": lambda text: text.replace("variables.fitting.", "variables.selected.", 1),
    }
    own = [{**each, "expression": changed.get(each["name"], str)(each["expression"])} for each in spec["variables"]]
    conditions = [each for each in spec["matchConditions"] if each["name"] == "chooses-nodes"]
    policy = {
        **isolation,
        "metadata": {"name": name},
        "spec": {
            **spec,
            "matchConstraints": {**spec["matchConstraints"], "namespaceSelector": selector},
            "matchConditions": [*conditions, {"name": "tolerates-teams", "expression": _NAMES_TEAMS}],
            "variables": own,
        },
    }
    validations = [
        {**each, "messageExpression": each["messageExpression"].replace("variables.requested + 'but ", "'")}
        for each in spec["validations"]
        if each["message"] == _OF_TEAMS
    ]
    return PolicyManifests(
        suffix=f"{_prefix(resource)}teams",
        policy=_with(policy, variables, validations),
        binding={**binding, "metadata": {"name": name}, "spec": {**binding["spec"], "policyName": name}},
    )


def _without(policy: Mapping[str, Any], *conditions: str) -> dict[str, Any]:
    """The policy with these conditions left out of what a pod selects. Without ``_IGNORED_KEYS`` it is for a cluster
    that has nodes of others: pods that select a label that no pool has reach none."""

    def less(variable: Mapping[str, str]) -> dict[str, str]:
        text = " ".join(variable["expression"].split())
        for condition in conditions:
            text = text.replace(condition, "")
        return {**variable, "expression": text}

    spec = policy["spec"]
    variables = [less(each) if each["name"] == "selected" else each for each in spec["variables"]]
    return {**policy, "spec": {**spec, "variables": variables}}


def _only_enforced(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy for the namespaces whose owners want it; elsewhere, and without an answer, pods are let through."""
    spec = policy["spec"]
    constraints = spec["matchConstraints"]
    selector = {**constraints["namespaceSelector"], "matchLabels": {ISOLATION_LABEL: ENFORCED}}
    constraints = {**constraints, "namespaceSelector": selector}
    return {**policy, "spec": {**spec, "failurePolicy": "Ignore", "matchConstraints": constraints}}


@functools.cache
def templates(resource: str = GPU_RESOURCE) -> Sequence[Mapping[str, Any]]:
    """The manifests in ``gpu-placement.yaml`` for pods that request ``resource``: two policies without facts, each
    followed by its binding. Those of another than NVIDIA's GPUs have names of their own."""
    (listed,) = documents(_FILE, resource=resource, prefix=_prefix(resource))
    return listed["items"]


def _prefix(resource: str) -> str:
    domain, _, device = resource.rpartition("/")
    return "" if resource == GPU_RESOURCE else f"{domain.partition('.')[0] if device == 'gpu' else device}-"


def _pointless(pools: Sequence[Pool]) -> Iterator[str]:
    """Messages of the validations that no pod for these pools can fail."""
    if len({pool.gpus.type for pool in pools}) < 2:
        yield "may get any of several GPU types, including the most expensive"
    if len({pool.gpus.shares for pool in pools}) < 2:
        yield "may get a whole GPU or a share of one"
    if not any(pool.gpus.mps for pool in pools):
        yield "may run on GPUs that MPS shares, without the node's shared memory"
    if all(pool.gpus.topology is None for pool in pools):
        yield from ("does not select the topology of its chips", "requests a part of a node whose chips no pods share")
    if not any(pool.nodes.teams for pool in pools):
        yield _OF_TEAMS
    if not any(_tried_before(pool, pools) for pool in pools):
        yield "does not tolerate the taints of a pool that is tried first"


def _with(
    policy: Mapping[str, Any], variables: Sequence[Mapping[str, str]], validations: Sequence[Mapping[str, str]]
) -> Mapping[str, Any]:
    """The policy with these validations and, of its own and these variables, those that they need."""
    spec = policy["spec"]
    needed, text = list[Mapping[str, str]](), json.dumps(validations)
    for each in reversed([*variables, *spec["variables"]]):  # a variable refers to earlier ones only
        if re.search(rf"variables\.{each['name']}\b", text):
            needed.insert(0, each)
            text += each["expression"]
    return {**policy, "spec": {**spec, "variables": needed, "validations": validations}}


def facts(
    pools: Sequence[Pool], *, adds_gpu_toleration: bool, room: Mapping[str, Resources] | None = None
) -> list[dict[str, str]]:
    """The variables that describe ``pools``, smallest and preferred first, without taints that the cloud tolerates.

    ``room``: the CPU and memory that a node of a pool leaves for pods, where that is known.
    """
    # Those for teams last: what is enough for a pod is first of all a pool that every pod may use.
    ordered = sorted(pools, key=lambda pool: (bool(pool.nodes.teams), pool.gpus.per_node, pool.scaling.preference))
    implied = {resource_taint(pool.gpus.resource) for pool in pools} if adds_gpu_toleration else set()
    label_keys = sorted({ROLE_LABEL, *(key for pool in pools for key in pool.nodes.labels)})
    values: dict[str, Any] = {
        "pools": [pool.name for pool in ordered],
        "sizes": {pool.name: pool.gpus.per_node for pool in ordered},
        "types": {pool.name: pool.gpus.type for pool in ordered},
        "shares": {pool.name: pool.gpus.shares for pool in ordered},
        "capacity": {pool.name: gpus_per_pod(pool) for pool in ordered},
        "undivided": [pool.name for pool in ordered if pool.gpus.slice_nodes],
        "smallerSiblings": {pool.name: _most_gpus_of_smaller(pool, pools) for pool in ordered},
        "room": {name: {"cpu": each.milli_cpu, "memory": each.memory_mib} for name, each in (room or {}).items()},
        "labelKeys": label_keys,
        "labels": {pool.name: dict(pool.nodes.labels) for pool in ordered},
        "cloudLabels": {pool.name: list(pool.nodes.cloud_labels) for pool in ordered},
        "mps": [pool.name for pool in ordered if pool.gpus.mps],
        "taints": {pool.name: _repelling(pool, implied) for pool in ordered},
        "advice": {pool.name: advice(pool, implied) for pool in ordered},
        "toleration": {pool.name: _tolerations(pool, implied) for pool in ordered},
        "triedBefore": {pool.name: _tried_before(pool, pools) for pool in ordered},
        "offered": {pool.name: pool.gpus.allocatable for pool in ordered},
        "teams": {pool.name: list(pool.nodes.teams) for pool in ordered if pool.nodes.teams},
    }
    return [{"name": name, "expression": json.dumps(value, ensure_ascii=False)} for name, value in values.items()]


def advice(pool: Pool, implied: set[Taint]) -> str:
    """What a pod needs to use ``pool`` and its fallback pools, in one line: a message must not contain line breaks."""
    tolerations = _tolerations(pool, implied)
    expected = {GPU_LABEL: pool.nodes.labels[GPU_LABEL], **selected_labels(pool.nodes.labels, pool.nodes.cloud_labels)}
    labels = [f"{key}: {value}" for key, value in expected.items()]
    return f"{tolerations}{' and ' if tolerations else ''}nodeSelector: {{{', '.join(labels)}}}"


def _tolerations(pool: Pool, implied: set[Taint]) -> str:
    lines = [
        f'{{key: {taint["key"]}, operator: Equal, value: "{taint["value"]}", effect: {taint["effect"]}}}'
        for taint in _repelling(pool, implied)
    ]
    return f"tolerations: [{', '.join(lines)}]" if lines else ""


def _tried_before(pool: Pool, pools: Sequence[Pool]) -> str:
    """The pool of the same entry that is tried before ``pool``; empty if there is none."""
    own = (pool.declared_at, pool.gpus.per_node)
    alike = (other for other in pools if (other.declared_at, other.gpus.per_node) == own)
    return next((other.name for other in alike if other.scaling.preference < pool.scaling.preference), "")


def _most_gpus_of_smaller(pool: Pool, pools: Sequence[Pool]) -> int:
    """Maximum GPUs per pod in pools of the same GPU type and teams and a smaller size; 0 without such a pool."""
    own = (pool.gpus.type, pool.nodes.teams)
    smaller = (
        other
        for other in pools
        if (other.gpus.type, other.nodes.teams) == own and other.gpus.per_node < pool.gpus.per_node
    )
    return max((gpus_per_pod(other) for other in smaller), default=0)


def _repelling(pool: Pool, implied: set[Taint]) -> list[dict[str, str]]:
    return node_taints(each for each in pool.nodes.taints if each.effect != "PreferNoSchedule" and each not in implied)
