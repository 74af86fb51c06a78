"""What a preview says about a stack, before and after: pools, prices, quotas, and what it changes.

Read from the engine's event log: of a rehearsed preview, or of one of the real state. Pools are what the gate's
readers see in the declared resources; prices and quotas are the stack's outputs. The engine masks secrets in that log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from facts.catalog.changes import Effects
from facts.concepts.declared import NodeGroup
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
_IN_WORDS: Final = {"spec.weight": "its place in the order of pools"}
"""Path of an input → what a reviewer calls it."""


@dataclass(frozen=True, kw_only=True)
class DeclaredPool:
    """A pool as declared; ``None`` is unknown until the update, for numbers of nodes also where no autoscaler sizes it.

    ``hourly_usd`` is the list price of one node, or an upper limit (``price_at_most``); ``capacity`` a capacity type of
    the stack file, or ``fixed``.
    """

    name: str
    gpu: str | None
    gpus_per_node: int | None
    capacity: str
    min_nodes: int | None
    max_nodes: int | None
    hourly_usd: float | None
    machine_type: str | None
    urns: frozenset[str]
    price_at_most: bool = False

    @property
    def price(self) -> str:
        """The list price of one node, in words."""
        return hourly(self.hourly_usd, at_most=self.price_at_most)

    @property
    def size(self) -> str:
        """Its numbers of nodes: ``0..4``, ``2``, or ``always on`` where no maximum is declared."""
        if self.max_nodes is None:
            return "always on"
        fewest = "?" if self.min_nodes is None else str(self.min_nodes)
        return fewest if self.min_nodes == self.max_nodes else f"{fewest}..{self.max_nodes}"

    @property
    def gpus(self) -> str:
        """The GPUs of one node: ``4 × nvidia-t4``; empty without any."""
        return f"{self.gpus_per_node} × {self.gpu or 'GPU'}" if self.gpus_per_node else ""


@dataclass(frozen=True, kw_only=True)
class StackState:
    """What a stack declares. Prices are US dollars per hour, ``None`` if unknown."""

    pools: tuple[DeclaredPool, ...] = ()
    clusters: frozenset[str] = frozenset()
    idle_usd: float | None = None
    max_usd: float | None = None
    at_most: bool = False
    """Whether these are upper limits, because not all prices are known."""
    quotas: Mapping[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    """Quota and its place → how much of it the stack needs with all pools at maxNodes, and the unit."""
    prices_of: str | None = None
    """The date of the list prices, ISO 8601."""
    declared: tuple[Declared, ...] = ()
    """Every resource that the program makes, with inputs as the engine logs them."""
    groups: tuple[NodeGroup, ...] = ()
    """The node groups that the gate's readers see in it."""


@dataclass(frozen=True)
class ResourceChange:
    """One resource that the preview changes: the engine's operation, what differs, and what of that replaces it.

    ``new_first``: what replaces it is created before it is deleted.
    """

    op: str
    type: str
    urn: str
    paths: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    new_first: bool = False

    @property
    def name(self) -> str:
        """Its name in the program."""
        return name_of(self.urn)


