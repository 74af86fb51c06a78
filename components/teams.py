"""Teams: a namespace with a GPU quota and a priority for each.

https://kubernetes.io/docs/concepts/policy/resource-quotas/ (extended resources: only ``requests.``),
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pulumi

from components.clouds.deployed import Deployed
from components.cluster import Cluster
from components.settings import Settings
from components.settings.sections.teams import Priority, Team
from components.user_admission import grows_for_claims
from facts.concepts.kubernetes import (
    COUNTED_APART,
    DEFAULT_NAMESPACE,
    DEVICE_CLASSES,
    GPU_RESOURCE,
    MIG_RESOURCE,
    RESOURCES,
    SHARED_RESOURCE,
    manifest,
    quantity,
)
from facts.concepts.namespaces import TOOLS, owner_of
from facts.concepts.offer import PRIORITY_CLASSES
from facts.concepts.pool import by_resource

# A pod without a class has priority 0 and ends pods of less, so no class is below 0. Where the cluster is the stack's,
# pods without a class get the one that is the default: above ``low`` in the queue, and it ends nobody either.
_VALUES: Final[Mapping[Priority, int]] = {"low": 0, "normal": 1, "high": 1000}
_DEFAULT_CLASS: Final = "gpucluster-normal"
_SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")

# https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-for-dra-resource-claims
_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
# Requests of a pod that has none, which a quota would otherwise refuse. No ``max`` of GPUs here: a LimitRange refuses
# every container without a limit of the resource, or sets the maximum as its limit
# (https://kubernetes.io/docs/concepts/policy/limit-range/), and with it a GPU.
_DEFAULT_REQUESTS: Final = {"cpu": "100m", "memory": "256Mi"}

_NAMESPACE: Final = "kubernetes:core/v1:Namespace"
_QUOTA: Final = "kubernetes:core/v1:ResourceQuota"
_QUOTAS: Final = ("team", "priority")


@dataclass(frozen=True, kw_only=True)
class TeamsArgs:
    """The ``teams`` of ``cluster``, and the resources of their namespaces by name."""

    cluster: Cluster
    teams: Sequence[Team]
    namespaces: Mapping[str, pulumi.Resource]


class Teams(pulumi.ComponentResource):
    """ResourceQuotas, default requests and PriorityClasses; without teams it declares nothing."""

    def __init__(self, name: str, args: TeamsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Teams", name, None, opts)
        objects = args.cluster.objects
        for each in priority_classes(default=not args.cluster.handle.outlives_stack) if args.teams else ():
            # 0.1.0 made ``low`` below 0, and the API server refuses another value.
            objects.declare(f"{name}-{each['metadata']['name']}", each, self, as_made=("value",))
        for team in args.teams:
            settings = args.cluster.settings
            for each in manifests(team, tuple(by_resource(settings.gpu_pools)), claims=grows_for_claims(settings)):
                kind, its = each["kind"].lower(), each["metadata"]["name"]
                objects.declare(f"{name}-{team.name}-{kind}-{its}", each, self, args.namespaces[team.name])
        self.register_outputs({"teams": [team.name for team in args.teams]})


def priority_classes(*, default: bool) -> Iterator[dict[str, Any]]:
    """PriorityClasses: they order pending pods, and no pod that has one ends another for it.

    ``default``: with the class of all pods that name none. A cluster has at most one such class, so one that somebody
    else made keeps its own: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass
    """
    for priority, value in _VALUES.items():
        name = PRIORITY_CLASSES.get(priority)
        if name is None and not default:
            continue
        fields: dict[str, Any] = {"value": value, "preemptionPolicy": "Never"}
        if name is None:
            fields |= {"globalDefault": True, "description": "For pods that name no class."}
        else:
            fields |= {"description": f"For pods of teams whose priority is {priority}."}
        yield manifest("scheduling.k8s.io/v1", "PriorityClass", name or _DEFAULT_CLASS, **fields)


def manifests(
    team: Team, resources: Sequence[str] = (GPU_RESOURCE,), *, claims: bool = False
) -> Iterator[dict[str, Any]]:
    """The objects in the team's namespace, whose quota holds for each of the stack's ``resources``, and for devices
    that pods claim where pools grow for ``claims``. A team may have as many of both, and none of what counts apart."""
    shared = [SHARED_RESOURCE] if GPU_RESOURCE in resources else []
    hard: dict[str, str] = {f"requests.{resource}": str(team.gpus) for resource in (*resources, *shared)}
    hard |= {f"requests.{name}": "0" for resource in resources for name in COUNTED_APART.get(resource, ())}
    hard |= {f"requests.{MIG_RESOURCE}{profile}": str(count) for profile, count in team.mig_slices.items()}
    hard |= {f"{device_class}{_DEVICES}": str(team.gpus) for device_class in DEVICE_CLASSES if claims}
    limits = {"cpu": None if team.cpus is None else str(team.cpus), "memory": team.memory}
    hard |= {f"requests.{resource}": most for resource, most in limits.items() if most is not None}
    yield manifest("v1", "ResourceQuota", "team", team.name, spec={"hard": hard})
    defaults = {resource: _DEFAULT_REQUESTS[resource] for resource, most in limits.items() if most is not None}
    if defaults:
        spec = {"limits": [{"type": "Container", "defaultRequest": defaults}]}
        yield manifest("v1", "LimitRange", "team", team.name, spec=spec)
    refused = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [_forbidden(team.priority)]}}
    yield manifest("v1", "ResourceQuota", "priority", team.name, spec=refused)


def team_of(name: str, quota: Mapping[str, Any], priority: Mapping[str, Any]) -> Team:
    """The team of these specs of its ResourceQuotas: the inverse of ``manifests``."""
    hard = {resource.removeprefix("requests."): str(most) for resource, most in quota["hard"].items()}
    (forbidden,) = priority["scopeSelector"]["matchExpressions"]
    low, high = forbidden["operator"] == "NotIn", PRIORITY_CLASSES["high"] not in forbidden["values"]
    slices = {each.removeprefix(MIG_RESOURCE): most for each, most in hard.items() if each.startswith(MIG_RESOURCE)}
    # Not validated: rules for new teams say nothing about one that runs.
    return Team.model_construct(
        name=name,
        gpus=max((int(quantity(hard[each])) for each in RESOURCES.values() if each in hard), default=0),
        mig_slices={profile: int(quantity(most)) for profile, most in slices.items()},
        cpus=int(quantity(hard["cpu"])) if "cpu" in hard else None,
        memory=hard.get("memory"),
        priority="low" if low else "high" if high else "normal",
    )


def with_former(settings: Settings) -> Settings:
    """The settings with the namespaces of people that only an earlier stack file named, and with their teams; in a
    cluster of others without those of ``access`` and ``teams``, which are their owner's.

    Such a namespace stays in the cluster with what runs in it. Without a quota all pods that wait for it would start,
    and Kueue keeps the queue of a running job, for which an update that deletes it would wait. The state no longer has
    them after an administrator has deleted the namespace, and a ``pulumi refresh``.
    """
    deployed = Deployed()
    access = _namespaces(deployed, "access-namespace-", "gpucluster:index:Access")
    workloads = _namespaces(deployed, "namespace-", "gpucluster:index:Cluster").difference(TOOLS)
    # Version 0.1.0 admitted namespaces of the cluster itself, whose pods the policies would refuse. Those of ``access``
    # stay without their resource.
    reserved = {name for name in workloads if owner_of(name)}
    people = {name for name in access | workloads if not owner_of(name)}
    former = people.difference(settings.user_namespaces)
    own = settings.own is None or settings.own.creates_cluster
    quotas = {
        name: [deployed.outputs(_QUOTA, f"teams-{name}-resourcequota-{each}").get("spec", {}) for each in _QUOTAS]
        # A team's namespace may have been an identity's first.
        for name in sorted(people.difference(team.name for team in settings.teams) if own else ())
    }
    teams = {name: team_of(name, *specs) for name, specs in quotas.items() if all(specs)}
    for name in sorted({*former, *teams, *reserved}):
        keeps = "stays without quotas and policies" if name in reserved else "keeps its quotas, policies and queue"
        named = name in settings.user_namespaces
        where = "teams of the stack file no longer name" if named else "the stack file no longer names"
        lift = "To lift the quota alone, write the team again with more gpus. " if name in teams else ""
        pulumi.warn(
            f"{where} '{name}': its namespace {keeps}. {lift}To end it: kubectl delete namespace {name}, which deletes "
            "what runs there, its volumes and its Secrets, then pulumi refresh by itself, and pulumi up"
        )
    members = {DEFAULT_NAMESPACE, *access, *(team.name for team in settings.teams)}
    members |= {namespace for entry in settings.access for namespace in entry.namespaces}
    return replace(
        settings,
        file=settings.file.model_copy(update={"teams": (*settings.teams, *teams.values())}),
        former_namespaces=tuple(sorted(former)),
        reserved_namespaces=tuple(sorted(reserved)),
        workload_namespaces=tuple(sorted({*workloads, *settings.user_namespaces}.difference(members - workloads))),
    )


def _namespaces(deployed: Deployed, start: str, parent: str) -> set[str]:
    """The namespaces whose resources in a component of the type ``parent`` have such names."""
    names = (name for name in deployed.names(_NAMESPACE, parent) if name.startswith(start))
    return {name.removeprefix(start) for name in names}


def required_class(teams: Sequence[Team], namespace: str) -> dict[str, str]:
    """What a pod's spec needs in the namespace of a team that may use one class only; empty elsewhere."""
    of_low = any(team.name == namespace and team.priority == "low" for team in teams)
    return {"priorityClassName": PRIORITY_CLASSES["low"]} if of_low else {}


def _forbidden(priority: Priority) -> dict[str, Any]:
    """The classes that a team's pods must not use. ``NotIn`` also matches a pod without a class."""
    classes = {"scopeName": "PriorityClass"}
    if priority == "low":
        return {**classes, "operator": "NotIn", "values": [PRIORITY_CLASSES["low"]]}
    above = () if priority == "high" else (PRIORITY_CLASSES["high"],)
    return {**classes, "operator": "In", "values": [*above, *_SYSTEM_CLASSES]}
