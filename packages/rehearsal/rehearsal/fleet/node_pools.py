"""A group as Karpenter's NodePools: one, or one per zone where the group's limits count per zone.

Pools of which the simulated data centre has no machine get no further node, until it has some again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from facts.concepts.pool import POOL_LABEL
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.instance_types import CAPACITY_TYPE, capacity_type
from rehearsal.fleet.nodes import BETA_INSTANCE_TYPE, GROUP_LABEL, INSTANCE_TYPE, LATE_TAINT, ZONE, NodeTemplate
from rehearsal.simulation import SimulatedNodeGroup

API: Final = "karpenter.sh/v1"
NODE_CLASS: Final[Object] = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
    "spec": {},
}
NODE_CLASS_GROUP: Final = "karpenter.kwok.sh"
"""The group of the fleet's own NodePools' class; those of another are a real Karpenter's."""

_NODE_CLASS_REF: Final = {"group": NODE_CLASS_GROUP, "kind": "KWOKNodeClass", "name": "default"}
_HIGHEST_WEIGHT: Final = 100

_NO_GROWTH: Final[Object] = {
    "spec": {"limits": {"pods": "0", "nodes": "0"}, "disruption": {"consolidateAfter": "Never"}}
}

# https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/apis/crds/karpenter.sh_nodepools.yaml
_RESTRICTED_DOMAIN: Final = "karpenter.sh"
_NONE: Object = {"pods": "0", "nodes": "0"}


def pool_path(name: str | None = None) -> str:
    """The API path of all NodePools, or of one."""
    return resource_path(API, "nodepools", name)


def claim_path(name: str | None = None) -> str:
    """The API path of all NodeClaims, or of one."""
    return resource_path(API, "nodeclaims", name)


def refused_by_karpenter(key: str) -> bool:
    """Whether Karpenter does not take this label in a NodePool as it is; the fleet then sets it on the node itself.

    The old name of a machine's type it takes for the new one, and a type may go by another name in its catalogue.
    """
    return key == BETA_INSTANCE_TYPE or key.partition("/")[0].endswith(_RESTRICTED_DOMAIN)


def weights(groups: Iterable[SimulatedNodeGroup]) -> dict[str, int]:
    """Group name → NodePool weight: the lower its rank, then the cheaper a node, the earlier its group is tried.

    Whose ranks there are, and why, the cloud says. A group without a rank comes after all that have one: the priority
    expander takes it only if none of those fits
    (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md). Equal ranks
    and prices share a weight; from the hundredth place on, all groups share the lowest.
    """
    order = {group.name: (math.inf if group.rank is None else group.rank, group.hourly_usd) for group in groups}
    places = {place: index for index, place in enumerate(sorted(set(order.values())))}
    return {name: max(1, _HIGHEST_WEIGHT - places[place]) for name, place in order.items()}


def apply_node_pools(api: Api, template: NodeTemplate, instance_type: str, order: Mapping[str, int]) -> list[Object]:
    """Apply the group's NodePools, and ``order`` (weights by group) to everyone's; returns the group's."""
    manifests = node_pools(template, instance_type, order[template.group.name])
    pools = [api.apply(pool_path(pool["metadata"]["name"]), pool) for pool in manifests]
    for pool in api.list(pool_path()):
        # Others, too, may have NodePools in this cluster: a user's Karpenter.
        weight = order.get(pool["metadata"].get("labels", {}).get(GROUP_LABEL, ""))
        if weight is not None and pool["spec"].get("weight") != weight:
            api.merge(pool_path(pool["metadata"]["name"]), {"spec": {"weight": weight}})
    return pools


def stop_growth(api: Api, group: str) -> None:
    """The group's autoscaler is gone: its nodes stay, and no other comes."""
    for pool in api.list(pool_path(), labelSelector=f"{GROUP_LABEL}={group}"):
        api.merge(pool_path(pool["metadata"]["name"]), _NO_GROWTH)


def delete_node_pools(api: Api, group: str) -> None:
    """Delete the group's NodePools; Karpenter then ends their nodes."""
    api.delete(f"{pool_path()}?labelSelector={GROUP_LABEL}%3D{group}")


def node_pools(template: NodeTemplate, instance_type: str, weight: int) -> list[Object]:
    """The NodePools of an autoscaled group, by name: the group's, with ``-<zone>`` where limits count per zone."""
    group, permanent = template.group, template.group.permanent()
    if group.per_zone:
        return [
            _node_pool(f"{group.name}-{zone}", template, instance_type, weight, (zone,), permanent[zone])
            for zone in group.zones
        ]
    return [_node_pool(group.name, template, instance_type, weight, group.zones, sum(permanent.values()))]


def initial_claims(group: SimulatedNodeGroup, pools: Sequence[Object]) -> list[Object]:
    """The nodes above the minimum with which a new group starts, as claims without a pod: they go when they are idle.

    ``pools`` are the group's NodePools as the API server has them.
    """
    permanent = group.permanent()
    return [
        _node_claim(pools[index if group.per_zone else 0], zone)
        for index, zone in enumerate(group.zones)
        for _ in range(group.initial_nodes - permanent[zone])
    ]


def _node_claim(pool: Object, zone: str) -> Object:
    template = pool["spec"]["template"]
    requirements = [each for each in template["spec"]["requirements"] if each["key"] != ZONE]
    owner = {
        "apiVersion": API,
        "kind": "NodePool",
        "name": pool["metadata"]["name"],
        "uid": pool["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": API,
        "kind": "NodeClaim",
        "metadata": {
            "generateName": f"{pool['metadata']['name']}-",
            "labels": {**template["metadata"]["labels"], "karpenter.sh/nodepool": pool["metadata"]["name"]},
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "requirements": [*requirements, _within_values(ZONE, (zone,))]},
    }


def _node_pool(
    name: str, of: NodeTemplate, instance_type: str, weight: int, zones: tuple[str, ...], permanent: int
) -> Object:
    group = of.group
    room = max(0, group.max_nodes - permanent)
    allowed = {
        key: value
        for key, value in of.planned_labels.items()
        # A node's zone and type are requirements below; a type may go by another name in Karpenter's catalogue.
        if key not in (ZONE, INSTANCE_TYPE) and not refused_by_karpenter(key)
    }
    return {
        "apiVersion": API,
        "kind": "NodePool",
        "metadata": {"name": name, "labels": {GROUP_LABEL: group.name}},
        "spec": {
            "weight": weight,
            # "nodes" counts those that there are, also under way. Of those planned together only resources are
            # counted: every node takes its maximum of pods
            # (https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/provisioning/scheduling/scheduler.go).
            "limits": {"pods": str(room * group.machine.max_pods), "nodes": str(room)},
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "1s",
                # A change of the group must not replace nodes that run pods: the fleet updates them in place.
                "budgets": [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "0", "reasons": ["Drifted"]}],
            },
            "template": {
                "metadata": {"labels": allowed, "annotations": of.annotations},
                "spec": {
                    "nodeClassRef": _NODE_CLASS_REF,
                    "taints": of.planned_taints,
                    # A node that differs from the plan must not be used before it has all that it differs in.
                    **({"startupTaints": [LATE_TAINT]} if group.late_labels or group.late_taints else {}),
                    "requirements": [
                        _within_values(INSTANCE_TYPE, (instance_type,)),
                        _within_values(ZONE, zones),
                        _within_values(CAPACITY_TYPE, (capacity_type(group),)),
                    ],
                    "expireAfter": "Never",
                },
            },
        },
    }


def _within_values(key: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


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
