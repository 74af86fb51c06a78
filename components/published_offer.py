"""Publishes in the cluster what its pools offer, for the command ``gpu`` and whoever else wants to know: an empty pool
shows nothing of itself in Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi

from components.clouds.base import Cloud, GpuDaemon
from components.cluster import Cluster
from components.settings import Settings
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, quantity
from facts.concepts.offer import (
    CONFIG_MAP,
    NAMESPACE,
    PRIORITY_CLASSES,
    CheckpointsOffer,
    Offer,
    PoolOffer,
    TeamOffer,
    to_config_map,
)
from facts.concepts.pool import Pool, gpus_per_pod

_RBAC: Final = "rbac.authorization.k8s.io"
_MIB: Final = 1024 * 1024
_KEPT_BACK: Final = Resources(milli_cpu=200, memory_mib=256)
"""Of each node, beside what the catalogue says that its own pods ask for: clouds publish no list of them, and change it
between versions. A pod that asks for all that is offered must fit."""


@dataclass(frozen=True, kw_only=True)
class PublishedOfferArgs:
    """The GPU ``pools`` of ``cluster``; ``addresses`` of what its jobs have beside them, by key of ``workloads``."""

    cluster: Cluster
    pools: Sequence[Pool]
    addresses: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)


class PublishedOffer(pulumi.ComponentResource):
    """A ConfigMap (``facts/concepts/offer.py``) that every authenticated user may read, and nothing beside it."""

    def __init__(self, name: str, args: PublishedOfferArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PublishedOffer", name, None, opts)
        settings, cloud, objects = args.cluster.settings, args.cluster.cloud, args.cluster.objects
        daemons = daemons_of(cloud, settings, args.pools)

        def config_map(addresses: Mapping[str, str]) -> dict[str, Any]:
            return to_config_map(offer(settings, args.pools, daemons, addresses))

        manifest = config_map({})
        if args.addresses:
            manifest["data"] = pulumi.Output.all(**args.addresses).apply(lambda known: config_map(known)["data"])
        objects.declare(f"{name}-pools", manifest, self)
        role = objects.declare(f"{name}-reader", _role(), self)
        objects.declare(f"{name}-readers", _binding(), self, role)
        self.register_outputs({"configMap": CONFIG_MAP, "namespace": NAMESPACE})


def daemons_of(cloud: Cloud, settings: Settings, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
    """Our pods on every GPU node."""
    exporters = cloud.gpu_exporters(pools) if settings.workloads.monitoring is not None else ()
    return (*cloud.gpu_daemons(pools), *exporters)


def queued(settings: Settings) -> tuple[str, ...]:
    """Namespaces whose jobs may wait in the queue, if there is one: everybody's, and those of the teams."""
    return (DEFAULT_NAMESPACE, *(team.name for team in settings.teams)) if settings.workloads.queue is not None else ()


def offer(
    settings: Settings, pools: Sequence[Pool], daemons: Sequence[GpuDaemon], addresses: Mapping[str, str]
) -> Offer:
    """What the stack's cluster offers; ``daemons`` are ours, and take their part of each node."""
    wanted, volume = settings.workloads.checkpoints, settings.workloads.shared_volume
    accounts = dict.fromkeys(
        (*(each.service_account for each in settings.identities), *((wanted.service_account,) if wanted else ()))
    )
    return Offer(
        stack=settings.stack,
        cloud=settings.cloud,
        region=settings.region,
        cluster=settings.cluster_name,
        pools=tuple(_pool(settings, pool, daemons) for pool in pools),
        registry=addresses.get("registry"),
        accounts=tuple(accounts),
        account_labels=catalog.of(settings.cloud).account_labels if accounts else {},
        checkpoints=CheckpointsOffer(url=addresses["checkpoints"], service_account=wanted.service_account)
        if wanted is not None and "checkpoints" in addresses
        else None,
        teams=tuple(
            TeamOffer(name=team.name, gpus=team.gpus, priority_class=PRIORITY_CLASSES.get(team.priority))
            for team in settings.teams
        ),
        volume_namespace=volume.namespace if volume is not None else None,
        queued=queued(settings),
    )


def _pool(settings: Settings, pool: Pool, daemons: Sequence[GpuDaemon]) -> PoolOffer:
    known = catalog.of(settings.cloud)
    room = _room(settings.cloud, pool, [daemon for daemon in daemons if pool in daemon.pools])
    return PoolOffer(
        name=pool.name,
        gpu=pool.gpus.type,
        gpus_per_node=pool.gpus_per_node,
        allocatable_gpus=pool.allocatable_gpus,
        gpus_per_pod=gpus_per_pod(pool),
        machine_types=pool.machine_types,
        zones=pool.zones,
        max_nodes=pool.max_nodes,
        spot=pool.spot,
        preference=pool.preference,
        milli_cpu=None if room is None else room.milli_cpu,
        memory_mib=None if room is None else room.memory_mib,
        disk_mib=None if known.disk_mib is None else known.disk_mib(pool.image, pool.disk_gb),
        hourly_usd=pool.hourly_usd,
        idle_minutes=settings.idle_minutes_of(pool),
        notice_seconds=known.spot_notice_seconds if pool.spot else None,
        rung=pool.capacity_type,
        max_run_hours=None if pool.gpus.flex_start is None else pool.gpus.flex_start.max_run_hours,
        since=None if pool.gpus.block is None else pool.gpus.block.first,
        until=None if pool.gpus.block is None else pool.gpus.block.last,
        labels=dict(pool.labels),
        taints=pool.taints,
    )


def _room(cloud: str, pool: Pool, daemons: Sequence[GpuDaemon]) -> Resources | None:
    """What a pod can ask for and be sure to fit: of several machine types the least, without the nodes' own pods."""
    known = catalog.of(cloud)
    machines = [known.machines.get(type) for type in pool.machine_types]
    free = [known.allocatable(machine) for machine in machines if machine is not None]
    if not free or len(free) < len(machines):
        return None
    own = [pod for pod in known.system_pods if pod.per_node]
    taken = [_KEPT_BACK, *(pod.request for pod in (*own, *known.gpu_node_pods))]
    taken += [_request(daemon.pod) for daemon in daemons]
    return Resources(
        milli_cpu=max(0, min(each.milli_cpu for each in free) - sum(each.milli_cpu for each in taken)),
        memory_mib=max(0, min(each.memory_mib for each in free) - sum(each.memory_mib for each in taken)),
    )


def _request(pod: Any) -> Resources:
    """What a pod asks for: its containers together, or its largest init container."""

    def amounts(containers: str, resource: str) -> Iterator[float]:
        for container in pod.get(containers, ()):
            yield float(quantity(container.get("resources", {}).get("requests", {}).get(resource, "0")))

    def most(resource: str) -> float:
        return max(sum(amounts("containers", resource)), *amounts("initContainers", resource), 0.0)

    return Resources(milli_cpu=round(1000 * most("cpu")), memory_mib=round(most("memory") / _MIB))


def _role() -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CONFIG_MAP], "verbs": ["get"]}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
        "rules": [rule],
    }


def _binding() -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": CONFIG_MAP},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": "system:authenticated"}],
    }
