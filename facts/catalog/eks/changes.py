"""What a changed setting does to a running job on EKS, with node groups and with Karpenter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts.catalog.changes import Effect, Effects

_EKS: Final = "https://docs.aws.amazon.com/eks/latest/userguide"
_UPDATES: Final = f"{_EKS}/managed-node-update-behavior.html"
_GROUPS: Final = f"{_EKS}/delete-managed-node-group.html"
_CONFIG: Final = f"{_EKS}/update-managed-node-group.html"
_KARPENTER: Final = "https://karpenter.sh/docs/concepts"
_DRIFT: Final = f"{_KARPENTER}/disruption/#drift"
_NODE_POOLS: Final = f"{_KARPENTER}/nodepools/"
_WHEN_EMPTY: Final = "a GPU node group with nodes is not changed; run `pulumi up` again when it is empty"
_NEW_NODES: Final = "applies to new nodes; running nodes are replaced when they are idle"

NODE_GROUPS: Final[Effects] = {
    "maximum-raised": Effect("update", "runs", "the pool can scale further", _CONFIG),
    "maximum-lowered": Effect(
        "update",
        "runs",
        # The program sends the size that the group has; EKS refuses a maximum below it.
        "EKS refuses it while more nodes run than the new maximum",
        "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html",
    ),
    "label": Effect("update", "runs", "running nodes also get the label", _CONFIG),
    "tag": Effect(
        "update",
        "runs",
        "new machines have the tag; running ones keep theirs",
        "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html",
    ),
    "disk": Effect("update of the launch template", "waits", _WHEN_EMPTY, _UPDATES),
    "version": Effect("update of the cluster", "waits", _WHEN_EMPTY, _UPDATES),
    "pool-added": Effect("create", "runs", "", _CONFIG),
    "pool-renamed": Effect("replace of that pool", "others", "", _GROUPS),
    "pool-removed": Effect("delete of that pool", "others", "", _GROUPS),
}

KARPENTER: Final[Effects] = {
    "maximum-raised": Effect("update", "runs", "the pool can scale further", f"{_NODE_POOLS}#speclimits"),
    "maximum-lowered": Effect(
        "update", "runs", "nodes above the maximum stay until they are idle", f"{_NODE_POOLS}#speclimits"
    ),
    "label": Effect("update", "waits", _NEW_NODES, _DRIFT),
    "tag": Effect("update", "waits", _NEW_NODES, _DRIFT),
    "disk": Effect("update", "waits", _NEW_NODES, _DRIFT),
    "version": Effect("update of the cluster", "waits", _NEW_NODES, _DRIFT),
    "pool-added": Effect("create", "runs", "", _NODE_POOLS),
    "pool-renamed": Effect("replace of that pool", "others", "", _NODE_POOLS),
    "pool-removed": Effect("delete of that pool", "others", "", _NODE_POOLS),
}

CHANGES: Final[Mapping[str, Effects]] = {"cluster-autoscaler": NODE_GROUPS, "karpenter": KARPENTER}
