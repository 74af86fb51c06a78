"""What the simulated data centre has no machine of: pools that get no further node, until it has some again."""

from __future__ import annotations

from collections.abc import Collection

from facts.concepts.pool import POOL_LABEL
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.node_pools import pool_path
from rehearsal.fleet.nodes import GROUP_LABEL

_NONE: Object = {"pods": "0", "nodes": "0"}


class ExhaustedPools:
    """Of groups that the fleet's own autoscaler scales. A cloud's autoscaler tries such a group, gets an error, and
    leaves it alone for a while; here it sees at once that there is nothing to try.

    A group that is changed meanwhile has machines again.
    """

    def __init__(self) -> None:
        self._limits: dict[str, Object] = {}

    def exhaust(self, api: Api, pools: Collection[str]) -> None:
        """From now on exactly these ``pools``, by the label of their nodes, get no further node."""
        for node_pool in api.list(pool_path(), labelSelector=GROUP_LABEL):
            name, spec = node_pool["metadata"]["name"], node_pool["spec"]
            exhausted = spec["template"]["metadata"]["labels"].get(POOL_LABEL) in pools
            if exhausted and name not in self._limits:
                self._limits[name] = spec["limits"]
                api.merge(pool_path(name), {"spec": {"limits": _NONE}})
            elif not exhausted and name in self._limits:
                api.merge(pool_path(name), {"spec": {"limits": self._limits.pop(name)}})
