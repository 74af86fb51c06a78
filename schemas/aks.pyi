"""Inputs and outputs of aks's resource types as its provider has them, made by `make schemas`.

There is no such module at run time:

    if TYPE_CHECKING:
        from schemas import aks
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

from pulumi import Input, Output, ResourceOptions
from typing_extensions import Required, TypedDict

from components.resources import CustomResource

class AbsoluteMonthlySchedule(TypedDict, total=False):
    dayOfMonth: Required[Input[int]]
    intervalMonths: Required[Input[int]]

class AccessPolicy(TypedDict, total=False):
    expiryTime: Input[str]
    permission: Input[str]
    startTime: Input[str]

class AccountImmutabilityPolicyProperties(TypedDict, total=False):
    allowProtectedAppendWrites: Input[bool]
    immutabilityPeriodSinceCreationInDays: Input[int]
    state: Input[str]

class ActiveDirectoryProperties(TypedDict, total=False):
    domainGuid: Required[Input[str]]
    domainName: Required[Input[str]]
    accountType: Input[str]
    azureStorageSid: Input[str]
    domainSid: Input[str]
    forestName: Input[str]
    netBiosDomainName: Input[str]
    samAccountName: Input[str]

class AddressSpace(TypedDict, total=False):
    addressPrefixes: Input[Sequence[Input[str]]]
    ipamPoolPrefixAllocations: Input[Sequence[Input[IpamPoolPrefixAllocation]]]

class AdvancedNetworking(TypedDict, total=False):
    enabled: Input[bool]
    observability: Input[AdvancedNetworkingObservability]
    security: Input[AdvancedNetworkingSecurity]

class AdvancedNetworkingObservability(TypedDict, total=False):
    enabled: Input[bool]

class AdvancedNetworkingSecurity(TypedDict, total=False):
    advancedNetworkPolicies: Input[str]
    enabled: Input[bool]

class AgentPool(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    resourceName: Required[Input[str]]
    agentPoolName: Input[str]
    availabilityZones: Input[Sequence[Input[str]]]
    capacityReservationGroupID: Input[str]
    count: Input[int]
    creationData: Input[CreationData]
    enableAutoScaling: Input[bool]
    enableEncryptionAtHost: Input[bool]
    enableFIPS: Input[bool]
    enableNodePublicIP: Input[bool]
    enableUltraSSD: Input[bool]
    gatewayProfile: Input[AgentPoolGatewayProfile]
    gpuInstanceProfile: Input[str]
    gpuProfile: Input[GPUProfile]
    hostGroupID: Input[str]
    kubeletConfig: Input[KubeletConfig]
    kubeletDiskType: Input[str]
    linuxOSConfig: Input[LinuxOSConfig]
    localDNSProfile: Input[LocalDNSProfile]
    maxCount: Input[int]
    maxPods: Input[int]
    messageOfTheDay: Input[str]
    minCount: Input[int]
    mode: Input[str]
    networkProfile: Input[AgentPoolNetworkProfile]
    nodeLabels: Input[Mapping[str, Input[str]]]
    nodePublicIPPrefixID: Input[str]
    nodeTaints: Input[Sequence[Input[str]]]
    orchestratorVersion: Input[str]
    osDiskSizeGB: Input[int]
    osDiskType: Input[str]
    osSKU: Input[str]
    osType: Input[str]
    podIPAllocationMode: Input[str]
    podSubnetID: Input[str]
    powerState: Input[PowerState]
    proximityPlacementGroupID: Input[str]
    scaleDownMode: Input[str]
    scaleSetEvictionPolicy: Input[str]
    scaleSetPriority: Input[str]
    securityProfile: Input[AgentPoolSecurityProfile]
    spotMaxPrice: Input[float]
    tags: Input[Mapping[str, Input[str]]]
    type: Input[str]
    upgradeSettings: Input[AgentPoolUpgradeSettings]
    virtualMachineNodesStatus: Input[Sequence[Input[VirtualMachineNodes]]]
    virtualMachinesProfile: Input[VirtualMachinesProfile]
    vmSize: Input[str]
    vnetSubnetID: Input[str]
    windowsProfile: Input[AgentPoolWindowsProfile]
    workloadRuntime: Input[str]

class AgentPoolGatewayProfile(TypedDict, total=False):
    publicIPPrefixSize: Input[int]

class AgentPoolNetworkProfile(TypedDict, total=False):
    allowedHostPorts: Input[Sequence[Input[PortRange]]]
    applicationSecurityGroups: Input[Sequence[Input[str]]]
    nodePublicIPTags: Input[Sequence[Input[IPTag]]]

class AgentPoolSecurityProfile(TypedDict, total=False):
    enableSecureBoot: Input[bool]
    enableVTPM: Input[bool]
    sshAccess: Input[str]

class AgentPoolUpgradeSettings(TypedDict, total=False):
    drainTimeoutInMinutes: Input[int]
    maxSurge: Input[str]
    maxUnavailable: Input[str]
    nodeSoakDurationInMinutes: Input[int]
    undrainableNodeBehavior: Input[str]

class AgentPoolWindowsProfile(TypedDict, total=False):
    disableOutboundNat: Input[bool]

class ApplicationGatewayIPConfiguration(TypedDict, total=False):
    id: Input[str]
    name: Input[str]
    subnet: Input[SubResource]

class ApplicationSecurityGroup(TypedDict, total=False):
    id: Input[str]
    location: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class AzureADAuthenticationAsArmPolicy(TypedDict, total=False):
    status: Input[str]

class AzureFilesIdentityBasedAuthentication(TypedDict, total=False):
    directoryServiceOptions: Required[Input[str]]
    activeDirectoryProperties: Input[ActiveDirectoryProperties]
    defaultSharePermission: Input[str]

class AzureKeyVaultKms(TypedDict, total=False):
    enabled: Input[bool]
    keyId: Input[str]
    keyVaultNetworkAccess: Input[str]
    keyVaultResourceId: Input[str]

class BlobContainer(TypedDict, total=False):
    accountName: Required[Input[str]]
    resourceGroupName: Required[Input[str]]
    containerName: Input[str]
    defaultEncryptionScope: Input[str]
    denyEncryptionScopeOverride: Input[bool]
    enableNfsV3AllSquash: Input[bool]
    enableNfsV3RootSquash: Input[bool]
    immutableStorageWithVersioning: Input[ImmutableStorageWithVersioning]
    metadata: Input[Mapping[str, Input[str]]]
    publicAccess: Input[str]

class BlobServiceProperties(TypedDict, total=False):
    accountName: Required[Input[str]]
    resourceGroupName: Required[Input[str]]
    automaticSnapshotPolicyEnabled: Input[bool]
    blobServicesName: Input[str]
    changeFeed: Input[ChangeFeed]
    containerDeleteRetentionPolicy: Input[DeleteRetentionPolicy]
    cors: Input[CorsRules]
    defaultServiceVersion: Input[str]
    deleteRetentionPolicy: Input[DeleteRetentionPolicy]
    isVersioningEnabled: Input[bool]
    lastAccessTimeTrackingPolicy: Input[LastAccessTimeTrackingPolicy]
    restorePolicy: Input[RestorePolicyProperties]

class ChangeFeed(TypedDict, total=False):
    enabled: Input[bool]
    retentionInDays: Input[int]

class ClusterUpgradeSettings(TypedDict, total=False):
    overrideSettings: Input[UpgradeOverrideSettings]

class ContainerServiceLinuxProfile(TypedDict, total=False):
    adminUsername: Required[Input[str]]
    ssh: Required[Input[ContainerServiceSshConfiguration]]

class ContainerServiceNetworkProfile(TypedDict, total=False):
    advancedNetworking: Input[AdvancedNetworking]
    dnsServiceIP: Input[str]
    ipFamilies: Input[Sequence[Input[str]]]
    loadBalancerProfile: Input[ManagedClusterLoadBalancerProfile]
    loadBalancerSku: Input[str]
    natGatewayProfile: Input[ManagedClusterNATGatewayProfile]
    networkDataplane: Input[str]
    networkMode: Input[str]
    networkPlugin: Input[str]
    networkPluginMode: Input[str]
    networkPolicy: Input[str]
    outboundType: Input[str]
    podCidr: Input[str]
    podCidrs: Input[Sequence[Input[str]]]
    serviceCidr: Input[str]
    serviceCidrs: Input[Sequence[Input[str]]]
    staticEgressGatewayProfile: Input[ManagedClusterStaticEgressGatewayProfile]

class ContainerServiceSshConfiguration(TypedDict, total=False):
    publicKeys: Required[Input[Sequence[Input[ContainerServiceSshPublicKey]]]]

class ContainerServiceSshPublicKey(TypedDict, total=False):
    keyData: Required[Input[str]]

class CorsRule(TypedDict, total=False):
    allowedHeaders: Required[Input[Sequence[Input[str]]]]
    allowedMethods: Required[Input[Sequence[Input[str]]]]
    allowedOrigins: Required[Input[Sequence[Input[str]]]]
    exposedHeaders: Required[Input[Sequence[Input[str]]]]
    maxAgeInSeconds: Required[Input[int]]

class CorsRules(TypedDict, total=False):
    corsRules: Input[Sequence[Input[CorsRule]]]

class CreationData(TypedDict, total=False):
    sourceResourceId: Input[str]

class CustomDnsConfigPropertiesFormat(TypedDict, total=False):
    fqdn: Input[str]
    ipAddresses: Input[Sequence[Input[str]]]

class CustomDomain(TypedDict, total=False):
    name: Required[Input[str]]
    useSubDomainName: Input[bool]

class DailySchedule(TypedDict, total=False):
    intervalDays: Required[Input[int]]

class DateSpan(TypedDict, total=False):
    end: Required[Input[str]]
    start: Required[Input[str]]

class DdosSettings(TypedDict, total=False):
    ddosProtectionPlan: Input[SubResource]
    protectionMode: Input[str]

class DelegatedResource(TypedDict, total=False):
    location: Input[str]
    referralResource: Input[str]
    resourceId: Input[str]
    tenantId: Input[str]

class Delegation(TypedDict, total=False):
    actions: Input[Sequence[Input[str]]]
    etag: Input[str]
    id: Input[str]
    name: Input[str]
    serviceName: Input[str]
    type: Input[str]

class DeleteRetentionPolicy(TypedDict, total=False):
    allowPermanentDelete: Input[bool]
    days: Input[int]
    enabled: Input[bool]

class DhcpOptions(TypedDict, total=False):
    dnsServers: Input[Sequence[Input[str]]]

class DiskEncryptionSet(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    activeKey: Input[KeyForDiskEncryptionSet]
    diskEncryptionSetName: Input[str]
    encryptionType: Input[str]
    federatedClientId: Input[str]
    identity: Input[EncryptionSetIdentity]
    location: Required[Input[str]]
    rotationToLatestKeyVersionEnabled: Input[bool]
    tags: Input[Mapping[str, Input[str]]]

class Encryption(TypedDict, total=False):
    encryptionIdentity: Input[EncryptionIdentity]
    keySource: Input[str]
    keyVaultProperties: Input[StorageKeyVaultProperties]
    requireInfrastructureEncryption: Input[bool]
    services: Input[EncryptionServices]

class EncryptionIdentity(TypedDict, total=False):
    encryptionFederatedIdentityClientId: Input[str]
    encryptionUserAssignedIdentity: Input[str]

class EncryptionProperty(TypedDict, total=False):
    keyVaultProperties: Input[KeyVaultProperties]
    status: Input[str]

class EncryptionService(TypedDict, total=False):
    enabled: Input[bool]
    keyType: Input[str]

class EncryptionServices(TypedDict, total=False):
    blob: Input[EncryptionService]
    file: Input[EncryptionService]
    queue: Input[EncryptionService]
    table: Input[EncryptionService]

class EncryptionSetIdentity(TypedDict, total=False):
    type: Input[str]
    userAssignedIdentities: Input[Sequence[Input[str]]]

class ExportPolicy(TypedDict, total=False):
    status: Input[str]

class ExtendedLocation(TypedDict, total=False):
    name: Input[str]
    type: Input[str]

class FederatedIdentityCredential(TypedDict, total=False):
    audiences: Required[Input[Sequence[Input[str]]]]
    issuer: Required[Input[str]]
    resourceGroupName: Required[Input[str]]
    resourceName: Required[Input[str]]
    subject: Required[Input[str]]
    federatedIdentityCredentialResourceName: Input[str]

class FileShare(TypedDict, total=False):
    accountName: Required[Input[str]]
    resourceGroupName: Required[Input[str]]
    accessTier: Input[str]
    enabledProtocols: Input[str]
    expand: Input[str]
    fileSharePaidBursting: Input[FileSharePropertiesFileSharePaidBursting]
    metadata: Input[Mapping[str, Input[str]]]
    provisionedBandwidthMibps: Input[int]
    provisionedIops: Input[int]
    rootSquash: Input[str]
    shareName: Input[str]
    shareQuota: Input[int]
    signedIdentifiers: Input[Sequence[Input[SignedIdentifier]]]

class FileSharePropertiesFileSharePaidBursting(TypedDict, total=False):
    paidBurstingEnabled: Input[bool]
    paidBurstingMaxBandwidthMibps: Input[int]
    paidBurstingMaxIops: Input[int]

class GPUProfile(TypedDict, total=False):
    driver: Input[str]

class IPRule(TypedDict, total=False):
    iPAddressOrRange: Required[Input[str]]
    action: Input[str]

class IPTag(TypedDict, total=False):
    ipTagType: Input[str]
    tag: Input[str]

class Identity(TypedDict, total=False):
    type: Required[Input[str]]
    userAssignedIdentities: Input[Sequence[Input[str]]]

class IdentityProperties(TypedDict, total=False):
    principalId: Input[str]
    tenantId: Input[str]
    type: Input[str]
    userAssignedIdentities: Input[Mapping[str, Input[UserIdentityProperties]]]

class ImmutableStorageAccount(TypedDict, total=False):
    enabled: Input[bool]
    immutabilityPolicy: Input[AccountImmutabilityPolicyProperties]

class ImmutableStorageWithVersioning(TypedDict, total=False):
    enabled: Input[bool]

class IpTag(TypedDict, total=False):
    ipTagType: Input[str]
    tag: Input[str]

class IpamPoolPrefixAllocation(TypedDict, total=False):
    id: Input[str]
    numberOfIpAddresses: Input[str]

class IstioCertificateAuthority(TypedDict, total=False):
    plugin: Input[IstioPluginCertificateAuthority]

class IstioComponents(TypedDict, total=False):
    egressGateways: Input[Sequence[Input[IstioEgressGateway]]]
    ingressGateways: Input[Sequence[Input[IstioIngressGateway]]]

class IstioEgressGateway(TypedDict, total=False):
    enabled: Required[Input[bool]]
    name: Required[Input[str]]
    gatewayConfigurationName: Input[str]
    namespace: Input[str]

class IstioIngressGateway(TypedDict, total=False):
    enabled: Required[Input[bool]]
    mode: Required[Input[str]]

class IstioPluginCertificateAuthority(TypedDict, total=False):
    certChainObjectName: Input[str]
    certObjectName: Input[str]
    keyObjectName: Input[str]
    keyVaultId: Input[str]
    rootCertObjectName: Input[str]

class IstioServiceMesh(TypedDict, total=False):
    certificateAuthority: Input[IstioCertificateAuthority]
    components: Input[IstioComponents]
    revisions: Input[Sequence[Input[str]]]

class KeyForDiskEncryptionSet(TypedDict, total=False):
    keyUrl: Required[Input[str]]
    sourceVault: Input[SourceVault]

class KeyPolicy(TypedDict, total=False):
    keyExpirationPeriodInDays: Required[Input[int]]

class KeyVaultProperties(TypedDict, total=False):
    identity: Input[str]
    keyIdentifier: Input[str]

class KubeletConfig(TypedDict, total=False):
    allowedUnsafeSysctls: Input[Sequence[Input[str]]]
    containerLogMaxFiles: Input[int]
    containerLogMaxSizeMB: Input[int]
    cpuCfsQuota: Input[bool]
    cpuCfsQuotaPeriod: Input[str]
    cpuManagerPolicy: Input[str]
    failSwapOn: Input[bool]
    imageGcHighThreshold: Input[int]
    imageGcLowThreshold: Input[int]
    podMaxPids: Input[int]
    topologyManagerPolicy: Input[str]

class LastAccessTimeTrackingPolicy(TypedDict, total=False):
    enable: Required[Input[bool]]
    blobType: Input[Sequence[Input[str]]]
    name: Input[str]
    trackingGranularityInDays: Input[int]

class LinuxOSConfig(TypedDict, total=False):
    swapFileSizeMB: Input[int]
    sysctls: Input[SysctlConfig]
    transparentHugePageDefrag: Input[str]
    transparentHugePageEnabled: Input[str]

class LocalDNSOverride(TypedDict, total=False):
    cacheDurationInSeconds: Input[int]
    forwardDestination: Input[str]
    forwardPolicy: Input[str]
    maxConcurrent: Input[int]
    protocol: Input[str]
    queryLogging: Input[str]
    serveStale: Input[str]
    serveStaleDurationInSeconds: Input[int]

class LocalDNSProfile(TypedDict, total=False):
    kubeDNSOverrides: Input[Mapping[str, Input[LocalDNSOverride]]]
    mode: Input[str]
    vnetDNSOverrides: Input[Mapping[str, Input[LocalDNSOverride]]]

class MaintenanceConfiguration(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    resourceName: Required[Input[str]]
    configName: Input[str]
    maintenanceWindow: Input[MaintenanceWindow]
    notAllowedTime: Input[Sequence[Input[TimeSpan]]]
    timeInWeek: Input[Sequence[Input[TimeInWeek]]]

class MaintenanceWindow(TypedDict, total=False):
    durationHours: Required[Input[int]]
    schedule: Required[Input[Schedule]]
    startTime: Required[Input[str]]
    notAllowedDates: Input[Sequence[Input[DateSpan]]]
    startDate: Input[str]
    utcOffset: Input[str]

class ManagedCluster(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    aadProfile: Input[ManagedClusterAADProfile]
    addonProfiles: Input[Mapping[str, Input[ManagedClusterAddonProfile]]]
    agentPoolProfiles: Input[Sequence[Input[ManagedClusterAgentPoolProfile]]]
    aiToolchainOperatorProfile: Input[ManagedClusterAIToolchainOperatorProfile]
    apiServerAccessProfile: Input[ManagedClusterAPIServerAccessProfile]
    autoScalerProfile: Input[ManagedClusterPropertiesAutoScalerProfile]
    autoUpgradeProfile: Input[ManagedClusterAutoUpgradeProfile]
    azureMonitorProfile: Input[ManagedClusterAzureMonitorProfile]
    bootstrapProfile: Input[ManagedClusterBootstrapProfile]
    disableLocalAccounts: Input[bool]
    diskEncryptionSetID: Input[str]
    dnsPrefix: Input[str]
    enableRBAC: Input[bool]
    extendedLocation: Input[ExtendedLocation]
    fqdnSubdomain: Input[str]
    httpProxyConfig: Input[ManagedClusterHTTPProxyConfig]
    identity: Input[ManagedClusterIdentity]
    identityProfile: Input[Mapping[str, Input[InlineUserAssignedIdentity]]]
    ingressProfile: Input[ManagedClusterIngressProfile]
    kind: Input[str]
    kubernetesVersion: Input[str]
    linuxProfile: Input[ContainerServiceLinuxProfile]
    location: Required[Input[str]]
    metricsProfile: Input[ManagedClusterMetricsProfile]
    networkProfile: Input[ContainerServiceNetworkProfile]
    nodeProvisioningProfile: Input[ManagedClusterNodeProvisioningProfile]
    nodeResourceGroup: Input[str]
    nodeResourceGroupProfile: Input[ManagedClusterNodeResourceGroupProfile]
    oidcIssuerProfile: Input[ManagedClusterOIDCIssuerProfile]
    podIdentityProfile: Input[ManagedClusterPodIdentityProfile]
    privateLinkResources: Input[Sequence[Input[PrivateLinkResource]]]
    publicNetworkAccess: Input[str]
    resourceName: Input[str]
    securityProfile: Input[ManagedClusterSecurityProfile]
    serviceMeshProfile: Input[ServiceMeshProfile]
    servicePrincipalProfile: Input[ManagedClusterServicePrincipalProfile]
    sku: Input[ManagedClusterSKU]
    storageProfile: Input[ManagedClusterStorageProfile]
    supportPlan: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    upgradeSettings: Input[ClusterUpgradeSettings]
    windowsProfile: Input[ManagedClusterWindowsProfile]
    workloadAutoScalerProfile: Input[ManagedClusterWorkloadAutoScalerProfile]

class ManagedClusterAADProfile(TypedDict, total=False):
    adminGroupObjectIDs: Input[Sequence[Input[str]]]
    clientAppID: Input[str]
    enableAzureRBAC: Input[bool]
    managed: Input[bool]
    serverAppID: Input[str]
    serverAppSecret: Input[str]
    tenantID: Input[str]

class ManagedClusterAIToolchainOperatorProfile(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterAPIServerAccessProfile(TypedDict, total=False):
    authorizedIPRanges: Input[Sequence[Input[str]]]
    disableRunCommand: Input[bool]
    enablePrivateCluster: Input[bool]
    enablePrivateClusterPublicFQDN: Input[bool]
    enableVnetIntegration: Input[bool]
    privateDNSZone: Input[str]
    subnetId: Input[str]

class ManagedClusterAddonProfile(TypedDict, total=False):
    enabled: Required[Input[bool]]
    config: Input[Mapping[str, Input[str]]]

class ManagedClusterAgentPoolProfile(TypedDict, total=False):
    name: Required[Input[str]]
    availabilityZones: Input[Sequence[Input[str]]]
    capacityReservationGroupID: Input[str]
    count: Input[int]
    creationData: Input[CreationData]
    enableAutoScaling: Input[bool]
    enableEncryptionAtHost: Input[bool]
    enableFIPS: Input[bool]
    enableNodePublicIP: Input[bool]
    enableUltraSSD: Input[bool]
    gatewayProfile: Input[AgentPoolGatewayProfile]
    gpuInstanceProfile: Input[str]
    gpuProfile: Input[GPUProfile]
    hostGroupID: Input[str]
    kubeletConfig: Input[KubeletConfig]
    kubeletDiskType: Input[str]
    linuxOSConfig: Input[LinuxOSConfig]
    localDNSProfile: Input[LocalDNSProfile]
    maxCount: Input[int]
    maxPods: Input[int]
    messageOfTheDay: Input[str]
    minCount: Input[int]
    mode: Input[str]
    networkProfile: Input[AgentPoolNetworkProfile]
    nodeLabels: Input[Mapping[str, Input[str]]]
    nodePublicIPPrefixID: Input[str]
    nodeTaints: Input[Sequence[Input[str]]]
    orchestratorVersion: Input[str]
    osDiskSizeGB: Input[int]
    osDiskType: Input[str]
    osSKU: Input[str]
    osType: Input[str]
    podIPAllocationMode: Input[str]
    podSubnetID: Input[str]
    powerState: Input[PowerState]
    proximityPlacementGroupID: Input[str]
    scaleDownMode: Input[str]
    scaleSetEvictionPolicy: Input[str]
    scaleSetPriority: Input[str]
    securityProfile: Input[AgentPoolSecurityProfile]
    spotMaxPrice: Input[float]
    tags: Input[Mapping[str, Input[str]]]
    type: Input[str]
    upgradeSettings: Input[AgentPoolUpgradeSettings]
    virtualMachineNodesStatus: Input[Sequence[Input[VirtualMachineNodes]]]
    virtualMachinesProfile: Input[VirtualMachinesProfile]
    vmSize: Input[str]
    vnetSubnetID: Input[str]
    windowsProfile: Input[AgentPoolWindowsProfile]
    workloadRuntime: Input[str]

class ManagedClusterAutoUpgradeProfile(TypedDict, total=False):
    nodeOSUpgradeChannel: Input[str]
    upgradeChannel: Input[str]

class ManagedClusterAzureMonitorProfile(TypedDict, total=False):
    metrics: Input[ManagedClusterAzureMonitorProfileMetrics]

class ManagedClusterAzureMonitorProfileKubeStateMetrics(TypedDict, total=False):
    metricAnnotationsAllowList: Input[str]
    metricLabelsAllowlist: Input[str]

class ManagedClusterAzureMonitorProfileMetrics(TypedDict, total=False):
    enabled: Required[Input[bool]]
    kubeStateMetrics: Input[ManagedClusterAzureMonitorProfileKubeStateMetrics]

class ManagedClusterBootstrapProfile(TypedDict, total=False):
    artifactSource: Input[str]
    containerRegistryId: Input[str]

class ManagedClusterCostAnalysis(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterHTTPProxyConfig(TypedDict, total=False):
    httpProxy: Input[str]
    httpsProxy: Input[str]
    noProxy: Input[Sequence[Input[str]]]
    trustedCa: Input[str]

class ManagedClusterIdentity(TypedDict, total=False):
    delegatedResources: Input[Mapping[str, Input[DelegatedResource]]]
    type: Input[str]
    userAssignedIdentities: Input[Sequence[Input[str]]]

class ManagedClusterIngressProfile(TypedDict, total=False):
    webAppRouting: Input[ManagedClusterIngressProfileWebAppRouting]

class ManagedClusterIngressProfileNginx(TypedDict, total=False):
    defaultIngressControllerType: Input[str]

class ManagedClusterIngressProfileWebAppRouting(TypedDict, total=False):
    dnsZoneResourceIds: Input[Sequence[Input[str]]]
    enabled: Input[bool]
    nginx: Input[ManagedClusterIngressProfileNginx]

class ManagedClusterLoadBalancerProfile(TypedDict, total=False):
    allocatedOutboundPorts: Input[int]
    backendPoolType: Input[str]
    enableMultipleStandardLoadBalancers: Input[bool]
    idleTimeoutInMinutes: Input[int]
    managedOutboundIPs: Input[ManagedClusterLoadBalancerProfileManagedOutboundIPs]
    outboundIPPrefixes: Input[ManagedClusterLoadBalancerProfileOutboundIPPrefixes]
    outboundIPs: Input[ManagedClusterLoadBalancerProfileOutboundIPs]

class ManagedClusterLoadBalancerProfileManagedOutboundIPs(TypedDict, total=False):
    count: Input[int]
    countIPv6: Input[int]

class ManagedClusterLoadBalancerProfileOutboundIPPrefixes(TypedDict, total=False):
    publicIPPrefixes: Input[Sequence[Input[ResourceReference]]]

class ManagedClusterLoadBalancerProfileOutboundIPs(TypedDict, total=False):
    publicIPs: Input[Sequence[Input[ResourceReference]]]

class ManagedClusterManagedOutboundIPProfile(TypedDict, total=False):
    count: Input[int]

class ManagedClusterMetricsProfile(TypedDict, total=False):
    costAnalysis: Input[ManagedClusterCostAnalysis]

class ManagedClusterNATGatewayProfile(TypedDict, total=False):
    idleTimeoutInMinutes: Input[int]
    managedOutboundIPProfile: Input[ManagedClusterManagedOutboundIPProfile]

class ManagedClusterNodeProvisioningProfile(TypedDict, total=False):
    defaultNodePools: Input[str]
    mode: Input[str]

class ManagedClusterNodeResourceGroupProfile(TypedDict, total=False):
    restrictionLevel: Input[str]

class ManagedClusterOIDCIssuerProfile(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterPodIdentity(TypedDict, total=False):
    identity: Required[Input[InlineUserAssignedIdentity]]
    name: Required[Input[str]]
    namespace: Required[Input[str]]
    bindingSelector: Input[str]

class ManagedClusterPodIdentityException(TypedDict, total=False):
    name: Required[Input[str]]
    namespace: Required[Input[str]]
    podLabels: Required[Input[Mapping[str, Input[str]]]]

class ManagedClusterPodIdentityProfile(TypedDict, total=False):
    allowNetworkPluginKubenet: Input[bool]
    enabled: Input[bool]
    userAssignedIdentities: Input[Sequence[Input[ManagedClusterPodIdentity]]]
    userAssignedIdentityExceptions: Input[Sequence[Input[ManagedClusterPodIdentityException]]]

class ManagedClusterPropertiesAutoScalerProfile(TypedDict, total=False):
    balanceSimilarNodeGroups: Input[str]
    daemonsetEvictionForEmptyNodes: Input[bool]
    daemonsetEvictionForOccupiedNodes: Input[bool]
    expander: Input[str]
    ignoreDaemonsetsUtilization: Input[bool]
    maxEmptyBulkDelete: Input[str]
    maxGracefulTerminationSec: Input[str]
    maxNodeProvisionTime: Input[str]
    maxTotalUnreadyPercentage: Input[str]
    newPodScaleUpDelay: Input[str]
    okTotalUnreadyCount: Input[str]
    scaleDownDelayAfterAdd: Input[str]
    scaleDownDelayAfterDelete: Input[str]
    scaleDownDelayAfterFailure: Input[str]
    scaleDownUnneededTime: Input[str]
    scaleDownUnreadyTime: Input[str]
    scaleDownUtilizationThreshold: Input[str]
    scanInterval: Input[str]
    skipNodesWithLocalStorage: Input[str]
    skipNodesWithSystemPods: Input[str]

class ManagedClusterSKU(TypedDict, total=False):
    name: Input[str]
    tier: Input[str]

class ManagedClusterSecurityProfile(TypedDict, total=False):
    azureKeyVaultKms: Input[AzureKeyVaultKms]
    customCATrustCertificates: Input[Sequence[Input[str]]]
    defender: Input[ManagedClusterSecurityProfileDefender]
    imageCleaner: Input[ManagedClusterSecurityProfileImageCleaner]
    workloadIdentity: Input[ManagedClusterSecurityProfileWorkloadIdentity]

class ManagedClusterSecurityProfileDefender(TypedDict, total=False):
    logAnalyticsWorkspaceResourceId: Input[str]
    securityMonitoring: Input[ManagedClusterSecurityProfileDefenderSecurityMonitoring]

class ManagedClusterSecurityProfileDefenderSecurityMonitoring(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterSecurityProfileImageCleaner(TypedDict, total=False):
    enabled: Input[bool]
    intervalHours: Input[int]

class ManagedClusterSecurityProfileWorkloadIdentity(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterServicePrincipalProfile(TypedDict, total=False):
    clientId: Required[Input[str]]
    secret: Input[str]

class ManagedClusterStaticEgressGatewayProfile(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterStorageProfile(TypedDict, total=False):
    blobCSIDriver: Input[ManagedClusterStorageProfileBlobCSIDriver]
    diskCSIDriver: Input[ManagedClusterStorageProfileDiskCSIDriver]
    fileCSIDriver: Input[ManagedClusterStorageProfileFileCSIDriver]
    snapshotController: Input[ManagedClusterStorageProfileSnapshotController]

class ManagedClusterStorageProfileBlobCSIDriver(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterStorageProfileDiskCSIDriver(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterStorageProfileFileCSIDriver(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterStorageProfileSnapshotController(TypedDict, total=False):
    enabled: Input[bool]

class ManagedClusterWindowsProfile(TypedDict, total=False):
    adminUsername: Required[Input[str]]
    adminPassword: Input[str]
    enableCSIProxy: Input[bool]
    gmsaProfile: Input[WindowsGmsaProfile]
    licenseType: Input[str]

class ManagedClusterWorkloadAutoScalerProfile(TypedDict, total=False):
    keda: Input[ManagedClusterWorkloadAutoScalerProfileKeda]
    verticalPodAutoscaler: Input[ManagedClusterWorkloadAutoScalerProfileVerticalPodAutoscaler]

class ManagedClusterWorkloadAutoScalerProfileKeda(TypedDict, total=False):
    enabled: Required[Input[bool]]

class ManagedClusterWorkloadAutoScalerProfileVerticalPodAutoscaler(TypedDict, total=False):
    enabled: Required[Input[bool]]

class ManualScaleProfile(TypedDict, total=False):
    count: Input[int]
    size: Input[str]

class InlineNatGateway(TypedDict, total=False):
    id: Input[str]
    idleTimeoutInMinutes: Input[int]
    location: Input[str]
    publicIpAddresses: Input[Sequence[Input[SubResource]]]
    publicIpPrefixes: Input[Sequence[Input[SubResource]]]
    sku: Input[NatGatewaySku]
    tags: Input[Mapping[str, Input[str]]]
    zones: Input[Sequence[Input[str]]]

class NatGateway(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    id: Input[str]
    idleTimeoutInMinutes: Input[int]
    location: Input[str]
    natGatewayName: Input[str]
    publicIpAddresses: Input[Sequence[Input[SubResource]]]
    publicIpPrefixes: Input[Sequence[Input[SubResource]]]
    sku: Input[NatGatewaySku]
    tags: Input[Mapping[str, Input[str]]]
    zones: Input[Sequence[Input[str]]]

class NatGatewaySku(TypedDict, total=False):
    name: Input[str]

class NetworkRuleSet(TypedDict, total=False):
    defaultAction: Input[str]
    ipRules: Input[Sequence[Input[IPRule]]]

class InlineNetworkSecurityGroup(TypedDict, total=False):
    defaultSecurityRules: Input[Sequence[Input[SecurityRule]]]
    etag: Input[str]
    flushConnection: Input[bool]
    id: Input[str]
    location: Input[str]
    provisioningState: Input[str]
    resourceGuid: Input[str]
    securityRules: Input[Sequence[Input[SecurityRule]]]
    tags: Input[Mapping[str, Input[str]]]

class NetworkSecurityGroup(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    flushConnection: Input[bool]
    id: Input[str]
    location: Input[str]
    networkSecurityGroupName: Input[str]
    securityRules: Input[Sequence[Input[SecurityRule]]]
    tags: Input[Mapping[str, Input[str]]]

class Policies(TypedDict, total=False):
    azureADAuthenticationAsArmPolicy: Input[AzureADAuthenticationAsArmPolicy]
    exportPolicy: Input[ExportPolicy]
    quarantinePolicy: Input[QuarantinePolicy]
    retentionPolicy: Input[RetentionPolicy]
    softDeletePolicy: Input[SoftDeletePolicy]
    trustPolicy: Input[TrustPolicy]

class PortRange(TypedDict, total=False):
    portEnd: Input[int]
    portStart: Input[int]
    protocol: Input[str]

class PowerState(TypedDict, total=False):
    code: Input[str]

class PrivateEndpoint(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    applicationSecurityGroups: Input[Sequence[Input[ApplicationSecurityGroup]]]
    customDnsConfigs: Input[Sequence[Input[CustomDnsConfigPropertiesFormat]]]
    customNetworkInterfaceName: Input[str]
    extendedLocation: Input[ExtendedLocation]
    id: Input[str]
    ipConfigurations: Input[Sequence[Input[PrivateEndpointIPConfiguration]]]
    location: Input[str]
    manualPrivateLinkServiceConnections: Input[Sequence[Input[PrivateLinkServiceConnection]]]
    privateEndpointName: Input[str]
    privateLinkServiceConnections: Input[Sequence[Input[PrivateLinkServiceConnection]]]
    subnet: Input[InlineSubnet]
    tags: Input[Mapping[str, Input[str]]]

class PrivateEndpointIPConfiguration(TypedDict, total=False):
    groupId: Input[str]
    memberName: Input[str]
    name: Input[str]
    privateIPAddress: Input[str]

class PrivateLinkResource(TypedDict, total=False):
    groupId: Input[str]
    id: Input[str]
    name: Input[str]
    requiredMembers: Input[Sequence[Input[str]]]
    type: Input[str]

class PrivateLinkServiceConnection(TypedDict, total=False):
    groupIds: Input[Sequence[Input[str]]]
    id: Input[str]
    name: Input[str]
    privateLinkServiceConnectionState: Input[PrivateLinkServiceConnectionState]
    privateLinkServiceId: Input[str]
    requestMessage: Input[str]

class PrivateLinkServiceConnectionState(TypedDict, total=False):
    actionsRequired: Input[str]
    description: Input[str]
    status: Input[str]

class InlinePublicIPAddress(TypedDict, total=False):
    ddosSettings: Input[DdosSettings]
    deleteOption: Input[str]
    dnsSettings: Input[PublicIPAddressDnsSettings]
    extendedLocation: Input[ExtendedLocation]
    id: Input[str]
    idleTimeoutInMinutes: Input[int]
    ipAddress: Input[str]
    ipTags: Input[Sequence[Input[IpTag]]]
    linkedPublicIPAddress: Input[InlinePublicIPAddress]
    location: Input[str]
    migrationPhase: Input[str]
    natGateway: Input[InlineNatGateway]
    publicIPAddressVersion: Input[str]
    publicIPAllocationMethod: Input[str]
    publicIPPrefix: Input[SubResource]
    servicePublicIPAddress: Input[InlinePublicIPAddress]
    sku: Input[PublicIPAddressSku]
    tags: Input[Mapping[str, Input[str]]]
    zones: Input[Sequence[Input[str]]]

class PublicIPAddressDnsSettings(TypedDict, total=False):
    domainNameLabel: Input[str]
    domainNameLabelScope: Input[str]
    fqdn: Input[str]
    reverseFqdn: Input[str]

class PublicIPAddress(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    ddosSettings: Input[DdosSettings]
    deleteOption: Input[str]
    dnsSettings: Input[PublicIPAddressDnsSettings]
    extendedLocation: Input[ExtendedLocation]
    id: Input[str]
    idleTimeoutInMinutes: Input[int]
    ipAddress: Input[str]
    ipTags: Input[Sequence[Input[IpTag]]]
    linkedPublicIPAddress: Input[InlinePublicIPAddress]
    location: Input[str]
    migrationPhase: Input[str]
    natGateway: Input[InlineNatGateway]
    publicIPAddressVersion: Input[str]
    publicIPAllocationMethod: Input[str]
    publicIPPrefix: Input[SubResource]
    publicIpAddressName: Input[str]
    servicePublicIPAddress: Input[InlinePublicIPAddress]
    sku: Input[PublicIPAddressSku]
    tags: Input[Mapping[str, Input[str]]]
    zones: Input[Sequence[Input[str]]]

class PublicIPAddressSku(TypedDict, total=False):
    name: Input[str]
    tier: Input[str]

class QuarantinePolicy(TypedDict, total=False):
    status: Input[str]

class Registry(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    sku: Required[Input[Sku]]
    adminUserEnabled: Input[bool]
    anonymousPullEnabled: Input[bool]
    dataEndpointEnabled: Input[bool]
    encryption: Input[EncryptionProperty]
    identity: Input[IdentityProperties]
    location: Input[str]
    networkRuleBypassOptions: Input[str]
    networkRuleSet: Input[NetworkRuleSet]
    policies: Input[Policies]
    publicNetworkAccess: Input[str]
    registryName: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    zoneRedundancy: Input[str]

class RelativeMonthlySchedule(TypedDict, total=False):
    dayOfWeek: Required[Input[str]]
    intervalMonths: Required[Input[int]]
    weekIndex: Required[Input[str]]

class ResourceAccessRule(TypedDict, total=False):
    resourceId: Input[str]
    tenantId: Input[str]

class ResourceGroup(TypedDict, total=False):
    location: Required[Input[str]]
    managedBy: Input[str]
    resourceGroupName: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class ResourceNavigationLink(TypedDict, total=False):
    id: Input[str]
    link: Input[str]
    linkedResourceType: Input[str]
    name: Input[str]

class ResourceReference(TypedDict, total=False):
    id: Input[str]

class RestorePolicyProperties(TypedDict, total=False):
    enabled: Required[Input[bool]]
    days: Input[int]

class RetentionPolicy(TypedDict, total=False):
    days: Input[int]
    status: Input[str]

class RoleAssignment(TypedDict, total=False):
    principalId: Required[Input[str]]
    roleDefinitionId: Required[Input[str]]
    scope: Required[Input[str]]
    condition: Input[str]
    conditionVersion: Input[str]
    delegatedManagedIdentityResourceId: Input[str]
    description: Input[str]
    principalType: Input[str]
    roleAssignmentName: Input[str]

class Route(TypedDict, total=False):
    nextHopType: Required[Input[str]]
    addressPrefix: Input[str]
    etag: Input[str]
    id: Input[str]
    name: Input[str]
    nextHopIpAddress: Input[str]
    provisioningState: Input[str]
    type: Input[str]

class InlineRouteTable(TypedDict, total=False):
    disableBgpRoutePropagation: Input[bool]
    etag: Input[str]
    id: Input[str]
    location: Input[str]
    provisioningState: Input[str]
    routes: Input[Sequence[Input[Route]]]
    tags: Input[Mapping[str, Input[str]]]

class RouteTable(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    disableBgpRoutePropagation: Input[bool]
    id: Input[str]
    location: Input[str]
    routeTableName: Input[str]
    routes: Input[Sequence[Input[Route]]]
    tags: Input[Mapping[str, Input[str]]]

class RoutingPreference(TypedDict, total=False):
    publishInternetEndpoints: Input[bool]
    publishMicrosoftEndpoints: Input[bool]
    routingChoice: Input[str]

class SasPolicy(TypedDict, total=False):
    expirationAction: Input[str]
    sasExpirationPeriod: Required[Input[str]]

class ScaleProfile(TypedDict, total=False):
    manual: Input[Sequence[Input[ManualScaleProfile]]]

class Schedule(TypedDict, total=False):
    absoluteMonthly: Input[AbsoluteMonthlySchedule]
    daily: Input[DailySchedule]
    relativeMonthly: Input[RelativeMonthlySchedule]
    weekly: Input[WeeklySchedule]

class SecurityRule(TypedDict, total=False):
    access: Required[Input[str]]
    direction: Required[Input[str]]
    protocol: Required[Input[str]]
    description: Input[str]
    destinationAddressPrefix: Input[str]
    destinationAddressPrefixes: Input[Sequence[Input[str]]]
    destinationApplicationSecurityGroups: Input[Sequence[Input[ApplicationSecurityGroup]]]
    destinationPortRange: Input[str]
    destinationPortRanges: Input[Sequence[Input[str]]]
    etag: Input[str]
    id: Input[str]
    name: Input[str]
    priority: Required[Input[int]]
    provisioningState: Input[str]
    sourceAddressPrefix: Input[str]
    sourceAddressPrefixes: Input[Sequence[Input[str]]]
    sourceApplicationSecurityGroups: Input[Sequence[Input[ApplicationSecurityGroup]]]
    sourcePortRange: Input[str]
    sourcePortRanges: Input[Sequence[Input[str]]]
    type: Input[str]

class ServiceAssociationLink(TypedDict, total=False):
    id: Input[str]
    link: Input[str]
    linkedResourceType: Input[str]
    name: Input[str]

class ServiceEndpointPolicy(TypedDict, total=False):
    contextualServiceEndpointPolicies: Input[Sequence[Input[str]]]
    etag: Input[str]
    id: Input[str]
    location: Input[str]
    serviceAlias: Input[str]
    serviceEndpointPolicyDefinitions: Input[Sequence[Input[ServiceEndpointPolicyDefinition]]]
    tags: Input[Mapping[str, Input[str]]]

class ServiceEndpointPolicyDefinition(TypedDict, total=False):
    description: Input[str]
    etag: Input[str]
    id: Input[str]
    name: Input[str]
    service: Input[str]
    serviceResources: Input[Sequence[Input[str]]]
    type: Input[str]

class ServiceEndpointPropertiesFormat(TypedDict, total=False):
    locations: Input[Sequence[Input[str]]]
    networkIdentifier: Input[SubResource]
    provisioningState: Input[str]
    service: Input[str]

class ServiceMeshProfile(TypedDict, total=False):
    mode: Required[Input[str]]
    istio: Input[IstioServiceMesh]

class SignedIdentifier(TypedDict, total=False):
    accessPolicy: Input[AccessPolicy]
    id: Input[str]

class Sku(TypedDict, total=False):
    name: Required[Input[str]]

class SoftDeletePolicy(TypedDict, total=False):
    retentionDays: Input[int]
    status: Input[str]

class SourceVault(TypedDict, total=False):
    id: Input[str]

class StorageAccount(TypedDict, total=False):
    kind: Required[Input[str]]
    resourceGroupName: Required[Input[str]]
    sku: Required[Input[StorageSku]]
    accessTier: Input[str]
    accountName: Input[str]
    allowBlobPublicAccess: Input[bool]
    allowCrossTenantReplication: Input[bool]
    allowSharedKeyAccess: Input[bool]
    allowedCopyScope: Input[str]
    azureFilesIdentityBasedAuthentication: Input[AzureFilesIdentityBasedAuthentication]
    customDomain: Input[CustomDomain]
    defaultToOAuthAuthentication: Input[bool]
    dnsEndpointType: Input[str]
    enableExtendedGroups: Input[bool]
    enableHttpsTrafficOnly: Input[bool]
    enableNfsV3: Input[bool]
    encryption: Input[Encryption]
    extendedLocation: Input[ExtendedLocation]
    identity: Input[Identity]
    immutableStorageWithVersioning: Input[ImmutableStorageAccount]
    isHnsEnabled: Input[bool]
    isLocalUserEnabled: Input[bool]
    isSftpEnabled: Input[bool]
    keyPolicy: Input[KeyPolicy]
    largeFileSharesState: Input[str]
    location: Input[str]
    minimumTlsVersion: Input[str]
    networkRuleSet: Input[StorageNetworkRuleSet]
    publicNetworkAccess: Input[str]
    routingPreference: Input[RoutingPreference]
    sasPolicy: Input[SasPolicy]
    tags: Input[Mapping[str, Input[str]]]

class StorageKeyVaultProperties(TypedDict, total=False):
    keyName: Input[str]
    keyVaultUri: Input[str]
    keyVersion: Input[str]

class StorageNetworkRuleSet(TypedDict, total=False):
    defaultAction: Input[str]
    bypass: Input[str]
    ipRules: Input[Sequence[Input[IPRule]]]
    resourceAccessRules: Input[Sequence[Input[ResourceAccessRule]]]
    virtualNetworkRules: Input[Sequence[Input[VirtualNetworkRule]]]

class StorageSku(TypedDict, total=False):
    name: Required[Input[str]]

class SubResource(TypedDict, total=False):
    id: Input[str]

class InlineSubnet(TypedDict, total=False):
    addressPrefix: Input[str]
    addressPrefixes: Input[Sequence[Input[str]]]
    applicationGatewayIPConfigurations: Input[Sequence[Input[ApplicationGatewayIPConfiguration]]]
    defaultOutboundAccess: Input[bool]
    delegations: Input[Sequence[Input[Delegation]]]
    etag: Input[str]
    id: Input[str]
    ipAllocations: Input[Sequence[Input[SubResource]]]
    ipamPoolPrefixAllocations: Input[Sequence[Input[IpamPoolPrefixAllocation]]]
    name: Input[str]
    natGateway: Input[SubResource]
    networkSecurityGroup: Input[InlineNetworkSecurityGroup]
    privateEndpointNetworkPolicies: Input[str]
    privateLinkServiceNetworkPolicies: Input[str]
    provisioningState: Input[str]
    resourceNavigationLinks: Input[Sequence[Input[ResourceNavigationLink]]]
    routeTable: Input[InlineRouteTable]
    serviceAssociationLinks: Input[Sequence[Input[ServiceAssociationLink]]]
    serviceEndpointPolicies: Input[Sequence[Input[ServiceEndpointPolicy]]]
    serviceEndpoints: Input[Sequence[Input[ServiceEndpointPropertiesFormat]]]
    serviceGateway: Input[SubResource]
    sharingScope: Input[str]
    type: Input[str]

class Subnet(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    virtualNetworkName: Required[Input[str]]
    addressPrefix: Input[str]
    addressPrefixes: Input[Sequence[Input[str]]]
    applicationGatewayIPConfigurations: Input[Sequence[Input[ApplicationGatewayIPConfiguration]]]
    defaultOutboundAccess: Input[bool]
    delegations: Input[Sequence[Input[Delegation]]]
    id: Input[str]
    ipAllocations: Input[Sequence[Input[SubResource]]]
    ipamPoolPrefixAllocations: Input[Sequence[Input[IpamPoolPrefixAllocation]]]
    name: Input[str]
    natGateway: Input[SubResource]
    networkSecurityGroup: Input[InlineNetworkSecurityGroup]
    privateEndpointNetworkPolicies: Input[str]
    privateLinkServiceNetworkPolicies: Input[str]
    routeTable: Input[InlineRouteTable]
    serviceEndpointPolicies: Input[Sequence[Input[ServiceEndpointPolicy]]]
    serviceEndpoints: Input[Sequence[Input[ServiceEndpointPropertiesFormat]]]
    sharingScope: Input[str]
    subnetName: Input[str]
    type: Input[str]

class SysctlConfig(TypedDict, total=False):
    fsAioMaxNr: Input[int]
    fsFileMax: Input[int]
    fsInotifyMaxUserWatches: Input[int]
    fsNrOpen: Input[int]
    kernelThreadsMax: Input[int]
    netCoreNetdevMaxBacklog: Input[int]
    netCoreOptmemMax: Input[int]
    netCoreRmemDefault: Input[int]
    netCoreRmemMax: Input[int]
    netCoreSomaxconn: Input[int]
    netCoreWmemDefault: Input[int]
    netCoreWmemMax: Input[int]
    netIpv4IpLocalPortRange: Input[str]
    netIpv4NeighDefaultGcThresh1: Input[int]
    netIpv4NeighDefaultGcThresh2: Input[int]
    netIpv4NeighDefaultGcThresh3: Input[int]
    netIpv4TcpFinTimeout: Input[int]
    netIpv4TcpKeepaliveProbes: Input[int]
    netIpv4TcpKeepaliveTime: Input[int]
    netIpv4TcpMaxSynBacklog: Input[int]
    netIpv4TcpMaxTwBuckets: Input[int]
    netIpv4TcpTwReuse: Input[bool]
    netIpv4TcpkeepaliveIntvl: Input[int]
    netNetfilterNfConntrackBuckets: Input[int]
    netNetfilterNfConntrackMax: Input[int]
    vmMaxMapCount: Input[int]
    vmSwappiness: Input[int]
    vmVfsCachePressure: Input[int]

class TimeInWeek(TypedDict, total=False):
    day: Input[str]
    hourSlots: Input[Sequence[Input[int]]]

class TimeSpan(TypedDict, total=False):
    end: Input[str]
    start: Input[str]

class TrustPolicy(TypedDict, total=False):
    status: Input[str]
    type: Input[str]

class UpgradeOverrideSettings(TypedDict, total=False):
    forceUpgrade: Input[bool]
    until: Input[str]

class InlineUserAssignedIdentity(TypedDict, total=False):
    clientId: Input[str]
    objectId: Input[str]
    resourceId: Input[str]

class UserAssignedIdentity(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    location: Required[Input[str]]
    resourceName: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class UserIdentityProperties(TypedDict, total=False):
    clientId: Input[str]
    principalId: Input[str]

class VirtualMachineNodes(TypedDict, total=False):
    count: Input[int]
    size: Input[str]

class VirtualMachinesProfile(TypedDict, total=False):
    scale: Input[ScaleProfile]

class VirtualNetwork(TypedDict, total=False):
    resourceGroupName: Required[Input[str]]
    addressSpace: Required[Input[AddressSpace]]
    bgpCommunities: Input[VirtualNetworkBgpCommunities]
    ddosProtectionPlan: Input[SubResource]
    dhcpOptions: Input[DhcpOptions]
    enableDdosProtection: Input[bool]
    enableVmProtection: Input[bool]
    encryption: Input[VirtualNetworkEncryption]
    extendedLocation: Input[ExtendedLocation]
    flowTimeoutInMinutes: Input[int]
    id: Input[str]
    ipAllocations: Input[Sequence[Input[SubResource]]]
    location: Input[str]
    privateEndpointVNetPolicies: Input[str]
    subnets: Input[Sequence[Input[InlineSubnet]]]
    tags: Input[Mapping[str, Input[str]]]
    virtualNetworkName: Input[str]
    virtualNetworkPeerings: Input[Sequence[Input[VirtualNetworkPeering]]]

class VirtualNetworkBgpCommunities(TypedDict, total=False):
    virtualNetworkCommunity: Required[Input[str]]

class VirtualNetworkEncryption(TypedDict, total=False):
    enabled: Required[Input[bool]]
    enforcement: Input[str]

class VirtualNetworkPeering(TypedDict, total=False):
    allowForwardedTraffic: Input[bool]
    allowGatewayTransit: Input[bool]
    allowVirtualNetworkAccess: Input[bool]
    doNotVerifyRemoteGateways: Input[bool]
    enableOnlyIPv6Peering: Input[bool]
    id: Input[str]
    localAddressSpace: Input[AddressSpace]
    localSubnetNames: Input[Sequence[Input[str]]]
    localVirtualNetworkAddressSpace: Input[AddressSpace]
    name: Input[str]
    peerCompleteVnets: Input[bool]
    peeringState: Input[str]
    peeringSyncLevel: Input[str]
    remoteAddressSpace: Input[AddressSpace]
    remoteBgpCommunities: Input[VirtualNetworkBgpCommunities]
    remoteSubnetNames: Input[Sequence[Input[str]]]
    remoteVirtualNetwork: Input[SubResource]
    remoteVirtualNetworkAddressSpace: Input[AddressSpace]
    type: Input[str]
    useRemoteGateways: Input[bool]

class VirtualNetworkRule(TypedDict, total=False):
    virtualNetworkResourceId: Required[Input[str]]
    action: Input[str]
    state: Input[str]

class WeeklySchedule(TypedDict, total=False):
    dayOfWeek: Required[Input[str]]
    intervalWeeks: Required[Input[int]]

class WindowsGmsaProfile(TypedDict, total=False):
    dnsServer: Input[str]
    enabled: Input[bool]
    rootDomainName: Input[str]

class RoleAssignmentOutputs(TypedDict):
    azureApiVersion: Output[str]
    condition: Output[str]
    conditionVersion: Output[str]
    createdBy: Output[str]
    createdOn: Output[str]
    delegatedManagedIdentityResourceId: Output[str]
    description: Output[str]
    name: Output[str]
    principalId: Output[str]
    principalType: Output[str]
    roleAssignmentName: Output[str]
    roleDefinitionId: Output[str]
    scope: Output[str]
    systemData: Output[Mapping[str, Any]]
    type: Output[str]
    updatedBy: Output[str]
    updatedOn: Output[str]

class DiskEncryptionSetOutputs(TypedDict):
    activeKey: Output[Mapping[str, Any]]
    autoKeyRotationError: Output[Mapping[str, Any]]
    azureApiVersion: Output[str]
    diskEncryptionSetName: Output[str]
    encryptionType: Output[str]
    federatedClientId: Output[str]
    identity: Output[Mapping[str, Any]]
    lastKeyRotationTimestamp: Output[str]
    location: Output[str]
    name: Output[str]
    previousKeys: Output[Sequence[Any]]
    provisioningState: Output[str]
    resourceGroupName: Output[str]
    rotationToLatestKeyVersionEnabled: Output[bool]
    systemData: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class RegistryOutputs(TypedDict):
    adminUserEnabled: Output[bool]
    anonymousPullEnabled: Output[bool]
    azureApiVersion: Output[str]
    creationDate: Output[str]
    dataEndpointEnabled: Output[bool]
    dataEndpointHostNames: Output[Sequence[Any]]
    encryption: Output[Mapping[str, Any]]
    identity: Output[Mapping[str, Any]]
    location: Output[str]
    loginServer: Output[str]
    name: Output[str]
    networkRuleBypassOptions: Output[str]
    networkRuleSet: Output[Mapping[str, Any]]
    policies: Output[Mapping[str, Any]]
    privateEndpointConnections: Output[Sequence[Any]]
    provisioningState: Output[str]
    publicNetworkAccess: Output[str]
    registryName: Output[str]
    resourceGroupName: Output[str]
    sku: Output[Mapping[str, Any]]
    status: Output[Mapping[str, Any]]
    systemData: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    zoneRedundancy: Output[str]

class AgentPoolOutputs(TypedDict):
    agentPoolName: Output[str]
    availabilityZones: Output[Sequence[Any]]
    azureApiVersion: Output[str]
    capacityReservationGroupID: Output[str]
    count: Output[int]
    creationData: Output[Mapping[str, Any]]
    currentOrchestratorVersion: Output[str]
    eTag: Output[str]
    enableAutoScaling: Output[bool]
    enableEncryptionAtHost: Output[bool]
    enableFIPS: Output[bool]
    enableNodePublicIP: Output[bool]
    enableUltraSSD: Output[bool]
    gatewayProfile: Output[Mapping[str, Any]]
    gpuInstanceProfile: Output[str]
    gpuProfile: Output[Mapping[str, Any]]
    hostGroupID: Output[str]
    kubeletConfig: Output[Mapping[str, Any]]
    kubeletDiskType: Output[str]
    linuxOSConfig: Output[Mapping[str, Any]]
    localDNSProfile: Output[Mapping[str, Any]]
    maxCount: Output[int]
    maxPods: Output[int]
    messageOfTheDay: Output[str]
    minCount: Output[int]
    mode: Output[str]
    name: Output[str]
    networkProfile: Output[Mapping[str, Any]]
    nodeImageVersion: Output[str]
    nodeLabels: Output[Mapping[str, Any]]
    nodePublicIPPrefixID: Output[str]
    nodeTaints: Output[Sequence[Any]]
    orchestratorVersion: Output[str]
    osDiskSizeGB: Output[int]
    osDiskType: Output[str]
    osSKU: Output[str]
    osType: Output[str]
    podIPAllocationMode: Output[str]
    podSubnetID: Output[str]
    powerState: Output[Mapping[str, Any]]
    provisioningState: Output[str]
    proximityPlacementGroupID: Output[str]
    resourceGroupName: Output[str]
    resourceName: Output[str]
    scaleDownMode: Output[str]
    scaleSetEvictionPolicy: Output[str]
    scaleSetPriority: Output[str]
    securityProfile: Output[Mapping[str, Any]]
    spotMaxPrice: Output[float]
    status: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    upgradeSettings: Output[Mapping[str, Any]]
    virtualMachineNodesStatus: Output[Sequence[Any]]
    virtualMachinesProfile: Output[Mapping[str, Any]]
    vmSize: Output[str]
    vnetSubnetID: Output[str]
    windowsProfile: Output[Mapping[str, Any]]
    workloadRuntime: Output[str]

class MaintenanceConfigurationOutputs(TypedDict):
    azureApiVersion: Output[str]
    configName: Output[str]
    maintenanceWindow: Output[Mapping[str, Any]]
    name: Output[str]
    notAllowedTime: Output[Sequence[Any]]
    resourceGroupName: Output[str]
    resourceName: Output[str]
    systemData: Output[Mapping[str, Any]]
    timeInWeek: Output[Sequence[Any]]
    type: Output[str]

class ManagedClusterOutputs(TypedDict):
    aadProfile: Output[Mapping[str, Any]]
    addonProfiles: Output[Mapping[str, Any]]
    agentPoolProfiles: Output[Sequence[Any]]
    aiToolchainOperatorProfile: Output[Mapping[str, Any]]
    apiServerAccessProfile: Output[Mapping[str, Any]]
    autoScalerProfile: Output[Mapping[str, Any]]
    autoUpgradeProfile: Output[Mapping[str, Any]]
    azureApiVersion: Output[str]
    azureMonitorProfile: Output[Mapping[str, Any]]
    azurePortalFQDN: Output[str]
    bootstrapProfile: Output[Mapping[str, Any]]
    currentKubernetesVersion: Output[str]
    disableLocalAccounts: Output[bool]
    diskEncryptionSetID: Output[str]
    dnsPrefix: Output[str]
    eTag: Output[str]
    enableRBAC: Output[bool]
    extendedLocation: Output[Mapping[str, Any]]
    fqdn: Output[str]
    fqdnSubdomain: Output[str]
    httpProxyConfig: Output[Mapping[str, Any]]
    identity: Output[Mapping[str, Any]]
    identityProfile: Output[Mapping[str, Any]]
    ingressProfile: Output[Mapping[str, Any]]
    kind: Output[str]
    kubernetesVersion: Output[str]
    linuxProfile: Output[Mapping[str, Any]]
    location: Output[str]
    maxAgentPools: Output[int]
    metricsProfile: Output[Mapping[str, Any]]
    name: Output[str]
    networkProfile: Output[Mapping[str, Any]]
    nodeProvisioningProfile: Output[Mapping[str, Any]]
    nodeResourceGroup: Output[str]
    nodeResourceGroupProfile: Output[Mapping[str, Any]]
    oidcIssuerProfile: Output[Mapping[str, Any]]
    podIdentityProfile: Output[Mapping[str, Any]]
    powerState: Output[Mapping[str, Any]]
    privateFQDN: Output[str]
    privateLinkResources: Output[Sequence[Any]]
    provisioningState: Output[str]
    publicNetworkAccess: Output[str]
    resourceGroupName: Output[str]
    resourceName: Output[str]
    resourceUID: Output[str]
    securityProfile: Output[Mapping[str, Any]]
    serviceMeshProfile: Output[Mapping[str, Any]]
    servicePrincipalProfile: Output[Mapping[str, Any]]
    sku: Output[Mapping[str, Any]]
    status: Output[Mapping[str, Any]]
    storageProfile: Output[Mapping[str, Any]]
    supportPlan: Output[str]
    systemData: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    upgradeSettings: Output[Mapping[str, Any]]
    windowsProfile: Output[Mapping[str, Any]]
    workloadAutoScalerProfile: Output[Mapping[str, Any]]

class FederatedIdentityCredentialOutputs(TypedDict):
    audiences: Output[Sequence[Any]]
    azureApiVersion: Output[str]
    federatedIdentityCredentialResourceName: Output[str]
    issuer: Output[str]
    name: Output[str]
    resourceGroupName: Output[str]
    resourceName: Output[str]
    subject: Output[str]
    systemData: Output[Mapping[str, Any]]
    type: Output[str]

class UserAssignedIdentityOutputs(TypedDict):
    azureApiVersion: Output[str]
    clientId: Output[str]
    location: Output[str]
    name: Output[str]
    principalId: Output[str]
    resourceGroupName: Output[str]
    resourceName: Output[str]
    systemData: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    tenantId: Output[str]
    type: Output[str]

class NatGatewayOutputs(TypedDict):
    azureApiVersion: Output[str]
    etag: Output[str]
    id: Output[str]
    idleTimeoutInMinutes: Output[int]
    location: Output[str]
    name: Output[str]
    natGatewayName: Output[str]
    provisioningState: Output[str]
    publicIpAddresses: Output[Sequence[Any]]
    publicIpPrefixes: Output[Sequence[Any]]
    resourceGroupName: Output[str]
    resourceGuid: Output[str]
    sku: Output[Mapping[str, Any]]
    subnets: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    zones: Output[Sequence[Any]]

class NetworkSecurityGroupOutputs(TypedDict):
    azureApiVersion: Output[str]
    defaultSecurityRules: Output[Sequence[Any]]
    etag: Output[str]
    flowLogs: Output[Sequence[Any]]
    flushConnection: Output[bool]
    id: Output[str]
    location: Output[str]
    name: Output[str]
    networkInterfaces: Output[Sequence[Any]]
    networkSecurityGroupName: Output[str]
    provisioningState: Output[str]
    resourceGroupName: Output[str]
    resourceGuid: Output[str]
    securityRules: Output[Sequence[Any]]
    subnets: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class PrivateEndpointOutputs(TypedDict):
    applicationSecurityGroups: Output[Sequence[Any]]
    azureApiVersion: Output[str]
    customDnsConfigs: Output[Sequence[Any]]
    customNetworkInterfaceName: Output[str]
    etag: Output[str]
    extendedLocation: Output[Mapping[str, Any]]
    id: Output[str]
    ipConfigurations: Output[Sequence[Any]]
    location: Output[str]
    manualPrivateLinkServiceConnections: Output[Sequence[Any]]
    name: Output[str]
    networkInterfaces: Output[Sequence[Any]]
    privateEndpointName: Output[str]
    privateLinkServiceConnections: Output[Sequence[Any]]
    provisioningState: Output[str]
    resourceGroupName: Output[str]
    subnet: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class PublicIPAddressOutputs(TypedDict):
    azureApiVersion: Output[str]
    ddosSettings: Output[Mapping[str, Any]]
    deleteOption: Output[str]
    dnsSettings: Output[Mapping[str, Any]]
    etag: Output[str]
    extendedLocation: Output[Mapping[str, Any]]
    id: Output[str]
    idleTimeoutInMinutes: Output[int]
    ipAddress: Output[str]
    ipConfiguration: Output[Mapping[str, Any]]
    ipTags: Output[Sequence[Any]]
    linkedPublicIPAddress: Output[Mapping[str, Any]]
    location: Output[str]
    migrationPhase: Output[str]
    name: Output[str]
    natGateway: Output[Mapping[str, Any]]
    provisioningState: Output[str]
    publicIPAddressVersion: Output[str]
    publicIPAllocationMethod: Output[str]
    publicIPPrefix: Output[Mapping[str, Any]]
    publicIpAddressName: Output[str]
    resourceGroupName: Output[str]
    resourceGuid: Output[str]
    servicePublicIPAddress: Output[Mapping[str, Any]]
    sku: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    zones: Output[Sequence[Any]]

class RouteTableOutputs(TypedDict):
    azureApiVersion: Output[str]
    disableBgpRoutePropagation: Output[bool]
    etag: Output[str]
    id: Output[str]
    location: Output[str]
    name: Output[str]
    provisioningState: Output[str]
    resourceGroupName: Output[str]
    resourceGuid: Output[str]
    routeTableName: Output[str]
    routes: Output[Sequence[Any]]
    subnets: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class SubnetOutputs(TypedDict):
    addressPrefix: Output[str]
    addressPrefixes: Output[Sequence[Any]]
    applicationGatewayIPConfigurations: Output[Sequence[Any]]
    azureApiVersion: Output[str]
    defaultOutboundAccess: Output[bool]
    delegations: Output[Sequence[Any]]
    etag: Output[str]
    id: Output[str]
    ipAllocations: Output[Sequence[Any]]
    ipConfigurationProfiles: Output[Sequence[Any]]
    ipConfigurations: Output[Sequence[Any]]
    ipamPoolPrefixAllocations: Output[Sequence[Any]]
    name: Output[str]
    natGateway: Output[Mapping[str, Any]]
    networkSecurityGroup: Output[Mapping[str, Any]]
    privateEndpointNetworkPolicies: Output[str]
    privateEndpoints: Output[Sequence[Any]]
    privateLinkServiceNetworkPolicies: Output[str]
    provisioningState: Output[str]
    purpose: Output[str]
    resourceGroupName: Output[str]
    resourceNavigationLinks: Output[Sequence[Any]]
    routeTable: Output[Mapping[str, Any]]
    serviceAssociationLinks: Output[Sequence[Any]]
    serviceEndpointPolicies: Output[Sequence[Any]]
    serviceEndpoints: Output[Sequence[Any]]
    sharingScope: Output[str]
    subnetName: Output[str]
    type: Output[str]
    virtualNetworkName: Output[str]

class VirtualNetworkOutputs(TypedDict):
    addressSpace: Output[Mapping[str, Any]]
    azureApiVersion: Output[str]
    bgpCommunities: Output[Mapping[str, Any]]
    ddosProtectionPlan: Output[Mapping[str, Any]]
    dhcpOptions: Output[Mapping[str, Any]]
    enableDdosProtection: Output[bool]
    enableVmProtection: Output[bool]
    encryption: Output[Mapping[str, Any]]
    etag: Output[str]
    extendedLocation: Output[Mapping[str, Any]]
    flowLogs: Output[Sequence[Any]]
    flowTimeoutInMinutes: Output[int]
    id: Output[str]
    ipAllocations: Output[Sequence[Any]]
    location: Output[str]
    name: Output[str]
    privateEndpointVNetPolicies: Output[str]
    provisioningState: Output[str]
    resourceGroupName: Output[str]
    resourceGuid: Output[str]
    subnets: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]
    virtualNetworkName: Output[str]
    virtualNetworkPeerings: Output[Sequence[Any]]

class ResourceGroupOutputs(TypedDict):
    azureApiVersion: Output[str]
    location: Output[str]
    managedBy: Output[str]
    name: Output[str]
    properties: Output[Mapping[str, Any]]
    resourceGroupName: Output[str]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class BlobContainerOutputs(TypedDict):
    accountName: Output[str]
    azureApiVersion: Output[str]
    containerName: Output[str]
    defaultEncryptionScope: Output[str]
    deleted: Output[bool]
    deletedTime: Output[str]
    denyEncryptionScopeOverride: Output[bool]
    enableNfsV3AllSquash: Output[bool]
    enableNfsV3RootSquash: Output[bool]
    etag: Output[str]
    hasImmutabilityPolicy: Output[bool]
    hasLegalHold: Output[bool]
    immutabilityPolicy: Output[Mapping[str, Any]]
    immutableStorageWithVersioning: Output[Mapping[str, Any]]
    lastModifiedTime: Output[str]
    leaseDuration: Output[str]
    leaseState: Output[str]
    leaseStatus: Output[str]
    legalHold: Output[Mapping[str, Any]]
    metadata: Output[Mapping[str, Any]]
    name: Output[str]
    publicAccess: Output[str]
    remainingRetentionDays: Output[int]
    resourceGroupName: Output[str]
    type: Output[str]
    version: Output[str]

class BlobServicePropertiesOutputs(TypedDict):
    accountName: Output[str]
    automaticSnapshotPolicyEnabled: Output[bool]
    azureApiVersion: Output[str]
    blobServicesName: Output[str]
    changeFeed: Output[Mapping[str, Any]]
    containerDeleteRetentionPolicy: Output[Mapping[str, Any]]
    cors: Output[Mapping[str, Any]]
    defaultServiceVersion: Output[str]
    deleteRetentionPolicy: Output[Mapping[str, Any]]
    isVersioningEnabled: Output[bool]
    lastAccessTimeTrackingPolicy: Output[Mapping[str, Any]]
    name: Output[str]
    resourceGroupName: Output[str]
    restorePolicy: Output[Mapping[str, Any]]
    sku: Output[Mapping[str, Any]]
    type: Output[str]

class FileShareOutputs(TypedDict):
    accessTier: Output[str]
    accessTierChangeTime: Output[str]
    accessTierStatus: Output[str]
    accountName: Output[str]
    azureApiVersion: Output[str]
    deleted: Output[bool]
    deletedTime: Output[str]
    enabledProtocols: Output[str]
    etag: Output[str]
    expand: Output[str]
    fileSharePaidBursting: Output[Mapping[str, Any]]
    includedBurstIops: Output[int]
    lastModifiedTime: Output[str]
    leaseDuration: Output[str]
    leaseState: Output[str]
    leaseStatus: Output[str]
    maxBurstCreditsForIops: Output[float]
    metadata: Output[Mapping[str, Any]]
    name: Output[str]
    nextAllowedProvisionedBandwidthDowngradeTime: Output[str]
    nextAllowedProvisionedIopsDowngradeTime: Output[str]
    nextAllowedQuotaDowngradeTime: Output[str]
    provisionedBandwidthMibps: Output[int]
    provisionedIops: Output[int]
    remainingRetentionDays: Output[int]
    resourceGroupName: Output[str]
    rootSquash: Output[str]
    shareName: Output[str]
    shareQuota: Output[int]
    shareUsageBytes: Output[float]
    signedIdentifiers: Output[Sequence[Any]]
    snapshotTime: Output[str]
    type: Output[str]
    version: Output[str]

class StorageAccountOutputs(TypedDict):
    accessTier: Output[str]
    accountMigrationInProgress: Output[bool]
    accountName: Output[str]
    allowBlobPublicAccess: Output[bool]
    allowCrossTenantReplication: Output[bool]
    allowSharedKeyAccess: Output[bool]
    allowedCopyScope: Output[str]
    azureApiVersion: Output[str]
    azureFilesIdentityBasedAuthentication: Output[Mapping[str, Any]]
    blobRestoreStatus: Output[Mapping[str, Any]]
    creationTime: Output[str]
    customDomain: Output[Mapping[str, Any]]
    defaultToOAuthAuthentication: Output[bool]
    dnsEndpointType: Output[str]
    enableExtendedGroups: Output[bool]
    enableHttpsTrafficOnly: Output[bool]
    enableNfsV3: Output[bool]
    encryption: Output[Mapping[str, Any]]
    extendedLocation: Output[Mapping[str, Any]]
    failoverInProgress: Output[bool]
    geoReplicationStats: Output[Mapping[str, Any]]
    identity: Output[Mapping[str, Any]]
    immutableStorageWithVersioning: Output[Mapping[str, Any]]
    isHnsEnabled: Output[bool]
    isLocalUserEnabled: Output[bool]
    isSftpEnabled: Output[bool]
    isSkuConversionBlocked: Output[bool]
    keyCreationTime: Output[Mapping[str, Any]]
    keyPolicy: Output[Mapping[str, Any]]
    kind: Output[str]
    largeFileSharesState: Output[str]
    lastGeoFailoverTime: Output[str]
    location: Output[str]
    minimumTlsVersion: Output[str]
    name: Output[str]
    networkRuleSet: Output[Mapping[str, Any]]
    primaryEndpoints: Output[Mapping[str, Any]]
    primaryLocation: Output[str]
    privateEndpointConnections: Output[Sequence[Any]]
    provisioningState: Output[str]
    publicNetworkAccess: Output[str]
    resourceGroupName: Output[str]
    routingPreference: Output[Mapping[str, Any]]
    sasPolicy: Output[Mapping[str, Any]]
    secondaryEndpoints: Output[Mapping[str, Any]]
    secondaryLocation: Output[str]
    sku: Output[Mapping[str, Any]]
    statusOfPrimary: Output[str]
    statusOfSecondary: Output[str]
    storageAccountSkuConversionStatus: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    type: Output[str]

class Declare(Protocol):
    """Declares a resource of one of the types above: its inputs, and the ``outputs`` to read back besides."""

    @overload
    def __call__(
        self,
        token: Literal["azure-native:authorization:RoleAssignment"],
        name: str,
        inputs: RoleAssignment,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "condition", "conditionVersion", "createdBy", "createdOn", "delegatedManagedIdentityResourceId", "description", "name", "principalId", "principalType", "roleDefinitionId", "scope", "systemData", "type", "updatedBy", "updatedOn"]] = ...,
    ) -> CustomResource[RoleAssignmentOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:compute:DiskEncryptionSet"],
        name: str,
        inputs: DiskEncryptionSet,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["activeKey", "autoKeyRotationError", "azureApiVersion", "encryptionType", "federatedClientId", "identity", "lastKeyRotationTimestamp", "location", "name", "previousKeys", "provisioningState", "rotationToLatestKeyVersionEnabled", "systemData", "tags", "type"]] = ...,
    ) -> CustomResource[DiskEncryptionSetOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:containerregistry:Registry"],
        name: str,
        inputs: Registry,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["adminUserEnabled", "anonymousPullEnabled", "azureApiVersion", "creationDate", "dataEndpointEnabled", "dataEndpointHostNames", "encryption", "identity", "location", "loginServer", "name", "networkRuleBypassOptions", "networkRuleSet", "policies", "privateEndpointConnections", "provisioningState", "publicNetworkAccess", "sku", "status", "systemData", "tags", "type", "zoneRedundancy"]] = ...,
    ) -> CustomResource[RegistryOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:containerservice:AgentPool"],
        name: str,
        inputs: AgentPool,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["availabilityZones", "azureApiVersion", "capacityReservationGroupID", "count", "creationData", "currentOrchestratorVersion", "eTag", "enableAutoScaling", "enableEncryptionAtHost", "enableFIPS", "enableNodePublicIP", "enableUltraSSD", "gatewayProfile", "gpuInstanceProfile", "gpuProfile", "hostGroupID", "kubeletConfig", "kubeletDiskType", "linuxOSConfig", "localDNSProfile", "maxCount", "maxPods", "messageOfTheDay", "minCount", "mode", "name", "networkProfile", "nodeImageVersion", "nodeLabels", "nodePublicIPPrefixID", "nodeTaints", "orchestratorVersion", "osDiskSizeGB", "osDiskType", "osSKU", "osType", "podIPAllocationMode", "podSubnetID", "powerState", "provisioningState", "proximityPlacementGroupID", "scaleDownMode", "scaleSetEvictionPolicy", "scaleSetPriority", "securityProfile", "spotMaxPrice", "status", "tags", "type", "upgradeSettings", "virtualMachineNodesStatus", "virtualMachinesProfile", "vmSize", "vnetSubnetID", "windowsProfile", "workloadRuntime"]] = ...,
    ) -> CustomResource[AgentPoolOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:containerservice:MaintenanceConfiguration"],
        name: str,
        inputs: MaintenanceConfiguration,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "maintenanceWindow", "name", "notAllowedTime", "systemData", "timeInWeek", "type"]] = ...,
    ) -> CustomResource[MaintenanceConfigurationOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:containerservice:ManagedCluster"],
        name: str,
        inputs: ManagedCluster,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["aadProfile", "addonProfiles", "agentPoolProfiles", "aiToolchainOperatorProfile", "apiServerAccessProfile", "autoScalerProfile", "autoUpgradeProfile", "azureApiVersion", "azureMonitorProfile", "azurePortalFQDN", "bootstrapProfile", "currentKubernetesVersion", "disableLocalAccounts", "diskEncryptionSetID", "dnsPrefix", "eTag", "enableRBAC", "extendedLocation", "fqdn", "fqdnSubdomain", "httpProxyConfig", "identity", "identityProfile", "ingressProfile", "kind", "kubernetesVersion", "linuxProfile", "location", "maxAgentPools", "metricsProfile", "name", "networkProfile", "nodeProvisioningProfile", "nodeResourceGroup", "nodeResourceGroupProfile", "oidcIssuerProfile", "podIdentityProfile", "powerState", "privateFQDN", "privateLinkResources", "provisioningState", "publicNetworkAccess", "resourceUID", "securityProfile", "serviceMeshProfile", "servicePrincipalProfile", "sku", "status", "storageProfile", "supportPlan", "systemData", "tags", "type", "upgradeSettings", "windowsProfile", "workloadAutoScalerProfile"]] = ...,
    ) -> CustomResource[ManagedClusterOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:managedidentity:FederatedIdentityCredential"],
        name: str,
        inputs: FederatedIdentityCredential,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["audiences", "azureApiVersion", "issuer", "name", "subject", "systemData", "type"]] = ...,
    ) -> CustomResource[FederatedIdentityCredentialOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:managedidentity:UserAssignedIdentity"],
        name: str,
        inputs: UserAssignedIdentity,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "clientId", "location", "name", "principalId", "systemData", "tags", "tenantId", "type"]] = ...,
    ) -> CustomResource[UserAssignedIdentityOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:NatGateway"],
        name: str,
        inputs: NatGateway,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "etag", "idleTimeoutInMinutes", "location", "name", "provisioningState", "publicIpAddresses", "publicIpPrefixes", "resourceGuid", "sku", "subnets", "tags", "type", "zones"]] = ...,
    ) -> CustomResource[NatGatewayOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:NetworkSecurityGroup"],
        name: str,
        inputs: NetworkSecurityGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "defaultSecurityRules", "etag", "flowLogs", "flushConnection", "location", "name", "networkInterfaces", "provisioningState", "resourceGuid", "securityRules", "subnets", "tags", "type"]] = ...,
    ) -> CustomResource[NetworkSecurityGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:PrivateEndpoint"],
        name: str,
        inputs: PrivateEndpoint,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["applicationSecurityGroups", "azureApiVersion", "customDnsConfigs", "customNetworkInterfaceName", "etag", "extendedLocation", "ipConfigurations", "location", "manualPrivateLinkServiceConnections", "name", "networkInterfaces", "privateLinkServiceConnections", "provisioningState", "subnet", "tags", "type"]] = ...,
    ) -> CustomResource[PrivateEndpointOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:PublicIPAddress"],
        name: str,
        inputs: PublicIPAddress,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "ddosSettings", "deleteOption", "dnsSettings", "etag", "extendedLocation", "idleTimeoutInMinutes", "ipAddress", "ipConfiguration", "ipTags", "linkedPublicIPAddress", "location", "migrationPhase", "name", "natGateway", "provisioningState", "publicIPAddressVersion", "publicIPAllocationMethod", "publicIPPrefix", "resourceGuid", "servicePublicIPAddress", "sku", "tags", "type", "zones"]] = ...,
    ) -> CustomResource[PublicIPAddressOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:RouteTable"],
        name: str,
        inputs: RouteTable,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "disableBgpRoutePropagation", "etag", "location", "name", "provisioningState", "resourceGuid", "routes", "subnets", "tags", "type"]] = ...,
    ) -> CustomResource[RouteTableOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:Subnet"],
        name: str,
        inputs: Subnet,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["addressPrefix", "addressPrefixes", "applicationGatewayIPConfigurations", "azureApiVersion", "defaultOutboundAccess", "delegations", "etag", "ipAllocations", "ipConfigurationProfiles", "ipConfigurations", "ipamPoolPrefixAllocations", "name", "natGateway", "networkSecurityGroup", "privateEndpointNetworkPolicies", "privateEndpoints", "privateLinkServiceNetworkPolicies", "provisioningState", "purpose", "resourceNavigationLinks", "routeTable", "serviceAssociationLinks", "serviceEndpointPolicies", "serviceEndpoints", "sharingScope", "type"]] = ...,
    ) -> CustomResource[SubnetOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:network:VirtualNetwork"],
        name: str,
        inputs: VirtualNetwork,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["addressSpace", "azureApiVersion", "bgpCommunities", "ddosProtectionPlan", "dhcpOptions", "enableDdosProtection", "enableVmProtection", "encryption", "etag", "extendedLocation", "flowLogs", "flowTimeoutInMinutes", "ipAllocations", "location", "name", "privateEndpointVNetPolicies", "provisioningState", "resourceGuid", "subnets", "tags", "type", "virtualNetworkPeerings"]] = ...,
    ) -> CustomResource[VirtualNetworkOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:resources:ResourceGroup"],
        name: str,
        inputs: ResourceGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "location", "managedBy", "name", "properties", "tags", "type"]] = ...,
    ) -> CustomResource[ResourceGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:storage:BlobContainer"],
        name: str,
        inputs: BlobContainer,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["azureApiVersion", "defaultEncryptionScope", "deleted", "deletedTime", "denyEncryptionScopeOverride", "enableNfsV3AllSquash", "enableNfsV3RootSquash", "etag", "hasImmutabilityPolicy", "hasLegalHold", "immutabilityPolicy", "immutableStorageWithVersioning", "lastModifiedTime", "leaseDuration", "leaseState", "leaseStatus", "legalHold", "metadata", "name", "publicAccess", "remainingRetentionDays", "type", "version"]] = ...,
    ) -> CustomResource[BlobContainerOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:storage:BlobServiceProperties"],
        name: str,
        inputs: BlobServiceProperties,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["automaticSnapshotPolicyEnabled", "azureApiVersion", "changeFeed", "containerDeleteRetentionPolicy", "cors", "defaultServiceVersion", "deleteRetentionPolicy", "isVersioningEnabled", "lastAccessTimeTrackingPolicy", "name", "restorePolicy", "sku", "type"]] = ...,
    ) -> CustomResource[BlobServicePropertiesOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:storage:FileShare"],
        name: str,
        inputs: FileShare,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accessTier", "accessTierChangeTime", "accessTierStatus", "azureApiVersion", "deleted", "deletedTime", "enabledProtocols", "etag", "fileSharePaidBursting", "includedBurstIops", "lastModifiedTime", "leaseDuration", "leaseState", "leaseStatus", "maxBurstCreditsForIops", "metadata", "name", "nextAllowedProvisionedBandwidthDowngradeTime", "nextAllowedProvisionedIopsDowngradeTime", "nextAllowedQuotaDowngradeTime", "provisionedBandwidthMibps", "provisionedIops", "remainingRetentionDays", "rootSquash", "shareQuota", "shareUsageBytes", "signedIdentifiers", "snapshotTime", "type", "version"]] = ...,
    ) -> CustomResource[FileShareOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["azure-native:storage:StorageAccount"],
        name: str,
        inputs: StorageAccount,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accessTier", "accountMigrationInProgress", "allowBlobPublicAccess", "allowCrossTenantReplication", "allowSharedKeyAccess", "allowedCopyScope", "azureApiVersion", "azureFilesIdentityBasedAuthentication", "blobRestoreStatus", "creationTime", "customDomain", "defaultToOAuthAuthentication", "dnsEndpointType", "enableExtendedGroups", "enableHttpsTrafficOnly", "enableNfsV3", "encryption", "extendedLocation", "failoverInProgress", "geoReplicationStats", "identity", "immutableStorageWithVersioning", "isHnsEnabled", "isLocalUserEnabled", "isSftpEnabled", "isSkuConversionBlocked", "keyCreationTime", "keyPolicy", "kind", "largeFileSharesState", "lastGeoFailoverTime", "location", "minimumTlsVersion", "name", "networkRuleSet", "primaryEndpoints", "primaryLocation", "privateEndpointConnections", "provisioningState", "publicNetworkAccess", "routingPreference", "sasPolicy", "secondaryEndpoints", "secondaryLocation", "sku", "statusOfPrimary", "statusOfSecondary", "storageAccountSkuConversionStatus", "tags", "type"]] = ...,
    ) -> CustomResource[StorageAccountOutputs]: ...
