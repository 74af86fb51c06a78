"""Turns any resource into what the rules talk about: node groups, clusters, workloads, credentials, or nothing.

One map from type token to reader; a cloud is one module with a ``READERS`` map, imported when its first resource comes.
A key may be a pattern (``azure-native*:containerservice*:AgentPool``): API versions are part of some type tokens.
A reader gets plain Python (dict, list, str, number, bool, None), with ``UNKNOWN`` where the engine has no value yet.
A type whose meaning is spread over several resources (an Auto Scaling group and its launch template) has an entry in
its module's ``REFERRERS`` too: such resources are read once all are declared, with the ones they refer to.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, TypeVar

from policies.extract.accounts import located
from policies.rules.model import (
    Cluster,
    Credential,
    DisruptionBudget,
    GpuSharing,
    NodeGroup,
    PodRole,
    Stack,
    Workload,
    same_place,
)

T = TypeVar("T")
Item = NodeGroup | Cluster | Workload | Credential | DisruptionBudget | GpuSharing | PodRole
Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Declared:
    """One resource of a program: its type token, the name in its URN, its URN and its properties."""

    type: str
    name: str
    urn: str
    properties: Properties
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Property → URNs of the resources whose outputs it is computed from, where the engine has told."""
    references: tuple[Declared, ...] = ()
    """The resources that complete this one; ``linked`` finds them."""
    provider: Properties = field(default_factory=dict)
    """The configuration of its provider: which account and region it goes to, unless it says so itself."""


@dataclass(frozen=True)
class Referrer:
    """How resources of one type are completed by others."""

    refers: Callable[[Declared], bool]
    """Whether this one is completed by others at all."""
    finds: Callable[[Declared, Sequence[Declared]], Iterable[Declared]]
    """Those that complete it, among everything that is declared."""


Reader = Callable[[Declared], Iterable[Item]]

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws": ("policies.extract.eks", "policies.extract.eks_machines", "policies.extract.eks_roles"),
    "azure": ("policies.extract.aks_classic",),
    "azure-native": ("policies.extract.aks",),
    "gcp": ("policies.extract.gke",),
    "google-native": ("policies.extract.google_native",),
    "kubernetes": (
        "policies.extract.kubernetes",
        "policies.extract.service_accounts",
        "policies.extract.karpenter",
        "policies.extract.cluster_api",
        "policies.extract.compute_class",
        "policies.extract.helm",
        "policies.extract.kaito",
        "policies.extract.objects",  # last: its patterns match what no other module reads
    ),
}
"""Package (the first part of a type token, or a provider's name) → the modules that read its resources."""


def read(resource: Declared) -> tuple[Item, ...]:
    """What the resource declares; empty for types that no rule is about."""
    reader = _reader(resource.type)
    return tuple(located(item, resource.properties, resource.provider) for item in reader(resource)) if reader else ()


def waits(resource: Declared) -> bool:
    """Whether the resource says what it is only together with others, so that it is judged with the whole stack."""
    referrer = _referrer(resource.type)
    return referrer is not None and referrer.refers(resource)


def linked(resources: Iterable[Declared]) -> list[Declared]:
    """The same resources, each with those that complete it."""
    everything = list(resources)
    found = []
    for resource in everything:
        referrer = _referrer(resource.type)
        references = tuple(referrer.finds(resource, everything)) if referrer else ()
        found.append(replace(resource, references=references) if references else resource)
    return found


def read_stack(resources: Iterable[Declared]) -> Stack:
    """Everything that resources, each ``linked``, declare. A group that its cluster lists as well counts once."""
    groups: list[NodeGroup] = []
    listed: list[NodeGroup] = []
    workloads: list[Workload] = []
    clusters: list[Cluster] = []
    budgets: list[DisruptionBudget] = []
    sharing: list[GpuSharing] = []
    pod_roles: list[PodRole] = []
    for resource in resources:
        found = read(resource)
        in_a_cluster = any(isinstance(item, Cluster) for item in found)
        for item in found:
            if isinstance(item, NodeGroup):
                (listed if in_a_cluster else groups).append(item)
            elif isinstance(item, Workload):
                workloads.append(item)
            elif isinstance(item, Cluster):
                clusters.append(item)
            elif isinstance(item, DisruptionBudget):
                budgets.append(item)
            elif isinstance(item, GpuSharing):
                sharing.append(item)
            elif isinstance(item, PodRole):
                pod_roles.append(item)
    groups = [*(group for group in listed if not any(_same(group, other) for other in groups)), *groups]
    return Stack(tuple(groups), tuple(workloads), tuple(clusters), tuple(budgets), tuple(sharing), tuple(pod_roles))


def _same(one: NodeGroup, other: NodeGroup) -> bool:
    """Whether two declarations are about one pool; pools and clusters of one name in two places are not."""
    return (one.cluster, one.name, one.kind) == (other.cluster, other.name, other.kind) and same_place(one, other)


def _package(type_token: str) -> str:
    # A package generated for one API version is named after it: azure-native_containerservice_v20250901.
    return type_token.removeprefix("pulumi:providers:").partition(":")[0].partition("_")[0]


@cache
def _reader(type_token: str) -> Reader | None:
    return _find(_readers(_package(type_token)), type_token)


@cache
def _referrer(type_token: str) -> Referrer | None:
    return _find(_referrers(_package(type_token)), type_token)


def _find(by_type: Mapping[str, T], type_token: str) -> T | None:
    """The entry of exactly this type, else that of the first pattern that matches it."""
    matching = (entry for pattern, entry in by_type.items() if fnmatchcase(type_token, pattern))
    return by_type.get(type_token) or next(matching, None)


@cache
def _readers(package: str) -> Mapping[str, Reader]:
    found: dict[str, Reader] = {}
    for module in _MODULES.get(package, ()):
        found.update(importlib.import_module(module).READERS)
    return found


@cache
def _referrers(package: str) -> Mapping[str, Referrer]:
    found: dict[str, Referrer] = {}
    for module in _MODULES.get(package, ()):
        found.update(getattr(importlib.import_module(module), "REFERRERS", {}))
    return found
