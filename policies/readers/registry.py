"""Which module reads which resources: readers of the clouds' own SDKs, and ``policies/dialects`` for other spellings.

A module has a map ``READERS`` from type token to reader, and is imported when its package's first resource comes. A key
may be a pattern (``azure-native*:containerservice*:AgentPool``): API versions are part of some type tokens.
A type whose meaning is spread over several resources (an Auto Scaling group and its launch template) has an entry in
its module's ``REFERRERS`` too: such resources are read once all are declared, with the ones they refer to; ``PARTS``
are types that are read with those only. ``SPELLINGS`` translate what other tools spell differently.
Readers in ``GENERIC`` take types that may hold anything. ``ADDITIONS`` say how a pool gets one more taint or label.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Final, TypeVar

from policies.readers.resource import Reader, Referrer, matches, unpatched
from policies.readers.spelling import Spelling
from policies.readers.taints import Additions

T = TypeVar("T")

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "alicloud": ("readers.keys",),
    "argocd": ("readers.keys",),
    "aws": (
        "readers.kubernetes.chart_values",
        "readers.eks.clusters",
        "readers.eks.machines",
        "readers.eks.reservations",
        "readers.eks.roles",
        "readers.eks.services",
        "readers.keys",
        "dialects.cloudformation",
        "dialects.tools",
    ),
    "awscc": ("readers.keys", "dialects.amazon"),
    "aws-native": ("readers.eks.services", "readers.keys", "dialects.amazon", "dialects.cloudformation"),
    "azapi": ("readers.keys", "dialects.arm"),
    "azure": (
        "readers.aks.classic",
        "readers.keys",
        "dialects.arm",
    ),
    "azure-native": (
        "readers.aks.clusters",
        "readers.keys",
        "dialects.arm",
    ),
    "azure-nextgen": ("readers.keys", "dialects.arm"),
    "azuread": ("readers.keys",),
    "azurerm": ("readers.keys", "dialects.tools"),
    "cloudflare": ("readers.keys",),
    "databricks": ("readers.keys",),
    "datadog": ("readers.keys",),
    "digitalocean": ("readers.keys",),
    "eks": ("dialects.pulumi_eks",),
    "gcp": ("readers.gke.clusters", "readers.gke.machines", "readers.gke.rights", "readers.keys"),
    "gitlab": ("readers.keys",),
    "google": ("readers.gke.rights", "readers.keys", "dialects.tools"),
    "google-native": ("readers.gke.rights", "readers.keys", "dialects.google_native"),
    "google-beta": ("readers.gke.rights", "readers.keys", "dialects.tools"),
    "gpucluster": ("readers.pool_prices", "readers.joined"),
    "gpucluster-machines": ("readers.own_machines",),
    "grafana": ("readers.keys",),
    "confluentcloud": ("readers.keys",),
    "helm": ("dialects.gitops", "readers.keys"),
    "minio": ("readers.keys",),
    "mongodbatlas": ("readers.keys",),
    "oci": ("readers.keys",),
    "pulumiservice": ("readers.keys",),
    "rancher2": ("dialects.platform_rights", "readers.keys"),
    "kubectl": ("dialects.tools", "readers.keys"),
    "vault": ("readers.keys",),
    "kubernetes": (
        "dialects.tools",
        "readers.kubernetes.workloads",
        "readers.kubernetes.capacity",
        "readers.kubernetes.platform_settings",
        "readers.kubernetes.exposures",
        "readers.kubernetes.balancers",
        "readers.eks.roles",
        "readers.kubernetes.objects",  # last: its patterns match what no other module reads
    ),
    "kubernetes, custom": (
        "readers.kubernetes.capacity",
        "readers.kubernetes.karpenter",
        "readers.kubernetes.exposures",
        "readers.kubernetes.balancers",
        "dialects.cluster_api",
        "readers.kubernetes.helm",
        "readers.kubernetes.platform_settings",
        "dialects.gitops",
        "dialects.operators",
        "dialects.platform_rights",
        "readers.gke.compute_class",
        "readers.gke.rights",
        "dialects.kaito",
        "dialects.tools",
        "readers.kubernetes.objects",  # last, as above
    ),
}
"""Package (the first part of a type token, or a provider's name) → the modules of ``policies`` that read its resources.

Kubernetes' own types and custom resources, which few programs declare, are two packages here.
"""
_OF_OTHERS: Final = ("readers.keys",)
"""What reads all other packages: the names of some types say that they make a key."""


def additions_to(type_token: str) -> Additions | None:
    """How to add a taint or label to a pool of this type; ``None`` where that is unsupported or not safe."""
    return _find((getattr(module, "ADDITIONS", {}) for module in _modules(package_of(type_token))), type_token)


def package_of(type_token: str) -> str:
    """The key of ``MODULES`` for this type. Custom resources of groups below ``.k8s.io`` are with Kubernetes' own."""
    package, _, rest = type_token.removeprefix("pulumi:providers:").partition(":")
    group = rest.partition("/")[0]
    if package == "kubernetes" and "." in group and not group.endswith(".k8s.io"):
        return "kubernetes, custom"
    # A package generated for one API version is named after it: azure-native_containerservice_v20250901.
    return package.partition("_")[0]


def _find(tables: Iterable[Mapping[str, T]], type_token: str) -> T | None:
    """The entry of exactly this type, else that of the first pattern that matches it."""
    type_token = unpatched(type_token)
    entries: dict[str, T] = {}
    for table in tables:
        entries.update(table)
    matching = (entries[pattern] for pattern in entries if matches(type_token, pattern))
    return entries.get(type_token) or next(matching, None)


@cache
def spelling_of(type_token: str) -> Spelling | None:
    """How to translate a resource of this type for the readers; ``None`` where it needs no translation."""
    return _find((getattr(module, "SPELLINGS", {}) for module in _modules(package_of(type_token))), type_token)


@cache
def is_dialect(type_token: str) -> bool:
    """Whether a module of ``policies/dialects`` translates what the type says."""
    spelling = spelling_of(type_token)
    return spelling is not None and spelling.__module__.startswith("policies.dialects.")


@cache
def is_part(type_token: str) -> bool:
    """Whether resources of this type are read with those that refer to them."""
    return any(type_token in getattr(module, "PARTS", ()) for module in _modules(package_of(type_token)))


@cache
def is_taken(type_token: str) -> bool:
    """Whether a reader knows the type: then a resource without subjects really has none."""
    reader, modules = reader_of(type_token), _modules(package_of(type_token))
    return reader is not None and not any(reader in getattr(module, "GENERIC", ()) for module in modules)


@cache
def reader_of(type_token: str) -> Reader | None:
    """The reader of this type."""
    return _find((getattr(module, "READERS", {}) for module in _modules(package_of(type_token))), type_token)


@cache
def referrer_of(type_token: str) -> Referrer | None:
    """How resources of this type are completed by others."""
    return _find((getattr(module, "REFERRERS", {}) for module in _modules(package_of(type_token))), type_token)


@cache
def _modules(package: str) -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(f"policies.{name}") for name in MODULES.get(package, _OF_OTHERS))
