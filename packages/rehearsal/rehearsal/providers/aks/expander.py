"""The order in which AKS's autoscaler tries pools: its profile's expander, and the ConfigMap of the priority expander.

https://learn.microsoft.com/azure/aks/cluster-autoscaler
"""

from __future__ import annotations

import logging
from typing import Final

from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.nodes import scale_set
from rehearsal.providers.priority_expander import priorities, rank
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

_NAMESPACE: Final = "kube-system"
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
    known = priorities(cloud.machines().list_objects("/api/v1/configmaps"), _NAMESPACE)
    if isinstance(known, str):
        _log.info("%s", known)
        return None
    return rank(scale_set(cluster.id, pool), known)
