"""Publishes the pool inventory in the cluster, for ``gpu`` and other clients: the API does not show empty pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

import pulumi

from components.clouds.base import Cloud, GpuDaemon, Subject
from components.cluster import PoolsCluster
from components.settings import Settings
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, RBAC, manifest, pod_requests, role_binding
from facts.concepts.offer import (
    CONFIG_MAP,
    NAMESPACE,
    PRIORITY_CLASSES,
    CheckpointsOffer,
    Offer,
    PoolOffer,
    TeamOffer,
    pool_offer,
    to_config_map,
)
from facts.concepts.pool import Pool

_MIB: Final = 1024 * 1024
_RESERVE: Final = Resources(milli_cpu=200, memory_mib=256)
"""Reserve on each node, in addition to the catalogue's requests of system pods: clouds publish no complete list of
these, and change them between versions. A pod that requests everything published must fit."""


@dataclass(frozen=True, kw_only=True)
class PublishedOfferArgs:
    """The GPU ``pools`` of ``cluster``; ``addresses`` of shared services for jobs, by key of ``workloads``.

    ``cluster_name``: that of a cluster that somebody else made, which may be known only at the update. ``taken``: pool
    → what its owner's DaemonSets request on each node."""

    cluster: PoolsCluster
    pools: Sequence[Pool]
    addresses: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    cluster_name: pulumi.Input[str] | None = None
    taken: pulumi.Output[Mapping[str, Resources]] | None = None


class PublishedOffer(pulumi.ComponentResource):
    """A ConfigMap (``facts/concepts/offer.py``) that every user of the cluster may read."""

    def __init__(self, name: str, args: PublishedOfferArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PublishedOffer", name, None, opts)
        settings, cloud, objects = args.cluster.settings, args.cluster.cloud, args.cluster.objects
        daemons = daemons_of(cloud, settings, args.pools)

        def config_map(
            addresses: Mapping[str, str],
            cluster: str = settings.cluster_name,
            taken: Mapping[str, Resources] | None = None,
        ) -> dict[str, Any]:
            published = replace(offer(settings, args.pools, daemons, addresses, taken or {}), cluster=cluster)
            if settings.existing_cluster is not None:
                published = replace(published, project=pulumi.get_project(), log_command=None)
            return to_config_map(published)

        pools = config_map({})
        if args.addresses:
            pools["data"] = pulumi.Output.all(**args.addresses).apply(lambda known: config_map(known)["data"])
        elif args.cluster_name is not None:
            looked = pulumi.Output.all(args.cluster_name, args.taken)
            pools["data"] = looked.apply(lambda known: config_map({}, *known)["data"])
        objects.declare(f"{name}-pools", pools, self)
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CONFIG_MAP], "verbs": ["get"]}
        reader = manifest(f"{RBAC}/v1", "Role", CONFIG_MAP, NAMESPACE, rules=[rule])
        readers = [asdict(subject) for subject in _readers(cloud, settings)]
        binding = role_binding(CONFIG_MAP, {"kind": "Role", "name": CONFIG_MAP}, readers, NAMESPACE)
        role = objects.declare(f"{name}-reader", reader, self)
        objects.declare(f"{name}-readers", binding, self, role)
        self.register_outputs({"configMap": CONFIG_MAP, "namespace": NAMESPACE})


