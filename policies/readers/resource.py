"""A resource as the readers get it, and what a reader makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

from facts.concepts.declared import Item
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import Maybe, at, known_text


@dataclass(frozen=True)
class AddedPlacement(Item):
    """What the cluster adds to pods of a RuntimeClass or in a namespace when it admits them."""

    kind: Literal["RuntimeClass", "Namespace"]
    name: str
    tolerations: Maybe[tuple[Toleration, ...]]
    node_selector: Maybe[Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PoolPrice(Item):
    """What a stack file says of the pool with this label: what one node costs in US dollars an hour (``None``: the list
    price), and how many machines are reserved, in which reservation."""

    pool: str
    hourly_usd: float | None = None
    reserved_nodes: int = 0
    reservation: str = ""


Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Declared:
    """One resource of a program: its type token, the name in its URN, its URN and its properties."""

    type: str
    name: str
    urn: str
    properties: Properties
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Property → URNs of the resources whose outputs it is computed from, where the engine reports them."""
    references: tuple[Declared, ...] = ()
    """The resources that complete this one; ``linked`` finds them."""
    provider: Properties = field(default_factory=dict)
    """The configuration of its provider: which account and region it goes to, unless it says so itself."""
    provider_urn: str = ""
    """Which provider that is: two clusters' may have the same configuration, as far as it is known."""
    trouble: str = ""
    """Why those that complete it could not be found."""

    @property
    def kind(self) -> str:
        """The last part of its type; that of a patch is the patched object's."""
        return kind_of(self.type)

    def named(self, *path: str) -> str:
        """The name that its properties have at ``path``; without one, its own in the program."""
        return known_text(at(self.properties, *path)) or self.name

    @property
    def object_name(self) -> str:
        """The name of the Kubernetes object."""
        return self.named("metadata", "name")

    @property
    def namespace(self) -> str:
        """The namespace of the Kubernetes object; ``default`` where none is known."""
        return known_text(at(self.properties, "metadata", "namespace")) or "default"


class Program(tuple[Declared, ...]):
    """Everything that is declared, found by type without a look at the rest."""

    @cached_property
    def _by_type(self) -> Mapping[str, list[Declared]]:
        by_type: dict[str, list[Declared]] = {}
        for resource in self:
            by_type.setdefault(resource.type, []).append(resource)
        return by_type

    def seen_from(self, resource: Declared) -> Program:
        """The same, those of its provider first: others of their name may be in another region, account or cluster."""
        of_provider = (resource.provider_urn, resource.provider)
        return Program(sorted(self, key=lambda other: (other.provider_urn, other.provider) != of_provider))

    def of(self, *types: str) -> list[Declared]:
        """The resources of these types."""
        return [resource for token in types for resource in self._by_type.get(token, ())]

    def of_kinds(self, *kinds: Any) -> list[Declared]:
        """The objects of these kinds (the last part of their type), patches of them too."""
        tokens = (token for token in self._by_type if kind_of(token) in kinds)
        return self.of(*tokens)


@dataclass(frozen=True)
class Referrer:
    """How resources of one type are completed by others."""

    refers: Callable[[Declared], bool]
    """Whether this one is completed by others at all."""
    finds: Callable[[Declared, Program], Iterable[Declared]]
    """Those that complete it, among everything that is declared."""


Reader = Callable[[Declared], Iterable[Item]]


def kind_of(type_token: str) -> str:
    """``Deployment`` of ``kubernetes:apps/v1:Deployment`` and of ``kubernetes:apps/v1:DeploymentPatch``."""
    return unpatched(type_token).rpartition(":")[2]


def unpatched(type_token: str) -> str:
    """The type of the object that a patch in Kubernetes changes: it is read as that object; any other type as it is."""
    return type_token.removesuffix("Patch") if type_token.startswith("kubernetes:") else type_token


def matches(text: str, pattern: str) -> bool:
    """Whether all of ``text``, such as a type token, is as ``pattern`` has it; ``*``: any number of characters."""
    before, star, _ = pattern.partition("*")
    if not star:
        return text == pattern
    # fnmatch compiles what it is given: hundreds of patterns would take longer than all that the gate reads.
    return text.startswith(before) and fnmatchcase(text, pattern)
