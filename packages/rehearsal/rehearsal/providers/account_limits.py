"""Limits of an account, read from a file. Without a file quota is unlimited and every permission is granted.

quotas: {PREEMPTIBLE_NVIDIA_T4_GPUS: 1}    # by the names of `make quota`; a quota that is not named is unlimited
reservations: {my-reservation: 2}          # name → machines; with this key, no others exist
keys: []                                   # the keys that exist; without this, any key exists
missingRights: [container.clusters.create] # permissions that the user lacks, by the cloud's names
policies: [non-cmek-services]              # what policies of the organization deny (``POLICIES``)

Pools get machines as far as the account has quotas and reservations for them; else a pool says why, as its cloud does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from facts.concepts.kubernetes import resource_of
from facts.concepts.parts import NO_GPUS, Gpus, Nodes, Scaling, Upgrade
from facts.concepts.pool import SIZE_KEY, Pool
from rehearsal.providers.base import ProviderError
from rehearsal.simulation import Fleet, SimulatedNodeGroup

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog

POLICIES: Final = ("non-cmek-services", "private-dns-zones", "public-data")
"""What an organization's policies may deny: stored data without a customer's key (Google), private DNS zones outside of
its hub, and registries and storage accounts with public endpoints (Azure)."""


class AccountFileError(Exception):
    """The file cannot be used; the message says where and what to write instead."""


@dataclass(frozen=True)
class AccountLimits:
    """``quotas``: name → limit. ``reservations``: name → machines. ``missing_rights`` may end in ``*``; ``policies``
    are of ``POLICIES``."""

    quotas: Mapping[str, int] = field(default_factory=dict)
    reservations: Mapping[str, int] | None = None
    keys: tuple[str, ...] | None = None
    missing_rights: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    def may(self, right: str) -> bool:
        """Whether the user has a permission; case does not matter."""
        return not any(fnmatchcase(right.lower(), missing.lower()) for missing in self.missing_rights)

    def has_key(self, key: str) -> bool:
        """Whether the key exists, or the key whose version this is."""
        return self.keys is None or any(key == each or key.startswith(f"{each}/") for each in self.keys)


UNLIMITED: Final = AccountLimits()


@dataclass(frozen=True)
class Shortage:
    """A quota that is too small: ``limit`` of ``name`` in ``region``, ``used`` by others, ``needed`` more."""

    name: str
    region: str
    limit: int
    used: int
    needed: int
    spot: bool


@dataclass(frozen=True)
class Refusals:
    """A cloud's messages: for an autoscaler that gets no node; for a pool without its first nodes (``at_once``)."""

    quota: Callable[[Shortage], str]
    at_once: Callable[[Shortage], str]
    no_reservation: Callable[[str], str]
    full_reservation: Callable[[str], str]


