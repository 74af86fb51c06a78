"""Groups whose nodes start and end together, as the cloud's autoscaler and its repair treat them: a pod that needs one
node starts all of them, they are removed when none has a pod, and the end of one is the end of all.

https://github.com/GoogleCloudPlatform/cluster-autoscaler/blob/main/pkg/cloudprovider/gke/gke_cloud_provider_impl.go
(``ResizeAtomically``). Karpenter makes the first node; this thread makes the others, and removes all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import PollingThread
from rehearsal.fleet.node_pools import claim_path, claims_of, node_claim, pools_of
from rehearsal.fleet.nodes import GROUP_LABEL, NodeTemplate
from rehearsal.fleet.packing import has_devices, moves, unneeded_seconds, used_nodes
from rehearsal.simulation import SimulatedNodeGroup

_POLL_SECONDS: Final = 0.5


class SliceWatcher(PollingThread):
    """Checks twice a second; ``templates`` returns those of all groups."""

    def __init__(self, api: Api, templates: Callable[[], Sequence[NodeTemplate]]) -> None:
        super().__init__("slices", _POLL_SECONDS)
        self._api = api
        self._templates = templates
        self._idle_since: dict[str, float] = {}
        self._whole: set[str] = set()

    def look(self) -> None:
        """Complete the groups that have some of their nodes; end those that nobody needs, or that lost one."""
        for group in (each.group for each in self._templates()):
            if group.atomic:
                claims = claims_of(self._api, labelSelector=f"{GROUP_LABEL}={group.name}")
                self._act(group, claims)

    def _act(self, group: SimulatedNodeGroup, claims: Sequence[Object]) -> None:
        name, size = group.name, group.scaling.max_nodes
        left = [claim for claim in claims if not claim["metadata"].get("deletionTimestamp")]
        if len(left) == size:
            self._whole.add(name)
        elif name in self._whole:
            self._end(name, left)
        elif left and len(left) == len(claims):
            (pool, *_) = pools_of(self._api, labelSelector=f"{GROUP_LABEL}={name}")
            for _ in range(size - len(left)):
                self._api.create(claim_path(), node_claim(pool, group.nodes.zones[0]))
        if name in self._whole and self._idle(group):
            self._end(name, left)

    def _idle(self, group: SimulatedNodeGroup) -> bool:
        """Whether all nodes of the group have been ready with their devices, and without a pod, for long enough."""
        name, size = group.name, group.scaling.max_nodes
        listed = self._api.list("/api/v1/nodes", labelSelector=f"{GROUP_LABEL}={name}")
        nodes = [each for each in listed if has_devices(each)]
        # A node out of service is as idle as others.
        used = used_nodes(nodes, self._api.list("/api/v1/pods"), cordoned=True)
        if len(used) < size or any(moves(pod) for each in used for pod in each.pods):
            self._idle_since.pop(name, None)
            return False
        return time.monotonic() - self._idle_since.setdefault(name, time.monotonic()) > unneeded_seconds(group)

    def _end(self, name: str, claims: Sequence[Object]) -> None:
        for claim in claims:
            self._api.delete(claim_path(claim["metadata"]["name"]))
        self._whole.discard(name)
        self._idle_since.pop(name, None)
