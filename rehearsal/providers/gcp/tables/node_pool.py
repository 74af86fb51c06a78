"""Inputs of ``gcp:container/nodePool:NodePool`` and what replaces one.

Replacement: the provider's ``ForceNew`` marks,
https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container/resource_container_node_pool.go.tmpl
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.gcp.tables.node_config import NODE_CONFIG, NODE_CONFIG_REPLACES
from rehearsal.providers.gcp.translate import Local, Table, To

NODE_POOL: Final[Table] = {
    **NODE_CONFIG,
    "NodePool": {
        "cluster": Local(),
        "deletionPolicy": Local(),
        "ignoreNodeCountChanges": Local(),
        "location": Local(),
        "maintenancePolicies": To("maintenancePolicy"),
        "managedInstanceGroupUrls": Local(),
        "maxPodsPerNode": To("maxPodsConstraint.maxPodsPerNode"),
        "namePrefix": Local(),
        "nodeConfig": To("config"),
        "nodeCount": To("initialNodeCount"),
        "nodeDrainConfigs": To("nodeDrainConfig"),
        "nodeLocations": To("locations"),
        "project": Local(),
    },
    "AdditionalPodNetworkConfig": {"maxPodsPerNode": To("maxPodsPerNode.maxPodsPerNode")},
    "NodePoolMaintenancePolicy": {"exclusionUntilEndOfSupports": To("exclusionUntilEndOfSupport")},
    "PodCIDROverprovisionConfig": {"disabled": To("disable")},
}

NODE_POOL_FIELDS_REPLACED: Final = (
    "initialNodeCount",
    "maxPodsPerNode",
    "name",
    "namePrefix",
    "networkConfig.acceleratorNetworkProfile",
    "networkConfig.additionalNodeNetworkConfigs",
    "networkConfig.additionalPodNetworkConfigs",
    "networkConfig.createPodRange",
    "networkConfig.podCidrOverprovisionConfig",
    "networkConfig.podIpv4CidrBlock",
    "networkConfig.podRange",
    "networkConfig.subnetwork",
    "placementPolicy",
    "queuedProvisioning",
    *(f"nodeConfig.{field}" for field in NODE_CONFIG_REPLACES),
)

NODE_POOL_REPLACES: Final = ("project", "cluster", "location", *NODE_POOL_FIELDS_REPLACED)
