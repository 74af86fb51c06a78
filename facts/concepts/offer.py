"""What a cluster offers to those who use it, also while it has no node: published in the cluster, read by its users.

A ConfigMap holds it as one JSON document. The program that writes it and the commands that read it share this module,
but commands and clusters are updated one by one. Therefore the document changes by added fields only, which older
readers ignore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from facts.concepts.kubernetes import Taint, manifest, resource_of
from facts.concepts.parts import NO_FABRIC, Block, Fabric, Gpus, Nodes, Scaling
from facts.concepts.pool import Pool, gpus_per_pod
from facts.concepts.unknown import at

NAMESPACE: Final = "kube-system"
CONFIG_MAP: Final = "gpucluster-pools"
KEY: Final = "offer.json"
SHARED_CLAIM: Final = "shared"
"""The claim on files that all pods of its namespace see."""
QUEUE: Final = "gpu"
"""The queue of a cluster that has one, in each namespace that may use it."""
SCHEMA: Final = 2
"""Rises by one if a field goes or gets another meaning; added fields do not change it. Readers accept the schema before
and after their own, so each schema also has what readers of the schema before it need."""


PRIORITY_CLASSES: Final[Mapping[str, str]] = {"low": "gpucluster-low", "high": "gpucluster-high"}
"""What a team's priority is called in the cluster; a normal one has no class."""


class OfferError(ValueError):
    """What is published cannot be read; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class PoolOffer:
    """A GPU pool: what is published of its parts (``_PUBLISHED``), and what pods find there. What is ``None`` is not
    known.

    ``allocatable_gpus`` are those of a node that pods see (shares, slices), ``gpus_per_pod`` the most that one pod
    gets. ``milli_cpu``, ``memory_mib`` and ``disk_mib`` (ephemeral storage) are what a pod can ask for: a node of the
    smallest of the machine types without what the system takes. ``notice_seconds`` is how long pods have on a spot node
    that is taken away. ``ends`` (ISO, UTC) is when the nodes of a capacity block end. ``rdma_devices`` is how many its
    machines have, of use to pods in a fabric alone. ``compared`` is whether a real node of each machine type confirmed
    CPU, memory and disk; others are calculated.
    """

    name: str
    nodes: Nodes
    scaling: Scaling
    gpus: Gpus
    allocatable_gpus: int
    gpus_per_pod: int
    milli_cpu: int | None = None
    memory_mib: int | None = None
    disk_mib: int | None = None
    notice_seconds: int | None = None
    ends: str | None = None
    rdma_devices: int = 0
    compared: bool | None = None

    @property
    def devices(self) -> dict[str, int]:
        """Resource → how many of it each node has: GPUs as pods see them, and a fabric's devices unless claimed."""
        return {self.gpus.resource: self.allocatable_gpus, **(self.nodes.fabric or NO_FABRIC).limits}


_PUBLISHED: Final[Mapping[str, str]] = {
    "name": "name",
    "gpu": "gpus.type",
    "gpus_per_node": "gpus.per_node",
    "allocatable_gpus": "allocatable_gpus",
    "gpus_per_pod": "gpus_per_pod",
    "machine_types": "nodes.machine_types",
    "zones": "nodes.zones",
    "max_nodes": "scaling.max_nodes",
    "spot": "scaling.spot",
    "preference": "scaling.preference",
    "milli_cpu": "milli_cpu",
    "memory_mib": "memory_mib",
    "disk_mib": "disk_mib",
    "hourly_usd": "nodes.hourly_usd",
    "price_at_most": "nodes.price_at_most",
    "on_demand_usd": "nodes.on_demand_usd",
    "idle_minutes": "scaling.unneeded_minutes",
    "notice_seconds": "notice_seconds",
    "capacity_type": "scaling.capacity_type",
    "max_run_hours": "scaling.max_run_hours",
    "since": "scaling.block.first",
    "until": "scaling.block.last",
    "ends": "ends",
    "rdma_devices": "rdma_devices",
    "compared": "compared",
    "slice_nodes": "gpus.slice_nodes",
    "fabric": "nodes.fabric",
    "labels": "nodes.labels",
    "cloud_labels": "nodes.cloud_labels",
    "taints": "nodes.taints",
    "teams": "nodes.teams",
}
"""Field of a pool in JSON → the attribute of ``PoolOffer``, or of one of its parts."""


@dataclass(frozen=True, kw_only=True)
class CheckpointsOffer:
    """A bucket at ``url``. Pods of ``service_account`` (``namespace/name``) read and write it, without a key."""

    url: str
    service_account: str


