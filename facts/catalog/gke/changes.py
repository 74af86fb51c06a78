"""What a changed setting does to a running job on GKE."""

from __future__ import annotations

from typing import Final

from facts.catalog.changes import Effect, Effects

_DOCS: Final = "https://cloud.google.com/kubernetes-engine/docs"
_LIMITS: Final = f"{_DOCS}/concepts/cluster-autoscaler#minimum_and_maximum_node_pool_size"
_POOLS: Final = f"{_DOCS}/how-to/node-pools"

CHANGES: Final[Effects] = {
    "maximum-raised": Effect("update", "runs", "the pool can scale further", _LIMITS),
    "maximum-lowered": Effect("update", "runs", "nodes above the maximum stay until they are idle", _LIMITS),
    "label": Effect("update", "runs", "running nodes also get the label", f"{_DOCS}/how-to/update-existing-nodepools"),
    "tag": Effect(
        "update",
        "runs",
        # That no node restarts is said of labels, taints and network tags; of these it is likely.
        "running machines also get the label",
        f"{_DOCS}/how-to/creating-managing-labels",
    ),
    "disk": Effect(
        "replace",
        "ends",
        "GKE would recreate the nodes in place; the program replaces the pool, so that the preview shows it",
        "https://github.com/GoogleCloudPlatform/magic-modules/pull/9575",
    ),
    "version": Effect(
        "update of the cluster",
        "waits",
        "GPU pools keep their version until you upgrade them, or Google ends its support",
        f"{_DOCS}/concepts/maintenance-windows-and-exclusions",
    ),
    "pool-added": Effect("create", "runs", "", _POOLS),
    "pool-renamed": Effect("replace of that pool", "others", "", _POOLS),
    "pool-removed": Effect("delete of that pool", "others", "", _POOLS),
}
