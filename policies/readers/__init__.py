"""Turns any resource into what the rules talk about: node groups, clusters, workloads, credentials, or nothing.

One table says which modules read the resources of a package; a module has a map ``READERS`` from type token to reader,
and is imported when its package's first resource comes. A key may be a pattern
(``azure-native*:containerservice*:AgentPool``): API versions are part of some type tokens. A reader gets plain Python
(dict, list, str, number, bool, None), with ``UNKNOWN`` where the engine has no value yet.
A type whose meaning is spread over several resources (an Auto Scaling group and its launch template) has an entry in
its module's ``REFERRERS`` too: such resources are read once all are declared, with the ones they refer to; ``PARTS``
are types that are read with those only. ``SPELLINGS`` say in the readers' words what other tools spell otherwise.
Readers in ``GENERIC`` take types that may hold anything. ``ADDITIONS`` say how a pool gets one more taint or label.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Final, TypeVar

from facts.concepts.declared import (
    Cluster,
    DisruptionBudget,
    GpuQuota,
    GpuSharing,
    Minimum,
    NodeGroup,
    PodRole,
    PodScaler,
    PriorityClass,
    Stack,
    Unreadable,
    Workload,
    same_place,
)
from policies.readers.accelerators import accelerated
from policies.readers.accounts import located
from policies.readers.additions import Additions
from policies.readers.patterns import matches
from policies.readers.prices import priced
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import Spelling
from policies.readers.unread import unread

T = TypeVar("T")

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws": (
        "eks.addons",
        "eks.clusters",
        "eks.machines",
        "eks.reservations",
        "eks.roles",
        "eks.schedules",
        "eks.native",
        "eks.dialects",
    ),
    "aws-native": ("eks.native",),
    "azapi": ("aks.templates",),
    "azure": ("aks.classic", "aks.autoscale_settings", "aks.secrets", "aks.templates"),
    "azure-native": ("aks.clusters", "aks.autoscale_settings", "aks.reservations", "aks.secrets", "aks.templates"),
    "azuread": ("aks.secrets",),
    "azurerm": ("aks.dialects",),
    "eks": ("eks.dialects",),
    "gcp": ("gke.clusters", "gke.reservations"),
    "google": ("gke.dialects",),
    "google-beta": ("gke.dialects",),
    "google-native": ("gke.google_native",),
    "kubernetes": (
        "kubernetes.workloads",
        "kubernetes.capacity",
        "kubernetes.service_accounts",
        "kubernetes.objects",  # last: its patterns match what no other module reads
    ),
    "kubernetes, custom": (
        "kubernetes.capacity",
        "kubernetes.karpenter",
        "kubernetes.cluster_api",
        "kubernetes.helm",
        "kubernetes.chart_values",
        "gke.compute_class",
        "aks.kaito",
        "aks.dialects",
        "eks.dialects",
        "gke.dialects",
        "kubernetes.objects",  # last, as above
    ),
}
"""Package (the first part of a type token, or a provider's name) → the modules here that read its resources.

Kubernetes' own types and those of others, which few programs declare, are two packages here.
"""


def read(resource: Declared) -> tuple[Item, ...]:
    """What the resource declares; empty for types that no rule is about."""
    return tuple(item for spelled in spellings(resource) for item in _read(spelled))


def spellings(resource: Declared) -> tuple[Declared, ...]:
    """The resource as the readers know it: itself, or what it says in another spelling, which may be several."""
    spelling = _spelling(resource.type)
    if spelling is None:
        return (resource,)
    try:
        return tuple(spelling(resource))
    except Exception as error:  # whatever it is: the gate says so, and judges the rest
        return (replace(resource, trouble=_words(error)),)


def _read(resource: Declared) -> Iterable[Item]:
    reader = _reader(resource.type)
    try:
        items = reader(resource) if reader else ()
        found = tuple(accelerated(located(item, resource.properties, resource.provider)) for item in items)
        if not found and not _is_part(resource.type) and not _is_taken(resource.type):
            found = tuple(unread(resource))
    except Exception as error:  # as above
        return (_unreadable(resource, _words(error)),)
    return (*found, _unreadable(resource, resource.trouble)) if resource.trouble else found


def additions_to(type_token: str) -> Additions | None:
    """How a pool of this type gets one more taint or label; ``None`` where nobody knows how, or it is not safe."""
    tables = (getattr(module, "ADDITIONS", {}) for module in _modules(_package(type_token)))
    return next((table[type_token] for table in tables if type_token in table), None)


def waits(resource: Declared) -> bool:
    """Whether the resource says what it is only together with others, so that it is judged with the whole stack."""
    return any(_waits(spelled) for spelled in spellings(resource))


def _waits(resource: Declared) -> bool:
    referrer = _referrer(resource.type)
    try:
        return referrer is not None and referrer.refers(resource)
    except Exception:  # then reading it says what is wrong
        return False


def linked(resources: Iterable[Declared]) -> list[Declared]:
    """The same resources as the readers know them (``spellings``), each with those that complete it."""
    everything = Program(spelled for resource in resources for spelled in spellings(resource))
    found = []
    for resource in everything:
        referrer = _referrer(resource.type)
        try:
            references = tuple(referrer.finds(resource, everything)) if referrer else ()
        except Exception as error:
            found.append(replace(resource, trouble=_words(error)))
            continue
        found.append(replace(resource, references=references) if references else resource)
    return found


def read_stack(resources: Iterable[Declared]) -> Stack:
    """Everything that resources, each ``linked``, declare."""
    return stack_of(map(read, resources))


def stack_of(read_items: Iterable[tuple[Item, ...]]) -> Stack:
    """Everything together of what was ``read``, by resource. A group that its cluster lists as well counts once."""
    groups: list[NodeGroup] = []
    listed: list[NodeGroup] = []
    others: list[Item] = []
    for found in read_items:
        in_a_cluster = any(isinstance(item, Cluster) for item in found)
        for item in found:
            if isinstance(item, NodeGroup):
                (listed if in_a_cluster else groups).append(item)
            else:
                others.append(item)
    groups = [*(group for group in listed if not any(_same(group, other) for other in groups)), *groups]
    clusters = _of(Cluster, others)
    return Stack(
        groups=tuple(priced(group, clusters) for group in groups),
        workloads=_of(Workload, others),
        clusters=clusters,
        budgets=_of(DisruptionBudget, others),
        sharing=_of(GpuSharing, others),
        pod_roles=_of(PodRole, others),
        minimums=_of(Minimum, others),
        pod_scalers=_of(PodScaler, others),
        priorities=_of(PriorityClass, others),
        quotas=_of(GpuQuota, others),
    )


def _of(kind: type[T], items: Iterable[object]) -> tuple[T, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _same(one: NodeGroup, other: NodeGroup) -> bool:
    """Whether two declarations are about one pool; pools and clusters of one name in two places are not."""
    return (one.cluster, one.name, one.kind) == (other.cluster, other.name, other.kind) and same_place(one, other)


def _unreadable(resource: Declared, why: str) -> Unreadable:
    return Unreadable(f"{resource.type} '{resource.name}'", why, resource.urn)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _package(type_token: str) -> str:
    package, _, rest = type_token.removeprefix("pulumi:providers:").partition(":")
    group = rest.partition("/")[0]
    if package == "kubernetes" and "." in group and not group.endswith(".k8s.io"):
        return "kubernetes, custom"
    # A package generated for one API version is named after it: azure-native_containerservice_v20250901.
    return package.partition("_")[0]


def _find(tables: Iterable[Mapping[str, T]], type_token: str) -> T | None:
    """The entry of exactly this type, else that of the first pattern that matches it."""
    found: dict[str, T] = {}
    for table in tables:
        found.update(table)
    matching = (found[pattern] for pattern in found if matches(type_token, pattern))
    return found.get(type_token) or next(matching, None)


@cache
def _spelling(type_token: str) -> Spelling | None:
    return _find((getattr(module, "SPELLINGS", {}) for module in _modules(_package(type_token))), type_token)


@cache
def _is_part(type_token: str) -> bool:
    """Whether resources of this type are read with those that refer to them."""
    return any(type_token in getattr(module, "PARTS", ()) for module in _modules(_package(type_token)))


@cache
def _is_taken(type_token: str) -> bool:
    """Whether a reader knows the type, so that there is nothing in a resource of it where the reader finds nothing."""
    reader, modules = _reader(type_token), _modules(_package(type_token))
    return reader is not None and not any(reader in getattr(module, "GENERIC", ()) for module in modules)


@cache
def _reader(type_token: str) -> Reader | None:
    return _find((getattr(module, "READERS", {}) for module in _modules(_package(type_token))), type_token)


@cache
def _referrer(type_token: str) -> Referrer | None:
    return _find((getattr(module, "REFERRERS", {}) for module in _modules(_package(type_token))), type_token)


@cache
def _modules(package: str) -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in _MODULES.get(package, ()))