@dataclass(frozen=True, kw_only=True)
class TeamOffer:
    """A team's namespace, called as the team: the most ``gpus`` that its pods ask for at once, and their PriorityClass,
    ``None`` for a team whose pods need not name one."""

    name: str
    gpus: int
    priority_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The pools of a stack's cluster, its teams, and what jobs find beside them, if the stack has it.

    ``registry`` (host and path) is where its nodes pull from. ``accounts`` are service accounts (``namespace/name``)
    whose pods are somebody in the cloud if they carry ``account_labels``. ``volume_namespace`` has the claim
    ``SHARED_CLAIM``; ``queued`` are namespaces with a queue. ``log_command`` prints the logs of deleted pods, with
    ``region``, ``cluster``, ``namespace`` and ``pods`` (a regular expression) in braces; ``log_setting`` is the part of
    the stack file that would save them in the cloud, if it does not. ``project`` is the stack's Pulumi project, where
    the cluster is somebody else's.
    """

    stack: str
    cloud: str
    region: str
    cluster: str
    pools: tuple[PoolOffer, ...]
    registry: str | None = None
    accounts: tuple[str, ...] = ()
    account_labels: Mapping[str, str] = field(default_factory=dict)
    checkpoints: CheckpointsOffer | None = None
    teams: tuple[TeamOffer, ...] = ()
    volume_namespace: str | None = None
    queued: tuple[str, ...] = ()
    log_command: str | None = None
    log_setting: str | None = None
    project: str | None = None


_IF_ANY: Final = tuple(Offer.__dataclass_fields__)[6:]
"""Fields that are left out when empty: all behind ``registry``."""


def pool_offer(pool: Pool, *, idle_minutes: int | None, **known: Any) -> PoolOffer:
    """The offer of a declared pool whose idle nodes go after ``idle_minutes``; ``known`` are the offer's own fields."""
    own = {"allocatable_gpus": pool.gpus.allocatable, "gpus_per_pod": gpus_per_pod(pool), **known}
    scaling = replace(pool.scaling, unneeded_minutes=idle_minutes)
    return PoolOffer(name=pool.name, nodes=pool.nodes, scaling=scaling, gpus=pool.gpus, **own)


def limited_to(pool: PoolOffer, max_nodes: int) -> PoolOffer:
    """The pool with another maximum."""
    return replace(pool, scaling=replace(pool.scaling, max_nodes=max_nodes))


def to_config_map(offer: Offer) -> dict[str, Any]:
    """The manifest that publishes the offer."""
    written = {name: value for name, value in asdict(offer).items() if value or name not in _IF_ANY}
    written["pools"] = [written_pool(pool) for pool in offer.pools]
    data = {KEY: json.dumps({"schema": SCHEMA, **written}, indent=1)}
    return manifest("v1", "ConfigMap", CONFIG_MAP, NAMESPACE, data=data)


def written_pool(pool: PoolOffer) -> dict[str, Any]:
    """The pool as it is published."""
    values = asdict(pool)
    values["scaling"]["spot"] = pool.scaling.spot
    return {key: at(values, *path.split(".")) for key, path in _PUBLISHED.items()}


def from_config_map(config_map: Mapping[str, Any]) -> Offer:
    """The offer that a ConfigMap publishes.

    Raises:
        OfferError: it is of a schema that is too old or too new, or no offer at all.
    """
    where = f"ConfigMap {NAMESPACE}/{CONFIG_MAP}"
    unreadable = f"{where} has no readable {KEY}; run `pulumi up` to write it anew"
    try:
        written = json.loads(config_map["data"][KEY])
        newer = int(written["schema"]) - SCHEMA
    except (KeyError, TypeError, ValueError) as error:
        raise OfferError(unreadable) from error
    update = f"update {'this command' if newer > 0 else 'the program of the cluster'}"
    if abs(newer) > 1:
        schemas = f"{SCHEMA - 1} to {SCHEMA + 1}"
        raise OfferError(f"{where} is of schema {SCHEMA + newer}, this command reads {schemas}; {update}")
    try:
        return _offer(written)
    except (AttributeError, KeyError, TypeError) as error:
        lacking = f"{where} is of schema {SCHEMA + newer} and lacks what this command needs; {update}"
        raise OfferError(lacking if newer else unreadable) from error


def _offer(written: Mapping[str, Any]) -> Offer:
    pools = tuple(read_pool(each) for each in written["pools"])
    bucket = written.get("checkpoints")
    return Offer(
        pools=pools,
        accounts=tuple(written.get("accounts") or ()),
        queued=tuple(written.get("queued") or ()),
        checkpoints=CheckpointsOffer(**_known(CheckpointsOffer, bucket)) if bucket else None,
        teams=tuple(TeamOffer(**_known(TeamOffer, each)) for each in written.get("teams") or ()),
        **_known(Offer, written, "pools", "accounts", "checkpoints", "teams", "queued"),
    )


def read_pool(written: Mapping[str, Any]) -> PoolOffer:
    """The pool that is published so; fields of a newer program are ignored."""
    if "rung" in written:  # the name of capacity_type in schema 1
        written = {"capacity_type": written["rung"], **written}
    values: dict[str, Any] = {}
    for key, path in _PUBLISHED.items():
        *parents, name = path.split(".")
        holder = values
        for parent in parents:
            holder = holder.setdefault(parent, {})
        if key in written:
            holder[name] = written[key]
    nodes, scaling, gpus = (values.pop(part) for part in ("nodes", "scaling", "gpus"))
    nodes |= {name: tuple(nodes.get(name) or ()) for name in ("machine_types", "zones", "teams")}
    nodes["taints"] = tuple(Taint(**_known(Taint, taint)) for taint in nodes["taints"])
    nodes["fabric"] = Fabric(**_known(Fabric, nodes["fabric"])) if nodes.get("fabric") else None
    days = [day for day in scaling["block"].values() if day]
    scaling["block"] = Block(**scaling["block"]) if len(days) == len(fields(Block)) else None
    # Before pools had a capacity type they were spot or not.
    scaling = {"capacity_type": "spot" if scaling.pop("spot", False) else "on-demand", **scaling}
    gpus["resource"] = resource_of(gpus["type"])
    return PoolOffer(nodes=Nodes(**nodes), scaling=Scaling(**scaling), gpus=Gpus(**gpus), **values)


def _known(kind: type, written: Mapping[str, Any], *read: str) -> dict[str, Any]:
    """The fields that this version knows: a newer program may have added some."""
    return {name: written[name] for name in kind.__dataclass_fields__ if name in written and name not in read}
