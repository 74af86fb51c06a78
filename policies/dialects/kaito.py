"""Reads KAITO's objects: GPU machines that an operator makes for one model, and keeps.

https://github.com/kaito-project/kaito/tree/main/api
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.declared import NodeGroup
from facts.concepts.parts import Gpus, Nodes
from facts.concepts.unknown import UNKNOWN, Maybe, at, text, whole
from policies.readers.aks.facts import CLOUD, gpus_of_size
from policies.readers.eks.facts import CLOUD as AMAZON
from policies.readers.eks.facts import gpus_of
from policies.readers.kubernetes.objects import read_custom_resource
from policies.readers.resource import Declared, Item, Reader

# The default of v1alpha1's schema; later versions without a type make no machine: https://kaito-project.github.io/kaito
_FIRST_DEFAULT: Final = "Standard_NC24ads_A100_v4"


def read_workspace(declared: Declared) -> Iterable[Item]:
    """``Workspace``: ``resource.count`` machines of ``resource.instanceType``, one by default, until it is deleted."""
    first = "/v1alpha1:" in declared.type
    yield from _machines(declared, "workspace", declared.properties.get("resource"), 1, _FIRST_DEFAULT if first else "")
    yield from read_custom_resource(declared)


def read_inference_set(declared: Declared) -> Iterable[Item]:
    """``InferenceSet``: a workspace for each replica."""
    spec = declared.properties.get("spec")
    replicas = whole(at(spec, "replicas"), default=1)
    yield from _machines(declared, "inference set", at(spec, "template", "resource"), replicas)


def read_rag_engine(declared: Declared) -> Iterable[Item]:
    """``RAGEngine``: machines that compute embeddings."""
    yield from _machines(declared, "RAG engine", at(declared.properties, "spec", "compute"), 1)
    yield from read_custom_resource(declared)


READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:kaito.sh/*:Workspace": read_workspace,
    "kubernetes:kaito.sh/*:InferenceSet": read_inference_set,
    "kubernetes:kaito.sh/*:RAGEngine": read_rag_engine,
}


def _machines(
    declared: Declared, kind: str, machines: Any, times: Maybe[int | None], default: str = ""
) -> Iterable[NodeGroup]:
    instance_type = text(at(machines, "instanceType"))
    size = default if instance_type is None else instance_type
    azure = isinstance(size, str) and size.lower().startswith("standard_")
    gpus = gpus_of_size(size) if azure or size == "" else gpus_of(size)
    if gpus == 0:
        return
    count = whole(at(machines, "count"), default=1)
    total = UNKNOWN if count is UNKNOWN or count is None or times is UNKNOWN or times is None else count * times
    yield NodeGroup(
        name=f"{kind} {declared.name}",
        cloud=CLOUD,
        kind="machine",
        gpus=Gpus(per_node=gpus),
        initial_nodes=total,
        nodes=Nodes(machine_types=(size,), zones=(), labels={}),
        sold_by=None if azure else AMAZON,
        resource=declared.urn,
    )
