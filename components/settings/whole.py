"""Checks that need more than one part of the file: names after expansion, room for all nodes, the budget."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping

from components import catalog
from components.pools import ADMIN_POOL_NAME
from components.settings.context import Context
from components.settings.problems import Problem
from components.settings.resolve import cpu_pool_names, pool_names
from components.settings.section import Capacity
from components.settings.settings import Settings
from components.settings.syntax import network

# Addresses of a subnetwork that the cloud keeps: network, gateway, second-to-last and broadcast.
# https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
_KEPT_ADDRESSES = 4


def name_problems(raw: Mapping[str, object], where: Context) -> list[Problem]:
    """Names of resulting pools, too long or there twice; from unchecked values, so that no other error hides them."""
    limit = where.catalog.max_name_length() if where.catalog else None
    taken: dict[str, str] = {ADMIN_POOL_NAME: "adminPool"}
    found: list[Problem] = []
    for path, names in (*_gpu_names(raw.get("gpuPools")), *_cpu_names(raw.get("cpuPools"))):
        clash = next((name for name in names if name in taken), None)
        if clash is not None:
            found.append(
                Problem(
                    path,
                    f"there would be two pools called '{clash}', here and from {taken[clash]}",
                    "Choose another name; every resulting pool needs its own",
                )
            )
        longest = max(names, key=len, default="")
        if limit is not None and len(longest) > limit:
            message = f"the resulting pool name '{longest}' has {len(longest)} characters, {where.cloud} allows {limit}"
            found.append(Problem(path, message, f"Shorten the name by {len(longest) - limit} or more"))
        taken |= {name: path.removesuffix(".name") for name in names}
    return found


def settings_problems(settings: Settings) -> list[Problem]:
    """What is wrong with a file whose keys are all valid by themselves."""
    return [*_room(settings), *_budget(settings), *_reservations(settings)]


def _gpu_names(pools: object) -> Iterator[tuple[str, list[str]]]:
    for index, pool in _entries(pools):
        sizes = pool.get("gpusPerNode", 1)
        sizes = [sizes] if isinstance(sizes, int) else sizes
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            yield f"gpuPools[{index}].name", pool_names(str(pool["name"]), dict.fromkeys(sizes), _capacity(pool))


def _cpu_names(pools: object) -> Iterator[tuple[str, list[str]]]:
    for index, pool in _entries(pools):
        yield f"cpuPools[{index}].name", cpu_pool_names(str(pool["name"]), _capacity(pool))


def _entries(pools: object) -> Iterator[tuple[int, Mapping[str, object]]]:
    for index, pool in enumerate(pools if isinstance(pools, list) else ()):
        if isinstance(pool, Mapping) and isinstance(pool.get("name"), str):
            yield index, pool


def _capacity(pool: Mapping[str, object]) -> Capacity:
    written = pool.get("capacity", "on-demand")
    return typing.cast(Capacity, written) if written in typing.get_args(Capacity) else "on-demand"


def _room(settings: Settings) -> Iterator[Problem]:
    per_node, nodes = catalog.of(settings.cloud).pod_addresses_per_node(), settings.max_nodes
    pods, own = network(settings.network.pod_cidr), network(settings.network.node_cidr)
    room = pods.num_addresses // per_node
    if room < nodes:
        yield Problem(
            "network.podCidr",
            f"{pods} has room for the pods of {room} nodes ({per_node} addresses each), the pools may grow to {nodes}",
            f"Write a range with prefix /{_prefix(nodes * per_node)} or shorter, or lower maxNodes",
        )
    room = own.num_addresses - _KEPT_ADDRESSES
    if room < nodes:
        yield Problem(
            "network.nodeCidr",
            f"{own} has room for {max(room, 0)} nodes, the pools may grow to {nodes}",
            f"Write a range with prefix /{_prefix(nodes + _KEPT_ADDRESSES)} or shorter, or lower maxNodes",
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
