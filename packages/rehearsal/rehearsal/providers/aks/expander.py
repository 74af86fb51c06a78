"""The order in which AKS's autoscaler tries pools: its profile's expander, and the ConfigMap of the priority expander.

The ConfigMap, its form and its meaning: https://learn.microsoft.com/azure/aks/cluster-autoscaler and
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Final

import yaml

from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.nodes import scale_set
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

NAME: Final = "cluster-autoscaler-priority-expander"
NAMESPACE: Final = "kube-system"
_log = logging.getLogger(__name__)


def uses_priorities(cluster: Record) -> bool:
    """Whether the cluster's autoscaler profile names the priority expander."""
    return at(cluster.inputs, "autoScalerProfile.expander") == "priority"


def rank_of(cloud: Subscription, cluster: Record, pool: str) -> float | None:
    """The pool's place by the cluster's ConfigMap, smaller first; ``None`` if the ConfigMap does not rank it.

    Without a place, the simulated autoscaler takes the cheapest pool: an approximation of AKS's other expanders.
    """
    if not uses_priorities(cluster):
        return None
    name = scale_set(cluster.id, pool)
    for priority, patterns in sorted(_priorities(cloud).items(), reverse=True):
        if any(re.search(pattern, name) for pattern in patterns):
            return float(-priority)
    return None


def _priorities(cloud: Subscription) -> Mapping[int, Sequence[str]]:
    for each in cloud.machines().list_objects("/api/v1/configmaps"):
        metadata = each.get("metadata", {})
        if metadata.get("name") == NAME and metadata.get("namespace") == NAMESPACE:
            return parse(str((each.get("data") or {}).get("priorities", "")))
    return {}


def parse(text: str) -> Mapping[int, Sequence[str]]:
    """The ConfigMap's ``priorities``; empty if any part of it is invalid, as in the autoscaler."""
    try:
        loaded = yaml.safe_load(text) or {}
        priorities = {int(number): [str(pattern) for pattern in patterns] for number, patterns in loaded.items()}
        for patterns in priorities.values():
            for pattern in patterns:
                re.compile(pattern)
    except (AttributeError, TypeError, ValueError, re.error, yaml.YAMLError) as error:
        _log.warning("ConfigMap %s/%s is unusable: %s", NAMESPACE, NAME, error)
        return {}
    return priorities
