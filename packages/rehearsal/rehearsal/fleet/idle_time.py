"""Idle time, compressed: a node of a real Karpenter counts as idle for long as soon as it is idle.

``consolidateAfter`` counts from a NodeClaim's ``status.lastPodEventTime``
(https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/disruption/consolidation.go). A
second after the last event this thread moves that time back by the NodePool's ``consolidateAfter``. Nothing else in the
cluster is changed to save time: objects stay as declared, ``Never`` stays never, and Karpenter itself decides whether a
node is empty and may be removed.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from facts.concepts import durations
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import PollingThread
from rehearsal.fleet.node_pools import NODE_CLASS_GROUP, claim_path, pool_path

_POLL_SECONDS: Final = 0.5
_REAL_SECONDS: Final = 1.0
_POOL: Final = "karpenter.sh/nodepool"


class IdleTimeWatcher(PollingThread):
    """Checks the NodeClaims twice a second."""

    def __init__(self, api: Api) -> None:
        super().__init__("idle-time", _POLL_SECONDS)
        self._api = api

    def look(self) -> None:
        """Move back the last pod event of idle claims."""
        claims = (self._api.find(claim_path()) or {}).get("items") or ()
        if not claims:
            return
        pools = {pool["metadata"]["name"]: pool for pool in self._api.list(pool_path())}
        now = datetime.datetime.now(datetime.timezone.utc)
        for claim in claims:
            pool = pools.get((claim["metadata"].get("labels") or {}).get(_POOL, ""))
            moment = None if pool is None else put_back(claim, pool, now)
            if moment is not None:
                body = {"status": {"lastPodEventTime": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}}
                self._api.merge(f"{claim_path(claim['metadata']['name'])}/status", body)


def put_back(claim: Object, pool: Object, now: datetime.datetime) -> datetime.datetime | None:
    """The new time of the claim's last pod event; ``None`` if it stays."""
    if claim["spec"]["nodeClassRef"].get("group") == NODE_CLASS_GROUP or claim["metadata"].get("deletionTimestamp"):
        return None
    idle_limit = durations.seconds((pool["spec"].get("disruption") or {}).get("consolidateAfter") or "0s")
    status: Mapping[str, Any] = claim.get("status") or {}
    initialized = next((each for each in status.get("conditions") or () if each["type"] == "Initialized"), None)
    if idle_limit is None or initialized is None or initialized["status"] != "True":
        return None
    last_event = status.get("lastPodEventTime") or initialized["lastTransitionTime"]
    idle = (now - datetime.datetime.fromisoformat(last_event.replace("Z", "+00:00"))).total_seconds()
    if idle < _REAL_SECONDS or idle >= idle_limit:
        return None
    return now - datetime.timedelta(seconds=idle_limit)
