"""What the pools of a stack cost: list prices in US dollars an hour, without traffic and taxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from components.settings.sections.cluster import Kubernetes, Network
from components.settings.sections.workloads import Workloads
from facts.catalog import CloudCatalog, Machine
from facts.catalog.model import Price
from facts.catalog.prices import Prices
from facts.concepts.parts import reserved_beyond, reserved_once
from facts.concepts.pool import Pool

Counts = list[tuple[Pool, int]]
"""Pools, each with a number of nodes."""


def costs(
    prices: Prices, admin: Pool, pools: Sequence[Pool], *, fee: Price, gateways: int, standing: float
) -> tuple[float | None, float | None]:
    """The stack's costs with every autoscaled pool at its minimum, and with all pools at their maximum with the dearest
    machines that they mix; ``None`` if a price is not known. Pools of all capacity types and zones count, and reserved
    machines at all times.

    ``fee`` is that of the control plane, ``gateways`` the number of its own NAT gateways, and ``standing`` the hourly
    price of everything else that is permanent.
    """

    def fixed(counts: Counts) -> float:
        nodes = sum(count for _, count in counts)
        return fee.usd + standing + (prices.nat(nodes, gateways).usd if gateways else 0.0)

    return of_pools([admin, *pools], fixed)


def of_pools(
    pools: Sequence[Pool], fixed: Callable[[Counts], float] = lambda counts: 0.0
) -> tuple[float | None, float | None]:
    """The same of the pools alone, and of what is ``fixed`` beside so many nodes of them."""
    idle: Counts = [(pool, max(pool.scaling.min_nodes, reserved)) for pool, reserved in reserved_nodes(pools)]
    unused = reserved_beyond(pool.scaling for pool in pools)
    maximum: Counts = [(pool, pool.scaling.max_nodes + more) for pool, more in zip(pools, unused, strict=True)]
    return (
        _total(idle, fixed(idle), lambda pool: pool.nodes.hourly_usd),
        _total(maximum, fixed(maximum), lambda pool: pool.nodes.dearest_hourly_usd),
    )


def reserved_nodes(pools: Sequence[Pool]) -> Counts:
    """The pools with the reserved machines that are billed for them; those of a reservation of several pools once."""
    return list(zip(pools, reserved_once(pool.scaling for pool in pools), strict=True))


def of_own_machines(pools: Sequence[Pool]) -> tuple[float | None, float | None]:
    """The same of machines that are there: without and with the nodes that an autoscaler adds."""
    if any(pool.nodes.hourly_usd is None for pool in pools):
        return None, None
    nodes = [(pool.scaling.min_nodes, pool.scaling.max_nodes, pool.nodes.hourly_usd or 0.0) for pool in pools]
    return sum(least * usd for least, _, usd in nodes), sum(most * usd for _, most, usd in nodes)


def volumes_price(prices: Prices, region: str, sizes_gb: Sequence[int]) -> float:
    """Hourly price of permanent volumes, each at the price of a node's disk of its size; 0 where that is unknown."""
    disks = (prices.disk(region, size) for size in sizes_gb if size)
    return sum(price.usd for price in disks if price is not None)


def fees(
    known: CloudCatalog, region: str, kubernetes: Kubernetes, workloads: Workloads, network: Network
) -> dict[str, float]:
    """Hourly prices of what is billed even if unused, at most, by the key of the stack file that requests it."""
    volume, each = workloads.shared_volume, known.prices.volume
    asked = {
        "kubernetes.channel": kubernetes.channel == "extended",
        "workloads.registry": workloads.registry is not None,
        "workloads.sharedVolume": volume is not None,
        "network.privateEndpoint": network.private_endpoint,
        "network.existing": network.existing is not None,
    }
    usd_by_key = {key: price.usd for key, price in known.prices.fees.items() if asked[key]}
    if volume is not None and each is not None:
        gib = volume.size_gib or (known.choices.volume_gib or (0,))[0]
        usd = gib * each.usd * max(1.0, known.prices.most_above(region))
        usd_by_key["workloads.sharedVolume"] = usd_by_key.get("workloads.sharedVolume", 0.0) + usd
    return usd_by_key


@dataclass(frozen=True, kw_only=True)
class NodePrice:
    """The prices of a pool's nodes, as ``Nodes`` has them."""

    hourly_usd: float | None = None
    dearest_hourly_usd: float | None = None
    price_at_most: bool = False
    on_demand_usd: float | None = None


def node_price(
    known: CloudCatalog, region: str, machines: Sequence[Machine], disk_gb: int, *, spot: bool, own: float | None
) -> NodePrice:
    """The prices of a node of the first of the types that a pool mixes, and of the dearest, as all its nodes may be; or
    the pool's ``own`` price. A type that has a price in no region is not sold by the hour.
    """
    if own is not None:
        return NodePrice(hourly_usd=own, dearest_hourly_usd=own)
    first, *others = (known.prices.node(region, machine, disk_gb, spot=spot) for machine in machines)
    if first is None:
        return NodePrice()
    on_demand = known.prices.node(region, machines[0], disk_gb, spot=False) if spot else None
    prices = [first, *(price for price in others if price is not None)]
    return NodePrice(
        hourly_usd=first.usd,
        dearest_hourly_usd=max(price.usd for price in prices),
        price_at_most=any(price.at_most for price in prices),
        on_demand_usd=None if on_demand is None else on_demand.usd,
    )


def fee(known: CloudCatalog, version: str | None, day: date) -> Price:
    """The control plane's price on that day. ``version`` is the pinned Kubernetes version; ``None``: the cloud chooses,
    and upgrades before extended support."""
    extended = known.prices.extended_support
    return extended if extended is not None and known.choices.ended(version, day) else known.prices.control_plane


def _total(counts: Counts, fixed: float, price_of: Callable[[Pool], float | None]) -> float | None:
    total = fixed
    for pool, count in counts:
        price = price_of(pool)
        if count and price is None:
            return None
        total += count * (price or 0.0)
    return total
