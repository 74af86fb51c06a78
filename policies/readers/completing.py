"""What no reader says itself about clusters and node groups: where they are, accelerators that are no GPUs, and prices.

Prices are list prices from the catalogue: that of the most expensive machine that a group may use. A missing spot price
is replaced by the on-demand price, which is higher. Boot disks are left out where the cloud's reader does not price its
nodes itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeVar

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN

T = TypeVar("T")

# What tells accounts apart, of all clouds' providers and resources.
_ACCOUNT: Final = (
    "accessKey",
    "allowedAccountIds",
    "assumeRole",
    "assumeRoles",
    "profile",
    "project",
    "resourceGroupName",
    "subscriptionId",
)
# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus,
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html,
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    "TPUs": re.compile(r"(?:ct\d\w*|tpu\d\w*)-"),
    "Trainium chips": re.compile(r"trn\d\w*\."),
    "Inferentia chips": re.compile(r"inf\d\w*\."),
    "Gaudi accelerators": re.compile(r"dl1\."),
    "Qualcomm accelerators": re.compile(r"dl2q\."),
    "AMD GPUs": re.compile(r"g4ad\.|standard_(?:nv\d+as_v4$|ng\d|n\w*_(?:mi\d+|v710))", re.IGNORECASE),
}


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


def located(item: T, properties: Mapping[str, Any], provider: Mapping[str, Any]) -> T:
    """A cluster or node group with its account, and with its provider's region where it names none; others as are."""
    if not isinstance(item, (Cluster, NodeGroup)):
        return item
    account = {key: text for source in (provider, properties) for key in _ACCOUNT if (text := _text(source.get(key)))}
    region = provider.get("region") if item.region is None else item.region
    return replace(item, account=account, region=region)


def _text(value: Any) -> str:
    """A known value as text, ``""`` for one that is not given or not known, even in part."""
    if value is None or value is UNKNOWN:
        return ""
    try:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    except TypeError:
        return ""


def accelerated(item: T) -> T:
    """A node group with the accelerators of its machine types; others as they are."""
    if not isinstance(item, NodeGroup):
        return item
    types = [one for one in (*item.machine_types, item.machine_type) if isinstance(one, str)]
    # Some APIs take a link for a machine type.
    names = [one.rpartition("/")[2] for one in types]
    matches = (words for words, pattern in _WORDS.items() if any(pattern.match(name) for name in names))
    return replace(item, accelerators=item.accelerators or next(matches, None))
