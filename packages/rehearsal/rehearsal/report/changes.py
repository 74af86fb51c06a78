"""What a preview says about a stack, before and after: pools, prices, quotas, and what it changes.

Read from the engine's event log: of a rehearsed preview, or of one of the real state. Pools are what the gate's readers
see in the declared resources; the totals and quotas are the stack's outputs. The engine masks secrets in that log.

``build/preview/<stack>.json`` (schema version 1, keys in camelCase, money in US dollars):

- ``schemaVersion``, ``stack``, ``passed`` (the preview succeeded and the gate refuses nothing)
- ``simulated``: what of the preview is simulated, in words
- ``pools``: ``{name, gpu, gpusPerNode, capacity, machineType, minNodes, maxNodes, hourlyUsd}``; null is unknown
- ``cost``: ``{idleHourlyUsd, maxHourlyUsd, asOf}``, list prices; ``costBefore``: the same of the base, or null
- ``quotas``: ``{name, place, needed, unit, instead}`` with all pools at maxNodes
- ``changes``: ``{pool, kind, details, because, meaning, endsJobs}`` against the base; null without one
- ``violations``: ``{rule, level, resource, message}`` of the gate; ``errors``: texts
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from facts.catalog.changes import Effects
from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_LABEL, POOL_LABEL
from facts.concepts.unknown import UNKNOWN
from policies.offline import view_of
from policies.readers.resource import Declared
from rehearsal.engine.events import UNCHANGED, Outcome, name_of, outcome
from rehearsal.providers.marshal import UNKNOWN_VALUES
from rehearsal.report.summary import hourly

_STACK: Final = "pulumi:pulumi:Stack"
_REPLACING: Final = frozenset({"replace", "create-replacement", "delete-replaced", "import-replacement"})
_ENDING: Final = _REPLACING | {"delete"}
_PATHS: Final = 3
"""Maximum number of property paths in a sentence."""


@dataclass(frozen=True, kw_only=True)
class DeclaredPool:
    """A pool as declared; ``None`` is unknown until the update, for ``max_nodes`` also where no autoscaler sizes it.

    ``hourly_usd`` is the list price of one node, ``capacity`` a capacity type of the stack file, or ``fixed``.
    """

    name: str
    gpu: str | None
    gpus_per_node: int | None
    capacity: str
    min_nodes: int | None
    max_nodes: int | None
    hourly_usd: float | None
    machine_type: str | None
    taints: tuple[Taint, ...] | None
    urns: frozenset[str]

    @property
    def size(self) -> str:
        """Its numbers of nodes: ``0..4``, ``2``, or ``always on`` where no maximum is declared."""
        if self.max_nodes is None:
            return "always on"
        fewest = "?" if self.min_nodes is None else str(self.min_nodes)
        return fewest if self.min_nodes == self.max_nodes else f"{fewest}..{self.max_nodes}"


@dataclass(frozen=True)
class QuotaNeed:
    """A quota of the account that the stack needs with all pools at maxNodes."""

    name: str
    place: str
    needed: int
    unit: str
    instead: str = ""


@dataclass(frozen=True, kw_only=True)
class StackState:
    """What a stack declares. Prices are US dollars per hour, ``None`` if unknown."""

    pools: tuple[DeclaredPool, ...] = ()
    clusters: frozenset[str] = frozenset()
    idle_usd: float | None = None
    max_usd: float | None = None
    quotas: tuple[QuotaNeed, ...] = ()
    prices_of: str | None = None
    """The date of the list prices, ISO 8601."""


@dataclass(frozen=True)
class ResourceChange:
    """One resource that the preview changes: the engine's operation, what differs, and what of that replaces it."""

    op: str
    type: str
    urn: str
    paths: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the program."""
        return name_of(self.urn)


@dataclass(frozen=True)
class PoolChange:
    """``kind`` is ``added``, ``removed``, ``replaced``, ``resized`` or ``changed``; ``details`` are phrases.

    ``ends_jobs``: jobs that run on the pool end. ``because`` are property paths that the cloud cannot change in place.
    """

    pool: str
    kind: str
    details: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    meaning: str = ""
    ends_jobs: bool = False


@dataclass(frozen=True)
class StackChange:
    """A preview. ``before`` is ``None`` for a stack that does not exist yet; ``not_deployed`` says why the engine did
    not compare with the base's resources, so that replacements are unknown."""

    before: StackState | None
    after: StackState
    resources: tuple[ResourceChange, ...]
    outcome: Outcome
    not_deployed: str = ""
    effects: Effects = field(default_factory=dict)
    complete: bool = True
    """Whether the program ran to its end; else pools may be missing."""

    @property
    def passed(self) -> bool:
        """Whether the preview succeeded and the gate refuses nothing."""
        return not self.outcome.mandatory and not self.outcome.errors

    def pools(self) -> Iterator[PoolChange]:
        """How each pool changes that does."""
        before = {pool.name: pool for pool in (self.before.pools if self.before else ())}
        after = {pool.name: pool for pool in self.after.pools}
        for name in [*after, *(name for name in before if name not in after)]:
            if (change := self._pool(name, before.get(name), after.get(name))) is not None:
                yield change

    def replaced_clusters(self) -> list[ResourceChange]:
        """Clusters that the update deletes, or replaces."""
        return [one for one in self.resources if one.op in _ENDING and one.urn in self._clusters]

    def version_change(self) -> str:
        """What another Kubernetes version of the cluster means for running jobs; empty without one."""
        paths = [path for one in self.resources if one.urn in self._clusters for path in one.paths]
        return self._meaning("version") if any("version" in path.lower() for path in paths) else ""

    @property
    def _clusters(self) -> frozenset[str]:
        return self.after.clusters | (self.before.clusters if self.before else frozenset())

    def _pool(self, name: str, before: DeclaredPool | None, after: DeclaredPool | None) -> PoolChange | None:
        if before is None or after is None:
            return PoolChange(name, "added") if before is None else PoolChange(name, "removed", ends_jobs=True)
        own = [one for one in self.resources if one.urn in before.urns | after.urns]
        details = tuple(_differences(before, after))
        if any(one.op in _REPLACING for one in own):
            because = tuple(dict.fromkeys(reason for one in own for reason in one.reasons))
            return PoolChange(name, "replaced", details, because, ends_jobs=True)
        paths = tuple(dict.fromkeys(path for one in own for path in one.paths))
        edits = ["label"] if any("labels" in path for path in paths) else []
        resized = before.max_nodes is not None and after.max_nodes is not None and before.max_nodes != after.max_nodes
        if resized:
            edits.append("maximum-raised" if (after.max_nodes or 0) > (before.max_nodes or 0) else "maximum-lowered")
        if details or own:
            meaning = "; ".join(filter(None, map(self._meaning, edits)))
            more = ("other labels",) if "label" in edits else ()
            shown = (*details, *more) or paths[:_PATHS]
            return PoolChange(name, "resized" if resized else "changed", shown, meaning=meaning)
        return None

    def _meaning(self, edit: str) -> str:
        return self.effects[edit].meaning if edit in self.effects else ""


