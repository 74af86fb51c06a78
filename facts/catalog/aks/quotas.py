"""What a stack needs of an Azure subscription's quotas: vCPUs by family and in the region, spot in one for all.

https://learn.microsoft.com/azure/virtual-machines/quotas: spot machines count against the region's spot vCPUs alone.
Machines of AKS's pools are in scale sets, which count each machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from facts.catalog import tables
from facts.catalog.aks.nodes import surge_nodes
from facts.catalog.limits import Limit, at_maximum
from facts.catalog.machines import Machines
from facts.catalog.model import Quota
from facts.concepts.pool import Pool

_REGIONAL: Final = "Total Regional vCPUs (cores)"
_SPOT: Final = "Total Regional Spot vCPUs (lowPriorityCores)"
# The catalogue's family → the quota's.
_FAMILIES: Final[Mapping[str, str]] = {row["family"]: row["quota"] for row in tables.rows("aks", "quota_families")}


def quotas(region: str, pools: Sequence[Pool], gateways: int) -> tuple[Quota, ...]:
    """All of them, with every pool at its maximum while it is upgraded.

    The way out has one address, a gateway's or a load balancer's.
    """
    address = Limit("Public IPv4 Addresses - Standard (StandardSkuPublicIpAddresses)", region, "addresses")
    return at_maximum(pools, lambda pool: _per_node(region, pool), (address, 1), beyond=surge_nodes)


def _per_node(region: str, pool: Pool) -> Iterator[tuple[Limit, int]]:
    known = Machines(cloud="aks")
    machine = known.get(pool.nodes.machine_type)
    if machine is None:
        raise AssertionError(f"{pool.nodes.machine_type} was accepted")
    if pool.scaling.spot:
        # Of a pool that mixes types each node counts as the largest.
        mixed = [each for name in pool.nodes.machine_types if (each := known.get(name)) is not None]
        yield Limit(_SPOT, region, "vCPUs"), max(each.vcpus for each in mixed)
        return
    yield Limit(_REGIONAL, region, "vCPUs"), machine.vcpus
    yield Limit(_FAMILIES[machine.family], region, "vCPUs"), machine.vcpus