@dataclass(frozen=True)
class PoolChange:
    """``kind`` is ``added``, ``removed``, ``replaced`` or ``changed``; ``details`` are phrases.

    ``because`` are property paths that the cloud cannot change in place. ``moves``: it has no GPUs, and its pods have
    the new nodes before the old ones go.
    """

    pool: str
    kind: str
    details: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    meaning: str = ""
    moves: bool = False

    @property
    def ends_jobs(self) -> bool:
        """Whether jobs that run on the pool end."""
        return self.kind in ("removed", "replaced") and not self.moves


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
        if after is None:
            return PoolChange(name, "removed")
        if before is None:
            gpus = f"{after.gpus} per node, " if after.gpus else ""
            price = after.price
            return PoolChange(name, "added", (f"{gpus}{after.capacity}, {after.size} nodes, {price} per node",))
        own = [one for one in self.resources if one.urn in before.urns | after.urns]
        details = tuple(_differences(before, after))
        if any(one.op in _REPLACING for one in own):
            because = tuple(dict.fromkeys(reason for one in own for reason in one.reasons))
            # A pod that is evicted from a node with GPUs was a job.
            new_first = all(one.new_first for one in own if one.op in _REPLACING) and not self.replaced_clusters()
            moves = new_first and not (before.gpus or after.gpus)
            meaning = "the new nodes are created first, and its pods move there" if moves else ""
            return PoolChange(name, "replaced", details, because, meaning, moves)
        if not details and not own:
            return None
        paths = tuple(dict.fromkeys(path for one in own for path in one.paths))
        edits = ["label"] if any("labels" in path for path in paths) else []
        if before.max_nodes is not None and after.max_nodes is not None and before.max_nodes != after.max_nodes:
            edits.append("maximum-raised" if after.max_nodes > before.max_nodes else "maximum-lowered")
        meaning = "; ".join(filter(None, map(self._meaning, edits)))
        return PoolChange(
            name, "changed", details or tuple(_IN_WORDS.get(path, path) for path in paths), meaning=meaning
        )

    def _meaning(self, edit: str) -> str:
        return self.effects[edit].meaning if edit in self.effects else ""


def stack_change(events: Iterable[Mapping[str, Any]], effects: Effects | None = None) -> StackChange:
    """Read the events of one preview."""
    events = list(events)
    resources: dict[str, dict[str, Mapping[str, Any]]] = {"old": {}, "new": {}}
    changes: dict[str, ResourceChange] = {}
    deleted: set[str] = set()
    outputs: dict[str, Mapping[str, Any]] = {"old": {}, "new": {}}
    for event in events:
        if (operation := event.get("resourcePreEvent")) is not None:
            metadata = operation["metadata"]
            urn, op = metadata["urn"], metadata["op"]
            for side, states in resources.items():
                if metadata.get(side):
                    states[urn] = metadata[side]
            if op not in UNCHANGED and not metadata["type"].startswith(("gpucluster:", "pulumi:")):
                paths = tuple(metadata.get("detailedDiff") or metadata.get("diffs") or ())
                # One replacement is three operations: the deletion comes first or last, and one says why.
                reasons = tuple(metadata.get("keys") or ())
                if op == "delete-replaced":
                    deleted.add(urn)
                change = ResourceChange(op, metadata["type"], urn, paths, reasons, urn not in deleted)
                if urn not in changes or op == "replace":
                    changes[urn] = change
        ended = (event.get("resOutputsEvent") or {}).get("metadata")
        if ended and ended["type"] == _STACK:
            outputs = {side: (ended.get(side) or {}).get("outputs") or {} for side in resources}
    deployed = any(resource["type"] != _STACK for resource in resources["old"].values())
    return StackChange(
        _state(resources["old"], outputs["old"]) if deployed else None,
        _state(resources["new"], outputs["new"]),
        tuple(changes.values()),
        outcome(events),
        effects=effects or {},
        complete=bool(outputs["new"]),
    )


def compared(change: StackChange, base: StackChange, why: str) -> StackChange:
    """``change``, a preview on an empty account, with a preview of the base in place of deployed resources."""
    return replace(change, before=base.after, resources=(), not_deployed=why)


