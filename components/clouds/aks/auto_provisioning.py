"""Node auto-provisioning: Karpenter, which Azure runs outside the cluster. A pool is an AKSNodeClass and a NodePool.

https://learn.microsoft.com/azure/aks/node-auto-provisioning, docs/adr/0011-node-auto-provisioning.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds import node_pools
from components.clouds.aks.context import Context
from components.clouds.aks.pools import image, installs_driver
from components.clouds.base import AdminObjects
from components.clouds.raw import beside
from components.resources import CustomResource
from components.settings import Settings
from facts import catalog
from facts.catalog.aks.nodes import MAX_PODS
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks

NAME: Final = "node-auto-provisioning"
"""What the setting ``autoscaling.autoscaler`` calls it."""

# Azure's own NodePools have no limits, and any pod starts their nodes:
# https://learn.microsoft.com/azure/aks/node-auto-provisioning-node-pools#review-default-node-pool-configuration
PROFILE: Final[aks.ManagedClusterNodeProvisioningProfile] = {"mode": "Auto", "defaultNodePools": "None"}

_GROUP: Final = "karpenter.azure.com"
_KIND: Final = "AKSNodeClass"


def node_class(
    pool: Pool,
    *,
    subnet: pulumi.Input[str] | None,
    tags: dict[str, str],
    max_pods: int = MAX_PODS,
    encryption_at_host: bool = True,
) -> dict[str, Any]:
    """The pool's AKSNodeClass, of its name; without a ``subnet`` its nodes are in that of the cluster.

    Fields: https://learn.microsoft.com/azure/aks/node-auto-provisioning-aksnodeclass
    """
    spec: dict[str, Any] = {
        "imageFamily": image(pool),
        "osDiskSizeGB": pool.nodes.disk_gb,
        "maxPods": max_pods,
        **({} if subnet is None else {"vnetSubnetID": subnet}),
        "security": {"encryptionAtHost": encryption_at_host},
        "tags": tags,
    }
    if pool.role == "gpu" and not installs_driver(pool.gpus):
        spec["gpu"] = {"mode": "None"}
    return manifest(f"{_GROUP}/v1beta1", _KIND, pool.name, spec=beside(spec, pool.raw, f"{pool.declared_at}.raw"))


class NodeAutoProvisioning:
    """The pools of a cluster with node auto-provisioning; Azure's definitions of their kinds come with the cluster."""

    def __init__(self, context: Context, pools: Sequence[Pool], objects: AdminObjects) -> None:
        self._context, self._objects = context, objects.objects
        self._weights = node_pools.weights(pools)

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
        """One pool; its nodes end with it, or with the cluster's resource group of nodes."""
        assert opts.parent is not None
        settings = self._context.settings
        made = node_class(pool, subnet=self._context.subnet, tags=dict(settings.labels))
        made_of = self._objects.declare(f"{name}-class", made, opts.parent, self._context.control_plane)
        manifest = node_pool(settings, pool, self._weights[pool.name], cilium=settings.network.dataplane == "cilium")
        return self._objects.declare(name, manifest, opts.parent, made_of)


def node_pool(
    settings: Settings, pool: Pool, weight: int, *, cilium: bool, unneeded_minutes: int | None = None
) -> dict[str, Any]:
    """The pool's NodePool, of its name; ``cilium``: it carries the traffic of the cluster's pods. ``unneeded_minutes``:
    idle ones before its nodes go, by default those of the settings."""
    made = node_pools.node_pool(
        pool,
        catalog.of("aks").machines,
        node_class=(_GROUP, _KIND, pool.name),
        capacity="spot" if pool.scaling.spot else "on-demand",
        weight=weight,
        unneeded_minutes=unneeded_minutes or pool.scaling.unneeded_minutes or settings.idle_minutes,
        maintenance=settings.maintenance,
    )
    if cilium:
        _wait_for_cilium(made["spec"]["template"])
    return made


def _wait_for_cilium(template: dict[str, Any]) -> None:
    """Have Karpenter reckon with Cilium's agent, which taints a new node until it is ready.

    Without the taint Karpenter starts a second node for the same pods, without the label it does not count the agent's
    requests: https://github.com/Azure/karpenter-provider-azure/issues/1442
    """
    template["metadata"]["labels"]["kubernetes.azure.com/ebpf-dataplane"] = "cilium"
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
    template["spec"]["startupTaints"] = [taint]
