"""A resource as the readers get it, and what a reader makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any, Final, Literal

from facts.concepts.declared import ANYWHERE, Item, Place
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, holds_unknown, items, known_text, text


@dataclass(frozen=True)
class AddedPlacement(Item):
    """What the cluster adds to pods of a RuntimeClass or in a namespace when it admits them."""

    kind: Literal["RuntimeClass", "Namespace"]
    name: str
    tolerations: Maybe[tuple[Toleration, ...]]
    node_selector: Maybe[Mapping[str, str]] = field(default_factory=dict)
    place: Place = ANYWHERE


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
    certain: bool = True
    """Of a reference: whether it is certainly in the region, account or cluster of the resource that it completes."""
    trouble: str = ""
    """Why those that complete it could not be found."""
    outside: Properties | None = None
    """Its properties without the objects that it holds, which are resources of their own; ``None`` before
    ``spellings``."""
    written: Declared | None = None
    """The resource as the program has it, without the texts that its spellings have; ``None`` where nothing is left."""
    holder: str = ""
    """The type of the resource that holds this object; empty for a resource of the program."""
    target: str = ""
    """For which cluster its holder has this object; empty for that of the holder's provider."""
    unpatched: Declared | None = None
    """Of an object that patches of the program change, with all that they set: the object as it is declared."""
    made_as: Mapping[str, Properties] = field(default_factory=dict)
    """The URNs that a component may give to this object, or to the one that it is in, when it makes it a resource, each
    with what such a resource has then; with nothing where no other resource can have that URN."""

    @property
    def kind(self) -> str:
        """The last part of its type; that of a patch is the patched object's."""
        return kind_of(self.type)

    def named(self, *path: str) -> str:
        """The name that its properties have at ``path``; without one, its own in the program."""
        return known_text(at(self.properties, *path)) or self.name

    @property
    def group(self) -> str:
        """The API group of the Kubernetes object; that of the core is ``core``."""
        return self.type.split(":")[1].partition("/")[0]

    @property
    def place_in_cluster(self) -> Maybe[str | None]:
        """The namespace of the Kubernetes object, its provider's where it names none, or that of its kubeconfig's
        context; ``None`` where none is known."""
        own = text(at(self.properties, "metadata", "namespace"))
        return default_namespace(self.provider) if own is None else own

    @property
    def place(self) -> Place:
        """Which cluster the Kubernetes object goes to."""
        server = _cluster_of(self)
        return Place(None if holds_unknown(server) else str(server or ""), self.target)

    @property
    def object_name(self) -> str:
        """The name of the Kubernetes object."""
        return self.named("metadata", "name")

    @property
    def namespace(self) -> str:
        """The namespace of the Kubernetes object; ``default`` where none is known."""
        return known_text(self.place_in_cluster) or "default"


class Program(tuple[Declared, ...]):
    """Everything that is declared, found by type without a look at the rest."""

    @cached_property
    def _by_type(self) -> Mapping[str, list[Declared]]:
        by_type: dict[str, list[Declared]] = {}
        for resource in self:
            by_type.setdefault(resource.type, []).append(resource)
        return by_type

    def of(self, *types: str) -> list[Declared]:
        """The resources of these types."""
        return [resource for token in types for resource in self._by_type.get(token, ())]

    def of_kinds(self, *kinds: Any) -> list[Declared]:
        """The objects of these kinds (the last part of their type), patches of them too."""
        tokens = (token for token in self._by_type if kind_of(token) in kinds)
        return self.of(*tokens)

    def meant(self, reference: Any, user: Declared, *, cluster_scoped: bool = False) -> list[Declared]:
        """The objects in Kubernetes that a reference of ``user``'s may mean: of its kind, its group where it names one,
        and its name, in its namespace or else that of ``user``; several if nothing that is known tells them apart."""
        name, group = at(reference, "name"), _group(reference)
        named = [
            other
            for other in self.of_kinds(at(reference, "kind"))
            if isinstance(name, str) and name == at(other.properties, "metadata", "name")
            if group in (None, other.group)
        ]
        if cluster_scoped:
            return named
        namespace = coalesce(at(reference, "namespace"), user.place_in_cluster)
        there = [other for other in named if isinstance(namespace, str) and other.place_in_cluster == namespace]
        known = isinstance(namespace, str)
        perhaps = (other for other in named if not known or not isinstance(other.place_in_cluster, str))
        return there or [*perhaps]


@dataclass(frozen=True)
class Referrer:
    """How resources of one type are completed by others."""

    refers: Callable[[Declared], bool]
    """Whether this one is completed by others at all."""
    finds: Callable[[Declared, Program], Iterable[Declared]]
    """Those that complete it, among everything that is declared."""
    holds_theirs: bool = False
    """Whether the objects that those hold are what it declares: its spelling takes them from ``references``."""
    waits: bool = True
    """Whether rules check it with the whole stack alone. False where few programs have those: rules check it by itself
    before it is made, and with the whole stack what those add."""


