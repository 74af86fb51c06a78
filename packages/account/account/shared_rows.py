"""Rows that the accounts of all clouds answer: what is needed, what is there, and the cloud's command that mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Final

from account.rows import ShownRow
from components.settings import Settings
from facts.catalog.model import Quota
from facts.concepts.pool import Pool

_NAMED: Final = 8


def machine_rows(
    settings: Settings, offered: Mapping[str, set[str]], notes: Mapping[str, str] | None = None
) -> Iterator[ShownRow]:
    """A row for each pool. ``offered``: machine type → the zones that have it. ``notes``: machine type → what the cloud
    says of it beside that."""
    named = {type: f"{type} ({note})" for type, note in (notes or {}).items()}
    for pool in _made(settings):
        row = {"id": f"machine:{pool.name}", "title": f"machines of pool {pool.name} are offered in its zones"}
        lacking = [
            f"{named.get(type, type)} is not offered in {zone}, but in {_listed(offered[type])}"
            for type in pool.nodes.machine_types
            for zone in pool.nodes.zones
            if zone not in offered[type]
        ]
        if lacking:
            where = f"`{pool.declared_at}.zones`" if pool.declared_at else "`zones`"
            remedy = f"write other zones in {where}, or another machine type"
            yield ShownRow(**row, result="failed", detail="; ".join(lacking), remedy=remedy)
        else:
            types = ", ".join(named.get(type, type) for type in pool.nodes.machine_types)
            yield ShownRow(**row, result="shown", detail=f"{types} in {', '.join(pool.nodes.zones)}")


def _listed(zones: set[str]) -> str:
    return ", ".join(sorted(zones)) or "no zone here"


def machine_types(settings: Settings) -> list[str]:
    """The machine types of all pools that the stack makes, sorted."""
    return sorted({type for pool in _made(settings) for type in pool.nodes.machine_types})


def _made(settings: Settings) -> tuple[Pool, ...]:
    """The pools that the stack makes."""
    return (*(() if settings.existing_cluster else (settings.admin_pool,)), *settings.pools)


def reservations(settings: Settings) -> list[str]:
    """The reservations that its GPU pools name, sorted."""
    return sorted({str(pool.scaling.reservation) for pool in settings.gpu_pools if pool.scaling.reservation})


def quota_title(quota: Quota) -> str:
    """The title of a quota's row."""
    return f"quota {quota.name} is enough"


def quota_row(quota: Quota, limit: float, remedy: str, used: float | None = None) -> ShownRow:
    """``limit``: the account's, in the unit that the stack counts. ``used``: by anything, ``None`` if nobody said."""
    users = ", ".join(quota.pools) or "the cluster"
    row = {"id": f"quota:{quota.name}", "title": quota_title(quota)}
    usage = "other usage is not counted" if used is None else f"{used:g} in use now"
    detail = f"limit {limit:g} {quota.unit}, needed {quota.needed} for {users}; {usage}"
    if limit < quota.needed:
        return ShownRow(**row, result="failed", detail=detail, remedy=remedy)
    if used is not None and limit - used < quota.needed:
        return ShownRow(**row, result="warning", detail=detail, remedy=f"unless this stack is what uses it: {remedy}")
    return ShownRow(**row, result="shown", detail=detail)


def rights_row(
    row: Mapping[str, str], needed: Mapping[str, Sequence[str]], missing: Sequence[str], checked: str, remedy: str
) -> ShownRow:
    """``row``: id and title. ``needed``: right → types. ``checked``: how it was asked."""
    if not missing:
        return ShownRow(**row, result="shown", detail=f"{len(needed)} {checked}")
    named = [f"{right} ({', '.join(map(_short, needed[right][:2]))})" for right in missing[:_NAMED]]
    first, more = "; ".join(named), f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return ShownRow(**row, result="failed", detail=f"{len(missing)} are missing: {first}{more}", remedy=remedy)


def _short(type: str) -> str:
    return type.rpartition(":")[2]


def overlap_row(settings: Settings, others: Iterable[tuple[str, str]], compared: str) -> ShownRow:
    """``others``: name and range of networks that are not this stack's. ``compared``: which these are."""
    cidr = settings.network.node_cidr
    row = {"id": "network", "title": f"nodeCidr {cidr} overlaps with no other network"}
    overlapping = [f"{name} ({each})" for name, each in others if ip_network(each).overlaps(ip_network(cidr))]
    if not overlapping:
        return ShownRow(**row, result="shown", detail=f"compared with {compared}")
    detail = f"overlaps with {', '.join(overlapping)}, so these networks can never be connected"
    remedy = "write another `network.nodeCidr` before the first update, or leave it"
    return ShownRow(**row, result="warning", detail=detail, remedy=remedy)
