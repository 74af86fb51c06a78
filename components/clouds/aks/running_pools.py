"""The pools that a cluster has already, as the autoscaler and earlier updates left them.

A pool that gets another version of Kubernetes has each of its nodes drained and reimaged, with the jobs on it
(https://learn.microsoft.com/azure/aks/upgrade-aks-cluster). So a pool with GPUs keeps its version as long as it has
nodes, and takes a new one at the first update that finds it empty; Azure allows three minors behind the control plane
(https://learn.microsoft.com/azure/aks/supported-kubernetes-versions).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from catalog.aks.naming import pool_name
from components.clouds.aks.context import Context
from concepts.pool import Pool

_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"


def running_version(context: Context, pool: Pool, wanted: str) -> pulumi.Input[str]:
    """``wanted``, or what the nodes run of a GPU pool that has any."""
    if pool.gpu_part is None:
        return wanted
    cluster = pulumi.runtime.invoke_output(
        _CLUSTER,
        {"resourceGroupName": context.group, "resourceName": context.control_plane.output("name")},
        pulumi.InvokeOutputOptions(parent=context.control_plane, depends_on=[context.control_plane]),
    )
    return cluster.apply(lambda found: _kept(found, pool, wanted))


def _kept(cluster: Mapping[str, Any], pool: Pool, wanted: str) -> str:
    profiles = cluster.get("agentPoolProfiles") or ()
    own = next((profile for profile in profiles if profile["name"] == pool_name(pool.name)), None)
    if own is None or not own["count"]:
        return wanted
    runs = str(own["currentOrchestratorVersion"])
    if runs == wanted or runs.startswith(f"{wanted}."):
        return wanted
    nodes = int(own["count"])
    pulumi.info(f"pool {pool.name} has nodes ({nodes}): run `up` again when it has none to change Kubernetes version")
    return runs
