"""Inputs of ``gcp:container/cluster:Cluster`` and what replaces one.

Replacement: the provider's ``ForceNew`` marks,
https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container/resource_container_cluster.go.tmpl
"""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.base import UNKNOWN
from rehearsal.providers.gcp.tables.node_config import NODE_CONFIG_REPLACES, boolean_text
from rehearsal.providers.gcp.tables.node_pool import NODE_POOL, NODE_POOL_FIELDS_REPLACED
from rehearsal.providers.gcp.translate import Local, Refused, Table, To


def exclusions(windows: Any) -> Any:
    """The provider's list of maintenance exclusions as the API's map from exclusion name to time window."""
    if not isinstance(windows, list) or any(w is UNKNOWN or w.get("exclusionName") is UNKNOWN for w in windows):
        return UNKNOWN
    return {window["exclusionName"]: _exclusion(window) for window in windows}


def _exclusion(window: dict[str, Any]) -> dict[str, Any]:
    translated = {key: value for key, value in window.items() if key not in ("exclusionName", "exclusionOptions")}
    if window.get("exclusionOptions"):
        translated["maintenanceExclusionOptions"] = window["exclusionOptions"]
    return translated


CLUSTER: Final[Table] = {
    **NODE_POOL,
    "Cluster": {
        "allowNetAdmin": To("autopilot.workloadPolicyConfig.allowNetAdmin"),
        "autopilotClusterPolicyConfig": To("autopilot.clusterPolicyConfig"),
        "autopilotPrivilegedAdmissions": To("autopilot.privilegedAdmissionConfig.allowlistPaths"),
        "clusterAutoscaling": To("autoscaling"),
        "datapathProvider": To("networkConfig.datapathProvider"),
        "dataplaneOptimizationMode": To("networkConfig.dataplaneV2Config.scalabilityMode"),
        "defaultMaxPodsPerNode": To("defaultMaxPodsConstraint.maxPodsPerNode"),
        "defaultSnatStatus": To("networkConfig.defaultSnatStatus"),
        "deletionPolicy": Local(),
        "deletionProtection": Local(),
        "desiredEmulatedVersion": Refused("emulated versions are not simulated; leave it out"),
        "disableL4LbFirewallReconciliation": To("networkConfig.disableL4LbFirewallReconciliation"),
        "dnsConfig": To("networkConfig.dnsConfig"),
        "enableAutopilot": To("autopilot.enabled"),
        "enableCiliumClusterwideNetworkPolicy": To("networkConfig.enableCiliumClusterwideNetworkPolicy"),
        "enableFqdnNetworkPolicy": To("networkConfig.enableFqdnNetworkPolicy"),
        "enableIntranodeVisibility": To("networkConfig.enableIntraNodeVisibility"),
        "enableL4IlbSubsetting": To("networkConfig.enableL4ilbSubsetting"),
        "enableLegacyAbac": To("legacyAbac.enabled"),
        "enableMultiNetworking": To("networkConfig.enableMultiNetworking"),
        "enableShieldedNodes": To("shieldedNodes.enabled"),
        "gatewayApiConfig": To("networkConfig.gatewayApiConfig"),
        "ignoreNodeCountChanges": Local(),
        "inTransitEncryptionConfig": To("networkConfig.inTransitEncryptionConfig"),
        "location": Local(),
        "minMasterVersion": To("initialClusterVersion"),
        "networkPerformanceConfig": To("networkConfig.networkPerformanceConfig"),
        "networkingMode": Local(),
        "nodeLocations": To("locations"),
        "nodeVersion": Local(),
        "privateIpv6GoogleAccess": To("networkConfig.privateIpv6GoogleAccess"),
        "project": Local(),
        "removeDefaultNodePool": Local(),
        "serviceExternalIpsConfig": To("networkConfig.serviceExternalIpsConfig"),
        "skipNodePoolRefresh": Local(),
    },
    "AddonsConfig": {"cloudrunConfig": To("cloudRunConfig"), "rayOperatorConfigs": To("rayOperatorConfig")},
    "ClusterAutoscaling": {
        "autoProvisioningDefaults": To("autoprovisioningNodePoolDefaults"),
        "autoProvisioningLocations": To("autoprovisioningLocations"),
        "defaultComputeClassEnabled": To("defaultComputeClassConfig.enabled"),
        "enabled": To("enableNodeAutoprovisioning"),
    },
    "AutoprovisioningNodePoolDefaults": {"diskSize": To("diskSizeGb")},
    "DailyMaintenanceWindow": {"duration": Local()},
    "Fleet": {"membershipId": Local(), "membershipLocation": Local()},
    "Filter": {"eventTypes": To("eventType")},
    "IPAllocationPolicy": {
        "additionalIpRangesConfigs": Refused("additional subnetworks of a cluster are not simulated; leave them out"),
    },
    "LoggingConfig": {"enableComponents": To("componentConfig.enableComponents")},
    "MaintenancePolicy": {
        "dailyMaintenanceWindow": To("window.dailyMaintenanceWindow"),
        "maintenanceExclusions": To("window.maintenanceExclusions", exclusions),
        "recurringMaintenanceWindow": To("window.recurringMaintenanceWindow"),
        "recurringWindow": To("window.recurringWindow"),
    },
    "RecurringTimeWindow": {"startTime": To("window.startTime"), "endTime": To("window.endTime")},
    "MonitoringConfig": {
        "enableComponents": To("componentConfig.enableComponents"),
        "managedPrometheus": To("managedPrometheusConfig"),
    },
    "NodeConfigDefaults": {
        "insecureKubeletReadonlyPortEnabled": To("nodeKubeletConfig.insecureKubeletReadonlyPortEnabled", boolean_text),
        "loggingVariant": To("loggingConfig.variantConfig.variant"),
    },
    "NodePoolAutoConfig": {
        "linuxNodeConfig": Refused("is set by the server at creation; set it per pool in nodeConfig.linuxNodeConfig"),
        "resourceManagerTags": To("resourceManagerTags.tags"),
    },
    "ResourceUsageExportConfig": {
        "enableResourceConsumptionMetering": To("consumptionMeteringConfig.enabled"),
    },
}

CLUSTER_REPLACES: Final = (
    "clusterAutoscaling.autoProvisioningDefaults.bootDiskKmsKey",
    "clusterIpv4Cidr",
    "confidentialNodes",
    "datapathProvider",
    "dataplaneOptimizationMode",
    "defaultMaxPodsPerNode",
    "description",
    "enableAutopilot",
    "enableKubernetesAlpha",
    "enableTpu",
    "initialNodeCount",
    "ipAllocationPolicy.clusterIpv4CidrBlock",
    "ipAllocationPolicy.clusterSecondaryRangeName",
    "ipAllocationPolicy.podCidrOverprovisionConfig",
    "ipAllocationPolicy.servicesIpv4CidrBlock",
    "ipAllocationPolicy.servicesSecondaryRangeName",
    "location",
    "masterAuth.clientCertificateConfig",
    "name",
    "network",
    "networkingMode",
    "nodePools[]",
    "privateClusterConfig.masterIpv4CidrBlock",
    "privateClusterConfig.privateEndpointSubnetwork",
    "project",
    "subnetwork",
    "tpuConfig",
    "userManagedKeysConfig.aggregationCa",
    "userManagedKeysConfig.clusterCa",
    "userManagedKeysConfig.etcdApiCa",
    "userManagedKeysConfig.etcdPeerCa",
    *(f"nodeConfig.{field}" for field in NODE_CONFIG_REPLACES),
    *(f"nodePools.{field}" for field in NODE_POOL_FIELDS_REPLACED),
)
