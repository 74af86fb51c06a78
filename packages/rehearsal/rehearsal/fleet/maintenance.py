"""A maintenance night: the cloud gives GPU nodes another image in place, after it has drained them by evictions.

A disruption budget keeps a pod on its node until the cloud's drain time-out, which is seconds here; what the cloud does
then is ``SimulatedNodeGroup.renewal``.
"""

import time
from typing import Final

from rehearsal.cluster.api import Api
from rehearsal.fleet.nodes import GPUS, RENEWAL
from rehearsal.fleet.reclaim import evict, lose_pods, pods_to_end

QUARANTINED: Final = {"kubernetes.azure.com/upgrade-status": "Quarantined"}
"""https://learn.microsoft.com/azure/aks/upgrade-options#scenario-2-node-drain-failures-and-pdbs"""

_NODES: Final = "/api/v1/nodes"
_DRAIN_SECONDS: Final = 4.0
_RETRY_SECONDS: Final = 0.5


def renew_nodes(api: Api) -> dict[str, str]:
    """Renew the GPU nodes of groups that the cloud maintains; node → ``renewed``, ``quarantined`` or ``unchanged``."""
    outcomes = {}
    for node in api.list(_NODES):
        annotations = node["metadata"].get("annotations") or {}
        if annotations.get(RENEWAL) and GPUS in annotations:
            name = node["metadata"]["name"]
            outcomes[name] = _renew(api, name, annotations[RENEWAL])
    return outcomes


def _renew(api: Api, name: str, renewal: str) -> str:
    node = f"{_NODES}/{name}"
    api.merge_if_there(node, {"spec": {"unschedulable": True}})
    if not _drained(api, name):
        if renewal == "cordon":
            api.merge_if_there(node, {"metadata": {"labels": QUARANTINED}})
            return "quarantined"
        if renewal == "force":
            lose_pods(api, name)
    drained = not pods_to_end(api, name)
    api.merge_if_there(node, {"spec": {"unschedulable": False}})
    return "renewed" if drained else "unchanged"


def _drained(api: Api, name: str) -> bool:
    """Whether the node's pods left in time, each asked again and again."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    while pods := pods_to_end(api, name):
        for pod in pods:
            evict(api, pod)
        if time.monotonic() > deadline:
            return False
        time.sleep(_RETRY_SECONDS)
    return True
