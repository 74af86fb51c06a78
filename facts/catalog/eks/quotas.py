"""What a stack needs of an AWS account's quotas: machines count by their vCPUs, spot apart.

Names, and codes by which Service Quotas knows them:
https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html and
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-spot-limits.html. Public lists disagree on which of the two
spot quotas of P instances P6 counts against, so both are named for it. Reserved machines count like others, those of
Capacity Blocks do not: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html.

Of a pool that mixes types each node counts as the largest. General knowledge: that gp3 volumes have a quota of their
own, in TiB; here it is in GB like those of the other clouds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from facts.catalog.eks.nodes import surge_nodes
from facts.catalog.limits import Limit, at_maximum
from facts.catalog.machines import Machines
from facts.catalog.model import Quota
from facts.concepts.pool import Pool

_STANDARD: Final = "Standard (A, C, D, H, I, M, R, T, Z)"
_CHIPS: Final = {"inf": ("Inf", "L-1945791B", "L-B5D1601B"), "trn": ("Trn", "L-2C3B7624", "L-6B0D517C")}
_P5_SPOT: Final = "All P5 Spot Instance Requests (L-C4BD4855)"
_P4_SPOT: Final = "All P4, P3 and P2 Spot Instance Requests (L-7212CCBC)"


def quotas(region: str, pools: Sequence[Pool], gateways: int) -> tuple[Quota, ...]:
    """All of them, with every pool at its maximum while it is upgraded; each gateway has an address."""
    address = Limit("EC2-VPC Elastic IPs (L-0263D0A3)", region, "addresses")
    return at_maximum(pools, lambda pool: _per_node(region, pool), (address, gateways), beyond=surge_nodes)


def _per_node(region: str, pool: Pool) -> Iterator[tuple[Limit, int]]:
    known = Machines(cloud="eks")
    machines = [machine for type in pool.nodes.machine_types if (machine := known.get(type)) is not None]
    if not machines:
        raise AssertionError(f"{pool.nodes.machine_types} was accepted")
    families: dict[Limit, int] = {}
    for machine in machines if pool.scaling.capacity_type != "capacity-block" else ():
        limit = Limit(_of_family(machine.family, spot=pool.scaling.spot), region, "vCPUs")
        families[limit] = max(families.get(limit, 0), machine.vcpus)
    yield from families.items()
    yield Limit("Storage for General Purpose SSD (gp3) volumes (L-7A658B76)", region, "GB"), pool.nodes.disk_gb


def _of_family(family: str, *, spot: bool) -> str:
    generation = family[1]
    if family.startswith("g"):
        on_demand = "Running On-Demand G and VT instances (L-DB2E81BA)"
        requests = "All G and VT Spot Instance Requests (L-3819A6DF)"
    elif family.startswith("p"):
        on_demand = "Running On-Demand P instances (L-417A185B)"
        requests = {"5": _P5_SPOT, "6": f"{_P5_SPOT} or {_P4_SPOT}"}.get(generation, _P4_SPOT)
    elif family.startswith(("inf", "trn")):
        group, *codes = _CHIPS[family[:3]]
        on_demand = f"Running On-Demand {group} instances ({codes[0]})"
        requests = f"All {group} Spot Instance Requests ({codes[1]})"
    else:
        on_demand = f"Running On-Demand {_STANDARD} instances (L-1216C47A)"
        requests = f"All {_STANDARD} Spot Instance Requests (L-34B43A08)"
    return requests if spot else on_demand