def stack_change(events: Iterable[Mapping[str, Any]], effects: Effects | None = None) -> StackChange:
    """Read the events of one preview."""
    events = list(events)
    before: dict[str, Mapping[str, Any]] = {}
    after: dict[str, Mapping[str, Any]] = {}
    changes: dict[str, ResourceChange] = {}
    outputs: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if (operation := event.get("resourcePreEvent")) is not None:
            metadata = operation["metadata"]
            urn, op = metadata["urn"], metadata["op"]
            if metadata.get("old"):
                before[urn] = metadata["old"]
            if metadata.get("new") and op not in ("delete", "delete-replaced"):
                after[urn] = metadata["new"]
            if op not in UNCHANGED and not metadata["type"].startswith(("gpucluster:", "pulumi:")):
                paths = tuple(metadata.get("detailedDiff") or metadata.get("diffs") or ())
                change = ResourceChange(op, metadata["type"], urn, paths, tuple(metadata.get("keys") or ()))
                # One replacement is three operations; the one that says why has the name.
                if urn not in changes or op == "replace":
                    changes[urn] = change
        ended = (event.get("resOutputsEvent") or {}).get("metadata")
        if ended and ended["type"] == _STACK:
            outputs = {key: (ended.get(key) or {}).get("outputs") or {} for key in ("old", "new")}
    deployed = any(resource["type"] != _STACK for resource in before.values())
    return StackChange(
        _state(before, outputs.get("old", {})) if deployed else None,
        _state(after, outputs.get("new", {})),
        tuple(changes.values()),
        outcome(events),
        effects=effects or {},
        complete=bool(outputs.get("new")),
    )


