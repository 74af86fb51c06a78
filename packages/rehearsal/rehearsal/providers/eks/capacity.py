"""EC2's capacity for the pools of a stack: their reservations, and what is exhausted."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from facts.concepts.pool import Pool
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.supply import CapacityReservation

_NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"


def reserve(account: Account, pools: Iterable[Pool]) -> None:
    """Create the reservations that ``pools`` name, each as large as the pool's maximum."""
    for pool in pools:
        gpus = pool.gpu_part
        if gpus is not None and gpus.reservation is not None:
            block = gpus.block is not None
            reservation = CapacityReservation(gpus.reservation, pool.machine_type, pool.zones[0], pool.max_nodes, block)
            account.supply.reserve(reservation)


def exhaust(account: Account, pools: Collection[str]) -> None:
    """Exhaust the capacity of exactly these Karpenter ``pools``."""
    account.supply.refill()
    if account.fleet is None or not pools:
        return
    classes = {each["metadata"]["name"]: each["spec"] for each in account.fleet.list_objects(_CLASSES)}
    for node_pool in account.fleet.list_objects(_NODE_POOLS):
        spec = node_pool["spec"]["template"]["spec"]
        made_of = classes.get(spec["nodeClassRef"]["name"])
        if node_pool["metadata"]["name"] not in pools or made_of is None:
            continue
        requirements = {each["key"]: each["values"] for each in spec["requirements"] if each["operator"] == "In"}
        (market,) = requirements["karpenter.sh/capacity-type"]
        if market == "reserved":
            for term in made_of["capacityReservationSelectorTerms"]:
                account.supply.use_up(term["id"])
            continue
        for zone in requirements["topology.kubernetes.io/zone"]:
            for machine_type in requirements["node.kubernetes.io/instance-type"]:
                account.supply.exhaust(zone, machine_type, market)
