"""Turns any resource into what the rules talk about: node groups, clusters, workloads, credentials, or nothing.

One map from type token to reader; a cloud is one module with a ``READERS`` map, imported when its first resource comes.
A reader gets plain Python (dict, list, str, number, bool, None), with ``UNKNOWN`` where the engine has no value yet.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from policies.rules.model import Cluster, Credential, NodeGroup, Stack, Workload

Item = NodeGroup | Cluster | Workload | Credential
Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Declared:
    """One resource of a program: its type token, the name in its URN, its URN and its properties."""

    type: str
    name: str
    urn: str
    properties: Properties


Reader = Callable[[Declared], Iterable[Item]]

_MODULES: Final[Mapping[str, str]] = {
    "gcp": "policies.extract_gke",
    "kubernetes": "policies.extract_kubernetes",
}
"""Package (the first part of a type token, or a provider's name) → the module that reads its resources."""


def read(resource: Declared) -> tuple[Item, ...]:
    """What the resource declares; empty for types that no rule is about."""
    reader = _readers(_package(resource.type)).get(resource.type)
    return tuple(reader(resource)) if reader else ()


def read_stack(resources: Iterable[Declared]) -> Stack:
    """Everything the resources declare. A group that its cluster lists as well counts once."""
    groups: dict[tuple[object, ...], NodeGroup] = {}
    workloads: list[Workload] = []
    clusters: list[Cluster] = []
    for resource in resources:
        for item in read(resource):
            if isinstance(item, NodeGroup):
                known = isinstance(item.cluster, str) and item.kind == "pool"
                groups[(item.cluster, item.name) if known else (item.kind, item.resource, item.name)] = item
            elif isinstance(item, Workload):
                workloads.append(item)
            elif isinstance(item, Cluster):
                clusters.append(item)
    return Stack(tuple(groups.values()), tuple(workloads), tuple(clusters))


def _package(type_token: str) -> str:
    return type_token.removeprefix("pulumi:providers:").partition(":")[0]


@cache
def _readers(package: str) -> Mapping[str, Reader]:
    module = _MODULES.get(package)
    readers: Mapping[str, Reader] = importlib.import_module(module).READERS if module else {}
    return readers
