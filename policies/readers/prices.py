"""List prices of node groups, from the catalogue: that of the most expensive machine that a group may use.

A missing spot price is replaced by the on-demand price, which is higher. Boot disks are left out where the cloud's
reader does not price its nodes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN


def priced(group: NodeGroup, clusters: Sequence[Cluster]) -> NodeGroup:
    """The group with the price of a node, where its machines and its region (or its cluster's) tell one."""
    if group.hourly_usd is not None or group.max_nodes == 0:
        return group
    cloud, region = group.sold_by or group.cloud, _region(group, clusters)
    if cloud not in catalog.PLUGINS or region is None:
        return group
    types = group.machine_types or (group.machine_type,)
    if any(one is None or one is UNKNOWN for one in types):
        return group
    named = [one for one in types if isinstance(one, str)]
    each = [_usd(cloud, region, one, group.spot is True) for one in named]
    known = [usd for usd in each if usd is not None]
    if len(known) < len(named):
        return group
    return replace(group, hourly_usd=_dearest(group, cloud, named, known))


def _dearest(group: NodeGroup, cloud: str, types: Sequence[str], prices: Sequence[float]) -> float:
    """Of a group that is limited in GPUs, small machines may cost more together than one large one."""
    nodes, gpus = group.max_nodes, group.gpus_per_node
    if not group.limited_by_gpus or not isinstance(nodes, int) or not isinstance(gpus, int):
        return max(prices)
    counts = [known.gpus if (known := gpu_machines(cloud).get(one)) else gpus for one in types]
    totals = [usd * (nodes * gpus // max(count, 1)) for usd, count in zip(prices, counts, strict=True)]
    return max(totals) / nodes


def _region(group: NodeGroup, clusters: Sequence[Cluster]) -> str | None:
    if group.region is not None:
        return None if group.region is UNKNOWN else group.region
    named = [cluster for cluster in clusters if len(clusters) == 1 or cluster.name == group.cluster]
    regions = {cluster.region for cluster in named if isinstance(cluster.region, str)}
    return regions.pop() if len(regions) == 1 else None


@cache
def _usd(cloud: str, region: str, machine: str, spot: bool) -> float | None:
    prices = (catalog.price_per_hour(cloud, region, _spelled(cloud, machine), None, 0, spot=s) for s in (spot, False))
    return next((price.usd for price in prices if price is not None), None)


@cache
def _spelled(cloud: str, machine: str) -> str:
    """The catalogue's spelling: one cloud ignores the case of its sizes."""
    return next((known for known in catalog.of(cloud).machines.types if known.lower() == machine.lower()), machine)
