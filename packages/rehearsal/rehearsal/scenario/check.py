"""The result of a check, and the declarations that it compares with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from facts import catalog
from facts.catalog.model import Machine, Resources
from facts.concepts.offer import Offer, PoolOffer, pool_offer
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components.settings import Settings

NOT_REACHED: Final = "the scenario ended before this check"


@dataclass(frozen=True)
class Check:
    """One assertion; ``detail`` is the observation and, if it failed, the reason in the verdict."""

    id: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Pools:
    """The pools that the stack declares on its ``cloud``.

    On a cluster of others ``admin`` is ``None``. ``storage``: pool → MiB of ephemeral storage on its nodes, where
    known; ``memory``: machine type → MiB for pods, by which jobs are planned. ``room``: GPU pool → what its nodes leave
    for pods, where known, of the largest type. ``in_groups``: the cloud has a group of machines for each of them, and
    resizes it itself.
    """

    gpu: tuple[Pool, ...]
    cpu: tuple[Pool, ...]
    admin: Pool | None
    storage: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    room: Mapping[str, Resources] = field(default_factory=dict)
    in_groups: bool = False
    cloud: str = ""

    @property
    def all(self) -> tuple[Pool, ...]:
        """Every pool, the admin pool first."""
        return (*(() if self.admin is None else (self.admin,)), *self.cpu, *self.gpu)

    @property
    def maxima(self) -> dict[str, int]:
        """Pool → its maximum number of nodes, in the same order."""
        return {p.name: p.scaling.max_nodes for p in self.all}


def pools_of(settings: Settings) -> Pools:
    """The pools of a stack. An autoscaler in the cluster says, and only after a while, what a group of the cloud is."""
    managed = settings.autoscaler == "managed"
    return groups_of(settings) if managed else _pools(settings)


def groups_of(settings: Settings) -> Pools:
    """The pools of a stack as groups of the cloud: with what they are once their autoscaler has decided about them."""
    pools = _pools(settings)
    known = catalog.of(settings.cloud)
    usable = known.nodes.disk_mib or (lambda _, size: 1024 * size)
    machines = {known.machines.get(name) for pool in pools.all for name in pool.nodes.machine_types}
    return replace(
        pools,
        storage={pool.name: usable(pool.nodes.image, pool.nodes.disk_gb) for pool in pools.all},
        memory={
            machine.type: known.nodes.allocatable(machine).memory_mib for machine in machines if machine is not None
        },
        in_groups=True,
    )


def offer_of(settings: Settings) -> Offer:
    """What the stack's users should read of its pools. CPU and memory are those of a node without its system pods."""
    known = catalog.of(settings.cloud)
    command = known.log_command and known.log_command.replace("{project}", settings.project or "")
    logs = known.log_addon is None or known.log_addon in settings.addons
    return Offer(
        stack=settings.stack,
        cloud=settings.cloud,
        region=settings.region,
        cluster=settings.cluster_name,
        pools=tuple(_pool_offer(settings, pool) for pool in settings.gpu_pools),
        log_command=command if settings.existing_cluster is None and logs else None,
    )


def _pool_offer(settings: Settings, pool: Pool) -> PoolOffer:
    known = catalog.of(settings.cloud)
    machines = _machines(settings, pool)
    free = [known.nodes.offered(machine, settings.autoscaler) for machine in machines]
    return pool_offer(
        pool,
        milli_cpu=min((each.milli_cpu for each in free), default=None),
        memory_mib=min((each.memory_mib for each in free), default=None),
        disk_mib=known.nodes.disk_mib and known.nodes.disk_mib(pool.nodes.image, pool.nodes.disk_gb),
        idle_minutes=settings.idle_minutes_of(pool),
        notice_seconds=known.nodes.spot_notice_seconds if pool.scaling.spot else None,
        rdma_devices=max((each.rdma_devices for each in machines[:1]), default=0),
        compared=known.nodes.recorded.issuperset(pool.nodes.machine_types) if machines else None,
    )


def _machines(settings: Settings, pool: Pool) -> list[Machine]:
    """Those of its types that the catalogue has."""
    known = catalog.of(settings.cloud).machines
    return [machine for name in pool.nodes.machine_types if (machine := known.get(name)) is not None]


def _pools(settings: Settings) -> Pools:
    nodes, room = catalog.of(settings.cloud).nodes, dict[str, Resources]()
    for pool in settings.gpu_pools:
        machines = _machines(settings, pool)
        if len(machines) == len(pool.nodes.machine_types):
            most = [nodes.most(machine) for machine in machines]
            room[pool.name] = Resources(
                milli_cpu=max(each.milli_cpu for each in most), memory_mib=max(each.memory_mib for each in most)
            )
    admin = None if settings.existing_cluster is not None else settings.admin_pool
    return Pools(settings.gpu_pools, settings.cpu_pools, admin, room=room, cloud=settings.cloud)
