"""Turns any resource into what the rules check: node groups, clusters, workloads, credentials, or nothing.

A reader gets plain Python (dict, list, str, number, bool, None), with ``UNKNOWN`` where the engine has no value yet.
What no reader says itself is completed here: where clusters and groups are, accelerators that are no GPUs, and list
prices from the catalogue, of the most expensive machine that a group may use. In place of a price that is not known
counts its upper limit. Boot disks are left out where the cloud's reader does not price its nodes itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines, most_within, resource_of_machines
from facts.catalog.model import Machine, Price
from facts.concepts.declared import (
    Cluster,
    GpuQuota,
    IdleTime,
    Minimum,
    NodeGroup,
    NotEvaluated,
    PodScaler,
    PriorityClass,
    Reservation,
    Stack,
    UnknownReason,
    Unreadable,
    Workload,
    same_place,
)
from facts.concepts.kubernetes import GPU_RESOURCE, RESOURCES, Toleration
from facts.concepts.parts import Gpus, Nodes
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import UNKNOWN, Maybe, at, items, whole
from policies.readers.key_material import key_material
from policies.readers.kubernetes.patches import number_in, with_patches
from policies.readers.registry import is_part, is_taken, reader_of, referrer_of, spelling_of
from policies.readers.resource import AddedPlacement, Declared, Item, PoolPrice, Program, in_one_place, is_patch
from policies.readers.unread import unread

T = TypeVar("T")


def read(resource: Declared) -> tuple[Item, ...]:
    """What the resource declares; empty for types that no rule is about."""
    return tuple(item for spelled in spellings(resource) for item in _read(spelled))


def spellings(resource: Declared) -> tuple[Declared, ...]:
    """The resource as the readers know it: itself, or what it says in another spelling, which may be several; beside
    it each object that it holds."""
    if resource.outside is not None:
        return (resource,)
    try:
        return _with_the_rest(resource, tuple(_spelled(resource)))
    except Exception as error:  # any error: the gate reports it, and checks the other resources
        return (replace(resource, trouble=_words(error), outside=resource.properties),)


_NOTHING: Final = "pulumi:pulumi:Nothing"
"""A type that no reader knows, and of which nothing is unread."""


def _with_the_rest(resource: Declared, spelled: tuple[Declared, ...]) -> tuple[Declared, ...]:
    """The spellings, of which the first has what none of them says: parameters, annotations, addresses."""
    if not spelled:  # a template that deploys nothing may hold a key
        return (replace(resource, type=_NOTHING, properties={}, outside={}, written=resource),)
    if spelled[0].type == resource.type:
        return spelled
    kept = {text for each in spelled for text in _leaves(each.properties)}
    rest = replace(resource, properties=_without(resource.properties, kept))
    return (replace(spelled[0], written=rest), *spelled[1:])


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)


def _without(value: Any, kept: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(part, kept) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(part, kept) for part in value]
    return None if isinstance(value, str) and value in kept else value


def _spelled(resource: Declared) -> Iterator[Declared]:
    spelling = spelling_of(resource.type)
    for each in spelling(resource) if spelling else (resource,):
        if each.outside is not None:
            yield each
        elif each is resource:
            yield replace(each, outside=each.properties)
        else:
            yield from _spelled(each)


def _read(resource: Declared) -> Iterable[Item]:
    reader = reader_of(resource.type)
    try:
        items = reader(resource) if reader else ()
        subjects = tuple(
            _placed(accelerated(located(item, resource.properties, resource.provider)), resource) for item in items
        )
        if is_patch(resource) and any(isinstance(item, _WHOLE) for item in subjects):
            return (_changed(resource),)
        if not is_part(resource.type) and not is_taken(resource.type) and not any(map(_of_gpus, subjects)):
            # Objects that it holds are read by themselves, and say nothing about the rest.
            subjects = (*subjects, *unread(replace(resource, properties=resource.outside or {})))
        subjects = (*subjects, *key_material(resource))
        subjects = (*subjects, *(() if resource.written is None else key_material(resource.written)))
        if (wrong := next(filter(None, map(_no_amount, subjects)), None)) is not None:
            return (_unreadable(resource, f"{_where(resource.properties, wrong)}, where 0 or more is expected"),)
    except Exception as error:  # as above
        return (_unreadable(resource, _words(error)),)
    return (*subjects, _unreadable(resource, resource.trouble)) if resource.trouble else subjects


# What may be below 0, or last for ever.
_SIGNED: Final = (IdleTime, PriorityClass)
_MOST: Final = 2**63
_Number: TypeAlias = int | float


def _no_amount(item: object) -> tuple[str, _Number] | None:
    """The first number in an item, with its field, that counts or costs nothing that can be: one below 0 or without an
    end would change every sum that it is part of."""
    if not is_dataclass(item) or isinstance(item, _SIGNED):
        return None
    least = -_MOST if isinstance(item, Minimum) else 0  # -1 leaves a size as it is
    for name in _field_names(type(item)):
        value = getattr(item, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, (int, float)) and not isinstance(part, bool):
                if not least <= part < _MOST:
                    return name.replace("_", " "), part
            elif is_dataclass(part) and (inner := _no_amount(part)) is not None:
                return inner
    return None


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _where(properties: Any, wrong: tuple[str, _Number]) -> str:
    """The property that has the number, or else what it is the number of: ``scalingConfig.minSize is -3``."""
    name, number = wrong
    return f"{next(_paths(properties, number), name)} is {number}"


def _paths(value: Any, number: _Number, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(value, (Mapping, list, tuple)):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _paths(part, number, (*path, str(key)))
    elif value is not UNKNOWN and (value == number or whole(value) == number):
        yield ".".join(path)


# How clouds' pools name their cluster.
_OF_CLUSTER: Final = ("cluster", "clusterName", "kubernetesClusterId", "resourceName")


def _placed(item: Item, resource: Declared) -> Item:
    """What is in a cluster, with the cluster that it goes to, or where the name of that comes from."""
    if isinstance(item, NodeGroup) and item.cluster is UNKNOWN:
        sources = tuple(urn for key in _OF_CLUSTER for urn in resource.dependencies.get(key, ()))
        return replace(item, cluster_at=sources)
    in_cluster = isinstance(item, (AddedPlacement, GpuQuota, PodScaler, Workload))
    return replace(item, place=resource.place) if in_cluster else item


def _of_gpus(item: Item) -> bool:
    """Whether rules check its GPUs, so that a mention of some is no news."""
    if isinstance(item, Workload):
        return item.gpus is UNKNOWN or item.gpus > 0
    return not isinstance(item, PodScaler)


def waits(resource: Declared) -> bool:
    """Whether the resource can only be read together with others, so that rules check it with the whole stack."""
    return any(_waits(spelled) for spelled in spellings(resource))


def _waits(resource: Declared) -> bool:
    referrer = referrer_of(resource.type)
    try:
        return is_patch(resource) or (referrer is not None and referrer.waits and referrer.refers(resource))
    except Exception:  # then reading it says what is wrong
        return False


def linked(resources: Iterable[Declared]) -> list[Declared]:
    """The same resources as the readers know them (``spellings``), each with those that complete it."""
    # Before the spellings, because a dialect's objects are none of Kubernetes' behind these; and behind them those that
    # others hold.
    declared = with_patches(Program(resources))
    everything = Program(_once([spelled for resource in declared for spelled in spellings(resource)]))
    everything = Program(each for resource in everything for each in _with_theirs(resource, everything))
    everything = Program(one for each in with_patches(everything) for one in spellings(each)[:1])
    return [_completed(resource, everything) for resource in everything]


def _once(everything: Sequence[Declared]) -> Iterable[Declared]:
    """Without what a component holds and has made a resource of its own."""
    made = {each.urn: each.unpatched or each for each in everything if not each.holder}
    return (
        each
        for each in everything
        if not any(urn in made and _has(made[urn].properties, content) for urn, content in each.made_as.items())
    )


def _has(properties: Any, content: Any) -> bool:
    """Whether properties have all of this content, whatever else they have: what the cluster adds."""
    if isinstance(content, Mapping):
        parts = ((key, part) for key, part in content.items() if key not in ("apiVersion", "kind", "stringData"))
        return all(_has(at(properties, key), part) for key, part in parts)
    if isinstance(content, (list, tuple)):
        listed = items(properties)
        return len(listed) == len(content) and all(map(_has, listed, content))
    return content is UNKNOWN or content in (None, "") or _number_in(properties) == _number_in(content)


def _number_in(value: Any) -> Any:
    """A number or quantity as one number: the API server writes ``1000m`` of CPU as ``1``."""
    if value is UNKNOWN or isinstance(value, bool):
        return value
    number = number_in(value)
    return str(value) if number is None else number


def _with_theirs(resource: Declared, everything: Program) -> tuple[Declared, ...]:
    """The resource, with the objects that others hold for it."""
    referrer = referrer_of(resource.type)
    if referrer is None or not referrer.holds_theirs:
        return (resource,)
    completed = _completed(resource, everything)
    return spellings(replace(completed, outside=None)) if completed.references else (resource,)


# What rules judge as a whole, of which a patch says a part.
_WHOLE: Final = (Cluster, NodeGroup, Reservation)


def _changed(patch: Declared) -> NotEvaluated:
    why = f"it changes a {patch.kind} that is not known to be in this program"
    remedy = f"Write it where the {patch.kind} is declared, or exempt it by name, with a reason."
    return NotEvaluated(f"{patch.type} '{patch.name}'", UnknownReason(why, remedy), patch.urn)


def _completed(resource: Declared, everything: Program) -> Declared:
    referrer = referrer_of(resource.type)
    try:
        found = tuple(referrer.finds(resource, everything)) if referrer else ()
        within_reach = (each for other in found for each in _within_reach(resource, other))
        references = tuple(sorted(within_reach, key=lambda each: not each.certain))
    except Exception as error:
        return replace(resource, trouble=_words(error))
    return replace(resource, references=references) if references else resource


def _within_reach(resource: Declared, other: Declared) -> tuple[Declared, ...]:
    """The other, unless it is known to be in another region, account or cluster: names occur in several of these."""
    sources = (*resource.dependencies.values(), *other.dependencies.values())
    linked_by_engine = any(urn in urns for urns in sources for urn in (resource.urn, other.urn))
    beside = True if linked_by_engine else in_one_place(resource, other)
    return () if beside is False else (other if beside is True else replace(other, certain=False),)


def read_stack(resources: Iterable[Declared]) -> Stack:
    """Everything that resources, each ``linked``, declare."""
    return stack_of(map(read, resources))


def stack_of(read_items: Iterable[tuple[Item, ...]]) -> Stack:
    """Everything together of what was ``read``, by resource. A group that its cluster lists alike counts once."""
    listed: list[Item] = []
    apart: list[Item] = []
    for in_one_resource in read_items:
        (listed if _of(Cluster, in_one_resource) else apart).extend(in_one_resource)
    stack = Stack.of([*listed, *apart])
    own = _of(NodeGroup, apart)
    groups = [*(group for group in _of(NodeGroup, listed) if not any(_same(group, other) for other in own)), *own]
    added: dict[tuple[str, str], list[AddedPlacement]] = {}
    for item in _of(AddedPlacement, apart):
        added.setdefault((item.kind, item.name), []).append(item)
    own_prices = {item.pool: item for item in _of(PoolPrice, apart)}
    return replace(
        stack,
        groups=tuple(priced(group, stack.clusters, own_prices) for group in groups),
        reservations=tuple(priced_reservation(each, lambda _: None) for each in stack.reservations),
        workloads=tuple(_admitted(workload, added) for workload in stack.workloads),
    )


def _admitted(workload: Workload, added: Mapping[tuple[str, str], Sequence[AddedPlacement]]) -> Workload:
    """The workload with what the cluster adds to its pods. Of several RuntimeClasses or namespaces of that name any may
    be meant: it may tolerate what one of them does, and what it selects is unknown where two differ. One that another
    cluster gets selects nothing here, and a namespace nothing for DaemonSets."""
    for key in (("RuntimeClass", workload.runtime_class or ""), ("Namespace", workload.namespace)):
        tolerations: Maybe[tuple[Toleration, ...]] = workload.tolerations
        selector: Maybe[Mapping[str, Maybe[str | None]]] = {}
        for more in added.get(key, ()):
            if tolerations is not UNKNOWN:
                tolerations = UNKNOWN if more.tolerations is UNKNOWN else (*tolerations, *more.tolerations)
            by_namespace = more.kind == "Namespace" and workload.kind == "DaemonSet"
            if by_namespace or not more.place.same(workload.place):
                continue
            if selector is not UNKNOWN and more.node_selector not in ({}, selector):
                selector = UNKNOWN if selector else more.node_selector
        if workload.node_selector is not UNKNOWN and selector is not UNKNOWN:
            selector = {**selector, **workload.node_selector}
        else:
            selector = UNKNOWN
        workload = replace(workload, tolerations=tolerations, node_selector=selector)
    return workload


def _of(kind: type[T], items: Iterable[object]) -> tuple[T, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _same(one: NodeGroup, other: NodeGroup) -> bool:
    """Whether two declarations are about one pool, and say the same: of two that differ, the cloud takes one."""
    named = [(each.cluster, each.name, each.kind) for each in (one, other)]
    return named[0] == named[1] and same_place(one, other) and _said(one) == _said(other)


def _said(group: NodeGroup) -> object:
    nodes, labels = group.nodes, group.nodes.labels
    if labels is not UNKNOWN:
        # The cloud's own say which GPUs there are, and one a pool's own price; others tell nothing of what it costs.
        domains = group.cloud_label_domains
        labels = {key: labels[key] for key in labels if key == POOL_LABEL or key.partition("/")[0].endswith(domains)}
    priced_by = nodes.machine_types, labels, nodes.dearest_hourly_usd
    return group.scaling, group.initial_nodes, group.gpus.per_node, nodes.taints, priced_by


def _unreadable(resource: Declared, why: str) -> Unreadable:
    return Unreadable(f"{resource.type} '{resource.name}'", why, resource.urn)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# What tells accounts apart, of all clouds' providers and resources.
_ACCOUNT: Final = (
    "accessKey",
    "allowedAccountIds",
    "assumeRole",
    "assumeRoles",
    "profile",
    "project",
    "resourceGroupName",
    "subscriptionId",
)
# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus,
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html,
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
_WORDS: Final[Mapping[str, tuple[str, re.Pattern[str]]]] = {
    "TPUs": ("google", re.compile(r"(?:ct\d\w*|tpu\d\w*)-")),
    "Trainium chips": ("aws", re.compile(r"trn\d\w*\.")),
    "Inferentia chips": ("aws", re.compile(r"inf\d\w*\.")),
    "Gaudi accelerators": ("intel", re.compile(r"dl1\.")),
    "Qualcomm accelerators": ("qualcomm", re.compile(r"dl2q\.")),
    "AMD GPUs": ("amd", re.compile(r"g4ad\.|standard_(?:nv\d+as_v4$|ng\d|n\w*_v710)", re.IGNORECASE)),
}
"""Accelerators in words → their maker, and machine types that have them, of which the catalogue may count none."""


def priced(group: NodeGroup, clusters: Sequence[Cluster], own_prices: Mapping[str, PoolPrice]) -> NodeGroup:
    """The group with the price of a node: that of its machines in its region (or its cluster's), or the stack file's
    own one for its pool where that is higher, or no list has one."""
    pool = group.nodes.labels.get(POOL_LABEL) if isinstance(group.nodes.labels, Mapping) else None
    own = own_prices.get(pool) if isinstance(pool, str) else None
    if own is not None:
        reserved = {"reserved_nodes": own.reserved_nodes, "reservation": own.reservation or None}
        group = replace(group, scaling=replace(group.scaling, **reserved))
    if group.nodes.dearest_hourly_usd is None and group.scaling.max_nodes != 0:
        group = priced_by_types(group, region_of_group(group, clusters), lambda _: None)
    if own is None or own.hourly_usd is None:
        return group
    # The program says it, and is what the gate judges: it lowers no list price, and in place of one that is not known
    # it has to be one that such machines can have. The gate's configuration may say less.
    listed = group.nodes.dearest_hourly_usd
    if group.kind == "owned" and listed is None:
        least: float | None = 0.0
    elif isinstance(listed, (int, float)) and (not group.nodes.price_at_most or has_attached(group)):
        least = listed
    else:
        least = None if listed is UNKNOWN else least_usd(group)
    nodes = replace(group.nodes, dearest_hourly_usd=own.hourly_usd, price_at_most=False)
    return group if least is None or own.hourly_usd <= least else replace(group, nodes=nodes)


def least_usd(group: NodeGroup) -> float | None:
    """The least that the dearest machine of the group may cost: the lowest price of its type in any region, of spot
    machines only for a group of these, or, for a type without any, that of as many GPUs (or chips) of the dearest kind
    of its cloud; ``None`` where neither is known."""
    cloud, gpus, spot = group.sold_by or group.cloud, group.gpus.per_node, group.scaling.spot is True
    if cloud not in catalog.PLUGINS:
        return None
    by_gpus = None if gpus is UNKNOWN or gpus == 0 else gpus * _dearest_gpu(cloud, group.gpus.resource, spot)
    named = [each.rpartition("/")[2] for each in group.nodes.machine_types if isinstance(each, str)]
    attached = has_attached(group)
    least = [by_gpus if (usd := _lowest(cloud, each, spot)) is None or attached else usd for each in named]
    known = [usd for usd in least if usd is not None]
    return max(known) if known and len(known) == len(group.nodes.machine_types) else None


def has_attached(group: NodeGroup) -> bool:
    """Whether its machines may have GPUs that are not part of their type, nor of its price."""
    cloud, gpus = group.sold_by or group.cloud, group.gpus.per_node
    named = [each.rpartition("/")[2] for each in group.nodes.machine_types if isinstance(each, str)]
    listed = [machine for each in named if (machine := catalog.of(cloud).machines.sized(each)) is not None]
    return bool(listed) and gpus != 0 and all(machine.gpus == 0 for machine in listed)


@cache
def _lowest(cloud: str, machine: str, spot: bool) -> float | None:
    """The lowest price of the machine type in any region, on demand or as a spot machine."""
    known = catalog.of(cloud)
    listed, prices = known.machines.sized(machine), known.prices
    each = (prices.machine(region, listed, spot=spot) for region in prices.regions if listed)
    return min((price.usd for price in each if price is not None), default=None)


@cache
def _dearest_gpu(cloud: str, resource: str, spot: bool) -> float:
    """The highest of the prices of one GPU, each the lowest that is known of its machine type."""
    of_resource = (
        (usd, machine.gpus)
        for name, machine in gpu_machines(cloud).items()
        if resource_of_machines(cloud, [name]) == resource and machine.gpus
        if (usd := _lowest(cloud, name, spot)) is not None
    )
    return max((usd / gpus for usd, gpus in of_resource), default=0.0)


def priced_by_types(group: NodeGroup, region: str | None, own_price: Callable[[str], float | None]) -> NodeGroup:
    """The group with the price of the dearest of its machine types: its ``own_price``, or the catalogue's."""
    cloud, types = group.sold_by or group.cloud, group.nodes.machine_types
    if cloud not in catalog.PLUGINS:
        return group
    if UNKNOWN in types:
        return replace(group, nodes=replace(group.nodes, dearest_hourly_usd=UNKNOWN))
    prices: list[Price] = []
    unpriced: list[str] = []
    named = [each.rpartition("/")[2] for each in types if isinstance(each, str)]  # Google's API takes a link, too
    for type in named:
        usd, listed, gpus = own_price(type), catalog.of(cloud).machines.sized(type), group.gpus.per_node
        if usd is None and listed is not None and listed.gpus == 0 and (gpus is UNKNOWN or gpus > 0):
            # The price of the GPUs beside such a machine is not known.
            nodes = replace(group.nodes, dearest_hourly_usd=UNKNOWN if gpus is UNKNOWN else None)
            return replace(group, nodes=nodes, unpriced=(group.name,))
        price = _list_price(cloud, region, type, group.scaling.spot is True) if usd is None else _own(usd)
        prices += [] if price is None else [price]
        unpriced += [type] if price is None else []
    if len(prices) < len(types):
        return replace(group, unpriced=tuple(unpriced))
    dearest = _dearest(group, cloud, named, [price.usd for price in prices])
    at_most = any(price.at_most for price in prices)
    nodes = replace(group.nodes, dearest_hourly_usd=dearest, price_at_most=at_most)
    return replace(group, nodes=nodes, unpriced=())


def priced_reservation(reservation: Reservation, own_price: Callable[[str], float | None]) -> Reservation:
    """The reservation with the price of one of its machines."""
    group = NodeGroup(
        name=reservation.what,
        cloud=reservation.cloud,
        gpus=Gpus(per_node=reservation.gpus_per_machine),
        nodes=Nodes(machine_types=(reservation.machine_type,), zones=(), labels={}),
    )
    region = reservation.region if isinstance(reservation.region, str) else None
    nodes = priced_by_types(group, region, own_price).nodes
    return replace(reservation, hourly_usd=nodes.dearest_hourly_usd, price_at_most=nodes.price_at_most)


def _own(usd: float) -> Price:
    return Price(usd=usd, dated="", source="")


def _dearest(group: NodeGroup, cloud: str, types: Sequence[str], prices: Sequence[float]) -> float:
    """Of a group that is limited in GPUs or vCPUs, small machines may cost more together than one large one."""
    nodes, gpus = group.scaling.max_nodes, group.gpus.per_node
    if nodes == 0:
        return max(prices)
    if (group.limited_vcpus, group.limited_memory) != (None, None) and isinstance(nodes, int):
        counts = [_most_of_type(group, nodes, catalog.of(cloud).machines.sized(one)) for one in types]
        return max(usd * count for usd, count in zip(prices, counts, strict=True)) / nodes
    if group.limited_gpus is None or not isinstance(nodes, int) or not isinstance(gpus, int) or not gpus:
        return max(prices)
    listed = {name.lower(): machine.gpus for name, machine in gpu_machines(cloud).items()}
    counts = [max(listed.get(one.lower(), gpus), 1) for one in types]
    return most_within(group.limited_gpus, list(zip(counts, prices, strict=True))) / nodes


def _most_of_type(group: NodeGroup, nodes: int, machine: Machine | None) -> int:
    """How many machines of one type all limits of the group allow; of an unknown one its ``nodes``."""
    bounds = [nodes]
    if machine is not None and group.limited_vcpus is not None:
        bounds.append(group.limited_vcpus // machine.vcpus)
    if machine is not None and group.limited_memory is not None:
        bounds.append(int(group.limited_memory / (machine.memory_gib * 2**30)))
    return min(bounds)


def region_of_group(group: NodeGroup, clusters: Sequence[Cluster]) -> str | None:
    """The region of the group, or else of its cluster; ``None`` where neither is known."""
    if group.region is not None:
        return None if group.region is UNKNOWN else group.region
    # One that is looked up is not the program's, and only the place of groups that name it.
    alone = not isinstance(group.cluster, str) and [cluster.other_groups for cluster in clusters] == [()]
    named = [each for each in clusters if alone or each.name == group.cluster or each.resource in group.cluster_at]
    regions = {cluster.region for cluster in named if isinstance(cluster.region, str)}
    return regions.pop() if len(regions) == 1 else None


@cache
def _list_price(cloud: str, region: str | None, machine: str, spot: bool) -> Price | None:
    listed = catalog.of(cloud).machines.sized(machine)
    return None if listed is None else catalog.of(cloud).prices.at_most(region, listed, spot=spot)


def located(item: T, properties: Mapping[str, Any], provider: Mapping[str, Any]) -> T:
    """A cluster or node group with its account, and with its provider's region where it names none, as a reservation
    has; others as are."""
    if isinstance(item, Reservation):
        return replace(item, region=provider.get("region") if item.region is None else item.region)
    if not isinstance(item, (Cluster, NodeGroup)):
        return item
    account = {key: text for source in (provider, properties) for key in _ACCOUNT if (text := _text(source.get(key)))}
    region = provider.get("region") if item.region is None else item.region
    return replace(item, account=account, region=region)


def _text(value: Any) -> str:
    """A known value as text, ``""`` for one that is not given or not known, even in part."""
    if value is None or value is UNKNOWN:
        return ""
    try:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    except TypeError:
        return ""


def accelerated(item: T) -> T:
    """A node group with the accelerators of its machine types and what pods request of them; others as they are."""
    if not isinstance(item, NodeGroup):
        return item
    types = [one for one in item.nodes.machine_types if isinstance(one, str)]
    # Some APIs take a link for a machine type.
    names = [one.rpartition("/")[2] for one in types]
    matches = ((words, maker) for words, (maker, each) in _WORDS.items() if any(each.match(name) for name in names))
    words, maker = next(matches, (None, ""))
    cloud = item.sold_by or item.cloud
    resource = resource_of_machines(cloud, names) if cloud in catalog.PLUGINS else GPU_RESOURCE
    if resource == GPU_RESOURCE:
        resource = RESOURCES.get(maker, GPU_RESOURCE)
    return replace(
        item,
        accelerators=item.accelerators or words,
        gpus=replace(item.gpus, resource=item.gpus.resource if resource == GPU_RESOURCE else resource),
    )