def daemons_of(cloud: Cloud, settings: Settings, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
    """The program's DaemonSets on GPU nodes."""
    exporters = cloud.gpu_exporters(pools) if settings.workloads.monitoring is not None else ()
    return (*cloud.gpu_daemons(pools), *exporters)


def queued(settings: Settings) -> tuple[str, ...]:
    """Namespaces with a queue: the default one and the teams'; empty without a queue."""
    return (DEFAULT_NAMESPACE, *(team.name for team in settings.teams)) if settings.workloads.queue is not None else ()


def offer(
    settings: Settings,
    pools: Sequence[Pool],
    daemons: Sequence[GpuDaemon],
    addresses: Mapping[str, str],
    taken: Mapping[str, Resources] | None = None,
) -> Offer:
    """The stack's pool inventory; ``daemons`` reserve resources on each node, and others what is ``taken``, by pool."""
    checkpoints, volume = settings.workloads.checkpoints, settings.workloads.shared_volume
    accounts = dict.fromkeys(
        (
            *(each.service_account for each in settings.identities),
            *((checkpoints.service_account,) if checkpoints else ()),
        )
    )
    return Offer(
        stack=settings.stack,
        cloud=settings.cloud,
        region=settings.region,
        cluster=settings.cluster_name,
        pools=tuple(_pool(settings, pool, daemons, (taken or {}).get(pool.name)) for pool in pools),
        registry=addresses.get("registry"),
        accounts=tuple(accounts),
        account_labels=catalog.of(settings.cloud).labels.account if accounts else {},
        checkpoints=CheckpointsOffer(url=addresses["checkpoints"], service_account=checkpoints.service_account)
        if checkpoints is not None and "checkpoints" in addresses
        else None,
        teams=tuple(
            TeamOffer(name=team.name, gpus=team.gpus, priority_class=PRIORITY_CLASSES.get(team.priority))
            for team in settings.teams
        ),
        volume_namespace=volume.namespace if volume is not None else None,
        queued=queued(settings),
        **_logs(settings),
    )


def _logs(settings: Settings) -> dict[str, str | None]:
    """How users find the logs of deleted pods in the cloud, or which setting would save them."""
    known = catalog.of(settings.cloud)
    if known.log_addon is None or known.log_addon in settings.addons:
        command = known.log_command
        return {"log_command": command and command.replace("{project}", settings.project or "")}
    return {"log_setting": f"addons: [{known.log_addon}]"}


def _pool(settings: Settings, pool: Pool, daemons: Sequence[GpuDaemon], taken: Resources | None) -> PoolOffer:
    known = catalog.of(settings.cloud)
    requested = [requests_of(daemon.pod) for daemon in daemons if pool in daemon.pools]
    free_per_pod = _free_per_pod(settings, pool, requested if taken is None else [*requested, taken])
    return pool_offer(
        pool,
        milli_cpu=None if free_per_pod is None else free_per_pod.milli_cpu,
        memory_mib=None if free_per_pod is None else free_per_pod.memory_mib,
        disk_mib=None if known.nodes.disk_mib is None else known.nodes.disk_mib(pool.nodes.image, pool.nodes.disk_gb),
        idle_minutes=settings.idle_minutes_of(pool),
        notice_seconds=known.nodes.spot_notice_seconds if pool.scaling.spot else None,
        ends=f"{block.last}T{known.nodes.block_ends}:00Z" if (block := pool.scaling.block) is not None else None,
        rdma_devices=machine.rdma_devices
        if (machine := known.machines.get(pool.nodes.machine_type)) is not None
        else 0,
        compared=None if free_per_pod is None else known.nodes.recorded.issuperset(pool.nodes.machine_types),
    )


def _free_per_pod(settings: Settings, pool: Pool, daemons: Sequence[Resources]) -> Resources | None:
    """What a pod can request on every machine type of the pool, without the system pods and what ``daemons`` request;
    ``None`` if unknown."""
    known = catalog.of(settings.cloud)
    machines = [known.machines.get(type) for type in pool.nodes.machine_types]
    free = [known.nodes.offered(machine, settings.autoscaler) for machine in machines if machine is not None]
    if not free or len(free) < len(machines):
        return None
    own = [pod for pod in (*known.nodes.system_pods, *known.nodes.pods_of(settings.addons)) if pod.per_node]
    volume = known.nodes.volume_pods if settings.workloads.shared_volume is not None else ()
    requested = [_RESERVE, *(pod.request for pod in (*own, *known.nodes.gpu_node_pods, *volume)), *daemons]
    if pool.nodes.image_streaming and known.nodes.streaming_mib is not None:
        taken = max(known.nodes.streaming_mib(machine) for machine in machines if machine is not None)
        requested.append(Resources(milli_cpu=0, memory_mib=taken))
    confidential = (known.nodes.confidential_mib(each, settings.raw, pool.raw) for each in machines if each is not None)
    requested.append(Resources(milli_cpu=0, memory_mib=max(confidential)))
    return Resources(
        milli_cpu=max(0, min(each.milli_cpu for each in free) - sum(each.milli_cpu for each in requested)),
        memory_mib=max(0, min(each.memory_mib for each in free) - sum(each.memory_mib for each in requested)),
    )


def requests_of(pod: Mapping[str, Any]) -> Resources:
    """A pod's requests: of all containers together, or of its largest init container."""
    amounts = {"cpu": Decimal(), "memory": Decimal(), **pod_requests(pod)}
    return Resources(milli_cpu=round(1000 * amounts["cpu"]), memory_mib=round(amounts["memory"] / _MIB))


def _readers(cloud: Cloud, settings: Settings) -> list[Subject]:
    """All users; where strangers are in that group, pods and the principals of ``access``. Principals whom the cloud
    itself permits to read ConfigMaps need no binding."""
    if not cloud.admits_strangers:
        return [Subject(kind="Group", name="system:authenticated")]
    return [Subject(kind="Group", name="system:serviceaccounts"), *map(cloud.subject, settings.access)]
