"""pulumi-eks' components where their own arguments are visible; their children are read as what they are.

https://www.pulumi.com/registry/packages/eks/api-docs/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from facts.concepts.kubernetes import CLOUD_EFFECTS, Effect
from facts.concepts.unknown import at, coalesce, text
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, respelled


def _self_managed(declared: Declared) -> Iterable[Declared]:
    """``NodeGroup`` and ``NodeGroupV2``, and the group that a ``Cluster`` makes by default from the same arguments."""
    options = declared.properties.get("nodeGroupOptions")
    inputs = {**declared.properties, **(options if isinstance(options, Mapping) else {})}
    if inputs.get("instanceType") is None or inputs.get("skipDefaultNodeGroup") is True:
        return
    taints = inputs.get("taints")
    listed = [
        {"key": key, "value": at(taint, "value"), "effect": CLOUD_EFFECTS.get(cast(Effect, str(at(taint, "effect"))))}
        for key, taint in (taints.items() if isinstance(taints, Mapping) else ())
    ]
    least = coalesce(inputs.get("minSize"), 1)  # the component's defaults
    sizes = {
        "minSize": least,
        "maxSize": coalesce(inputs.get("maxSize"), 2),
        "desiredSize": coalesce(inputs.get("desiredCapacity"), least),
    }
    properties: dict[str, Any] = {
        "instanceTypes": [inputs.get("instanceType")],
        "amiType": "GPU" if inputs.get("gpu") is True else inputs.get("amiType"),
        "scalingConfig": sizes,
        "taints": listed if isinstance(taints, Mapping) else taints,
        "labels": inputs.get("labels"),
        "clusterName": text(at(inputs, "cluster", "eksCluster", "name")),
    }
    yield respelled(declared, "aws:eks/nodeGroup:NodeGroup", properties)


def _managed(declared: Declared) -> Iterable[Declared]:
    """``ManagedNodeGroup``, whose arguments are those of the node group that it makes."""
    cluster = text(at(declared.properties, "cluster", "eksCluster", "name"))
    properties = {"clusterName": cluster, **declared.properties}
    if declared.properties.get("gpu") is True and declared.properties.get("amiType") is None:
        properties["amiType"] = "GPU"
    yield respelled(declared, "aws:eks/nodeGroup:NodeGroup", properties)


SPELLINGS: Final[Mapping[str, Spelling]] = {
    **dict.fromkeys(("eks:index:Cluster", "eks:index:NodeGroup", "eks:index:NodeGroupV2"), _self_managed),
    "eks:index:ManagedNodeGroup": _managed,
}
