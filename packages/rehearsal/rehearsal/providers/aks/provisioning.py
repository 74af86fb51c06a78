"""Node auto-provisioning: the Karpenter that Azure runs for a cluster, and what its nodes are.

https://learn.microsoft.com/azure/aks/node-auto-provisioning. Azure's provider of Karpenter itself is not run: see
docs/adr/0011-node-auto-provisioning.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from facts.catalog.aks.nodes import MAX_PODS
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.errors import bad_request
from rehearsal.providers.aks.nodes import POOL_LABEL, PREFIX, node_group
from rehearsal.providers.base import Properties
from rehearsal.providers.store import Record
from rehearsal.providers.table import manifests
from rehearsal.providers.values import at
from rehearsal.simulation import ManagedKarpenter, SimulatedNodeGroup

_NODE_CLASS: Final = ("karpenter.azure.com", "v1beta1", "AKSNodeClass")
_TYPE: Final = "node.kubernetes.io/instance-type"
_MARKET: Final = "karpenter.sh/capacity-type"
_AGENT_TAINT: Final = "node.cilium.io/agent-not-ready"
_DATAPLANE: Final = f"{PREFIX}ebpf-dataplane"
_PLANNED_DISK_GB: Final = 2048
"""The largest. Azure's provider plans with the node class's, kwok with one size for all pools of a machine type."""

# Of agent pools alone.
_NOT_THERE: Final = (POOL_LABEL, f"{PREFIX}agentpool", f"{PREFIX}nodepool-type")


def provisions(cluster: Mapping[str, Any]) -> bool:
    """Whether the cluster has node auto-provisioning, which AKS Automatic brings with it."""
    mode, automatic = at(cluster, "nodeProvisioningProfile.mode"), at(cluster, "sku.name") == "Automatic"
    return mode == "Auto" or (mode is None and automatic)


def problems(cloud: Subscription, cluster: Record) -> list[str] | None:
    """NodePools that do not reckon with Cilium, whose agent taints each node until it is ready; ``None`` without it.

    https://github.com/Azure/karpenter-provider-azure/issues/1442, https://karpenter.sh/docs/faq (extra nodes)
    """
    if not provisions(cluster.inputs) or not _has_cilium(cluster.inputs):
        return None
    found = []
    for pool in cloud.machines().list_objects("/apis/karpenter.sh/v1/nodepools"):
        template, name = pool["spec"]["template"], f"NodePool {pool['metadata']['name']}"
        if _AGENT_TAINT not in [taint["key"] for taint in at(template, "spec.startupTaints") or ()]:
            found.append(
                f"{name}: without the startup taint {_AGENT_TAINT} Karpenter starts a second node for its pods"
            )
        if ((template.get("metadata") or {}).get("labels") or {}).get(_DATAPLANE) != "cilium":
            found.append(f"{name}: without the label {_DATAPLANE}=cilium Karpenter does not count what Cilium requests")
    return found


def _has_cilium(cluster: Mapping[str, Any]) -> bool:
    return at(cluster, "networkProfile.networkDataplane") == "cilium"


def require_one_autoscaler(cluster: Properties, pools: list[Properties]) -> None:
    """400 if one of the pools has the cluster autoscaler beside node auto-provisioning.

    "Autoscaling Node Pools cannot be" created (https://learn.microsoft.com/rest/api/aks/managed-clusters/create-or-update,
    NodeProvisioningMode); both need a preview feature (https://learn.microsoft.com/azure/aks/migrate-from-autoscaler-to-node-auto-provisioning).
    Azure's words are not quoted anywhere.
    """
    if provisions(cluster) and any(pool.get("enableAutoScaling") for pool in pools):
        raise bad_request(
            "Node auto provisioning is not supported on a cluster with node pools that have the cluster autoscaler "
            "enabled, unless the feature AllowClusterAutoscalerAndNAP is registered."
        )


def karpenter(cloud: Subscription, cluster: Record) -> ManagedKarpenter:
    """Azure's Karpenter for the cluster, which may start every size of the catalogue in every zone."""
    (definition,) = manifests(Path(__file__).parent / "system", "aksnodeclass")

    def node(labels: Mapping[str, str], spec: Mapping[str, Any]) -> SimulatedNodeGroup:
        group = _group(cloud, cluster, labels[_TYPE], spec, spot=labels[_MARKET] == "spot")
        own = {key: value for key, value in group.labels.items() if key not in _NOT_THERE}
        # https://github.com/Azure/karpenter-provider-azure/blob/v1.14.2/pkg/providers/labels/labels.go
        priority = "spot" if group.spot else "regular"
        own |= {f"{PREFIX}scalesetpriority": priority, f"{PREFIX}priority": priority}
        return replace(group, labels={**own, "karpenter.azure.com/sku-name": group.machine.type}, renewal="")

    agent_taint = _AGENT_TAINT if _has_cilium(cluster.inputs) else None
    return ManagedKarpenter(_NODE_CLASS, definition, tuple(_offers(cloud, cluster)), node, agent_taint)


def _offers(cloud: Subscription, cluster: Record) -> Iterator[SimulatedNodeGroup]:
    region = cluster.inputs["location"]
    for name in cloud.catalog.machines.types:
        machine = cloud.catalog.machines.get(name)
        having = cloud.catalog.gpu_zones(machine.gpu) if machine is not None and machine.gpu else None
        zones = tuple(zone for zone in cloud.catalog.regions[region] if having is None or zone in having)
        for spot in (False, True) if zones else ():
            spec = {"osDiskSizeGB": _PLANNED_DISK_GB, "maxPods": MAX_PODS}
            yield replace(_group(cloud, cluster, name, spec, spot=spot), zones=zones)


def _group(
    cloud: Subscription, cluster: Record, name: str, spec: Mapping[str, Any], *, spot: bool
) -> SimulatedNodeGroup:
    """A node as that of an agent pool of one machine."""
    pool = {
        "vmSize": name,
        "count": 1,
        "maxPods": spec.get("maxPods"),
        "osDiskSizeGB": spec.get("osDiskSizeGB"),
        "osSKU": "AzureLinux" if spec.get("imageFamily") == "AzureLinux" else "Ubuntu",
        "scaleSetPriority": "Spot" if spot else "Regular",
        "gpuProfile": {"driver": "None" if at(spec, "gpu.mode") == "None" else "Install"},
    }
    return node_group(cloud, cluster.inputs, name, pool, cluster.outputs["nodeResourceGroup"], None)