def compared(change: StackChange, base: StackChange, why: str) -> StackChange:
    """``change``, a preview on an empty account, with a preview of the base in place of deployed resources."""
    return replace(change, before=base.after, resources=(), not_deployed=why)


def _state(resources: Mapping[str, Mapping[str, Any]], outputs: Mapping[str, Any]) -> StackState:
    declared = []
    for urn, resource in resources.items():
        provider = resources.get((resource.get("provider") or "").rpartition("::")[0], {})
        inputs, settings = (_with_unknowns(each.get("inputs") or {}) for each in (resource, provider))
        declared.append(Declared(resource["type"], name_of(urn), urn, inputs, provider=settings))
    stack = view_of(declared).stack
    cost, published = outputs.get("cost") or {}, outputs.get("pools") or {}
    pools: dict[str, DeclaredPool] = {}
    for group in stack.groups:
        # A reader also lists what extends a pool that another resource declares, without a machine.
        machines = {group.machine_type, *group.machine_types} - {None}
        if group.gpus_per_node == 0 and not machines and group.kind != "owned":
            continue
        pool = _pool(group, published)
        same = pools.get(pool.name)
        pools[pool.name] = pool if same is None else _together(same, pool)
    return StackState(
        pools=tuple(sorted(pools.values(), key=lambda pool: (bool(pool.gpus_per_node), pool.name))),
        clusters=frozenset(cluster.resource for cluster in stack.clusters),
        idle_usd=_as_declared(cost.get("idleHourlyUsd"), published, pools, "min"),
        max_usd=_as_declared(cost.get("maxHourlyUsd"), published, pools, "max"),
        quotas=tuple(
            QuotaNeed(one["quota"], one["where"], one["needed"], one["unit"], one.get("instead", ""))
            for one in outputs.get("quotas") or ()
        ),
        prices_of=cost.get("asOf"),
    )