Reader = Callable[[Declared], Iterable[Item]]


def _group(reference: Any) -> str | None:
    """The API group that a reference names, by itself or in its version; ``None`` where it is not known."""
    group = coalesce(*(at(reference, key) for key in ("apiGroup", "group", "apiVersion")))
    if not isinstance(group, str):
        return None
    return "core" if re.fullmatch(r"(?:v\d\w*)?", group) else group.partition("/")[0]


# What certainly tells two accounts apart, of all clouds' providers.
_ACCOUNTS: Final = ("allowedAccountIds", "project", "subscriptionId")
# https://docs.aws.amazon.com/IAM/latest/UserGuide/introduction.html: its users and roles are in no region.
_REGIONAL: Final = re.compile(r"(?:pulumi:providers:)?aws:(?!iam)")


def in_one_place(one: Declared, other: Declared) -> Maybe[bool]:
    """Whether both are in one account, region and cluster; unknown where nothing known tells two providers, or two
    resources that hold objects for some cluster, apart."""
    if one.provider_urn == other.provider_urn and one.provider == other.provider:
        apart = _regions_differ(one, other)
    else:
        apart = _regions_differ(one, other) or any(
            _differ(one.provider.get(key), other.provider.get(key)) for key in _ACCOUNTS
        )
        apart = apart or _differ(*(_cluster_of(each) for each in (one, other)))
    if apart:
        return False
    held = (one.holder or other.holder) and one.urn != other.urn and one.target != other.target
    return UNKNOWN if held or one.provider_urn != other.provider_urn else True


def _differ(one: Any, other: Any) -> bool:
    known = not any(each is None or holds_unknown(each) for each in (one, other))
    return known and one != other


def _regions_differ(one: Declared, other: Declared) -> bool:
    if not _REGIONAL.match(one.type) or not _REGIONAL.match(other.type):
        return False
    return _differ(*(coalesce(each.properties.get("region"), each.provider.get("region")) for each in (one, other)))


def _cluster_of(declared: Declared) -> Any:
    """What identifies the cluster of an object: the address of its API server, or the file and context that say it."""
    if not declared.type.startswith("kubernetes:"):
        return None
    keys = ("kubeconfig", "context", "cluster")
    said = tuple(declared.provider.get(key) for key in keys)
    if all(each is None for each in said):
        return None
    return said if holds_unknown(said) else _server(*(str(each or "") for each in said))


def default_namespace(provider: Properties) -> Maybe[str | None]:
    """The namespace of objects that name none; ``None`` where that is in a kubeconfig that the gate has not.

    https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/#namespace_yaml
    """
    own = text(provider.get("namespace"))
    config = coalesce(own, text(provider.get("kubeconfig")), text(provider.get("context")))
    if own is not None or config is UNKNOWN:
        return config
    space = text(at(_context(str(provider.get("kubeconfig") or ""), str(provider.get("context") or "")), "namespace"))
    return space if isinstance(space, str) else None


@cache
def _server(kubeconfig: str, context: str, cluster: str) -> Any:
    chosen = cluster or at(_context(kubeconfig, context), "cluster")
    server = at(_named(kubeconfig, "clusters").get(chosen), "server")
    return server if isinstance(server, str) else (kubeconfig, context, cluster)


def _context(kubeconfig: str, context: str) -> Any:
    return _named(kubeconfig, "contexts").get(context or at(_config(kubeconfig), "current-context"))


def _named(kubeconfig: str, section: str) -> dict[Any, Any]:
    return {at(each, "name"): at(each, section[:-1]) for each in items(at(_config(kubeconfig), section))}


@cache
def _config(kubeconfig: str) -> Any:
    import yaml  # 0.1 s that few programs need to spend

    try:
        return yaml.safe_load(kubeconfig)
    except yaml.YAMLError:
        return None


def kind_of(type_token: str) -> str:
    """``Deployment`` of ``kubernetes:apps/v1:Deployment`` and of ``kubernetes:apps/v1:DeploymentPatch``."""
    return unpatched(type_token).rpartition(":")[2]


def unpatched(type_token: str) -> str:
    """The type of the object that a patch in Kubernetes changes: it is read as that object; any other type as it is."""
    return type_token.removesuffix("Patch") if type_token.startswith("kubernetes:") else type_token


def is_patch(resource: Declared) -> bool:
    """Whether it changes an object in Kubernetes that something else declares."""
    return resource.type != unpatched(resource.type)


def matches(text: str, pattern: str) -> bool:
    """Whether all of ``text``, such as a type token, is as ``pattern`` has it; ``*``: any number of characters."""
    before, star, _ = pattern.partition("*")
    if not star:
        return text == pattern
    # fnmatch compiles what it is given: hundreds of patterns would take longer than all that the gate reads.
    return text.startswith(before) and fnmatchcase(text, pattern)
