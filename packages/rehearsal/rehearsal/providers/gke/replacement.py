"""What replaces a cluster or node pool: the provider's ``ForceNew`` marks.

https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container:
``node_config.go.tmpl``, ``resource_container_node_pool.go.tmpl``, ``resource_container_cluster.go.tmpl``
"""

from __future__ import annotations

from typing import Final

NODE_CONFIG_REPLACES: Final = (
    "advancedMachineFeatures",
    "bootDiskKmsKey",
    "confidentialNodes.confidentialInstanceType",
    "enableConfidentialStorage",
    "ephemeralStorageConfig",
    "ephemeralStorageLocalSsdConfig",
    "guestAccelerators",
    "hostMaintenancePolicy",
    "localNvmeSsdBlockConfig",
    "localSsdCount",
    "localSsdEncryptionMode",
    "metadata",
    "minCpuPlatform",
    "nodeGroup",
    "oauthScopes",
    "preemptible",
    "reservationAffinity",
    "sandboxConfig",
    "secondaryBootDisks",
    "serviceAccount",
    "shieldedInstanceConfig",
    "soleTenantConfig",
    "spot",
)

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

NODES_RECREATED: Final = (
    "nodeConfig.containerdConfig",
    "nodeConfig.diskSizeGb",
    "nodeConfig.diskType",
    "nodeConfig.gcfsConfig",
    "nodeConfig.gvnic",
    "nodeConfig.imageType",
    "nodeConfig.kubeletConfig",
    "nodeConfig.linuxNodeConfig",
    "nodeConfig.machineType",
    "nodeConfig.storagePools",
    "nodeConfig.workloadMetadataConfig",
    "version",
)
"""What the provider changes in place and Google then drains and replaces every node for, one after the other.

Machine and disk: the API's own words, quoted where the provider learnt it
(https://github.com/GoogleCloudPlatform/magic-modules/pull/9575). Labels, taints and network tags leave nodes alone
(https://cloud.google.com/kubernetes-engine/docs/how-to/update-existing-nodepools). The others: likely, from
https://cloud.google.com/kubernetes-engine/docs/concepts/managing-clusters; none is changed by this program.
"""

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
    "masterAuth.clientCertificateConfig",
    "network",
    "networkingMode",
    "nodePools[]",
    "privateClusterConfig.masterIpv4CidrBlock",
    "privateClusterConfig.privateEndpointSubnetwork",
    "subnetwork",
    "tpuConfig",
    "userManagedKeysConfig.aggregationCa",
    "userManagedKeysConfig.clusterCa",
    "userManagedKeysConfig.etcdApiCa",
    "userManagedKeysConfig.etcdPeerCa",
    *(f"nodeConfig.{field}" for field in NODE_CONFIG_REPLACES),
    *(f"nodePools.{field}" for field in NODE_POOL_FIELDS_REPLACED),
)
