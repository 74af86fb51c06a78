"""What a changed setting does to a running job on AKS."""

from __future__ import annotations

from typing import Final

from facts.catalog.changes import Effect, Effects

_DOCS: Final = "https://learn.microsoft.com/azure/aks"
_LIMITS: Final = f"{_DOCS}/cluster-autoscaler-overview"
_POOLS: Final = f"{_DOCS}/delete-node-pool"

CHANGES: Final[Effects] = {
    "maximum-raised": Effect("update", "runs", "the pool can scale further", _LIMITS),
    "maximum-lowered": Effect("update", "runs", "nodes above the maximum stay until they are idle", _LIMITS),
    "label": Effect("update", "runs", "running nodes also get the label", f"{_DOCS}/use-labels"),
    "tag": Effect("update", "runs", "the tag is on the scale set and its machines", f"{_DOCS}/use-tags"),
    "disk": Effect(
        "replace",
        "ends",
        "Azure cannot change the disk of a pool",
        "https://www.pulumi.com/registry/packages/azure/api-docs/containerservice/kubernetesclusternodepool/",
    ),
    "version": Effect(
        "update",
        "waits",
        "the control plane is upgraded; a GPU pool with nodes is not; run `pulumi up` again when it is empty",
        f"{_DOCS}/upgrade-aks-cluster",
    ),
    "pool-added": Effect("create", "runs", "", _POOLS),
    "pool-renamed": Effect("replace of that pool", "others", "", _POOLS),
    "pool-removed": Effect("delete of that pool", "others", "", _POOLS),
}