def read(file: Path, quotas: Sequence[str] | None = None) -> AccountLimits:
    """Read a file. ``quotas``: the names that the stack counts against, to check the file's names.

    Raises AccountFileError: the file cannot be read, or says something else.
    """
    try:
        content = yaml.safe_load(file.read_text()) or {}
    except OSError as error:
        remedy = "write a file as packages/rehearsal/docs/account.md shows"
        raise AccountFileError(f"{file}: {error.strerror}; {remedy}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise AccountFileError(f"{file}: {error}") from error
    known = ("quotas", "reservations", "keys", "missingRights", "policies")
    if not isinstance(content, dict) or set(content) - set(known):
        raise AccountFileError(f"{file}: the only keys are {', '.join(known)}")
    limits = _counts(file, "quotas", content.get("quotas") or {})
    if quotas is not None and (unknown := sorted(set(limits) - set(quotas))):
        raise AccountFileError(
            f"{file}: quotas: the stack does not count against {unknown[0]!r}; write any of {', '.join(quotas)}"
        )
    policies = _names(file, "policies", content.get("policies") or [])
    if others := set(policies) - set(POLICIES):
        raise AccountFileError(f"{file}: policies: {min(others)!r} is none of {', '.join(POLICIES)}")
    reservations = content.get("reservations")
    return AccountLimits(
        quotas=limits,
        reservations=None if reservations is None else _counts(file, "reservations", reservations),
        keys=None if content.get("keys") is None else _names(file, "keys", content["keys"]),
        missing_rights=_names(file, "missingRights", content.get("missingRights") or []),
        policies=policies,
    )


def _counts(file: Path, key: str, value: Any) -> dict[str, int]:
    if isinstance(value, dict) and all(type(each) is int and each >= 0 for each in value.values()):
        return {str(name): each for name, each in value.items()}
    raise AccountFileError(f"{file}: {key}: write each name with a whole number, such as {{name: 2}}")


def _names(file: Path, key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise AccountFileError(f"{file}: {key}: write a list of names, such as [name]")


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
        most, why = group.scaling.max_nodes * (len(group.nodes.zones) if group.per_zone else 1), ""
        for shortage, room in self._quotas(group, always):
            if room < always:
                raise ProviderError(self._refusals.at_once(shortage))
            if room < most:
                most, why = room, self._refusals.quota(shortage)
        if group.scaling.reservation and self._account_limits.reservations is not None:
            reserved = self._account_limits.reservations.get(group.scaling.reservation, 0)
            missing = group.scaling.reservation not in self._account_limits.reservations
            words = self._refusals.no_reservation if missing else self._refusals.full_reservation
            if reserved < most:
                most, why = reserved, words(group.scaling.reservation)
        if not why or not group.scaling.autoscaled:
            return group
        if most <= always:
            return group.not_scaled(why)
        return replace(group, scaling=replace(group.scaling, max_nodes=most), per_zone=False)

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
                yield Shortage(name, region, limit, used, count, group.scaling.spot), max(0, limit - used) // count

    def _per_node(self, group: SimulatedNodeGroup) -> dict[str, int]:
        """Quota → what a node counts for. Of two that can count for spot, the account has the one that it names."""
        pool = self._as_pool(group)
        usage = {}
        for quota in self._catalog.account.quotas(self._region(group), [pool], 0):
            name = quota.instead if quota.instead in self._account_limits.quotas else quota.name
            if quota.pools:
                usage[quota.name if quota.name in self._account_limits.quotas else name] = quota.needed
        return usage

    def _as_pool(self, group: SimulatedNodeGroup) -> Pool:
        machine = group.machine
        gpus = NO_GPUS
        if machine.gpus:
            called = (
                gpu for gpu, known in self._catalog.machines.accelerators.items() if known.name == machine.gpu_name
            )
            # Shares are no GPUs, and quotas count GPUs.
            whole = int(group.nodes.labels.get(SIZE_KEY) or machine.gpus)
            gpu = next(called, machine.gpu_name)
            gpus = Gpus(type=gpu, accelerator=machine.gpu_name, per_node=whole, resource=resource_of(gpu))
        nodes: Nodes = Nodes(
            machine_types=group.nodes.machine_types,
            zones=group.nodes.zones,
            labels={},
            image="cos",
            disk_gb=max(1, machine.disk_mib // 1024),
            # The nodes that an upgrade adds are not of this group.
            upgrade=Upgrade(max_surge=0),
        )
        flex_start_cpus = group.scaling.capacity_type == "flex-start" and not machine.gpus
        capacity_type = "on-demand" if flex_start_cpus else group.scaling.capacity_type
        scaling: Scaling = Scaling(max_nodes=1, capacity_type=capacity_type)
        return Pool(name=group.name, role="gpu" if machine.gpus else "cpu", nodes=nodes, scaling=scaling, gpus=gpus)

    def _region(self, group: SimulatedNodeGroup) -> str:
        regions = (region for region, zones in self._catalog.regions.items() if set(zones) & set(group.nodes.zones))
        return next(regions, group.nodes.zones[0] if group.nodes.zones else "")