def _state(resources: Mapping[str, Mapping[str, Any]], outputs: Mapping[str, Any]) -> StackState:
    declared = []
    for urn, resource in resources.items():
        provider_urn = (resource.get("provider") or "").rpartition("::")[0]
        provider = resources.get(provider_urn, {})
        inputs, settings = (_with_unknowns(each.get("inputs") or {}) for each in (resource, provider))
        declared.append(
            Declared(resource["type"], name_of(urn), urn, inputs, provider=settings, provider_urn=provider_urn)
        )
    stack = view_of(declared).stack
    cost, published = outputs.get("cost") or {}, outputs.get("pools") or {}
    pools: dict[str, DeclaredPool] = {}
    for group in stack.groups:
        # A reader also lists what extends a pool that another resource declares, without a machine.
        machines = {*group.nodes.machine_types} - {None}
        if group.gpus.per_node == 0 and not machines and group.kind != "owned":
            continue
        pool = _pool(group, published)
        if (same := pools.get(pool.name)) is not None:  # one group per zone
            fewest, most = _total(same.min_nodes, pool.min_nodes), _total(same.max_nodes, pool.max_nodes)
            pool = replace(same, min_nodes=fewest, max_nodes=most, urns=same.urns | pool.urns)
        pools[pool.name] = pool
    # The outputs follow from the stack file: if the program declares other pools, their totals are not the stack's.
    known = all(_as_published(pool, published.get(pool.name)) for pool in pools.values())
    return StackState(
        pools=tuple(sorted(pools.values(), key=lambda pool: (bool(pool.gpus_per_node), pool.name))),
        clusters=frozenset(cluster.resource for cluster in stack.clusters),
        idle_usd=cost.get("idleHourlyUsd") if known else None,
        max_usd=cost.get("maxHourlyUsd") if known else None,
        at_most=bool(known and (cost.get("idleAtMost") or cost.get("maxAtMost"))),
        quotas={(one["quota"], one["where"]): (one["needed"], one["unit"]) for one in outputs.get("quotas") or ()},
        prices_of=cost.get("asOf"),
        declared=tuple(each for each in declared if each.properties),  # one that is only read has no inputs
        groups=tuple(stack.groups),
    )


def _total(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _as_published(pool: DeclaredPool, output: Mapping[str, Any] | None) -> bool:
    """Whether a pool has the sizes of the output ``pools``, which lists the GPU pools that an autoscaler sizes."""
    if output is None or pool.max_nodes is None:
        return not pool.gpus_per_node or pool.max_nodes is None
    return (pool.min_nodes, pool.max_nodes) == (output.get("min", 0), output.get("max"))


def _with_unknowns(value: Any) -> Any:
    """Properties of an event, with ``UNKNOWN`` where the engine writes one of its texts for that."""
    if isinstance(value, dict):
        return {key: _with_unknowns(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_unknowns(part) for part in value]
    return UNKNOWN if isinstance(value, str) and value in UNKNOWN_VALUES else value


def _pool(group: NodeGroup, published: Mapping[str, Any]) -> DeclaredPool:
    labels = group.nodes.labels if isinstance(group.nodes.labels, Mapping) else {}
    label, gpu = labels.get(POOL_LABEL), labels.get(GPU_LABEL)
    name = label if isinstance(label, str) else group.name
    output = published.get(name) or {}
    # An autoscaler that chooses among the machines of another seller prefers none of them by its place.
    chosen = group.sold_by is not None and len(group.nodes.machine_types) > 1
    machine = None if chosen else group.nodes.machine_type
    as_published = machine in (None, UNKNOWN, output.get("machineType"))
    capacity = "fixed" if group.kind == "owned" else output.get("capacity") or "on-demand"
    if (capacity == "spot") is not (group.scaling.spot is True):
        capacity = "spot" if group.scaling.spot is True else "on-demand"
    published_usd = output.get("hourlyUsd") if as_published else None
    return DeclaredPool(
        name=name,
        gpu=gpu if isinstance(gpu, str) else ", ".join(group.gpu_models) or None,
        gpus_per_node=_known(group.gpus.per_node),
        capacity=capacity,
        min_nodes=None if _known(group.scaling.max_nodes) is None else _known(group.scaling.min_nodes),
        max_nodes=_known(group.scaling.max_nodes),
        hourly_usd=published_usd or _known(group.nodes.dearest_hourly_usd),
        price_at_most=bool(output.get("priceAtMost")) if published_usd else group.nodes.price_at_most,
        machine_type=_known(machine),
        urns=frozenset({group.resource}),
    )


def _known(value: Any) -> Any:
    return None if value is UNKNOWN else value


def _differences(before: DeclaredPool, after: DeclaredPool) -> Iterator[str]:
    for unit, old, new in (
        ("", before.gpu, after.gpu),
        (" GPUs per node", before.gpus_per_node, after.gpus_per_node),
        ("", before.machine_type, after.machine_type),
        ("", before.capacity, after.capacity),
        (" nodes", before.size, after.size),
        (" per node", before.price, after.price),
    ):
        if old != new:
            yield f"{old} → {new}{unit}"
