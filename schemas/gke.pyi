"""Inputs and outputs of gke's resource types as its provider has them, made by `make schemas`.

There is no such module at run time:

    if TYPE_CHECKING:
        from schemas import gke
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

from pulumi import Input, Output, ResourceOptions
from typing_extensions import Required, TypedDict

from components.resources import CustomResource

class AcceleratorConfig(TypedDict, total=False):
    count: Required[Input[int]]
    type: Required[Input[str]]
    gpuDriverInstallationConfig: Input[GPUDriverInstallationConfig]
    gpuPartitionSize: Input[str]
    gpuSharingConfig: Input[GPUSharingConfig]

class AccurateTimeConfig(TypedDict, total=False):
    enablePtpKvmTimeSync: Input[bool]

class AdditionalNodeNetworkConfig(TypedDict, total=False):
    network: Input[str]
    stackType: Input[str]
    subnetwork: Input[str]

class AdditionalPodNetworkConfig(TypedDict, total=False):
    maxPodsPerNode: Input[int]
    secondaryPodRange: Input[str]
    subnetwork: Input[str]

class AdditionalPodRangesConfig(TypedDict, total=False):
    podRangeNames: Required[Input[Sequence[Input[str]]]]

class AddonsConfig(TypedDict, total=False):
    agentSandboxConfig: Input[AgentSandboxConfig]
    cloudrunConfig: Input[CloudRunConfig]
    configConnectorConfig: Input[ConfigConnectorConfig]
    dnsCacheConfig: Input[DnsCacheConfig]
    gcePersistentDiskCsiDriverConfig: Input[GcePersistentDiskCsiDriverConfig]
    gcpFilestoreCsiDriverConfig: Input[GcpFilestoreCsiDriverConfig]
    gcsFuseCsiDriverConfig: Input[GcsFuseCsiDriverConfig]
    gkeBackupAgentConfig: Input[GkeBackupAgentConfig]
    highScaleCheckpointingConfig: Input[HighScaleCheckpointingConfig]
    horizontalPodAutoscaling: Input[HorizontalPodAutoscaling]
    httpLoadBalancing: Input[HttpLoadBalancing]
    istioConfig: Input[IstioConfig]
    kalmConfig: Input[KalmConfig]
    lustreCsiDriverConfig: Input[LustreCsiDriverConfig]
    networkPolicyConfig: Input[NetworkPolicyConfig]
    nodeReadinessConfig: Input[NodeReadinessConfig]
    parallelstoreCsiDriverConfig: Input[ParallelstoreCsiDriverConfig]
    podSnapshotConfig: Input[PodSnapshotConfig]
    rayOperatorConfigs: Input[Sequence[Input[RayOperatorConfig]]]
    sliceControllerConfig: Input[SliceControllerConfig]
    slurmOperatorConfig: Input[SlurmOperatorConfig]
    statefulHaConfig: Input[StatefulHAConfig]

class Address(TypedDict, total=False):
    address: Input[str]
    addressType: Input[str]
    deletionPolicy: Input[str]
    description: Input[str]
    ipCollection: Input[str]
    ipVersion: Input[str]
    ipv6EndpointType: Input[str]
    labels: Input[Mapping[str, Input[str]]]
    name: Input[str]
    network: Input[str]
    networkTier: Input[str]
    prefixLength: Input[int]
    project: Input[str]
    purpose: Input[str]
    region: Input[str]
    subnetwork: Input[str]

class AdvancedDatapathObservabilityConfig(TypedDict, total=False):
    enableMetrics: Required[Input[bool]]
    enableRelay: Required[Input[bool]]

class AdvancedMachineFeatures(TypedDict, total=False):
    threadsPerCore: Required[Input[int]]
    enableNestedVirtualization: Input[bool]
    performanceMonitoringUnit: Input[str]

class AgentSandboxConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class AnonymousAuthenticationConfig(TypedDict, total=False):
    mode: Required[Input[str]]

class AptRepository(TypedDict, total=False):
    publicRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigAptRepositoryPublicRepository]

class AuthenticatorGroupsConfig(TypedDict, total=False):
    securityGroup: Required[Input[str]]

class AutoIpamConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class AutoMonitoringConfig(TypedDict, total=False):
    scope: Required[Input[str]]

class AutoUpgradeOptions(TypedDict, total=False):
    autoUpgradeStartTime: Input[str]
    description: Input[str]

class AutoprovisioningNodePoolDefaults(TypedDict, total=False):
    bootDiskKmsKey: Input[str]
    diskSize: Input[int]
    diskType: Input[str]
    imageType: Input[str]
    management: Input[ClusterClusterAutoscalingAutoProvisioningDefaultsManagement]
    minCpuPlatform: Input[str]
    oauthScopes: Input[Sequence[Input[str]]]
    serviceAccount: Input[str]
    shieldedInstanceConfig: Input[ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfig]
    upgradeSettings: Input[ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettings]

class AutoscaledRolloutPolicy(TypedDict, total=False):
    waitForDrainDuration: Input[str]

class BestEffortProvisioning(TypedDict, total=False):
    enabled: Required[Input[bool]]
    minProvisionNodes: Input[int]

class BigQueryDestination(TypedDict, total=False):
    datasetId: Required[Input[str]]

class BinaryAuthorization(TypedDict, total=False):
    enabled: Input[bool]
    evaluationMode: Input[str]

class BootDisk(TypedDict, total=False):
    diskType: Input[str]
    provisionedIops: Input[int]
    provisionedThroughput: Input[int]
    sizeGb: Input[int]

class BootDiskProfile(TypedDict, total=False):
    swapSizeGib: Input[int]
    swapSizePercent: Input[int]

class Bucket(TypedDict, total=False):
    location: Required[Input[str]]
    autoclass: Input[BucketAutoclass]
    cors: Input[Sequence[Input[BucketCors]]]
    customPlacementConfig: Input[BucketCustomPlacementConfig]
    defaultEventBasedHold: Input[bool]
    deletionPolicy: Input[str]
    enableObjectRetention: Input[bool]
    encryption: Input[BucketEncryption]
    forceDestroy: Input[bool]
    hierarchicalNamespace: Input[BucketHierarchicalNamespace]
    ipFilter: Input[BucketIpFilter]
    labels: Input[Mapping[str, Input[str]]]
    lifecycleRules: Input[Sequence[Input[BucketLifecycleRule]]]
    logging: Input[BucketLogging]
    name: Input[str]
    project: Input[str]
    publicAccessPrevention: Input[str]
    requesterPays: Input[bool]
    retentionPolicy: Input[BucketRetentionPolicy]
    rpo: Input[str]
    softDeletePolicy: Input[BucketSoftDeletePolicy]
    storageClass: Input[str]
    uniformBucketLevelAccess: Input[bool]
    versioning: Input[BucketVersioning]
    website: Input[BucketWebsite]

class BucketAutoclass(TypedDict, total=False):
    enabled: Required[Input[bool]]
    terminalStorageClass: Input[str]

class BucketCors(TypedDict, total=False):
    maxAgeSeconds: Input[int]
    methods: Input[Sequence[Input[str]]]
    origins: Input[Sequence[Input[str]]]
    responseHeaders: Input[Sequence[Input[str]]]

class BucketCustomPlacementConfig(TypedDict, total=False):
    dataLocations: Required[Input[Sequence[Input[str]]]]

class BucketEncryption(TypedDict, total=False):
    customerManagedEncryptionEnforcementConfig: Input[BucketEncryptionCustomerManagedEncryptionEnforcementConfig]
    customerSuppliedEncryptionEnforcementConfig: Input[BucketEncryptionCustomerSuppliedEncryptionEnforcementConfig]
    defaultKmsKeyName: Input[str]
    googleManagedEncryptionEnforcementConfig: Input[BucketEncryptionGoogleManagedEncryptionEnforcementConfig]

class BucketEncryptionCustomerManagedEncryptionEnforcementConfig(TypedDict, total=False):
    restrictionMode: Required[Input[str]]
    effectiveTime: Input[str]

class BucketEncryptionCustomerSuppliedEncryptionEnforcementConfig(TypedDict, total=False):
    restrictionMode: Required[Input[str]]
    effectiveTime: Input[str]

class BucketEncryptionGoogleManagedEncryptionEnforcementConfig(TypedDict, total=False):
    restrictionMode: Required[Input[str]]
    effectiveTime: Input[str]

class BucketHierarchicalNamespace(TypedDict, total=False):
    enabled: Required[Input[bool]]

class BucketIpFilter(TypedDict, total=False):
    mode: Required[Input[str]]
    allowAllServiceAgentAccess: Input[bool]
    allowCrossOrgVpcs: Input[bool]
    publicNetworkSource: Input[BucketIpFilterPublicNetworkSource]
    vpcNetworkSources: Input[Sequence[Input[BucketIpFilterVpcNetworkSources]]]

class BucketIpFilterPublicNetworkSource(TypedDict, total=False):
    allowedIpCidrRanges: Required[Input[Sequence[Input[str]]]]

class BucketIpFilterVpcNetworkSources(TypedDict, total=False):
    allowedIpCidrRanges: Required[Input[Sequence[Input[str]]]]
    network: Required[Input[str]]

class BucketLifecycleRule(TypedDict, total=False):
    action: Required[Input[BucketLifecycleRuleAction]]
    condition: Required[Input[BucketLifecycleRuleCondition]]

class BucketLifecycleRuleAction(TypedDict, total=False):
    type: Required[Input[str]]
    storageClass: Input[str]

class BucketLifecycleRuleCondition(TypedDict, total=False):
    age: Input[int]
    createdBefore: Input[str]
    customTimeBefore: Input[str]
    daysSinceCustomTime: Input[int]
    daysSinceNoncurrentTime: Input[int]
    matchesPrefixes: Input[Sequence[Input[str]]]
    matchesStorageClasses: Input[Sequence[Input[str]]]
    matchesSuffixes: Input[Sequence[Input[str]]]
    noncurrentTimeBefore: Input[str]
    numNewerVersions: Input[int]
    sendAgeIfZero: Input[bool]
    sendDaysSinceCustomTimeIfZero: Input[bool]
    sendDaysSinceNoncurrentTimeIfZero: Input[bool]
    sendNumNewerVersionsIfZero: Input[bool]
    sizeAboveBytes: Input[int]
    sizeBelowBytes: Input[int]
    withState: Input[str]

class BucketLogging(TypedDict, total=False):
    logBucket: Required[Input[str]]
    logObjectPrefix: Input[str]

class BucketRetentionPolicy(TypedDict, total=False):
    retentionPeriod: Required[Input[int]]
    isLocked: Input[bool]

class BucketSoftDeletePolicy(TypedDict, total=False):
    effectiveTime: Input[str]
    retentionDurationSeconds: Input[int]

class BucketVersioning(TypedDict, total=False):
    enabled: Required[Input[bool]]

class BucketWebsite(TypedDict, total=False):
    mainPageSuffix: Input[str]
    notFoundPage: Input[str]

class BucketIAMMember(TypedDict, total=False):
    bucket: Required[Input[str]]
    member: Required[Input[str]]
    role: Required[Input[str]]
    condition: Input[Expr]

class CertificateAuthorityDomainConfig(TypedDict, total=False):
    fqdns: Required[Input[Sequence[Input[str]]]]
    gcpSecretManagerCertificateConfig: Required[Input[GCPSecretManagerCertificateConfig]]

class CertificateConfig(TypedDict, total=False):
    gcpSecretManagerSecretUri: Input[str]

class CertificateConfigPair(TypedDict, total=False):
    cert: Required[Input[CertificateConfig]]
    key: Input[CertificateConfig]

class CidrBlock(TypedDict, total=False):
    cidrBlock: Required[Input[str]]
    displayName: Input[str]

class CleanupPolicy(TypedDict, total=False):
    id: Required[Input[str]]
    action: Input[str]
    condition: Input[CleanupPolicyCondition]
    mostRecentVersions: Input[CleanupPolicyMostRecentVersions]

class CleanupPolicyCondition(TypedDict, total=False):
    newerThan: Input[str]
    olderThan: Input[str]
    packageNamePrefixes: Input[Sequence[Input[str]]]
    tagPrefixes: Input[Sequence[Input[str]]]
    tagState: Input[str]
    versionNamePrefixes: Input[Sequence[Input[str]]]

class CleanupPolicyMostRecentVersions(TypedDict, total=False):
    keepCount: Input[int]
    packageNamePrefixes: Input[Sequence[Input[str]]]

class ClientCertificateConfig(TypedDict, total=False):
    issueClientCertificate: Required[Input[bool]]

class CloudRunConfig(TypedDict, total=False):
    disabled: Required[Input[bool]]
    loadBalancerType: Input[str]

class Cluster(TypedDict, total=False):
    addonsConfig: Input[AddonsConfig]
    allowNetAdmin: Input[bool]
    anonymousAuthenticationConfig: Input[AnonymousAuthenticationConfig]
    authenticatorGroupsConfig: Input[AuthenticatorGroupsConfig]
    autopilotClusterPolicyConfig: Input[ClusterPolicyConfig]
    autopilotPrivilegedAdmissions: Input[Sequence[Input[str]]]
    binaryAuthorization: Input[BinaryAuthorization]
    clusterAutoscaling: Input[ClusterAutoscaling]
    clusterIpv4Cidr: Input[str]
    clusterTelemetry: Input[ClusterTelemetry]
    confidentialNodes: Input[ClusterConfidentialNodes]
    controlPlaneEndpointsConfig: Input[ControlPlaneEndpointsConfig]
    costManagementConfig: Input[CostManagementConfig]
    databaseEncryption: Input[DatabaseEncryption]
    datapathProvider: Input[str]
    dataplaneOptimizationMode: Input[str]
    defaultMaxPodsPerNode: Input[int]
    defaultSnatStatus: Input[DefaultSnatStatus]
    deletionPolicy: Input[str]
    deletionProtection: Input[bool]
    description: Input[str]
    desiredEmulatedVersion: Input[str]
    disableL4LbFirewallReconciliation: Input[bool]
    dnsConfig: Input[DNSConfig]
    enableAutopilot: Input[bool]
    enableCiliumClusterwideNetworkPolicy: Input[bool]
    enableFqdnNetworkPolicy: Input[bool]
    enableIntranodeVisibility: Input[bool]
    enableK8sBetaApis: Input[K8sBetaAPIConfig]
    enableKubernetesAlpha: Input[bool]
    enableL4IlbSubsetting: Input[bool]
    enableLegacyAbac: Input[bool]
    enableMultiNetworking: Input[bool]
    enableShieldedNodes: Input[bool]
    enableTpu: Input[bool]
    enterpriseConfig: Input[EnterpriseConfig]
    fleet: Input[Fleet]
    gatewayApiConfig: Input[GatewayAPIConfig]
    gkeAutoUpgradeConfig: Input[GkeAutoUpgradeConfig]
    identityServiceConfig: Input[IdentityServiceConfig]
    ignoreNodeCountChanges: Input[bool]
    inTransitEncryptionConfig: Input[str]
    initialNodeCount: Input[int]
    ipAllocationPolicy: Input[IPAllocationPolicy]
    location: Input[str]
    loggingConfig: Input[LoggingConfig]
    loggingService: Input[str]
    maintenancePolicy: Input[MaintenancePolicy]
    managedMachineLearningDiagnosticsConfig: Input[ManagedMachineLearningDiagnosticsConfig]
    managedOpentelemetryConfig: Input[ManagedOpenTelemetryConfig]
    masterAuth: Input[MasterAuth]
    masterAuthorizedNetworksConfig: Input[MasterAuthorizedNetworksConfig]
    meshCertificates: Input[MeshCertificates]
    minMasterVersion: Input[str]
    monitoringConfig: Input[MonitoringConfig]
    monitoringService: Input[str]
    name: Input[str]
    network: Input[str]
    networkPerformanceConfig: Input[ClusterNetworkPerformanceConfig]
    networkPolicy: Input[NetworkPolicy]
    networkingMode: Input[str]
    nodeConfig: Input[ClusterNodeConfig]
    nodeCreationConfig: Input[NodeCreationConfig]
    nodeLocations: Input[Sequence[Input[str]]]
    nodePoolAutoConfig: Input[NodePoolAutoConfig]
    nodePoolDefaults: Input[NodePoolDefaults]
    nodePools: Input[Sequence[Input[ClusterNodePool]]]
    nodeVersion: Input[str]
    notificationConfig: Input[NotificationConfig]
    podAutoscaling: Input[PodAutoscaling]
    podSecurityPolicyConfig: Input[PodSecurityPolicyConfig]
    privateClusterConfig: Input[PrivateClusterConfig]
    privateIpv6GoogleAccess: Input[str]
    project: Input[str]
    protectConfig: Input[ProtectConfig]
    rbacBindingConfig: Input[RBACBindingConfig]
    releaseChannel: Input[ReleaseChannel]
    removeDefaultNodePool: Input[bool]
    resourceLabels: Input[Mapping[str, Input[str]]]
    resourceUsageExportConfig: Input[ResourceUsageExportConfig]
    rollbackSafeUpgrade: Input[RollbackSafeUpgrade]
    secretManagerConfig: Input[SecretManagerConfig]
    secretSyncConfig: Input[SecretSyncConfig]
    securityPostureConfig: Input[SecurityPostureConfig]
    serviceExternalIpsConfig: Input[ServiceExternalIPsConfig]
    skipNodePoolRefresh: Input[bool]
    subnetwork: Input[str]
    tpuConfig: Input[TpuConfig]
    userManagedKeysConfig: Input[UserManagedKeysConfig]
    verticalPodAutoscaling: Input[VerticalPodAutoscaling]
    workloadAltsConfig: Input[WorkloadALTSConfig]
    workloadIdentityConfig: Input[WorkloadIdentityConfig]

class ClusterAutoscaling(TypedDict, total=False):
    autoProvisioningDefaults: Input[AutoprovisioningNodePoolDefaults]
    autoProvisioningLocations: Input[Sequence[Input[str]]]
    autoscalingProfile: Input[str]
    defaultComputeClassEnabled: Input[bool]
    enabled: Input[bool]
    resourceLimits: Input[Sequence[Input[ResourceLimit]]]

class ClusterClusterAutoscalingAutoProvisioningDefaultsManagement(TypedDict, total=False):
    autoRepair: Input[bool]
    autoUpgrade: Input[bool]
    upgradeOptions: Input[Sequence[Input[AutoUpgradeOptions]]]

class ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfig(TypedDict, total=False):
    enableIntegrityMonitoring: Input[bool]
    enableSecureBoot: Input[bool]

class ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettings(TypedDict, total=False):
    blueGreenSettings: Input[ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsBlueGreenSettings]
    maxSurge: Input[int]
    maxUnavailable: Input[int]
    strategy: Input[str]

class ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsBlueGreenSettings(TypedDict, total=False):
    nodePoolSoakDuration: Input[str]
    standardRolloutPolicy: Input[ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsBlueGreenSettingsStandardRolloutPolicy]

class ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsBlueGreenSettingsStandardRolloutPolicy(TypedDict, total=False):
    batchNodeCount: Input[int]
    batchPercentage: Input[float]
    batchSoakDuration: Input[str]

class ClusterConfidentialNodes(TypedDict, total=False):
    enabled: Required[Input[bool]]
    confidentialInstanceType: Input[str]

class ClusterNetworkPerformanceConfig(TypedDict, total=False):
    totalEgressBandwidthTier: Required[Input[str]]

class ClusterNodeConfig(TypedDict, total=False):
    advancedMachineFeatures: Input[AdvancedMachineFeatures]
    bootDisk: Input[BootDisk]
    bootDiskKmsKey: Input[str]
    confidentialNodes: Input[ClusterNodeConfigConfidentialNodes]
    containerdConfig: Input[ContainerdConfig]
    diskSizeGb: Input[int]
    diskType: Input[str]
    effectiveTaints: Input[Sequence[Input[ClusterNodeConfigEffectiveTaint]]]
    enableConfidentialStorage: Input[bool]
    ephemeralStorageConfig: Input[EphemeralStorageConfig]
    ephemeralStorageLocalSsdConfig: Input[EphemeralStorageLocalSsdConfig]
    fastSocket: Input[FastSocket]
    flexStart: Input[bool]
    gcfsConfig: Input[GcfsConfig]
    gpudirectStrategy: Input[str]
    guestAccelerators: Input[Sequence[Input[AcceleratorConfig]]]
    gvnic: Input[VirtualNIC]
    hostMaintenancePolicy: Input[HostMaintenancePolicy]
    imageType: Input[str]
    kubeletConfig: Input[ClusterNodeConfigKubeletConfig]
    labels: Input[Mapping[str, Input[str]]]
    linuxNodeConfig: Input[LinuxNodeConfig]
    localNvmeSsdBlockConfig: Input[LocalNvmeSsdBlockConfig]
    localSsdCount: Input[int]
    localSsdEncryptionMode: Input[str]
    loggingVariant: Input[str]
    machineType: Input[str]
    maxRunDuration: Input[str]
    metadata: Input[Mapping[str, Input[str]]]
    minCpuPlatform: Input[str]
    nodeGroup: Input[str]
    nodeImageConfigs: Input[Sequence[Input[CustomImageConfig]]]
    oauthScopes: Input[Sequence[Input[str]]]
    preemptible: Input[bool]
    reservationAffinity: Input[ReservationAffinity]
    resourceLabels: Input[Mapping[str, Input[str]]]
    resourceManagerTags: Input[Mapping[str, Input[str]]]
    sandboxConfig: Input[SandboxConfig]
    secondaryBootDisks: Input[Sequence[Input[SecondaryBootDisk]]]
    serviceAccount: Input[str]
    shieldedInstanceConfig: Input[ClusterNodeConfigShieldedInstanceConfig]
    soleTenantConfig: Input[SoleTenantConfig]
    spot: Input[bool]
    storagePools: Input[Sequence[Input[str]]]
    tags: Input[Sequence[Input[str]]]
    taintConfig: Input[TaintConfig]
    taints: Input[Sequence[Input[NodeTaint]]]
    windowsNodeConfig: Input[WindowsNodeConfig]
    workloadMetadataConfig: Input[WorkloadMetadataConfig]

class ClusterNodeConfigConfidentialNodes(TypedDict, total=False):
    enabled: Required[Input[bool]]
    confidentialInstanceType: Input[str]

class ClusterNodeConfigEffectiveTaint(TypedDict, total=False):
    effect: Input[str]
    key: Input[str]
    value: Input[str]

class ClusterNodeConfigKubeletConfig(TypedDict, total=False):
    allowedUnsafeSysctls: Input[Sequence[Input[str]]]
    containerLogMaxFiles: Input[int]
    containerLogMaxSize: Input[str]
    cpuCfsQuota: Input[bool]
    cpuCfsQuotaPeriod: Input[str]
    cpuManagerPolicy: Input[str]
    crashLoopBackOff: Input[CrashLoopBackOffConfig]
    evictionMaxPodGracePeriodSeconds: Input[int]
    evictionMinimumReclaim: Input[EvictionMinimumReclaim]
    evictionSoft: Input[EvictionSignals]
    evictionSoftGracePeriod: Input[EvictionGracePeriod]
    imageGcHighThresholdPercent: Input[int]
    imageGcLowThresholdPercent: Input[int]
    imageMaximumGcAge: Input[str]
    imageMinimumGcAge: Input[str]
    insecureKubeletReadonlyPortEnabled: Input[str]
    maxParallelImagePulls: Input[int]
    memoryManager: Input[MemoryManager]
    podPidsLimit: Input[int]
    shutdownGracePeriodCriticalPodsSeconds: Input[int]
    shutdownGracePeriodSeconds: Input[int]
    singleProcessOomKill: Input[bool]
    topologyManager: Input[TopologyManager]

class ClusterNodeConfigShieldedInstanceConfig(TypedDict, total=False):
    enableIntegrityMonitoring: Input[bool]
    enableSecureBoot: Input[bool]

class ClusterNodePool(TypedDict, total=False):
    autoscaling: Input[NodePoolAutoscaling]
    bestEffortProvisioning: Input[BestEffortProvisioning]
    ignoreNodeCountChanges: Input[bool]
    initialNodeCount: Input[int]
    instanceGroupUrls: Input[Sequence[Input[str]]]
    maintenancePolicies: Input[Sequence[Input[NodePoolMaintenancePolicy]]]
    managedInstanceGroupUrls: Input[Sequence[Input[str]]]
    management: Input[ClusterNodePoolManagement]
    maxPodsPerNode: Input[int]
    name: Input[str]
    namePrefix: Input[str]
    networkConfig: Input[NodeNetworkConfig]
    nodeConfig: Input[ClusterNodePoolNodeConfig]
    nodeCount: Input[int]
    nodeDrainConfigs: Input[Sequence[Input[NodeDrainConfig]]]
    nodeLocations: Input[Sequence[Input[str]]]
    placementPolicy: Input[PlacementPolicy]
    queuedProvisioning: Input[QueuedProvisioning]
    upgradeSettings: Input[ClusterNodePoolUpgradeSettings]
    version: Input[str]

class ClusterNodePoolAutoConfigNodeKubeletConfig(TypedDict, total=False):
    insecureKubeletReadonlyPortEnabled: Input[str]

class ClusterNodePoolManagement(TypedDict, total=False):
    autoRepair: Input[bool]
    autoUpgrade: Input[bool]

class ClusterNodePoolNodeConfig(TypedDict, total=False):
    advancedMachineFeatures: Input[AdvancedMachineFeatures]
    bootDisk: Input[BootDisk]
    bootDiskKmsKey: Input[str]
    confidentialNodes: Input[ClusterNodeConfigConfidentialNodes]
    containerdConfig: Input[ContainerdConfig]
    diskSizeGb: Input[int]
    diskType: Input[str]
    effectiveTaints: Input[Sequence[Input[ClusterNodePoolNodeConfigEffectiveTaint]]]
    enableConfidentialStorage: Input[bool]
    ephemeralStorageConfig: Input[EphemeralStorageConfig]
    ephemeralStorageLocalSsdConfig: Input[EphemeralStorageLocalSsdConfig]
    fastSocket: Input[FastSocket]
    flexStart: Input[bool]
    gcfsConfig: Input[GcfsConfig]
    gpudirectStrategy: Input[str]
    guestAccelerators: Input[Sequence[Input[AcceleratorConfig]]]
    gvnic: Input[VirtualNIC]
    hostMaintenancePolicy: Input[HostMaintenancePolicy]
    imageType: Input[str]
    kubeletConfig: Input[ClusterNodeConfigKubeletConfig]
    labels: Input[Mapping[str, Input[str]]]
    linuxNodeConfig: Input[LinuxNodeConfig]
    localNvmeSsdBlockConfig: Input[LocalNvmeSsdBlockConfig]
    localSsdCount: Input[int]
    localSsdEncryptionMode: Input[str]
    loggingVariant: Input[str]
    machineType: Input[str]
    maxRunDuration: Input[str]
    metadata: Input[Mapping[str, Input[str]]]
    minCpuPlatform: Input[str]
    nodeGroup: Input[str]
    nodeImageConfigs: Input[Sequence[Input[CustomImageConfig]]]
    oauthScopes: Input[Sequence[Input[str]]]
    preemptible: Input[bool]
    reservationAffinity: Input[ReservationAffinity]
    resourceLabels: Input[Mapping[str, Input[str]]]
    resourceManagerTags: Input[Mapping[str, Input[str]]]
    sandboxConfig: Input[SandboxConfig]
    secondaryBootDisks: Input[Sequence[Input[SecondaryBootDisk]]]
    serviceAccount: Input[str]
    shieldedInstanceConfig: Input[ClusterNodeConfigShieldedInstanceConfig]
    soleTenantConfig: Input[SoleTenantConfig]
    spot: Input[bool]
    storagePools: Input[Sequence[Input[str]]]
    tags: Input[Sequence[Input[str]]]
    taintConfig: Input[TaintConfig]
    taints: Input[Sequence[Input[NodeTaint]]]
    windowsNodeConfig: Input[WindowsNodeConfig]
    workloadMetadataConfig: Input[WorkloadMetadataConfig]

class ClusterNodePoolNodeConfigEffectiveTaint(TypedDict, total=False):
    effect: Input[str]
    key: Input[str]
    value: Input[str]

class ClusterNodePoolUpgradeSettings(TypedDict, total=False):
    blueGreenSettings: Input[ClusterNodePoolUpgradeSettingsBlueGreenSettings]
    maxSurge: Input[int]
    maxUnavailable: Input[int]
    strategy: Input[str]

class ClusterNodePoolUpgradeSettingsBlueGreenSettings(TypedDict, total=False):
    autoscaledRolloutPolicy: Input[AutoscaledRolloutPolicy]
    nodePoolSoakDuration: Input[str]
    standardRolloutPolicy: Input[ClusterNodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicy]

class ClusterNodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicy(TypedDict, total=False):
    batchNodeCount: Input[int]
    batchPercentage: Input[float]
    batchSoakDuration: Input[str]

class ClusterPolicyConfig(TypedDict, total=False):
    noStandardNodePools: Input[bool]
    noSystemImpersonation: Input[bool]
    noSystemMutation: Input[bool]
    noUnsafeWebhooks: Input[bool]

class ClusterTelemetry(TypedDict, total=False):
    type: Required[Input[str]]

class CommonRemoteRepository(TypedDict, total=False):
    uri: Required[Input[str]]

class ConfigConnectorConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class ContainerdConfig(TypedDict, total=False):
    privateRegistryAccessConfig: Input[PrivateRegistryAccessConfig]
    registryHosts: Input[Sequence[Input[RegistryHostConfig]]]
    writableCgroups: Input[WritableCgroups]

class ControlPlaneEndpointsConfig(TypedDict, total=False):
    dnsEndpointConfig: Input[DNSEndpointConfig]
    ipEndpointsConfig: Input[IPEndpointsConfig]

class CostManagementConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class CrashLoopBackOffConfig(TypedDict, total=False):
    maxContainerRestartPeriod: Input[str]

class Account(TypedDict, total=False):
    accountId: Input[str]
    createIgnoreAlreadyExists: Input[bool]
    deletionPolicy: Input[str]
    description: Input[str]
    disabled: Input[bool]
    displayName: Input[str]
    project: Input[str]

class CryptoKeyIAMMember(TypedDict, total=False):
    cryptoKeyId: Required[Input[str]]
    member: Required[Input[str]]
    role: Required[Input[str]]
    condition: Input[Expr]

class CustomImageConfig(TypedDict, total=False):
    image: Input[str]
    imageProject: Input[str]

class CustomNodeInit(TypedDict, total=False):
    initScript: Input[InitScript]

class DNSConfig(TypedDict, total=False):
    additiveVpcScopeDnsDomain: Input[str]
    clusterDns: Input[str]
    clusterDnsDomain: Input[str]
    clusterDnsScope: Input[str]

class DNSEndpointConfig(TypedDict, total=False):
    allowExternalTraffic: Input[bool]
    enableK8sCertsViaDns: Input[bool]
    enableK8sTokensViaDns: Input[bool]
    endpoint: Input[str]

class DailyMaintenanceWindow(TypedDict, total=False):
    startTime: Required[Input[str]]
    duration: Input[str]

class DatabaseEncryption(TypedDict, total=False):
    state: Required[Input[str]]
    keyName: Input[str]

class Date(TypedDict, total=False):
    day: Required[Input[int]]
    month: Required[Input[int]]
    year: Required[Input[int]]

class DedicatedLocalSsdProfile(TypedDict, total=False):
    diskCount: Input[int]

class DefaultSnatStatus(TypedDict, total=False):
    disabled: Required[Input[bool]]

class DirectoryServicesConfig(TypedDict, total=False):
    ldap: Input[LdapConfig]

class DisruptionBudget(TypedDict, total=False):
    lastDisruptionTime: Input[str]
    lastMinorVersionDisruptionTime: Input[str]
    minorVersionDisruptionInterval: Input[str]
    patchVersionDisruptionInterval: Input[str]

class DnsCacheConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class DockerRepository(TypedDict, total=False):
    customRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigDockerRepositoryCustomRepository]
    publicRepository: Input[str]

class DockerRepositoryConfig(TypedDict, total=False):
    immutableTags: Input[bool]

class Service(TypedDict, total=False):
    service: Required[Input[str]]
    checkIfServiceHasUsageOnDestroy: Input[bool]
    deletionPolicy: Input[str]
    disableDependentServices: Input[bool]
    disableOnDestroy: Input[bool]
    project: Input[str]

class EncryptionConfig(TypedDict, total=False):
    disabled: Input[bool]

class EnterpriseConfig(TypedDict, total=False):
    clusterTier: Input[str]
    desiredTier: Input[str]

class EphemeralLocalSsdProfile(TypedDict, total=False):
    swapSizeGib: Input[int]
    swapSizePercent: Input[int]

class EphemeralStorageConfig(TypedDict, total=False):
    localSsdCount: Required[Input[int]]

class EphemeralStorageLocalSsdConfig(TypedDict, total=False):
    localSsdCount: Required[Input[int]]
    dataCacheCount: Input[int]

class EvictionGracePeriod(TypedDict, total=False):
    imagefsAvailable: Input[str]
    imagefsInodesFree: Input[str]
    memoryAvailable: Input[str]
    nodefsAvailable: Input[str]
    nodefsInodesFree: Input[str]
    pidAvailable: Input[str]

class EvictionMinimumReclaim(TypedDict, total=False):
    imagefsAvailable: Input[str]
    imagefsInodesFree: Input[str]
    memoryAvailable: Input[str]
    nodefsAvailable: Input[str]
    nodefsInodesFree: Input[str]
    pidAvailable: Input[str]

class EvictionSignals(TypedDict, total=False):
    imagefsAvailable: Input[str]
    imagefsInodesFree: Input[str]
    memoryAvailable: Input[str]
    nodefsAvailable: Input[str]
    nodefsInodesFree: Input[str]
    pidAvailable: Input[str]

class ExclusionUntilEndOfSupport(TypedDict, total=False):
    enabled: Input[bool]
    endTime: Input[str]
    startTime: Input[str]

class Expr(TypedDict, total=False):
    expression: Required[Input[str]]
    title: Required[Input[str]]
    description: Input[str]

class FastSocket(TypedDict, total=False):
    enabled: Required[Input[bool]]

class FileShareConfig(TypedDict, total=False):
    capacityGb: Required[Input[int]]
    name: Required[Input[str]]
    nfsExportOptions: Input[Sequence[Input[NfsExportOptions]]]
    sourceBackup: Input[str]
    sourceBackupdrBackup: Input[str]

class Filter(TypedDict, total=False):
    eventTypes: Required[Input[Sequence[Input[str]]]]

class Firewall(TypedDict, total=False):
    network: Required[Input[str]]
    allows: Input[Sequence[Input[FirewallAllowed]]]
    deletionPolicy: Input[str]
    denies: Input[Sequence[Input[FirewallDenied]]]
    description: Input[str]
    destinationRanges: Input[Sequence[Input[str]]]
    direction: Input[str]
    disabled: Input[bool]
    enableLogging: Input[bool]
    logConfig: Input[FirewallLogConfig]
    name: Input[str]
    params: Input[FirewallParams]
    priority: Input[int]
    project: Input[str]
    sourceRanges: Input[Sequence[Input[str]]]
    sourceServiceAccounts: Input[Sequence[Input[str]]]
    sourceTags: Input[Sequence[Input[str]]]
    targetServiceAccounts: Input[Sequence[Input[str]]]
    targetTags: Input[Sequence[Input[str]]]

class FirewallAllowed(TypedDict, total=False):
    protocol: Required[Input[str]]
    ports: Input[Sequence[Input[str]]]

class FirewallDenied(TypedDict, total=False):
    protocol: Required[Input[str]]
    ports: Input[Sequence[Input[str]]]

class FirewallLogConfig(TypedDict, total=False):
    metadata: Required[Input[str]]

class FirewallParams(TypedDict, total=False):
    resourceManagerTags: Input[Mapping[str, Input[str]]]

class FixedIOPS(TypedDict, total=False):
    maxIops: Input[int]

class Fleet(TypedDict, total=False):
    membership: Input[str]
    membershipId: Input[str]
    membershipLocation: Input[str]
    membershipType: Input[str]
    preRegistered: Input[bool]
    project: Input[str]

class GCPSecretManagerCertificateConfig(TypedDict, total=False):
    secretUri: Required[Input[str]]

class GPUDriverInstallationConfig(TypedDict, total=False):
    gpuDriverVersion: Required[Input[str]]

class GPUSharingConfig(TypedDict, total=False):
    gpuSharingStrategy: Required[Input[str]]
    maxSharedClientsPerGpu: Required[Input[int]]

class GatewayAPIConfig(TypedDict, total=False):
    channel: Required[Input[str]]

class GcePersistentDiskCsiDriverConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class GcfsConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class GcpFilestoreCsiDriverConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class GcsFuseCsiDriverConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class GkeAutoUpgradeConfig(TypedDict, total=False):
    patchMode: Required[Input[str]]

class GkeBackupAgentConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigAptRepositoryPublicRepository(TypedDict, total=False):
    repositoryBase: Required[Input[str]]
    repositoryPath: Required[Input[str]]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigDockerRepositoryCustomRepository(TypedDict, total=False):
    uri: Input[str]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigMavenRepositoryCustomRepository(TypedDict, total=False):
    uri: Input[str]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigNpmRepositoryCustomRepository(TypedDict, total=False):
    uri: Input[str]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigPythonRepositoryCustomRepository(TypedDict, total=False):
    uri: Input[str]

class GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigYumRepositoryPublicRepository(TypedDict, total=False):
    repositoryBase: Required[Input[str]]
    repositoryPath: Required[Input[str]]

class HighScaleCheckpointingConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class HorizontalPodAutoscaling(TypedDict, total=False):
    disabled: Required[Input[bool]]

class HostConfig(TypedDict, total=False):
    host: Required[Input[str]]
    capabilities: Input[Sequence[Input[str]]]
    cas: Input[Sequence[Input[CertificateConfig]]]
    clients: Input[Sequence[Input[CertificateConfigPair]]]
    dialTimeout: Input[str]
    headers: Input[Sequence[Input[RegistryHeader]]]
    overridePath: Input[bool]

class HostMaintenancePolicy(TypedDict, total=False):
    maintenanceInterval: Required[Input[str]]
    opportunisticMaintenanceStrategy: Input[OpportunisticMaintenanceStrategy]

class HttpLoadBalancing(TypedDict, total=False):
    disabled: Required[Input[bool]]

class HugepagesConfig(TypedDict, total=False):
    hugepageSize1g: Input[int]
    hugepageSize2m: Input[int]

class IAMMember(TypedDict, total=False):
    member: Required[Input[str]]
    project: Required[Input[str]]
    role: Required[Input[str]]
    condition: Input[Expr]

class IOPSPerTB(TypedDict, total=False):
    maxIopsPerTb: Input[int]

class IPAllocationPolicy(TypedDict, total=False):
    additionalIpRangesConfigs: Input[Any]
    additionalPodRangesConfig: Input[AdditionalPodRangesConfig]
    autoIpamConfig: Input[AutoIpamConfig]
    clusterIpv4CidrBlock: Input[str]
    clusterSecondaryRangeName: Input[str]
    networkTierConfig: Input[NetworkTierConfig]
    podCidrOverprovisionConfig: Input[PodCIDROverprovisionConfig]
    servicesIpv4CidrBlock: Input[str]
    servicesSecondaryRangeName: Input[str]
    stackType: Input[str]

class IPEndpointsConfig(TypedDict, total=False):
    enabled: Input[bool]

class IdentityServiceConfig(TypedDict, total=False):
    enabled: Input[bool]

class InitScript(TypedDict, total=False):
    gcpSecretManagerSecretUri: Input[str]
    gcsGeneration: Input[int]
    gcsUri: Input[str]

class Instance(TypedDict, total=False):
    fileShares: Required[Input[FileShareConfig]]
    networks: Required[Input[Sequence[Input[NetworkConfig]]]]
    tier: Required[Input[str]]
    deletionPolicy: Input[str]
    deletionProtectionEnabled: Input[bool]
    deletionProtectionReason: Input[str]
    description: Input[str]
    desiredReplicaState: Input[str]
    directoryServices: Input[DirectoryServicesConfig]
    initialReplication: Input[Any]
    kmsKeyName: Input[str]
    labels: Input[Mapping[str, Input[str]]]
    location: Input[str]
    name: Input[str]
    performanceConfig: Input[PerformanceConfig]
    project: Input[str]
    protocol: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    zone: Input[str]

class IstioConfig(TypedDict, total=False):
    disabled: Required[Input[bool]]
    auth: Input[str]

class K8sBetaAPIConfig(TypedDict, total=False):
    enabledApis: Required[Input[Sequence[Input[str]]]]

class KalmConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class LdapConfig(TypedDict, total=False):
    domain: Required[Input[str]]
    servers: Required[Input[Sequence[Input[str]]]]
    groupsOu: Input[str]
    usersOu: Input[str]

class LinuxNodeConfig(TypedDict, total=False):
    accurateTimeConfig: Input[AccurateTimeConfig]
    cgroupMode: Input[str]
    customNodeInit: Input[CustomNodeInit]
    hugepagesConfig: Input[HugepagesConfig]
    nodeKernelModuleLoading: Input[NodeKernelModuleLoading]
    swapConfig: Input[SwapConfig]
    sysctls: Input[Mapping[str, Input[str]]]
    transparentHugepageDefrag: Input[str]
    transparentHugepageEnabled: Input[str]

class LocalNvmeSsdBlockConfig(TypedDict, total=False):
    localSsdCount: Required[Input[int]]

class LoggingConfig(TypedDict, total=False):
    enableComponents: Required[Input[Sequence[Input[str]]]]

class LustreCsiDriverConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    disableMultiNic: Input[bool]
    enableLegacyLustrePort: Input[bool]

class MaintenanceExclusionOptions(TypedDict, total=False):
    scope: Required[Input[str]]
    endTimeBehavior: Input[str]

class MaintenancePolicy(TypedDict, total=False):
    dailyMaintenanceWindow: Input[DailyMaintenanceWindow]
    disruptionBudget: Input[DisruptionBudget]
    maintenanceExclusions: Input[Sequence[Input[TimeWindow]]]
    recurringMaintenanceWindow: Input[RecurringMaintenanceWindow]
    recurringWindow: Input[RecurringTimeWindow]

class ManagedMachineLearningDiagnosticsConfig(TypedDict, total=False):
    enabled: Input[bool]

class ManagedOpenTelemetryConfig(TypedDict, total=False):
    scope: Input[str]

class ManagedPrometheusConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    autoMonitoringConfig: Input[AutoMonitoringConfig]

class MasterAuth(TypedDict, total=False):
    clientCertificateConfig: Required[Input[ClientCertificateConfig]]
    clientCertificate: Input[str]
    clientKey: Input[str]
    clusterCaCertificate: Input[str]

class MasterAuthorizedNetworksConfig(TypedDict, total=False):
    cidrBlocks: Input[Sequence[Input[CidrBlock]]]
    gcpPublicCidrsAccessEnabled: Input[bool]
    privateEndpointEnforcementEnabled: Input[bool]

class MavenRepository(TypedDict, total=False):
    customRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigMavenRepositoryCustomRepository]
    publicRepository: Input[str]

class MavenRepositoryConfig(TypedDict, total=False):
    allowSnapshotOverwrites: Input[bool]
    versionPolicy: Input[str]

class MemoryManager(TypedDict, total=False):
    policy: Input[str]

class MeshCertificates(TypedDict, total=False):
    enableCertificates: Required[Input[bool]]

class MonitoringConfig(TypedDict, total=False):
    advancedDatapathObservabilityConfig: Input[AdvancedDatapathObservabilityConfig]
    enableComponents: Input[Sequence[Input[str]]]
    managedPrometheus: Input[ManagedPrometheusConfig]

class Network(TypedDict, total=False):
    autoCreateSubnetworks: Input[bool]
    bgpAlwaysCompareMed: Input[bool]
    bgpBestPathSelectionMode: Input[str]
    bgpInterRegionCost: Input[str]
    deleteBgpAlwaysCompareMed: Input[bool]
    deleteDefaultRoutesOnCreate: Input[bool]
    deletionPolicy: Input[str]
    description: Input[str]
    enableUlaInternalIpv6: Input[bool]
    internalIpv6Range: Input[str]
    mtu: Input[int]
    name: Input[str]
    networkFirewallPolicyEnforcementOrder: Input[str]
    networkProfile: Input[str]
    params: Input[NetworkParams]
    project: Input[str]
    routingMode: Input[str]

class NetworkConfig(TypedDict, total=False):
    modes: Required[Input[Sequence[Input[str]]]]
    network: Required[Input[str]]
    connectMode: Input[str]
    ipAddresses: Input[Sequence[Input[str]]]
    pscConfig: Input[PscConfig]
    reservedIpRange: Input[str]

class NetworkParams(TypedDict, total=False):
    resourceManagerTags: Input[Mapping[str, Input[str]]]

class NetworkPerformanceConfig(TypedDict, total=False):
    totalEgressBandwidthTier: Required[Input[str]]

class NetworkPolicy(TypedDict, total=False):
    enabled: Required[Input[bool]]
    provider: Input[str]

class NetworkPolicyConfig(TypedDict, total=False):
    disabled: Required[Input[bool]]

class NetworkTags(TypedDict, total=False):
    tags: Input[Sequence[Input[str]]]

class NetworkTierConfig(TypedDict, total=False):
    networkTier: Required[Input[str]]

class NfsExportOptions(TypedDict, total=False):
    accessMode: Input[str]
    anonGid: Input[int]
    anonUid: Input[int]
    ipRanges: Input[Sequence[Input[str]]]
    network: Input[str]
    squashMode: Input[str]

class NoCacheFetching(TypedDict, total=False):
    pass

class NodeAffinity(TypedDict, total=False):
    key: Required[Input[str]]
    operator: Required[Input[str]]
    values: Required[Input[Sequence[Input[str]]]]

class NodeConfigDefaults(TypedDict, total=False):
    containerdConfig: Input[ContainerdConfig]
    gcfsConfig: Input[GcfsConfig]
    insecureKubeletReadonlyPortEnabled: Input[str]
    loggingVariant: Input[str]

class NodeCreationConfig(TypedDict, total=False):
    nodeCreationMode: Required[Input[str]]

class NodeDrainConfig(TypedDict, total=False):
    graceTerminationDuration: Input[str]
    pdbTimeoutDuration: Input[str]
    respectPdbDuringNodePoolDeletion: Input[bool]

class NodeKernelModuleLoading(TypedDict, total=False):
    policy: Input[str]

class NodeNetworkConfig(TypedDict, total=False):
    acceleratorNetworkProfile: Input[str]
    additionalNodeNetworkConfigs: Input[Sequence[Input[AdditionalNodeNetworkConfig]]]
    additionalPodNetworkConfigs: Input[Sequence[Input[AdditionalPodNetworkConfig]]]
    createPodRange: Input[bool]
    enablePrivateNodes: Input[bool]
    networkPerformanceConfig: Input[NetworkPerformanceConfig]
    podCidrOverprovisionConfig: Input[PodCIDROverprovisionConfig]
    podIpv4CidrBlock: Input[str]
    podRange: Input[str]
    subnetwork: Input[str]

class NodePool(TypedDict, total=False):
    cluster: Required[Input[str]]
    autoscaling: Input[NodePoolAutoscaling]
    bestEffortProvisioning: Input[BestEffortProvisioning]
    deletionPolicy: Input[str]
    ignoreNodeCountChanges: Input[bool]
    initialNodeCount: Input[int]
    location: Input[str]
    maintenancePolicies: Input[Sequence[Input[NodePoolMaintenancePolicy]]]
    management: Input[ClusterNodePoolManagement]
    maxPodsPerNode: Input[int]
    name: Input[str]
    namePrefix: Input[str]
    networkConfig: Input[NodeNetworkConfig]
    nodeConfig: Input[NodePoolNodeConfig]
    nodeCount: Input[int]
    nodeDrainConfigs: Input[Sequence[Input[NodeDrainConfig]]]
    nodeLocations: Input[Sequence[Input[str]]]
    placementPolicy: Input[PlacementPolicy]
    project: Input[str]
    queuedProvisioning: Input[QueuedProvisioning]
    upgradeSettings: Input[ClusterNodePoolUpgradeSettings]
    version: Input[str]

class NodePoolAutoConfig(TypedDict, total=False):
    linuxNodeConfig: Input[Any]
    networkTags: Input[NetworkTags]
    nodeKubeletConfig: Input[ClusterNodePoolAutoConfigNodeKubeletConfig]
    resourceManagerTags: Input[Mapping[str, Input[str]]]

class NodePoolAutoscaling(TypedDict, total=False):
    locationPolicy: Input[str]
    maxNodeCount: Input[int]
    minNodeCount: Input[int]
    totalMaxNodeCount: Input[int]
    totalMinNodeCount: Input[int]

class NodePoolDefaults(TypedDict, total=False):
    nodeConfigDefaults: Input[NodeConfigDefaults]

class NodePoolMaintenancePolicy(TypedDict, total=False):
    exclusionUntilEndOfSupports: Input[Sequence[Input[ExclusionUntilEndOfSupport]]]

class NodePoolNodeConfig(TypedDict, total=False):
    advancedMachineFeatures: Input[AdvancedMachineFeatures]
    bootDisk: Input[BootDisk]
    bootDiskKmsKey: Input[str]
    confidentialNodes: Input[ClusterNodeConfigConfidentialNodes]
    containerdConfig: Input[ContainerdConfig]
    diskSizeGb: Input[int]
    diskType: Input[str]
    effectiveTaints: Input[Sequence[Input[NodePoolNodeConfigEffectiveTaint]]]
    enableConfidentialStorage: Input[bool]
    ephemeralStorageConfig: Input[EphemeralStorageConfig]
    ephemeralStorageLocalSsdConfig: Input[EphemeralStorageLocalSsdConfig]
    fastSocket: Input[FastSocket]
    flexStart: Input[bool]
    gcfsConfig: Input[GcfsConfig]
    gpudirectStrategy: Input[str]
    guestAccelerators: Input[Sequence[Input[AcceleratorConfig]]]
    gvnic: Input[VirtualNIC]
    hostMaintenancePolicy: Input[HostMaintenancePolicy]
    imageType: Input[str]
    kubeletConfig: Input[ClusterNodeConfigKubeletConfig]
    labels: Input[Mapping[str, Input[str]]]
    linuxNodeConfig: Input[LinuxNodeConfig]
    localNvmeSsdBlockConfig: Input[LocalNvmeSsdBlockConfig]
    localSsdCount: Input[int]
    localSsdEncryptionMode: Input[str]
    loggingVariant: Input[str]
    machineType: Input[str]
    maxRunDuration: Input[str]
    metadata: Input[Mapping[str, Input[str]]]
    minCpuPlatform: Input[str]
    nodeGroup: Input[str]
    nodeImageConfigs: Input[Sequence[Input[CustomImageConfig]]]
    oauthScopes: Input[Sequence[Input[str]]]
    preemptible: Input[bool]
    reservationAffinity: Input[ReservationAffinity]
    resourceLabels: Input[Mapping[str, Input[str]]]
    resourceManagerTags: Input[Mapping[str, Input[str]]]
    sandboxConfig: Input[SandboxConfig]
    secondaryBootDisks: Input[Sequence[Input[SecondaryBootDisk]]]
    serviceAccount: Input[str]
    shieldedInstanceConfig: Input[ClusterNodeConfigShieldedInstanceConfig]
    soleTenantConfig: Input[SoleTenantConfig]
    spot: Input[bool]
    storagePools: Input[Sequence[Input[str]]]
    tags: Input[Sequence[Input[str]]]
    taintConfig: Input[TaintConfig]
    taints: Input[Sequence[Input[NodeTaint]]]
    windowsNodeConfig: Input[WindowsNodeConfig]
    workloadMetadataConfig: Input[WorkloadMetadataConfig]

class NodePoolNodeConfigEffectiveTaint(TypedDict, total=False):
    effect: Input[str]
    key: Input[str]
    value: Input[str]

class NodeReadinessConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class NodeTaint(TypedDict, total=False):
    effect: Required[Input[str]]
    key: Required[Input[str]]
    value: Required[Input[str]]

class NotificationConfig(TypedDict, total=False):
    pubsub: Required[Input[PubSub]]

class NpmRepository(TypedDict, total=False):
    customRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigNpmRepositoryCustomRepository]
    publicRepository: Input[str]

class OpportunisticMaintenanceStrategy(TypedDict, total=False):
    maintenanceAvailabilityWindow: Required[Input[str]]
    minNodesPerPool: Required[Input[int]]
    nodeIdleTimeWindow: Required[Input[str]]

class ParallelstoreCsiDriverConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class PerformanceConfig(TypedDict, total=False):
    fixedIops: Input[FixedIOPS]
    iopsPerTb: Input[IOPSPerTB]

class PlacementPolicy(TypedDict, total=False):
    type: Required[Input[str]]
    policyName: Input[str]
    tpuTopology: Input[str]

class PodAutoscaling(TypedDict, total=False):
    hpaProfile: Required[Input[str]]

class PodCIDROverprovisionConfig(TypedDict, total=False):
    disabled: Required[Input[bool]]

class PodSecurityPolicyConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class PodSnapshotConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class PrivateClusterConfig(TypedDict, total=False):
    enablePrivateEndpoint: Input[bool]
    enablePrivateNodes: Input[bool]
    masterGlobalAccessConfig: Input[PrivateClusterMasterGlobalAccessConfig]
    masterIpv4CidrBlock: Input[str]
    peeringName: Input[str]
    privateEndpoint: Input[str]
    privateEndpointSubnetwork: Input[str]
    publicEndpoint: Input[str]

class PrivateClusterMasterGlobalAccessConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class PrivateRegistryAccessConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    certificateAuthorityDomainConfigs: Input[Sequence[Input[CertificateAuthorityDomainConfig]]]

class ProtectConfig(TypedDict, total=False):
    workloadConfig: Input[WorkloadConfig]
    workloadVulnerabilityMode: Input[str]

class PscConfig(TypedDict, total=False):
    endpointProject: Input[str]

class PubSub(TypedDict, total=False):
    enabled: Required[Input[bool]]
    filter: Input[Filter]
    topic: Input[str]

class PythonRepository(TypedDict, total=False):
    customRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigPythonRepositoryCustomRepository]
    publicRepository: Input[str]

class QueuedProvisioning(TypedDict, total=False):
    enabled: Required[Input[bool]]

class RBACBindingConfig(TypedDict, total=False):
    enableInsecureBindingSystemAuthenticated: Input[bool]
    enableInsecureBindingSystemUnauthenticated: Input[bool]

class RayClusterLoggingConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class RayClusterMonitoringConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class RayOperatorConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    rayClusterLoggingConfig: Input[RayClusterLoggingConfig]
    rayClusterMonitoringConfig: Input[RayClusterMonitoringConfig]

class RecurringMaintenanceWindow(TypedDict, total=False):
    recurrence: Required[Input[str]]
    windowDuration: Required[Input[str]]
    windowStartTime: Required[Input[TimeOfDay]]
    delayUntil: Input[Date]

class RecurringTimeWindow(TypedDict, total=False):
    endTime: Required[Input[str]]
    recurrence: Required[Input[str]]
    startTime: Required[Input[str]]

class RegistryHeader(TypedDict, total=False):
    key: Required[Input[str]]
    values: Required[Input[Sequence[Input[str]]]]

class RegistryHostConfig(TypedDict, total=False):
    server: Required[Input[str]]
    hosts: Input[Sequence[Input[HostConfig]]]

class ReleaseChannel(TypedDict, total=False):
    channel: Required[Input[str]]

class RemoteRepositoryConfig(TypedDict, total=False):
    aptRepository: Input[AptRepository]
    commonRepository: Input[CommonRemoteRepository]
    description: Input[str]
    disableUpstreamValidation: Input[bool]
    dockerRepository: Input[DockerRepository]
    mavenRepository: Input[MavenRepository]
    noCache: Input[NoCacheFetching]
    npmRepository: Input[NpmRepository]
    pythonRepository: Input[PythonRepository]
    upstreamCredentials: Input[UpstreamCredentials]
    yumRepository: Input[YumRepository]

class Repository(TypedDict, total=False):
    format: Required[Input[str]]
    repositoryId: Required[Input[str]]
    cleanupPolicies: Input[Sequence[Input[CleanupPolicy]]]
    cleanupPolicyDryRun: Input[bool]
    deletionPolicy: Input[str]
    description: Input[str]
    dockerConfig: Input[DockerRepositoryConfig]
    kmsKeyName: Input[str]
    labels: Input[Mapping[str, Input[str]]]
    location: Input[str]
    mavenConfig: Input[MavenRepositoryConfig]
    mode: Input[str]
    project: Input[str]
    remoteRepositoryConfig: Input[RemoteRepositoryConfig]
    virtualRepositoryConfig: Input[VirtualRepositoryConfig]
    vulnerabilityScanningConfig: Input[VulnerabilityScanningConfig]

class RepositoryIamMember(TypedDict, total=False):
    member: Required[Input[str]]
    repository: Required[Input[str]]
    role: Required[Input[str]]
    condition: Input[Expr]
    location: Input[str]
    project: Input[str]

class ReservationAffinity(TypedDict, total=False):
    consumeReservationType: Required[Input[str]]
    key: Input[str]
    values: Input[Sequence[Input[str]]]

class ResourceLimit(TypedDict, total=False):
    maximum: Required[Input[int]]
    resourceType: Required[Input[str]]
    minimum: Input[int]

class ResourcePolicy(TypedDict, total=False):
    deletionPolicy: Input[str]
    description: Input[str]
    diskConsistencyGroupPolicy: Input[Any]
    groupPlacementPolicy: Input[Any]
    instanceSchedulePolicy: Input[Any]
    name: Input[str]
    project: Input[str]
    region: Input[str]
    snapshotSchedulePolicy: Input[Any]
    workloadPolicy: Input[ResourcePolicyWorkloadPolicy]

class ResourcePolicyWorkloadPolicy(TypedDict, total=False):
    type: Required[Input[str]]
    acceleratorTopology: Input[str]
    acceleratorTopologyMode: Input[str]
    maxTopologyDistance: Input[str]

class ResourceUsageExportConfig(TypedDict, total=False):
    bigqueryDestination: Required[Input[BigQueryDestination]]
    enableNetworkEgressMetering: Input[bool]
    enableResourceConsumptionMetering: Input[bool]

class RollbackSafeUpgrade(TypedDict, total=False):
    controlPlaneSoakDuration: Input[str]

class RotationConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    rotationInterval: Input[str]

class Router(TypedDict, total=False):
    bgp: Input[RouterBgp]
    deletionPolicy: Input[str]
    description: Input[str]
    encryptedInterconnectRouter: Input[bool]
    md5AuthenticationKeys: Input[RouterMd5AuthenticationKey]
    name: Input[str]
    nccGateway: Input[str]
    network: Input[str]
    params: Input[RouterParams]
    project: Input[str]
    region: Input[str]

class RouterAdvertisedIpRange(TypedDict, total=False):
    range: Required[Input[str]]
    description: Input[str]

class RouterBgp(TypedDict, total=False):
    asn: Required[Input[int]]
    advertiseMode: Input[str]
    advertisedGroups: Input[Sequence[Input[str]]]
    advertisedIpRanges: Input[Sequence[Input[RouterAdvertisedIpRange]]]
    identifierRange: Input[str]
    keepaliveInterval: Input[int]

class RouterMd5AuthenticationKey(TypedDict, total=False):
    key: Required[Input[str]]
    name: Required[Input[str]]

class RouterNat(TypedDict, total=False):
    router: Required[Input[str]]
    sourceSubnetworkIpRangesToNat: Required[Input[str]]
    autoNetworkTier: Input[str]
    deletionPolicy: Input[str]
    drainNatIps: Input[Sequence[Input[str]]]
    enableDynamicPortAllocation: Input[bool]
    enableEndpointIndependentMapping: Input[bool]
    endpointTypes: Input[Sequence[Input[str]]]
    icmpIdleTimeoutSec: Input[int]
    initialNatIps: Input[Any]
    logConfig: Input[RouterNatLogConfig]
    maxPortsPerVm: Input[int]
    minPortsPerVm: Input[int]
    name: Input[str]
    nat64Subnetworks: Input[Sequence[Input[RouterNatSubnetworkToNat64]]]
    natIpAllocateOption: Input[str]
    natIps: Input[Sequence[Input[str]]]
    project: Input[str]
    region: Input[str]
    rules: Input[Sequence[Input[RouterNatRule]]]
    sourceSubnetworkIpRangesToNat64: Input[str]
    subnetworks: Input[Sequence[Input[RouterNatSubnetworkToNat]]]
    tcpEstablishedIdleTimeoutSec: Input[int]
    tcpTimeWaitTimeoutSec: Input[int]
    tcpTransitoryIdleTimeoutSec: Input[int]
    type: Input[str]
    udpIdleTimeoutSec: Input[int]

class RouterNatLogConfig(TypedDict, total=False):
    enable: Required[Input[bool]]
    filter: Required[Input[str]]

class RouterNatRule(TypedDict, total=False):
    match: Required[Input[str]]
    ruleNumber: Required[Input[int]]
    action: Input[RouterNatRuleAction]
    description: Input[str]

class RouterNatRuleAction(TypedDict, total=False):
    sourceNatActiveIps: Input[Sequence[Input[str]]]
    sourceNatActiveRanges: Input[Sequence[Input[str]]]
    sourceNatDrainIps: Input[Sequence[Input[str]]]
    sourceNatDrainRanges: Input[Sequence[Input[str]]]

class RouterNatSubnetworkToNat(TypedDict, total=False):
    name: Required[Input[str]]
    sourceIpRangesToNats: Required[Input[Sequence[Input[str]]]]
    secondaryIpRangeNames: Input[Sequence[Input[str]]]

class RouterNatSubnetworkToNat64(TypedDict, total=False):
    name: Required[Input[str]]

class RouterParams(TypedDict, total=False):
    resourceManagerTags: Input[Mapping[str, Input[str]]]

class SandboxConfig(TypedDict, total=False):
    sandboxType: Input[str]
    type: Input[str]

class SecondaryBootDisk(TypedDict, total=False):
    diskImage: Required[Input[str]]
    mode: Input[str]

class SecretIamMember(TypedDict, total=False):
    member: Required[Input[str]]
    role: Required[Input[str]]
    secretId: Required[Input[str]]
    condition: Input[Expr]
    project: Input[str]

class SecretManagerConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    rotationConfig: Input[RotationConfig]

class SecretSyncConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    rotationConfig: Input[SyncRotationConfig]

class SecurityPostureConfig(TypedDict, total=False):
    mode: Input[str]
    vulnerabilityMode: Input[str]

class ServiceExternalIPsConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class SliceControllerConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class SlurmOperatorConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class SoleTenantConfig(TypedDict, total=False):
    nodeAffinities: Required[Input[Sequence[Input[NodeAffinity]]]]
    minNodeCpus: Input[int]

class StatefulHAConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]

class Subnetwork(TypedDict, total=False):
    network: Required[Input[str]]
    allowSubnetCidrRoutesOverlap: Input[bool]
    deletionPolicy: Input[str]
    description: Input[str]
    externalIpv6Prefix: Input[str]
    internalIpv6Prefix: Input[str]
    ipCidrRange: Input[str]
    ipCollection: Input[str]
    ipv6AccessType: Input[str]
    logConfig: Input[SubnetworkLogConfig]
    name: Input[str]
    params: Input[SubnetworkParams]
    privateIpGoogleAccess: Input[bool]
    privateIpv6GoogleAccess: Input[str]
    project: Input[str]
    purpose: Input[str]
    region: Input[str]
    reservedInternalRange: Input[str]
    resolveSubnetMask: Input[str]
    role: Input[str]
    secondaryIpRanges: Input[Sequence[Input[SubnetworkSecondaryRange]]]
    sendSecondaryIpRangeIfEmpty: Input[bool]
    stackType: Input[str]

class SubnetworkLogConfig(TypedDict, total=False):
    aggregationInterval: Input[str]
    filterExpr: Input[str]
    flowSampling: Input[float]
    metadata: Input[str]
    metadataFields: Input[Sequence[Input[str]]]

class SubnetworkParams(TypedDict, total=False):
    resourceManagerTags: Input[Mapping[str, Input[str]]]

class SubnetworkSecondaryRange(TypedDict, total=False):
    rangeName: Required[Input[str]]
    ipCidrRange: Input[str]
    ipCollection: Input[str]
    ipVersion: Input[str]
    reservedInternalRange: Input[str]

class SwapConfig(TypedDict, total=False):
    bootDiskProfile: Input[BootDiskProfile]
    dedicatedLocalSsdProfile: Input[DedicatedLocalSsdProfile]
    enabled: Input[bool]
    encryptionConfig: Input[EncryptionConfig]
    ephemeralLocalSsdProfile: Input[EphemeralLocalSsdProfile]

class SyncRotationConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    rotationInterval: Input[str]

class TaintConfig(TypedDict, total=False):
    architectureTaintBehavior: Required[Input[str]]

class TimeOfDay(TypedDict, total=False):
    hours: Required[Input[int]]
    minutes: Required[Input[int]]
    seconds: Required[Input[int]]

class TimeWindow(TypedDict, total=False):
    exclusionName: Required[Input[str]]
    startTime: Required[Input[str]]
    endTime: Input[str]
    exclusionOptions: Input[MaintenanceExclusionOptions]

class TopologyManager(TypedDict, total=False):
    policy: Input[str]
    scope: Input[str]

class TpuConfig(TypedDict, total=False):
    enabled: Required[Input[bool]]
    ipv4CidrBlock: Input[str]
    useServiceNetworking: Input[bool]

class UpstreamCredentials(TypedDict, total=False):
    usernamePasswordCredentials: Input[UsernamePasswordCredentials]

class UpstreamPolicy(TypedDict, total=False):
    id: Input[str]
    priority: Input[int]
    repository: Input[str]

class UserManagedKeysConfig(TypedDict, total=False):
    aggregationCa: Input[str]
    clusterCa: Input[str]
    controlPlaneDiskEncryptionKey: Input[str]
    controlPlaneDiskEncryptionKeyVersions: Input[Sequence[Input[str]]]
    etcdApiCa: Input[str]
    etcdPeerCa: Input[str]
    gkeopsEtcdBackupEncryptionKey: Input[str]
    serviceAccountSigningKeys: Input[Sequence[Input[str]]]
    serviceAccountVerificationKeys: Input[Sequence[Input[str]]]

class UsernamePasswordCredentials(TypedDict, total=False):
    passwordSecretVersion: Input[str]
    username: Input[str]

class VerticalPodAutoscaling(TypedDict, total=False):
    enabled: Required[Input[bool]]

class VirtualNIC(TypedDict, total=False):
    enabled: Required[Input[bool]]

class VirtualRepositoryConfig(TypedDict, total=False):
    upstreamPolicies: Input[Sequence[Input[UpstreamPolicy]]]

class VulnerabilityScanningConfig(TypedDict, total=False):
    enablementConfig: Input[str]
    enablementState: Input[str]
    enablementStateReason: Input[str]

class WindowsNodeConfig(TypedDict, total=False):
    osversion: Input[str]

class WorkloadALTSConfig(TypedDict, total=False):
    enableAlts: Required[Input[bool]]

class WorkloadConfig(TypedDict, total=False):
    auditMode: Required[Input[str]]

class WorkloadIdentityConfig(TypedDict, total=False):
    workloadPool: Input[str]

class WorkloadMetadataConfig(TypedDict, total=False):
    mode: Required[Input[str]]

class WritableCgroups(TypedDict, total=False):
    enabled: Required[Input[bool]]

class YumRepository(TypedDict, total=False):
    publicRepository: Input[GoogleDevtoolsArtifactregistryV1RemoteRepositoryConfigYumRepositoryPublicRepository]

class RepositoryOutputs(TypedDict):
    cleanupPolicies: Output[Sequence[Any]]
    cleanupPolicyDryRun: Output[bool]
    createTime: Output[str]
    deletionPolicy: Output[str]
    description: Output[str]
    dockerConfig: Output[Mapping[str, Any]]
    effectiveLabels: Output[Mapping[str, Any]]
    format: Output[str]
    kmsKeyName: Output[str]
    labels: Output[Mapping[str, Any]]
    location: Output[str]
    mavenConfig: Output[Mapping[str, Any]]
    mode: Output[str]
    name: Output[str]
    project: Output[str]
    pulumiLabels: Output[Mapping[str, Any]]
    registryUri: Output[str]
    remoteRepositoryConfig: Output[Mapping[str, Any]]
    repositoryId: Output[str]
    updateTime: Output[str]
    virtualRepositoryConfig: Output[Mapping[str, Any]]
    vulnerabilityScanningConfig: Output[Mapping[str, Any]]

class RepositoryIamMemberOutputs(TypedDict):
    condition: Output[Mapping[str, Any]]
    etag: Output[str]
    location: Output[str]
    member: Output[str]
    project: Output[str]
    repository: Output[str]
    role: Output[str]

class AddressOutputs(TypedDict):
    address: Output[str]
    addressId: Output[str]
    addressType: Output[str]
    creationTimestamp: Output[str]
    deletionPolicy: Output[str]
    description: Output[str]
    effectiveLabels: Output[Mapping[str, Any]]
    ipCollection: Output[str]
    ipVersion: Output[str]
    ipv6EndpointType: Output[str]
    labelFingerprint: Output[str]
    labels: Output[Mapping[str, Any]]
    name: Output[str]
    network: Output[str]
    networkTier: Output[str]
    prefixLength: Output[int]
    project: Output[str]
    pulumiLabels: Output[Mapping[str, Any]]
    purpose: Output[str]
    region: Output[str]
    selfLink: Output[str]
    subnetwork: Output[str]
    users: Output[Sequence[Any]]

class FirewallOutputs(TypedDict):
    allows: Output[Sequence[Any]]
    creationTimestamp: Output[str]
    deletionPolicy: Output[str]
    denies: Output[Sequence[Any]]
    description: Output[str]
    destinationRanges: Output[Sequence[Any]]
    direction: Output[str]
    disabled: Output[bool]
    enableLogging: Output[bool]
    logConfig: Output[Mapping[str, Any]]
    name: Output[str]
    network: Output[str]
    params: Output[Mapping[str, Any]]
    priority: Output[int]
    project: Output[str]
    selfLink: Output[str]
    sourceRanges: Output[Sequence[Any]]
    sourceServiceAccounts: Output[Sequence[Any]]
    sourceTags: Output[Sequence[Any]]
    targetServiceAccounts: Output[Sequence[Any]]
    targetTags: Output[Sequence[Any]]

class NetworkOutputs(TypedDict):
    autoCreateSubnetworks: Output[bool]
    bgpAlwaysCompareMed: Output[bool]
    bgpBestPathSelectionMode: Output[str]
    bgpInterRegionCost: Output[str]
    deleteBgpAlwaysCompareMed: Output[bool]
    deleteDefaultRoutesOnCreate: Output[bool]
    deletionPolicy: Output[str]
    description: Output[str]
    enableUlaInternalIpv6: Output[bool]
    gatewayIpv4: Output[str]
    internalIpv6Range: Output[str]
    mtu: Output[int]
    name: Output[str]
    networkFirewallPolicyEnforcementOrder: Output[str]
    networkId: Output[str]
    networkProfile: Output[str]
    numericId: Output[str]
    params: Output[Mapping[str, Any]]
    project: Output[str]
    routingMode: Output[str]
    selfLink: Output[str]

class ResourcePolicyOutputs(TypedDict):
    deletionPolicy: Output[str]
    description: Output[str]
    diskConsistencyGroupPolicy: Output[Mapping[str, Any]]
    groupPlacementPolicy: Output[Mapping[str, Any]]
    instanceSchedulePolicy: Output[Mapping[str, Any]]
    name: Output[str]
    project: Output[str]
    region: Output[str]
    selfLink: Output[str]
    snapshotSchedulePolicy: Output[Mapping[str, Any]]
    workloadPolicy: Output[Mapping[str, Any]]

class RouterOutputs(TypedDict):
    bgp: Output[Mapping[str, Any]]
    creationTimestamp: Output[str]
    deletionPolicy: Output[str]
    description: Output[str]
    encryptedInterconnectRouter: Output[bool]
    md5AuthenticationKeys: Output[Mapping[str, Any]]
    name: Output[str]
    nccGateway: Output[str]
    network: Output[str]
    params: Output[Mapping[str, Any]]
    project: Output[str]
    region: Output[str]
    selfLink: Output[str]

class RouterNatOutputs(TypedDict):
    autoNetworkTier: Output[str]
    deletionPolicy: Output[str]
    drainNatIps: Output[Sequence[Any]]
    enableDynamicPortAllocation: Output[bool]
    enableEndpointIndependentMapping: Output[bool]
    endpointTypes: Output[Sequence[Any]]
    icmpIdleTimeoutSec: Output[int]
    initialNatIps: Output[Sequence[Any]]
    logConfig: Output[Mapping[str, Any]]
    maxPortsPerVm: Output[int]
    minPortsPerVm: Output[int]
    name: Output[str]
    nat64Subnetworks: Output[Sequence[Any]]
    natIpAllocateOption: Output[str]
    natIps: Output[Sequence[Any]]
    project: Output[str]
    region: Output[str]
    router: Output[str]
    rules: Output[Sequence[Any]]
    sourceSubnetworkIpRangesToNat: Output[str]
    sourceSubnetworkIpRangesToNat64: Output[str]
    subnetworks: Output[Sequence[Any]]
    tcpEstablishedIdleTimeoutSec: Output[int]
    tcpTimeWaitTimeoutSec: Output[int]
    tcpTransitoryIdleTimeoutSec: Output[int]
    type: Output[str]
    udpIdleTimeoutSec: Output[int]

class SubnetworkOutputs(TypedDict):
    allowSubnetCidrRoutesOverlap: Output[bool]
    creationTimestamp: Output[str]
    deletionPolicy: Output[str]
    description: Output[str]
    externalIpv6Prefix: Output[str]
    fingerprint: Output[str]
    gatewayAddress: Output[str]
    internalIpv6Prefix: Output[str]
    ipCidrRange: Output[str]
    ipCollection: Output[str]
    ipv6AccessType: Output[str]
    ipv6CidrRange: Output[str]
    ipv6GceEndpoint: Output[str]
    logConfig: Output[Mapping[str, Any]]
    name: Output[str]
    network: Output[str]
    params: Output[Mapping[str, Any]]
    privateIpGoogleAccess: Output[bool]
    privateIpv6GoogleAccess: Output[str]
    project: Output[str]
    purpose: Output[str]
    region: Output[str]
    reservedInternalRange: Output[str]
    resolveSubnetMask: Output[str]
    role: Output[str]
    secondaryIpRanges: Output[Sequence[Any]]
    selfLink: Output[str]
    sendSecondaryIpRangeIfEmpty: Output[bool]
    stackType: Output[str]
    state: Output[str]
    subnetworkId: Output[int]

class ClusterOutputs(TypedDict):
    addonsConfig: Output[Mapping[str, Any]]
    allowNetAdmin: Output[bool]
    anonymousAuthenticationConfig: Output[Mapping[str, Any]]
    authenticatorGroupsConfig: Output[Mapping[str, Any]]
    autopilotClusterPolicyConfig: Output[Mapping[str, Any]]
    autopilotPrivilegedAdmissions: Output[Sequence[Any]]
    binaryAuthorization: Output[Mapping[str, Any]]
    clusterAutoscaling: Output[Mapping[str, Any]]
    clusterIpv4Cidr: Output[str]
    clusterTelemetry: Output[Mapping[str, Any]]
    confidentialNodes: Output[Mapping[str, Any]]
    controlPlaneEndpointsConfig: Output[Mapping[str, Any]]
    costManagementConfig: Output[Mapping[str, Any]]
    databaseEncryption: Output[Mapping[str, Any]]
    datapathProvider: Output[str]
    dataplaneOptimizationMode: Output[str]
    defaultMaxPodsPerNode: Output[int]
    defaultSnatStatus: Output[Mapping[str, Any]]
    deletionPolicy: Output[str]
    deletionProtection: Output[bool]
    description: Output[str]
    desiredEmulatedVersion: Output[str]
    disableL4LbFirewallReconciliation: Output[bool]
    dnsConfig: Output[Mapping[str, Any]]
    effectiveLabels: Output[Mapping[str, Any]]
    emulatedVersion: Output[str]
    enableAutopilot: Output[bool]
    enableCiliumClusterwideNetworkPolicy: Output[bool]
    enableFqdnNetworkPolicy: Output[bool]
    enableIntranodeVisibility: Output[bool]
    enableK8sBetaApis: Output[Mapping[str, Any]]
    enableKubernetesAlpha: Output[bool]
    enableL4IlbSubsetting: Output[bool]
    enableLegacyAbac: Output[bool]
    enableMultiNetworking: Output[bool]
    enableShieldedNodes: Output[bool]
    enableTpu: Output[bool]
    endpoint: Output[str]
    enterpriseConfig: Output[Mapping[str, Any]]
    fleet: Output[Mapping[str, Any]]
    gatewayApiConfig: Output[Mapping[str, Any]]
    gkeAutoUpgradeConfig: Output[Mapping[str, Any]]
    identityServiceConfig: Output[Mapping[str, Any]]
    ignoreNodeCountChanges: Output[bool]
    inTransitEncryptionConfig: Output[str]
    initialNodeCount: Output[int]
    ipAllocationPolicy: Output[Mapping[str, Any]]
    labelFingerprint: Output[str]
    location: Output[str]
    loggingConfig: Output[Mapping[str, Any]]
    loggingService: Output[str]
    maintenancePolicy: Output[Mapping[str, Any]]
    managedMachineLearningDiagnosticsConfig: Output[Mapping[str, Any]]
    managedOpentelemetryConfig: Output[Mapping[str, Any]]
    masterAuth: Output[Mapping[str, Any]]
    masterAuthorizedNetworksConfig: Output[Mapping[str, Any]]
    masterVersion: Output[str]
    meshCertificates: Output[Mapping[str, Any]]
    minMasterVersion: Output[str]
    monitoringConfig: Output[Mapping[str, Any]]
    monitoringService: Output[str]
    name: Output[str]
    network: Output[str]
    networkPerformanceConfig: Output[Mapping[str, Any]]
    networkPolicy: Output[Mapping[str, Any]]
    networkingMode: Output[str]
    nodeConfig: Output[Mapping[str, Any]]
    nodeCreationConfig: Output[Mapping[str, Any]]
    nodeLocations: Output[Sequence[Any]]
    nodePoolAutoConfig: Output[Mapping[str, Any]]
    nodePoolDefaults: Output[Mapping[str, Any]]
    nodePools: Output[Sequence[Any]]
    nodeVersion: Output[str]
    notificationConfig: Output[Mapping[str, Any]]
    operation: Output[str]
    podAutoscaling: Output[Mapping[str, Any]]
    podSecurityPolicyConfig: Output[Mapping[str, Any]]
    privateClusterConfig: Output[Mapping[str, Any]]
    privateIpv6GoogleAccess: Output[str]
    project: Output[str]
    protectConfig: Output[Mapping[str, Any]]
    pulumiLabels: Output[Mapping[str, Any]]
    rbacBindingConfig: Output[Mapping[str, Any]]
    releaseChannel: Output[Mapping[str, Any]]
    removeDefaultNodePool: Output[bool]
    resourceLabels: Output[Mapping[str, Any]]
    resourceUsageExportConfig: Output[Mapping[str, Any]]
    rollbackSafeUpgrade: Output[Mapping[str, Any]]
    secretManagerConfig: Output[Mapping[str, Any]]
    secretSyncConfig: Output[Mapping[str, Any]]
    securityPostureConfig: Output[Mapping[str, Any]]
    selfLink: Output[str]
    serviceExternalIpsConfig: Output[Mapping[str, Any]]
    servicesIpv4Cidr: Output[str]
    skipNodePoolRefresh: Output[bool]
    subnetwork: Output[str]
    tpuConfig: Output[Mapping[str, Any]]
    tpuIpv4CidrBlock: Output[str]
    userManagedKeysConfig: Output[Mapping[str, Any]]
    verticalPodAutoscaling: Output[Mapping[str, Any]]
    workloadAltsConfig: Output[Mapping[str, Any]]
    workloadIdentityConfig: Output[Mapping[str, Any]]

class NodePoolOutputs(TypedDict):
    autoscaling: Output[Mapping[str, Any]]
    bestEffortProvisioning: Output[Mapping[str, Any]]
    cluster: Output[str]
    deletionPolicy: Output[str]
    ignoreNodeCountChanges: Output[bool]
    initialNodeCount: Output[int]
    instanceGroupUrls: Output[Sequence[Any]]
    location: Output[str]
    maintenancePolicies: Output[Sequence[Any]]
    managedInstanceGroupUrls: Output[Sequence[Any]]
    management: Output[Mapping[str, Any]]
    maxPodsPerNode: Output[int]
    name: Output[str]
    namePrefix: Output[str]
    networkConfig: Output[Mapping[str, Any]]
    nodeConfig: Output[Mapping[str, Any]]
    nodeCount: Output[int]
    nodeDrainConfigs: Output[Sequence[Any]]
    nodeLocations: Output[Sequence[Any]]
    operation: Output[str]
    placementPolicy: Output[Mapping[str, Any]]
    project: Output[str]
    queuedProvisioning: Output[Mapping[str, Any]]
    upgradeSettings: Output[Mapping[str, Any]]
    version: Output[str]

class InstanceOutputs(TypedDict):
    createTime: Output[str]
    deletionPolicy: Output[str]
    deletionProtectionEnabled: Output[bool]
    deletionProtectionReason: Output[str]
    description: Output[str]
    desiredReplicaState: Output[str]
    directoryServices: Output[Mapping[str, Any]]
    effectiveLabels: Output[Mapping[str, Any]]
    effectiveReplications: Output[Sequence[Any]]
    etag: Output[str]
    fileShares: Output[Mapping[str, Any]]
    initialReplication: Output[Mapping[str, Any]]
    kmsKeyName: Output[str]
    labels: Output[Mapping[str, Any]]
    location: Output[str]
    name: Output[str]
    networks: Output[Sequence[Any]]
    performanceConfig: Output[Mapping[str, Any]]
    project: Output[str]
    protocol: Output[str]
    pulumiLabels: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    tier: Output[str]
    zone: Output[str]

class CryptoKeyIAMMemberOutputs(TypedDict):
    condition: Output[Mapping[str, Any]]
    cryptoKeyId: Output[str]
    etag: Output[str]
    member: Output[str]
    role: Output[str]

class IAMMemberOutputs(TypedDict):
    condition: Output[Mapping[str, Any]]
    etag: Output[str]
    member: Output[str]
    project: Output[str]
    role: Output[str]

class ServiceOutputs(TypedDict):
    checkIfServiceHasUsageOnDestroy: Output[bool]
    deletionPolicy: Output[str]
    disableDependentServices: Output[bool]
    disableOnDestroy: Output[bool]
    project: Output[str]
    service: Output[str]

class SecretIamMemberOutputs(TypedDict):
    condition: Output[Mapping[str, Any]]
    etag: Output[str]
    member: Output[str]
    project: Output[str]
    role: Output[str]
    secretId: Output[str]

class AccountOutputs(TypedDict):
    accountId: Output[str]
    createIgnoreAlreadyExists: Output[bool]
    deletionPolicy: Output[str]
    description: Output[str]
    disabled: Output[bool]
    displayName: Output[str]
    email: Output[str]
    member: Output[str]
    name: Output[str]
    project: Output[str]
    uniqueId: Output[str]

class BucketOutputs(TypedDict):
    autoclass: Output[Mapping[str, Any]]
    cors: Output[Sequence[Any]]
    customPlacementConfig: Output[Mapping[str, Any]]
    defaultEventBasedHold: Output[bool]
    deletionPolicy: Output[str]
    effectiveLabels: Output[Mapping[str, Any]]
    enableObjectRetention: Output[bool]
    encryption: Output[Mapping[str, Any]]
    forceDestroy: Output[bool]
    hierarchicalNamespace: Output[Mapping[str, Any]]
    ipFilter: Output[Mapping[str, Any]]
    labels: Output[Mapping[str, Any]]
    lifecycleRules: Output[Sequence[Any]]
    location: Output[str]
    logging: Output[Mapping[str, Any]]
    name: Output[str]
    project: Output[str]
    projectNumber: Output[int]
    publicAccessPrevention: Output[str]
    pulumiLabels: Output[Mapping[str, Any]]
    requesterPays: Output[bool]
    retentionPolicy: Output[Mapping[str, Any]]
    rpo: Output[str]
    selfLink: Output[str]
    softDeletePolicy: Output[Mapping[str, Any]]
    storageClass: Output[str]
    timeCreated: Output[str]
    uniformBucketLevelAccess: Output[bool]
    updated: Output[str]
    url: Output[str]
    versioning: Output[Mapping[str, Any]]
    website: Output[Mapping[str, Any]]

class BucketIAMMemberOutputs(TypedDict):
    bucket: Output[str]
    condition: Output[Mapping[str, Any]]
    etag: Output[str]
    member: Output[str]
    role: Output[str]

class Declare(Protocol):
    """Declares a resource of one of the types above: its inputs, and the ``outputs`` to read back besides."""

    @overload
    def __call__(
        self,
        token: Literal["gcp:artifactregistry/repository:Repository"],
        name: str,
        inputs: Repository,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["cleanupPolicies", "cleanupPolicyDryRun", "createTime", "deletionPolicy", "description", "dockerConfig", "effectiveLabels", "format", "kmsKeyName", "labels", "location", "mavenConfig", "mode", "name", "project", "pulumiLabels", "registryUri", "remoteRepositoryConfig", "repositoryId", "updateTime", "virtualRepositoryConfig", "vulnerabilityScanningConfig"]] = ...,
    ) -> CustomResource[RepositoryOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"],
        name: str,
        inputs: RepositoryIamMember,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["condition", "etag", "location", "member", "project", "repository", "role"]] = ...,
    ) -> CustomResource[RepositoryIamMemberOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/address:Address"],
        name: str,
        inputs: Address,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["address", "addressId", "addressType", "creationTimestamp", "deletionPolicy", "description", "effectiveLabels", "ipCollection", "ipVersion", "ipv6EndpointType", "labelFingerprint", "labels", "name", "network", "networkTier", "prefixLength", "project", "pulumiLabels", "purpose", "region", "selfLink", "subnetwork", "users"]] = ...,
    ) -> CustomResource[AddressOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/firewall:Firewall"],
        name: str,
        inputs: Firewall,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["allows", "creationTimestamp", "deletionPolicy", "denies", "description", "destinationRanges", "direction", "disabled", "enableLogging", "logConfig", "name", "network", "params", "priority", "project", "selfLink", "sourceRanges", "sourceServiceAccounts", "sourceTags", "targetServiceAccounts", "targetTags"]] = ...,
    ) -> CustomResource[FirewallOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/network:Network"],
        name: str,
        inputs: Network,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["autoCreateSubnetworks", "bgpAlwaysCompareMed", "bgpBestPathSelectionMode", "bgpInterRegionCost", "deleteBgpAlwaysCompareMed", "deleteDefaultRoutesOnCreate", "deletionPolicy", "description", "enableUlaInternalIpv6", "gatewayIpv4", "internalIpv6Range", "mtu", "name", "networkFirewallPolicyEnforcementOrder", "networkId", "networkProfile", "numericId", "params", "project", "routingMode", "selfLink"]] = ...,
    ) -> CustomResource[NetworkOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/resourcePolicy:ResourcePolicy"],
        name: str,
        inputs: ResourcePolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["deletionPolicy", "description", "diskConsistencyGroupPolicy", "groupPlacementPolicy", "instanceSchedulePolicy", "name", "project", "region", "selfLink", "snapshotSchedulePolicy", "workloadPolicy"]] = ...,
    ) -> CustomResource[ResourcePolicyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/router:Router"],
        name: str,
        inputs: Router,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bgp", "creationTimestamp", "deletionPolicy", "description", "encryptedInterconnectRouter", "md5AuthenticationKeys", "name", "nccGateway", "network", "params", "project", "region", "selfLink"]] = ...,
    ) -> CustomResource[RouterOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/routerNat:RouterNat"],
        name: str,
        inputs: RouterNat,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["autoNetworkTier", "deletionPolicy", "drainNatIps", "enableDynamicPortAllocation", "enableEndpointIndependentMapping", "endpointTypes", "icmpIdleTimeoutSec", "initialNatIps", "logConfig", "maxPortsPerVm", "minPortsPerVm", "name", "nat64Subnetworks", "natIpAllocateOption", "natIps", "project", "region", "router", "rules", "sourceSubnetworkIpRangesToNat", "sourceSubnetworkIpRangesToNat64", "subnetworks", "tcpEstablishedIdleTimeoutSec", "tcpTimeWaitTimeoutSec", "tcpTransitoryIdleTimeoutSec", "type", "udpIdleTimeoutSec"]] = ...,
    ) -> CustomResource[RouterNatOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:compute/subnetwork:Subnetwork"],
        name: str,
        inputs: Subnetwork,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["allowSubnetCidrRoutesOverlap", "creationTimestamp", "deletionPolicy", "description", "externalIpv6Prefix", "fingerprint", "gatewayAddress", "internalIpv6Prefix", "ipCidrRange", "ipCollection", "ipv6AccessType", "ipv6CidrRange", "ipv6GceEndpoint", "logConfig", "name", "network", "params", "privateIpGoogleAccess", "privateIpv6GoogleAccess", "project", "purpose", "region", "reservedInternalRange", "resolveSubnetMask", "role", "secondaryIpRanges", "selfLink", "sendSecondaryIpRangeIfEmpty", "stackType", "state", "subnetworkId"]] = ...,
    ) -> CustomResource[SubnetworkOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:container/cluster:Cluster"],
        name: str,
        inputs: Cluster,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["addonsConfig", "allowNetAdmin", "anonymousAuthenticationConfig", "authenticatorGroupsConfig", "autopilotClusterPolicyConfig", "autopilotPrivilegedAdmissions", "binaryAuthorization", "clusterAutoscaling", "clusterIpv4Cidr", "clusterTelemetry", "confidentialNodes", "controlPlaneEndpointsConfig", "costManagementConfig", "databaseEncryption", "datapathProvider", "dataplaneOptimizationMode", "defaultMaxPodsPerNode", "defaultSnatStatus", "deletionPolicy", "deletionProtection", "description", "desiredEmulatedVersion", "disableL4LbFirewallReconciliation", "dnsConfig", "effectiveLabels", "emulatedVersion", "enableAutopilot", "enableCiliumClusterwideNetworkPolicy", "enableFqdnNetworkPolicy", "enableIntranodeVisibility", "enableK8sBetaApis", "enableKubernetesAlpha", "enableL4IlbSubsetting", "enableLegacyAbac", "enableMultiNetworking", "enableShieldedNodes", "enableTpu", "endpoint", "enterpriseConfig", "fleet", "gatewayApiConfig", "gkeAutoUpgradeConfig", "identityServiceConfig", "ignoreNodeCountChanges", "inTransitEncryptionConfig", "initialNodeCount", "ipAllocationPolicy", "labelFingerprint", "location", "loggingConfig", "loggingService", "maintenancePolicy", "managedMachineLearningDiagnosticsConfig", "managedOpentelemetryConfig", "masterAuth", "masterAuthorizedNetworksConfig", "masterVersion", "meshCertificates", "minMasterVersion", "monitoringConfig", "monitoringService", "name", "network", "networkPerformanceConfig", "networkPolicy", "networkingMode", "nodeConfig", "nodeCreationConfig", "nodeLocations", "nodePoolAutoConfig", "nodePoolDefaults", "nodePools", "nodeVersion", "notificationConfig", "operation", "podAutoscaling", "podSecurityPolicyConfig", "privateClusterConfig", "privateIpv6GoogleAccess", "project", "protectConfig", "pulumiLabels", "rbacBindingConfig", "releaseChannel", "removeDefaultNodePool", "resourceLabels", "resourceUsageExportConfig", "rollbackSafeUpgrade", "secretManagerConfig", "secretSyncConfig", "securityPostureConfig", "selfLink", "serviceExternalIpsConfig", "servicesIpv4Cidr", "skipNodePoolRefresh", "subnetwork", "tpuConfig", "tpuIpv4CidrBlock", "userManagedKeysConfig", "verticalPodAutoscaling", "workloadAltsConfig", "workloadIdentityConfig"]] = ...,
    ) -> CustomResource[ClusterOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:container/nodePool:NodePool"],
        name: str,
        inputs: NodePool,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["autoscaling", "bestEffortProvisioning", "cluster", "deletionPolicy", "ignoreNodeCountChanges", "initialNodeCount", "instanceGroupUrls", "location", "maintenancePolicies", "managedInstanceGroupUrls", "management", "maxPodsPerNode", "name", "namePrefix", "networkConfig", "nodeConfig", "nodeCount", "nodeDrainConfigs", "nodeLocations", "operation", "placementPolicy", "project", "queuedProvisioning", "upgradeSettings", "version"]] = ...,
    ) -> CustomResource[NodePoolOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:filestore/instance:Instance"],
        name: str,
        inputs: Instance,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["createTime", "deletionPolicy", "deletionProtectionEnabled", "deletionProtectionReason", "description", "desiredReplicaState", "directoryServices", "effectiveLabels", "effectiveReplications", "etag", "fileShares", "initialReplication", "kmsKeyName", "labels", "location", "name", "networks", "performanceConfig", "project", "protocol", "pulumiLabels", "tags", "tier", "zone"]] = ...,
    ) -> CustomResource[InstanceOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"],
        name: str,
        inputs: CryptoKeyIAMMember,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["condition", "cryptoKeyId", "etag", "member", "role"]] = ...,
    ) -> CustomResource[CryptoKeyIAMMemberOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:projects/iAMMember:IAMMember"],
        name: str,
        inputs: IAMMember,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["condition", "etag", "member", "project", "role"]] = ...,
    ) -> CustomResource[IAMMemberOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:projects/service:Service"],
        name: str,
        inputs: Service,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["checkIfServiceHasUsageOnDestroy", "deletionPolicy", "disableDependentServices", "disableOnDestroy", "project", "service"]] = ...,
    ) -> CustomResource[ServiceOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:secretmanager/secretIamMember:SecretIamMember"],
        name: str,
        inputs: SecretIamMember,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["condition", "etag", "member", "project", "role", "secretId"]] = ...,
    ) -> CustomResource[SecretIamMemberOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:serviceaccount/account:Account"],
        name: str,
        inputs: Account,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accountId", "createIgnoreAlreadyExists", "deletionPolicy", "description", "disabled", "displayName", "email", "member", "name", "project", "uniqueId"]] = ...,
    ) -> CustomResource[AccountOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:storage/bucket:Bucket"],
        name: str,
        inputs: Bucket,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["autoclass", "cors", "customPlacementConfig", "defaultEventBasedHold", "deletionPolicy", "effectiveLabels", "enableObjectRetention", "encryption", "forceDestroy", "hierarchicalNamespace", "ipFilter", "labels", "lifecycleRules", "location", "logging", "name", "project", "projectNumber", "publicAccessPrevention", "pulumiLabels", "requesterPays", "retentionPolicy", "rpo", "selfLink", "softDeletePolicy", "storageClass", "timeCreated", "uniformBucketLevelAccess", "updated", "url", "versioning", "website"]] = ...,
    ) -> CustomResource[BucketOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["gcp:storage/bucketIAMMember:BucketIAMMember"],
        name: str,
        inputs: BucketIAMMember,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bucket", "condition", "etag", "member", "role"]] = ...,
    ) -> CustomResource[BucketIAMMemberOutputs]: ...
