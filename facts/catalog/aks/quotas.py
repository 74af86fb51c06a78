"""What a stack needs of an Azure subscription's quotas: vCPUs by family and in the region, spot in one for all.

https://learn.microsoft.com/azure/virtual-machines/quotas: spot machines count against the region's spot vCPUs alone.
The names of families are those of the API (``az vm list-usage``), whose case differs from copy to copy: GPUs' as in
https://github.com/skypilot-org/skypilot (``fetch_azure.py``), those of v6 as in ``known_skus.yaml`` of
https://github.com/Azure/karpenter-provider-azure, the others' by the same pattern, as is the H200's (general
knowledge). Machines of AKS's pools are in scale sets, which count each machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from facts.catalog.limits import Limit, at_maximum
from facts.catalog.machines import Machines
from facts.catalog.model import Quota
from facts.concepts.pool import Pool

_REGIONAL: Final = "Total Regional vCPUs (cores)"
_SPOT: Final = "Total Regional Spot vCPUs (lowPriorityCores)"
# The catalogue's family → the quota's.
_FAMILIES: Final[Mapping[str, str]] = {
    "Bs": "standardBSFamily",
    "Dadsv5": "standardDADSv5Family",
    "Dadsv6": "standardDadv6Family",
    "Dasv5": "standardDASv5Family",
    "Dasv6": "standardDav6Family",
    "Ddsv5": "standardDDSv5Family",
    "Ddsv6": "StandardDdsv6Family",
    "Dsv5": "standardDSv5Family",
    "Dsv6": "StandardDsv6Family",
    "Easv5": "standardEASv5Family",
    "Easv6": "standardEav6Family",
    "Esv5": "standardESv5Family",
    "Esv6": "StandardEsv6Family",
    "Fsv2": "standardFSv2Family",
    "NCadsA100v4": "StandardNCADSA100v4Family",
    "NCadsH100v5": "StandardNCadsH100v5Family",
    "NCdsRTXPRO6000BSEv6XL": "StandardNCdsRTXPRO6000BSEv6XLFamily",
    "NCasT4v3": "StandardNCASv3_T4Family",
    "NDH100v5": "standardNDSH100v5Family",
    "NDH200v5": "standardNDSH200v5Family",
    "NDasrA100v4": "StandardNDASv4_A100Family",
    "NDmA100v4": "standardNDAMSv4_A100Family",
    "NVadsA10v5": "StandardNVADSA10v5Family",
}


def quotas(region: str, pools: Sequence[Pool], gateways: int) -> tuple[Quota, ...]:
    """All of them, with every pool at its maximum. The way out has one address, a gateway's or a load balancer's."""
    address = Limit("Public IPv4 Addresses - Standard (StandardSkuPublicIpAddresses)", region, "addresses")
    return at_maximum(pools, lambda pool: _per_node(region, pool), (address, 1))


def _per_node(region: str, pool: Pool) -> Iterator[tuple[Limit, int]]:
    machine = Machines(cloud="aks").get(pool.machine_type)
    if machine is None:
        raise AssertionError(f"{pool.machine_type} was accepted")
    if pool.spot:
        yield Limit(_SPOT, region, "vCPUs"), machine.vcpus
        return
    yield Limit(_REGIONAL, region, "vCPUs"), machine.vcpus
    yield Limit(_FAMILIES[machine.family], region, "vCPUs"), machine.vcpus
