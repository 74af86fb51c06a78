"""EC2's capacity for the pools of a stack: their reservations, what is exhausted, and machines that are taken back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from facts.concepts.pool import Pool
from rehearsal.providers.eks.base.account import Account, AwsError, CapacityReservation
from rehearsal.providers.eks.machines.instance import instances
from rehearsal.providers.eks.resources.events import scheduled_change, spot_interruption

_NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
NOTICE_SECONDS: Final = 120.0
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""

_log = logging.getLogger("rehearsal.aws.machines")


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


def reclaim(account: Account, node: str) -> bool:
    """Interrupt the node's machine; ``False`` if no instance outside of node groups is that node.

    Recipients of the warning may drain and terminate it; EC2 terminates it after the notice.
    """
    instance = next(
        (each for each in instances(account) if each.private_name == node and each.state == "running"), None
    )
    if instance is None:
        return False
    if not instance.spot:
        _end(account, instance.id)
        return True
    queues = spot_interruption(account, instance.id)
    _log.info("interruption warning for instance %s, delivered to: %s", instance.id, ", ".join(queues) or "nobody")
    timer = threading.Timer(NOTICE_SECONDS, _end, (account, instance.id))
    timer.daemon = True
    timer.start()
    return True


def announce_maintenance(account: Account) -> list[str]:
    """Announce maintenance of all on-demand machines, as AWS does: it renews none by itself. The nodes of those whose
    announcement somebody received."""
    running = [each for each in instances(account) if each.state == "running" and not each.spot]
    return [each.private_name for each in running if scheduled_change(account, each.id)]


def _end(account: Account, instance: str) -> None:
    # It may have ended, and so may the account.
    with suppress(AwsError):
        account.call("ec2", "TerminateInstances", InstanceIds=[instance])
