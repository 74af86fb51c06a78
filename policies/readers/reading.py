"""Turns any resource into what the rules check: node groups, clusters, workloads, credentials, or nothing.

A reader gets plain Python (dict, list, str, number, bool, None), with ``UNKNOWN`` where the engine has no value yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from facts.concepts.declared import Cluster, NodeGroup, Stack, Unreadable, Workload, same_place
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.readers.completing import accelerated, located, priced
from policies.readers.registry import is_part, is_taken, reader_of, referrer_of, spelling_of
from policies.readers.resource import AddedPlacement, Declared, Item, Program
from policies.readers.unread import unread

T = TypeVar("T")


def read(resource: Declared) -> tuple[Item, ...]:
    """What the resource declares; empty for types that no rule is about."""
    return tuple(item for spelled in spellings(resource) for item in _read(spelled))


def spellings(resource: Declared) -> tuple[Declared, ...]:
    """The resource as the readers know it: itself, or what it says in another spelling, which may be several."""
    spelling = spelling_of(resource.type)
    if spelling is None:
        return (resource,)
    try:
        return tuple(spelling(resource))
    except Exception as error:  # any error: the gate reports it, and checks the other resources
        return (replace(resource, trouble=_words(error)),)


def _read(resource: Declared) -> Iterable[Item]:
    reader = reader_of(resource.type)
    try:
        items = reader(resource) if reader else ()
        subjects = tuple(accelerated(located(item, resource.properties, resource.provider)) for item in items)
        if not subjects and not is_part(resource.type) and not is_taken(resource.type):
            subjects = tuple(unread(resource))
    except Exception as error:  # as above
        return (_unreadable(resource, _words(error)),)
    return (*subjects, _unreadable(resource, resource.trouble)) if resource.trouble else subjects


def waits(resource: Declared) -> bool:
    """Whether the resource can only be read together with others, so that rules check it with the whole stack."""
    return any(_waits(spelled) for spelled in spellings(resource))


def _waits(resource: Declared) -> bool:
    referrer = referrer_of(resource.type)
    try:
        return referrer is not None and referrer.refers(resource)
    except Exception:  # then reading it says what is wrong
        return False


def linked(resources: Iterable[Declared]) -> list[Declared]:
    """The same resources as the readers know them (``spellings``), each with those that complete it."""
    everything = Program(spelled for resource in resources for spelled in spellings(resource))
    linked_resources = []
    for resource in everything:
        referrer = referrer_of(resource.type)
        try:
            references = tuple(referrer.finds(resource, everything)) if referrer else ()
        except Exception as error:
            linked_resources.append(replace(resource, trouble=_words(error)))
            continue
        linked_resources.append(replace(resource, references=references) if references else resource)
    return linked_resources


def read_stack(resources: Iterable[Declared]) -> Stack:
    """Everything that resources, each ``linked``, declare."""
    return stack_of(map(read, resources))


def stack_of(read_items: Iterable[tuple[Item, ...]]) -> Stack:
    """Everything together of what was ``read``, by resource. A group that its cluster lists as well counts once."""
    listed: list[Item] = []
    apart: list[Item] = []
    for in_one_resource in read_items:
        (listed if _of(Cluster, in_one_resource) else apart).extend(in_one_resource)
    stack = Stack.of([*listed, *apart])
    own = _of(NodeGroup, apart)
    groups = [*(group for group in _of(NodeGroup, listed) if not any(_same(group, other) for other in own)), *own]
    added = {(item.kind, item.name): item for item in _of(AddedPlacement, apart)}
    return replace(
        stack,
        groups=tuple(priced(group, stack.clusters) for group in groups),
        workloads=tuple(_admitted(workload, added) for workload in stack.workloads),
    )


def _admitted(workload: Workload, added: Mapping[tuple[str, str], AddedPlacement]) -> Workload:
    """The workload with what the cluster adds to its pods."""
    for key in (("RuntimeClass", workload.runtime_class or ""), ("Namespace", workload.namespace)):
        if (more := added.get(key)) is None:
            continue
        tolerations: Maybe[tuple[Toleration, ...]] = UNKNOWN
        selector: Maybe[Mapping[str, str]] = UNKNOWN
        if workload.tolerations is not UNKNOWN and more.tolerations is not UNKNOWN:
            tolerations = (*workload.tolerations, *more.tolerations)
        if workload.node_selector is not UNKNOWN and more.node_selector is not UNKNOWN:
            selector = {**more.node_selector, **workload.node_selector}
        workload = replace(workload, tolerations=tolerations, node_selector=selector)
    return workload


def _of(kind: type[T], items: Iterable[object]) -> tuple[T, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _same(one: NodeGroup, other: NodeGroup) -> bool:
    """Whether two declarations are about one pool; pools and clusters of one name in two places are not."""
    return (one.cluster, one.name, one.kind) == (other.cluster, other.name, other.kind) and same_place(one, other)


def _unreadable(resource: Declared, why: str) -> Unreadable:
    return Unreadable(f"{resource.type} '{resource.name}'", why, resource.urn)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