def _with_unknowns(value: Any) -> Any:
    """Properties of an event, with ``UNKNOWN`` where the engine writes one of its texts for that."""
    if isinstance(value, dict):
        return {key: _with_unknowns(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_unknowns(part) for part in value]
    return UNKNOWN if isinstance(value, str) and value in UNKNOWN_VALUES else value


def _pool(group: NodeGroup, published: Mapping[str, Any]) -> DeclaredPool:
    labels = group.labels if isinstance(group.labels, Mapping) else {}
    name, gpu = labels.get(POOL_LABEL), labels.get(GPU_LABEL)
    own = published.get(name if isinstance(name, str) else group.name) or {}
    if group.machine_type not in (None, UNKNOWN, own.get("machineType")):
        own = {}  # the outputs describe another pool than the program declares: the resource counts
    capacity = "fixed" if group.kind == "owned" else own.get("capacity") or "on-demand"
    if (capacity == "spot") is not (group.spot is True):
        capacity = "spot" if group.spot is True else "on-demand"
    return DeclaredPool(
        name=name if isinstance(name, str) else group.name,
        gpu=gpu if isinstance(gpu, str) else ", ".join(group.gpu_models) or None,
        gpus_per_node=_known(group.gpus_per_node),
        capacity=capacity,
        min_nodes=_known(group.min_nodes),
        max_nodes=_known(group.max_nodes),
        hourly_usd=_number(own.get("hourlyUsd")) or _known(group.hourly_usd),
        machine_type=_known(group.machine_type),
        taints=_known(group.taints),
        urns=frozenset({group.resource}),
    )


def _as_declared(usd: Any, published: Mapping[str, Any], pools: Mapping[str, DeclaredPool], bound: str) -> float | None:
    """A total of the outputs, which follow from the stack file, with the GPU pools as the resources declare them."""
    total = _number(usd)
    for name in [*published, *(name for name, pool in pools.items() if pool.gpus_per_node and name not in published)]:
        own, pool = published.get(name) or {}, pools.get(name)
        nodes, price = (0, None) if pool is None else (_bound(pool, bound), pool.hourly_usd)
        counted, usual = own.get(bound) or 0, _number(own.get("hourlyUsd")) or price
        if (nodes, price) == (counted, usual) or not (nodes or counted):
            continue
        if total is None or nodes is None or (nodes and price is None) or (counted and usual is None):
            return None
        total += nodes * (price or 0) - counted * (usual or 0)
    return total


def _bound(pool: DeclaredPool, bound: str) -> int | None:
    return pool.min_nodes if bound == "min" else pool.max_nodes


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _known(value: Any) -> Any:
    return None if value is UNKNOWN else value


def _together(one: DeclaredPool, other: DeclaredPool) -> DeclaredPool:
    """Two groups of one pool: its sizes add up."""

    def total(first: int | None, second: int | None) -> int | None:
        return None if first is None or second is None else first + second

    return replace(
        one,
        min_nodes=total(one.min_nodes, other.min_nodes),
        max_nodes=total(one.max_nodes, other.max_nodes),
        urns=one.urns | other.urns,
    )


def _differences(before: DeclaredPool, after: DeclaredPool) -> Iterator[str]:
    sides: Sequence[tuple[str, Any, Any]] = (
        ("", before.gpu, after.gpu),
        (" GPUs per node", before.gpus_per_node, after.gpus_per_node),
        ("", before.machine_type, after.machine_type),
        ("", before.capacity, after.capacity),
        (" nodes", before.size, after.size),
        (" per node", hourly(before.hourly_usd), hourly(after.hourly_usd)),
    )
    for unit, old, new in sides:
        if old != new:
            yield f"{old} → {new}{unit}"
    if before.taints != after.taints and after.taints is not None:
        yield "other taints"


def to_json(stack: str, change: StackChange, simulated: str) -> dict[str, Any]:
    """The content of ``build/preview/<stack>.json`` (see the module's docstring)."""
    before, after = change.before, change.after
    return {
        "schemaVersion": 1,
        "stack": stack,
        "passed": change.passed,
        "simulated": simulated,
        "pools": [_camel_case(pool, "taints", "urns") for pool in after.pools],
        "cost": _cost(after),
        "costBefore": _cost(before) if before else None,
        "quotas": [_camel_case(quota) for quota in after.quotas],
        "changes": [_camel_case(one) for one in change.pools()] if before else None,
        "violations": [_camel_case(violation) for violation in change.outcome.violations],
        "errors": change.outcome.errors,
    }


def _camel_case(record: Any, *left_out: str) -> dict[str, Any]:
    """A dataclass as JSON."""
    shown = [entry.name for entry in fields(record) if entry.name not in left_out]
    return {re.sub("_(.)", lambda match: match[1].upper(), name): getattr(record, name) for name in shown}


def _cost(state: StackState) -> dict[str, Any]:
    return {"idleHourlyUsd": state.idle_usd, "maxHourlyUsd": state.max_usd, "asOf": state.prices_of}
