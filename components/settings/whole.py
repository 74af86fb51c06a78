"""Checks that need more than one part of the file: room for all nodes, the budget, reservations."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from components import catalog
from components.settings.problems import Problem
from components.settings.settings import Settings
from components.settings.syntax import network


def settings_problems(settings: Settings) -> list[Problem]:
    """What is wrong with a file whose keys are all valid by themselves."""
    return [*_admin_maximum(settings), *_room(settings), *_budget(settings), *_reservations(settings)]


def _admin_maximum(settings: Settings) -> Iterator[Problem]:
    admin = settings.admin_pool_spec
    if admin.max_nodes is not None and admin.max_nodes < admin.total_nodes:
        yield Problem(
            "adminPool.maxNodes",
            f"{admin.max_nodes} is below the {admin.total_nodes} nodes that are always there "
            f"({admin.nodes} in each of {len(admin.zones)} zones)",
            f"Write {admin.total_nodes} or more",
        )


def _room(settings: Settings) -> Iterator[Problem]:
    known, nodes = catalog.of(settings.cloud), settings.max_nodes
    per_node, kept = known.pod_addresses_per_node(), known.kept_addresses()
    own = network(settings.network.node_cidr)
    if settings.network.pod_cidr is None:
        yield from _too_small("network.nodeCidr", own, nodes, per_node, kept, "")
        return
    pods = network(settings.network.pod_cidr)
    yield from _too_small("network.podCidr", pods, nodes, per_node, 0, "the pods of ")
    yield from _too_small("network.nodeCidr", own, nodes, 1, kept, "")


def _too_small(path: str, given: IPv4Network, nodes: int, each: int, kept: int, what: str) -> Iterator[Problem]:
    """A range whose addresses, ``each`` for every node, do not last for all pools at their maximum."""
    room = max(given.num_addresses - kept, 0) // each
    if room < nodes:
        addresses = f" ({each} addresses each)" if each > 1 else ""
        yield Problem(
            path,
            f"{given} has room for {what}{room} nodes{addresses}, the pools may grow to {nodes}",
            f"Write a range with prefix /{_prefix(nodes * each + kept)} or shorter, or lower maxNodes",
        )


def _prefix(addresses: int) -> int:
    """The longest prefix of a range with that many addresses."""
    return 32 - (addresses - 1).bit_length()


def _budget(settings: Settings) -> Iterator[Problem]:
    limit = settings.budget_hourly_usd
    if limit is None:
        return
    if settings.cost_max_hourly is None:
        yield Problem(
            "budget.maxHourlyUsd",
            f"cannot be checked: the price of {', '.join(settings.unpriced)} in {settings.region} is not known",
            "Remove the budget, or use a machine and a region with a known price",
        )
    elif settings.cost_max_hourly > limit:
        yield Problem(
            "budget.maxHourlyUsd",
            f"at their maximum all pools cost {settings.cost_max_hourly:.2f} USD an hour (list price)",
            "Lower maxNodes, use spot, or raise the budget",
        )


def _reservations(settings: Settings) -> Iterator[Problem]:
    """A reservation belongs to one pool size, or two pools would compete for it."""
    users: dict[str, str] = {}
    for pool in settings.gpu_pool_specs:
        if pool.reservation is None:
            continue
        if pool.reservation in users:
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"'{users[pool.reservation]}' and '{pool.name}' use the same reservation '{pool.reservation}'",
                "Give each size a reservation of its own: a reservation holds machines of one type",
            )
        users[pool.reservation] = pool.name
