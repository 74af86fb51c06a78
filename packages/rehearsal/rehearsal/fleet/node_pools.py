"""A group as Karpenter's NodePools: one, or one per zone where the group's limits count per zone.

Pools without capacity get no further node until the simulated data centre has capacity again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from facts.concepts.pool import POOL_LABEL
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.machine_types import CAPACITY_TYPE, capacity_type
from rehearsal.fleet.nodes import BETA_LABELS, GROUP_LABEL, INSTANCE_TYPE, LATE_TAINT, ZONE, NodeTemplate
from rehearsal.simulation import SimulatedNodeGroup

API: Final = "karpenter.sh/v1"
NODE_CLASS: Final[Object] = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
    "spec": {},
}
NODE_CLASS_GROUP: Final = "karpenter.kwok.sh"
"""API group of the node class of the simulation's NodePools; other NodePools belong to a real Karpenter."""

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


def claims_of(api: Api, **query: str) -> list[Object]:
    """The NodeClaims; none where Karpenter is not installed."""
    return (api.find(claim_path(), **query) or {"items": []})["items"]


def pools_of(api: Api, **query: str) -> list[Object]:
    """The NodePools; none where Karpenter is not installed."""
    return (api.find(pool_path(), **query) or {"items": []})["items"]


def refused_by_karpenter(key: str) -> bool:
    """Whether Karpenter refuses or changes this label in a NodePool; the fleet then sets it on the node.

    Karpenter treats a deprecated label as the one that it repeats, and its catalogue may rename a machine's type.
    """
    return key in BETA_LABELS or key.partition("/")[0].endswith(_RESTRICTED_DOMAIN)


def weights(groups: Iterable[SimulatedNodeGroup]) -> dict[str, int]:
    """Group name → NodePool weight: groups are tried by rank, then by price, lowest first.

    The cloud sets the ranks. A group without a rank comes after all that have one: the priority
    expander uses it only if none of those fits
    (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md). Equal ranks
    and prices share a weight; from the hundredth place on, all groups share the lowest.
    """
    order = {
        group.name: (math.inf if group.rank is None else group.rank, group.nodes.hourly_usd or 0.0) for group in groups
    }
    places = {place: index for index, place in enumerate(sorted(set(order.values())))}
    return {name: max(1, _HIGHEST_WEIGHT - places[place]) for name, place in order.items()}


def apply_node_pools(api: Api, template: NodeTemplate, instance_type: str, order: Mapping[str, int]) -> list[Object]:
    """Apply the group's NodePools, and the weights ``order`` to those of all groups; returns the group's."""
    manifests = node_pools(template, instance_type, order[template.group.name])
    pools = [api.apply(pool_path(pool["metadata"]["name"]), pool) for pool in manifests]
    for pool in api.list(pool_path()):
        # The stack's own Karpenter may have NodePools in this cluster.
        weight = order.get(pool["metadata"].get("labels", {}).get(GROUP_LABEL, ""))
        if weight is not None and pool["spec"].get("weight") != weight:
            api.merge(pool_path(pool["metadata"]["name"]), {"spec": {"weight": weight}})
    return pools


def stop_growth(api: Api, group: str) -> None:
    """The group is no longer autoscaled: its nodes remain, and no node is added."""
    for pool in pools_of(api, labelSelector=f"{GROUP_LABEL}={group}"):
        api.merge(pool_path(pool["metadata"]["name"]), _NO_GROWTH)


def delete_node_pools(api: Api, group: str) -> None:
    """Delete the group's NodePools; Karpenter then removes their nodes."""
    api.delete(f"{pool_path()}?labelSelector={GROUP_LABEL}%3D{group}")


def node_pools(template: NodeTemplate, instance_type: str, weight: int) -> list[Object]:
    """The NodePools of an autoscaled group, by name: the group's, with ``-<zone>`` where limits count per zone."""
    group, permanent = template.group, template.group.permanent()
    if group.per_zone:
        return [
            _node_pool(f"{group.name}-{zone}", template, instance_type, weight, (zone,), permanent[zone])
            for zone in group.nodes.zones
        ]
    return [_node_pool(group.name, template, instance_type, weight, group.nodes.zones, sum(permanent.values()))]


def initial_claims(group: SimulatedNodeGroup, pools: Sequence[Object]) -> list[Object]:
    """Initial nodes of a new group above its minimum, as claims without a pod: they are removed when idle.

    ``pools``: the group's NodePools from the API server.
    """
    permanent = group.permanent()
    return [
        node_claim(pools[index if group.per_zone else 0], zone)
        for index, zone in enumerate(group.nodes.zones)
        for _ in range(group.initial_nodes - permanent[zone])
    ]


def node_claim(pool: Object, zone: str) -> Object:
    """A node of the group without a pod that needs it; ``pool`` is its NodePool from the API server."""
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
    # Of an atomic group Karpenter makes the first node, and rehearsal/fleet/slices.py the others.
    room = 1 if group.atomic else max(0, group.scaling.max_nodes - permanent)
    allowed = {
        key: value
        for key, value in of.planned_labels.items()
        # Zone and type are requirements below; Karpenter's catalogue may rename a type.
        if key not in (ZONE, INSTANCE_TYPE) and not refused_by_karpenter(key)
    }
    return {
        "apiVersion": API,
        "kind": "NodePool",
        "metadata": {"name": name, "labels": {GROUP_LABEL: group.name}},
        "spec": {
            "weight": weight,
            # "nodes" counts existing and launching nodes. Of nodes planned together only resources are
            # counted: every node takes its maximum of pods
            # (https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/provisioning/scheduling/scheduler.go).
            "limits": {"pods": str(room * group.machine.max_pods), "nodes": str(room)},
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                # ``rehearsal/fleet/packing.py`` removes nodes.
                "consolidateAfter": "Never",
                # A change of the group must not replace nodes that run pods: the fleet updates them in place.
                "budgets": [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "0", "reasons": ["Drifted"]}],
            },
            "template": {
                "metadata": {"labels": allowed, "annotations": of.annotations},
                "spec": {
                    "nodeClassRef": _NODE_CLASS_REF,
                    "taints": of.planned_taints,
                    # A node must not be used before it has the labels and taints that differ from the plan.
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
    """Pools without capacity. A cloud's autoscaler tries such a group, gets an error and backs off; here it skips the
    group at once.

    A group that is changed in the meantime has capacity again.
    """

    def __init__(self) -> None:
        self._limits: dict[str, Object] = {}

    def exhaust(self, api: Api, pools: Collection[str]) -> None:
        """From now on exactly these ``pools`` (by node label) get no further node."""
        for node_pool in pools_of(api, labelSelector=GROUP_LABEL):
            name, spec = node_pool["metadata"]["name"], node_pool["spec"]
            exhausted = spec["template"]["metadata"]["labels"].get(POOL_LABEL) in pools
            if exhausted and name not in self._limits:
                self._limits[name] = spec["limits"]
                api.merge(pool_path(name), {"spec": {"limits": _NONE}})
            elif not exhausted and name in self._limits:
                api.merge(pool_path(name), {"spec": {"limits": self._limits.pop(name)}})
