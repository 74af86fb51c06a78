"""Machines as far as the account has quotas and reservations for them; else a pool says why, as its cloud does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from facts.concepts.pool import SIZE_KEY, FlexStart, Pool, PoolGpus, Upgrade
from rehearsal.providers.account_limits import AccountLimits, Refusals, Shortage
from rehearsal.providers.base import ProviderError
from rehearsal.simulation import Fleet, SimulatedNodeGroup

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog


class LimitedFleet:
    """A ``Fleet`` in front of another.

    Quotas that several pools share are counted with the nodes that the others always have, not with those that come and
    go. Karpenter's instances are not limited here: their capacity is in ``eks/base/supply.py``.
    """

    def __init__(self, fleet: Fleet, account_limits: AccountLimits, catalog: CloudCatalog, refusals: Refusals) -> None:
        self._fleet, self._account_limits, self._catalog, self._refusals = fleet, account_limits, catalog, refusals
        self._permanent: dict[str, dict[str, int]] = {}
        self._lock: Final = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fleet, name)

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        """Create or change a group; raises the cloud's error if there is no quota for the nodes that it starts with."""
        self._fleet.apply_group(self.limited(group))

    def delete_group(self, cluster: str, name: str) -> None:
        """Remove a group, which then needs nothing any more."""
        self._fleet.delete_group(cluster, name)
        with self._lock:
            self._permanent.pop(name, None)

    def limited(self, group: SimulatedNodeGroup) -> SimulatedNodeGroup:
        """The group with the maximum that the account allows, or with the reason why it gets no node."""
        always = sum(group.permanent().values())
        most, why = group.max_nodes * (len(group.zones) if group.per_zone else 1), ""
        for shortage, room in self._quotas(group, always):
            if room < always:
                raise ProviderError(self._refusals.at_once(shortage))
            if room < most:
                most, why = room, self._refusals.quota(shortage)
        if group.reservation and self._account_limits.reservations is not None:
            reserved = self._account_limits.reservations.get(group.reservation, 0)
            missing = group.reservation not in self._account_limits.reservations
            words = self._refusals.no_reservation if missing else self._refusals.full_reservation
            if reserved < most:
                most, why = reserved, words(group.reservation)
        if not why or not group.autoscaled:
            return group
        if most <= always:
            return replace(group, autoscaled=False, not_scaled_because=why)
        return replace(group, max_nodes=most, per_zone=False)

    def _quotas(self, group: SimulatedNodeGroup, always: int) -> Iterator[tuple[Shortage, int]]:
        """Each quota that the group counts against, if the account has a limit of it, and how many nodes it allows."""
        each = self._per_node(group) if self._account_limits.quotas else {}
        with self._lock:
            self._permanent[group.name] = {name: count * always for name, count in each.items()}
            others = [used for name, used in self._permanent.items() if name != group.name]
        for name, count in each.items():
            limit = self._account_limits.quotas.get(name)
            if limit is not None:
                used = sum(other.get(name, 0) for other in others)
                region = self._region(group)
                yield Shortage(name, region, limit, used, count, group.spot), max(0, limit - used) // count

    def _per_node(self, group: SimulatedNodeGroup) -> dict[str, int]:
        """Quota → what a node counts for. Of two that can count for spot, the account has the one that it names."""
        pool = self._as_pool(group)
        usage = {}
        for quota in self._catalog.quotas(self._region(group), [pool], 0):
            name = quota.instead if quota.instead in self._account_limits.quotas else quota.name
            if quota.pools:
                usage[quota.name if quota.name in self._account_limits.quotas else name] = quota.needed
        return usage

    def _as_pool(self, group: SimulatedNodeGroup) -> Pool:
        machine = group.machine
        gpus = None
        if machine.gpus:
            called = (gpu for gpu, known in self._catalog.accelerators.items() if known.name == machine.gpu_name)
            # Shares are no GPUs, and quotas count GPUs.
            whole = int(group.labels.get(SIZE_KEY) or machine.gpus)
            gpus = PoolGpus(
                type=next(called, machine.gpu_name),
                accelerator=machine.gpu_name,
                per_node=whole,
                flex_start=FlexStart(max_run_hours=1) if group.flex_start else None,
            )
        return Pool(
            name=group.name,
            role="gpu" if gpus else "cpu",
            machine_types=(machine.type,),
            image="cos",
            disk_gb=max(1, machine.disk_mib // 1024),
            gpu_part=gpus,
            max_nodes=1,
            # The nodes that an upgrade adds are not of this group.
            upgrade=Upgrade(max_surge=0),
            spot=group.spot,
            zones=group.zones,
            labels={},
        )

    def _region(self, group: SimulatedNodeGroup) -> str:
        regions = (region for region, zones in self._catalog.regions.items() if set(zones) & set(group.zones))
        return next(regions, group.zones[0] if group.zones else "")
