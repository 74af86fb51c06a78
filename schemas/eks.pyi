"""Inputs and outputs of eks's resource types as its provider has them, made by `make schemas`.

There is no such module at run time:

    if TYPE_CHECKING:
        from schemas import eks
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

from pulumi import Input, Output, ResourceOptions
from typing_extensions import Required, TypedDict

from components.resources import CustomResource

class AccessEntry(TypedDict, total=False):
    clusterName: Required[Input[str]]
    principalArn: Required[Input[str]]
    kubernetesGroups: Input[Sequence[Input[str]]]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    type: Input[str]
    userName: Input[str]

class AccessPolicyAssociation(TypedDict, total=False):
    accessScope: Required[Input[AccessPolicyAssociationAccessScope]]
    clusterName: Required[Input[str]]
    policyArn: Required[Input[str]]
    principalArn: Required[Input[str]]
    region: Input[str]

class AccessPolicyAssociationAccessScope(TypedDict, total=False):
    type: Required[Input[str]]
    namespaces: Input[Sequence[Input[str]]]

class Addon(TypedDict, total=False):
    addonName: Required[Input[str]]
    clusterName: Required[Input[str]]
    addonVersion: Input[str]
    configurationValues: Input[str]
    namespaceConfig: Input[AddonNamespaceConfig]
    podIdentityAssociations: Input[Sequence[Input[AddonPodIdentityAssociation]]]
    preserve: Input[bool]
    region: Input[str]
    resolveConflictsOnCreate: Input[str]
    resolveConflictsOnUpdate: Input[str]
    serviceAccountRoleArn: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class AddonNamespaceConfig(TypedDict, total=False):
    namespace: Input[str]

class AddonPodIdentityAssociation(TypedDict, total=False):
    roleArn: Required[Input[str]]
    serviceAccount: Required[Input[str]]

class Alias(TypedDict, total=False):
    targetKeyId: Required[Input[str]]
    name: Input[str]
    namePrefix: Input[str]
    region: Input[str]

class Bucket(TypedDict, total=False):
    accelerationStatus: Input[str]
    acl: Input[str]
    bucket: Input[str]
    bucketNamespace: Input[str]
    bucketPrefix: Input[str]
    corsRules: Input[Sequence[Input[BucketCorsRule]]]
    forceDestroy: Input[bool]
    grants: Input[Sequence[Input[BucketGrant]]]
    lifecycleRules: Input[Sequence[Input[BucketLifecycleRule]]]
    logging: Input[BucketLogging]
    objectLockConfiguration: Input[BucketObjectLockConfiguration]
    objectLockEnabled: Input[bool]
    policy: Input[str]
    region: Input[str]
    replicationConfiguration: Input[BucketReplicationConfiguration]
    requestPayer: Input[str]
    serverSideEncryptionConfiguration: Input[BucketServerSideEncryptionConfiguration]
    tags: Input[Mapping[str, Input[str]]]
    versioning: Input[InlineBucketVersioning]
    website: Input[BucketWebsite]

class BucketCorsRule(TypedDict, total=False):
    allowedMethods: Required[Input[Sequence[Input[str]]]]
    allowedOrigins: Required[Input[Sequence[Input[str]]]]
    allowedHeaders: Input[Sequence[Input[str]]]
    exposeHeaders: Input[Sequence[Input[str]]]
    maxAgeSeconds: Input[int]

class BucketGrant(TypedDict, total=False):
    permissions: Required[Input[Sequence[Input[str]]]]
    type: Required[Input[str]]
    id: Input[str]
    uri: Input[str]

class BucketLifecycleConfiguration(TypedDict, total=False):
    bucket: Required[Input[str]]
    expectedBucketOwner: Input[str]
    region: Input[str]
    rules: Input[Sequence[Input[BucketLifecycleConfigurationRule]]]
    timeouts: Input[BucketLifecycleConfigurationTimeouts]
    transitionDefaultMinimumObjectSize: Input[str]

class BucketLifecycleConfigurationRule(TypedDict, total=False):
    id: Required[Input[str]]
    status: Required[Input[str]]
    abortIncompleteMultipartUpload: Input[BucketLifecycleConfigurationRuleAbortIncompleteMultipartUpload]
    expiration: Input[BucketLifecycleConfigurationRuleExpiration]
    filter: Input[BucketLifecycleConfigurationRuleFilter]
    noncurrentVersionExpiration: Input[BucketLifecycleConfigurationRuleNoncurrentVersionExpiration]
    noncurrentVersionTransitions: Input[Sequence[Input[BucketLifecycleConfigurationRuleNoncurrentVersionTransition]]]
    prefix: Input[str]
    transitions: Input[Sequence[Input[BucketLifecycleConfigurationRuleTransition]]]

class BucketLifecycleConfigurationRuleAbortIncompleteMultipartUpload(TypedDict, total=False):
    daysAfterInitiation: Input[int]

class BucketLifecycleConfigurationRuleExpiration(TypedDict, total=False):
    date: Input[str]
    days: Input[int]
    expiredObjectDeleteMarker: Input[bool]

BucketLifecycleConfigurationRuleFilter = TypedDict("BucketLifecycleConfigurationRuleFilter", {"and": Input[BucketLifecycleConfigurationRuleFilterAnd], "objectSizeGreaterThan": Input[int], "objectSizeLessThan": Input[int], "prefix": Input[str], "tag": Input[BucketLifecycleConfigurationRuleFilterTag]}, total=False)

class BucketLifecycleConfigurationRuleFilterAnd(TypedDict, total=False):
    objectSizeGreaterThan: Input[int]
    objectSizeLessThan: Input[int]
    prefix: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class BucketLifecycleConfigurationRuleFilterTag(TypedDict, total=False):
    key: Required[Input[str]]
    value: Required[Input[str]]

class BucketLifecycleConfigurationRuleNoncurrentVersionExpiration(TypedDict, total=False):
    noncurrentDays: Required[Input[int]]
    newerNoncurrentVersions: Input[int]

class BucketLifecycleConfigurationRuleNoncurrentVersionTransition(TypedDict, total=False):
    noncurrentDays: Required[Input[int]]
    storageClass: Required[Input[str]]
    newerNoncurrentVersions: Input[int]

class BucketLifecycleConfigurationRuleTransition(TypedDict, total=False):
    storageClass: Required[Input[str]]
    date: Input[str]
    days: Input[int]

class BucketLifecycleConfigurationTimeouts(TypedDict, total=False):
    create: Input[str]
    update: Input[str]

class BucketLifecycleRule(TypedDict, total=False):
    enabled: Required[Input[bool]]
    abortIncompleteMultipartUploadDays: Input[int]
    expiration: Input[BucketLifecycleRuleExpiration]
    id: Input[str]
    noncurrentVersionExpiration: Input[BucketLifecycleRuleNoncurrentVersionExpiration]
    noncurrentVersionTransitions: Input[Sequence[Input[BucketLifecycleRuleNoncurrentVersionTransition]]]
    prefix: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    transitions: Input[Sequence[Input[BucketLifecycleRuleTransition]]]

class BucketLifecycleRuleExpiration(TypedDict, total=False):
    date: Input[str]
    days: Input[int]
    expiredObjectDeleteMarker: Input[bool]

class BucketLifecycleRuleNoncurrentVersionExpiration(TypedDict, total=False):
    days: Input[int]

class BucketLifecycleRuleNoncurrentVersionTransition(TypedDict, total=False):
    storageClass: Required[Input[str]]
    days: Input[int]

class BucketLifecycleRuleTransition(TypedDict, total=False):
    storageClass: Required[Input[str]]
    date: Input[str]
    days: Input[int]

class BucketLogging(TypedDict, total=False):
    targetBucket: Required[Input[str]]
    targetPrefix: Input[str]

class BucketObjectLockConfiguration(TypedDict, total=False):
    objectLockEnabled: Input[str]
    rule: Input[BucketObjectLockConfigurationRule]

class BucketObjectLockConfigurationRule(TypedDict, total=False):
    defaultRetention: Required[Input[BucketObjectLockConfigurationRuleDefaultRetention]]

class BucketObjectLockConfigurationRuleDefaultRetention(TypedDict, total=False):
    days: Input[int]
    mode: Input[str]
    years: Input[int]

class BucketPolicy(TypedDict, total=False):
    bucket: Required[Input[str]]
    policy: Required[Input[str]]
    region: Input[str]

class BucketPublicAccessBlock(TypedDict, total=False):
    bucket: Required[Input[str]]
    blockPublicAcls: Input[bool]
    blockPublicPolicy: Input[bool]
    ignorePublicAcls: Input[bool]
    region: Input[str]
    restrictPublicBuckets: Input[bool]
    skipDestroy: Input[bool]

class BucketReplicationConfiguration(TypedDict, total=False):
    role: Required[Input[str]]
    rules: Required[Input[Sequence[Input[BucketReplicationConfigurationRule]]]]

class BucketReplicationConfigurationRule(TypedDict, total=False):
    destination: Required[Input[BucketReplicationConfigurationRuleDestination]]
    status: Required[Input[str]]
    deleteMarkerReplicationStatus: Input[str]
    filter: Input[BucketReplicationConfigurationRuleFilter]
    id: Input[str]
    prefix: Input[str]
    priority: Input[int]
    sourceSelectionCriteria: Input[BucketReplicationConfigurationRuleSourceSelectionCriteria]

class BucketReplicationConfigurationRuleDestination(TypedDict, total=False):
    bucket: Required[Input[str]]
    accessControlTranslation: Input[BucketReplicationConfigurationRuleDestinationAccessControlTranslation]
    accountId: Input[str]
    metrics: Input[BucketReplicationConfigurationRuleDestinationMetrics]
    replicaKmsKeyId: Input[str]
    replicationTime: Input[BucketReplicationConfigurationRuleDestinationReplicationTime]
    storageClass: Input[str]

class BucketReplicationConfigurationRuleDestinationAccessControlTranslation(TypedDict, total=False):
    owner: Required[Input[str]]

class BucketReplicationConfigurationRuleDestinationMetrics(TypedDict, total=False):
    minutes: Input[int]
    status: Input[str]

class BucketReplicationConfigurationRuleDestinationReplicationTime(TypedDict, total=False):
    minutes: Input[int]
    status: Input[str]

class BucketReplicationConfigurationRuleFilter(TypedDict, total=False):
    prefix: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class BucketReplicationConfigurationRuleSourceSelectionCriteria(TypedDict, total=False):
    sseKmsEncryptedObjects: Input[BucketReplicationConfigurationRuleSourceSelectionCriteriaSseKmsEncryptedObjects]

class BucketReplicationConfigurationRuleSourceSelectionCriteriaSseKmsEncryptedObjects(TypedDict, total=False):
    enabled: Required[Input[bool]]

class BucketServerSideEncryptionConfiguration(TypedDict, total=False):
    rule: Required[Input[BucketServerSideEncryptionConfigurationRule]]

class BucketServerSideEncryptionConfigurationRule(TypedDict, total=False):
    applyServerSideEncryptionByDefault: Input[BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefault]
    blockedEncryptionTypes: Input[Sequence[Input[str]]]
    bucketKeyEnabled: Input[bool]

class BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefault(TypedDict, total=False):
    sseAlgorithm: Required[Input[str]]
    kmsMasterKeyId: Input[str]

class InlineBucketVersioning(TypedDict, total=False):
    enabled: Input[bool]
    mfaDelete: Input[bool]

class BucketVersioning(TypedDict, total=False):
    bucket: Required[Input[str]]
    versioningConfiguration: Required[Input[BucketVersioningVersioningConfiguration]]
    expectedBucketOwner: Input[str]
    mfa: Input[str]
    region: Input[str]

class BucketVersioningVersioningConfiguration(TypedDict, total=False):
    status: Required[Input[str]]
    mfaDelete: Input[str]

class BucketWebsite(TypedDict, total=False):
    errorDocument: Input[str]
    indexDocument: Input[str]
    redirectAllRequestsTo: Input[str]
    routingRules: Input[str]

class Cluster(TypedDict, total=False):
    roleArn: Required[Input[str]]
    vpcConfig: Required[Input[ClusterVpcConfig]]
    accessConfig: Input[ClusterAccessConfig]
    bootstrapSelfManagedAddons: Input[bool]
    computeConfig: Input[ClusterComputeConfig]
    controlPlaneScalingConfig: Input[ClusterControlPlaneScalingConfig]
    defaultAddonsToRemoves: Input[Sequence[Input[str]]]
    deletionProtection: Input[bool]
    enabledClusterLogTypes: Input[Sequence[Input[str]]]
    encryptionConfig: Input[ClusterEncryptionConfig]
    forceUpdateVersion: Input[bool]
    kubeApiServerConfig: Input[ClusterKubeApiServerConfig]
    kubeControllerManagerConfig: Input[ClusterKubeControllerManagerConfig]
    kubeSchedulerConfig: Input[ClusterKubeSchedulerConfig]
    kubernetesNetworkConfig: Input[ClusterKubernetesNetworkConfig]
    name: Input[str]
    outpostConfig: Input[ClusterOutpostConfig]
    region: Input[str]
    remoteNetworkConfig: Input[ClusterRemoteNetworkConfig]
    storageConfig: Input[ClusterStorageConfig]
    tags: Input[Mapping[str, Input[str]]]
    upgradePolicy: Input[ClusterUpgradePolicy]
    version: Input[str]
    zonalShiftConfig: Input[ClusterZonalShiftConfig]

class ClusterAccessConfig(TypedDict, total=False):
    authenticationMode: Input[str]
    bootstrapClusterCreatorAdminPermissions: Input[bool]

class ClusterComputeConfig(TypedDict, total=False):
    enabled: Input[bool]
    nodePools: Input[Sequence[Input[str]]]
    nodeRoleArn: Input[str]

class ClusterControlPlaneScalingConfig(TypedDict, total=False):
    tier: Input[str]

class ClusterEncryptionConfig(TypedDict, total=False):
    provider: Required[Input[ClusterEncryptionConfigProvider]]
    resources: Required[Input[Sequence[Input[str]]]]

class ClusterEncryptionConfigProvider(TypedDict, total=False):
    keyArn: Required[Input[str]]

class ClusterKubeApiServerConfig(TypedDict, total=False):
    eventTtl: Input[str]
    serviceNodePortRange: Input[ClusterKubeApiServerConfigServiceNodePortRange]

class ClusterKubeApiServerConfigServiceNodePortRange(TypedDict, total=False):
    maxPort: Input[int]
    minPort: Input[int]

class ClusterKubeControllerManagerConfig(TypedDict, total=False):
    horizontalPodAutoscalerControllerConfig: Input[ClusterKubeControllerManagerConfigHorizontalPodAutoscalerControllerConfig]
    podGcControllerConfig: Input[ClusterKubeControllerManagerConfigPodGcControllerConfig]

class ClusterKubeControllerManagerConfigHorizontalPodAutoscalerControllerConfig(TypedDict, total=False):
    horizontalPodAutoscalerSyncPeriod: Input[str]

class ClusterKubeControllerManagerConfigPodGcControllerConfig(TypedDict, total=False):
    terminatedPodGcThreshold: Input[int]

class ClusterKubeSchedulerConfig(TypedDict, total=False):
    nodeResourcesFit: Input[ClusterKubeSchedulerConfigNodeResourcesFit]

class ClusterKubeSchedulerConfigNodeResourcesFit(TypedDict, total=False):
    scoringStrategy: Input[ClusterKubeSchedulerConfigNodeResourcesFitScoringStrategy]

class ClusterKubeSchedulerConfigNodeResourcesFitScoringStrategy(TypedDict, total=False):
    resources: Input[Sequence[Input[ClusterKubeSchedulerConfigNodeResourcesFitScoringStrategyResource]]]
    type: Input[str]

class ClusterKubeSchedulerConfigNodeResourcesFitScoringStrategyResource(TypedDict, total=False):
    name: Input[str]
    weight: Input[int]

class ClusterKubernetesNetworkConfig(TypedDict, total=False):
    elasticLoadBalancing: Input[ClusterKubernetesNetworkConfigElasticLoadBalancing]
    ipFamily: Input[str]
    serviceIpv4Cidr: Input[str]
    serviceIpv6Cidr: Input[str]

class ClusterKubernetesNetworkConfigElasticLoadBalancing(TypedDict, total=False):
    enabled: Input[bool]

class ClusterOutpostConfig(TypedDict, total=False):
    controlPlaneInstanceType: Required[Input[str]]
    outpostArns: Required[Input[Sequence[Input[str]]]]
    controlPlanePlacement: Input[ClusterOutpostConfigControlPlanePlacement]
    etcdInstanceType: Input[str]
    etcdPlacement: Input[ClusterOutpostConfigEtcdPlacement]

class ClusterOutpostConfigControlPlanePlacement(TypedDict, total=False):
    groupName: Input[str]
    spreadLevel: Input[str]

class ClusterOutpostConfigEtcdPlacement(TypedDict, total=False):
    spreadLevel: Input[str]

class ClusterRemoteNetworkConfig(TypedDict, total=False):
    remoteNodeNetworks: Input[ClusterRemoteNetworkConfigRemoteNodeNetworks]
    remotePodNetworks: Input[ClusterRemoteNetworkConfigRemotePodNetworks]

class ClusterRemoteNetworkConfigRemoteNodeNetworks(TypedDict, total=False):
    cidrs: Input[Sequence[Input[str]]]

class ClusterRemoteNetworkConfigRemotePodNetworks(TypedDict, total=False):
    cidrs: Input[Sequence[Input[str]]]

class ClusterStorageConfig(TypedDict, total=False):
    blockStorage: Input[ClusterStorageConfigBlockStorage]

class ClusterStorageConfigBlockStorage(TypedDict, total=False):
    enabled: Input[bool]

class ClusterUpgradePolicy(TypedDict, total=False):
    supportType: Input[str]

class ClusterVpcConfig(TypedDict, total=False):
    subnetIds: Required[Input[Sequence[Input[str]]]]
    clusterSecurityGroupId: Input[str]
    controlPlaneEgressMode: Input[str]
    endpointPrivateAccess: Input[bool]
    endpointPublicAccess: Input[bool]
    publicAccessCidrs: Input[Sequence[Input[str]]]
    securityGroupIds: Input[Sequence[Input[str]]]
    vpcId: Input[str]

class ClusterZonalShiftConfig(TypedDict, total=False):
    enabled: Input[bool]

class DefaultSecurityGroup(TypedDict, total=False):
    egress: Input[Sequence[Input[DefaultSecurityGroupEgress]]]
    ingress: Input[Sequence[Input[DefaultSecurityGroupIngress]]]
    region: Input[str]
    revokeRulesOnDelete: Input[bool]
    tags: Input[Mapping[str, Input[str]]]
    vpcId: Input[str]

class DefaultSecurityGroupEgress(TypedDict, total=False):
    fromPort: Required[Input[int]]
    protocol: Required[Input[str]]
    toPort: Required[Input[int]]
    cidrBlocks: Input[Sequence[Input[str]]]
    description: Input[str]
    ipv6CidrBlocks: Input[Sequence[Input[str]]]
    prefixListIds: Input[Sequence[Input[str]]]
    securityGroups: Input[Sequence[Input[str]]]
    self: Input[bool]

class DefaultSecurityGroupIngress(TypedDict, total=False):
    fromPort: Required[Input[int]]
    protocol: Required[Input[str]]
    toPort: Required[Input[int]]
    cidrBlocks: Input[Sequence[Input[str]]]
    description: Input[str]
    ipv6CidrBlocks: Input[Sequence[Input[str]]]
    prefixListIds: Input[Sequence[Input[str]]]
    securityGroups: Input[Sequence[Input[str]]]
    self: Input[bool]

class Eip(TypedDict, total=False):
    address: Input[str]
    associateWithPrivateIp: Input[str]
    customerOwnedIpv4Pool: Input[str]
    domain: Input[str]
    instance: Input[str]
    ipamPoolId: Input[str]
    networkBorderGroup: Input[str]
    networkInterface: Input[str]
    publicIpv4Pool: Input[str]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class EventRule(TypedDict, total=False):
    description: Input[str]
    eventBusName: Input[str]
    eventPattern: Input[str]
    forceDestroy: Input[bool]
    isEnabled: Input[bool]
    name: Input[str]
    namePrefix: Input[str]
    region: Input[str]
    roleArn: Input[str]
    scheduleExpression: Input[str]
    state: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class EventTarget(TypedDict, total=False):
    arn: Required[Input[str]]
    rule: Required[Input[str]]
    appsyncTarget: Input[EventTargetAppsyncTarget]
    batchTarget: Input[EventTargetBatchTarget]
    deadLetterConfig: Input[EventTargetDeadLetterConfig]
    ecsTarget: Input[EventTargetEcsTarget]
    eventBusName: Input[str]
    forceDestroy: Input[bool]
    httpTarget: Input[EventTargetHttpTarget]
    input: Input[str]
    inputPath: Input[str]
    inputTransformer: Input[EventTargetInputTransformer]
    kinesisTarget: Input[EventTargetKinesisTarget]
    redshiftTarget: Input[EventTargetRedshiftTarget]
    region: Input[str]
    retryPolicy: Input[EventTargetRetryPolicy]
    roleArn: Input[str]
    runCommandTargets: Input[Sequence[Input[EventTargetRunCommandTarget]]]
    sagemakerPipelineTarget: Input[EventTargetSagemakerPipelineTarget]
    sqsTarget: Input[EventTargetSqsTarget]
    targetId: Input[str]

class EventTargetAppsyncTarget(TypedDict, total=False):
    graphqlOperation: Input[str]

class EventTargetBatchTarget(TypedDict, total=False):
    jobDefinition: Required[Input[str]]
    jobName: Required[Input[str]]
    arraySize: Input[int]
    jobAttempts: Input[int]

class EventTargetDeadLetterConfig(TypedDict, total=False):
    arn: Input[str]

class EventTargetEcsTarget(TypedDict, total=False):
    taskDefinitionArn: Required[Input[str]]
    capacityProviderStrategies: Input[Sequence[Input[EventTargetEcsTargetCapacityProviderStrategy]]]
    enableEcsManagedTags: Input[bool]
    enableExecuteCommand: Input[bool]
    group: Input[str]
    launchType: Input[str]
    networkConfiguration: Input[EventTargetEcsTargetNetworkConfiguration]
    orderedPlacementStrategies: Input[Sequence[Input[EventTargetEcsTargetOrderedPlacementStrategy]]]
    placementConstraints: Input[Sequence[Input[EventTargetEcsTargetPlacementConstraint]]]
    platformVersion: Input[str]
    propagateTags: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    taskCount: Input[int]

class EventTargetEcsTargetCapacityProviderStrategy(TypedDict, total=False):
    capacityProvider: Required[Input[str]]
    base: Input[int]
    weight: Input[int]

class EventTargetEcsTargetNetworkConfiguration(TypedDict, total=False):
    subnets: Required[Input[Sequence[Input[str]]]]
    assignPublicIp: Input[bool]
    securityGroups: Input[Sequence[Input[str]]]

class EventTargetEcsTargetOrderedPlacementStrategy(TypedDict, total=False):
    type: Required[Input[str]]
    field: Input[str]

class EventTargetEcsTargetPlacementConstraint(TypedDict, total=False):
    type: Required[Input[str]]
    expression: Input[str]

class EventTargetHttpTarget(TypedDict, total=False):
    headerParameters: Input[Mapping[str, Input[str]]]
    pathParameterValues: Input[Sequence[Input[str]]]
    queryStringParameters: Input[Mapping[str, Input[str]]]

class EventTargetInputTransformer(TypedDict, total=False):
    inputTemplate: Required[Input[str]]
    inputPaths: Input[Mapping[str, Input[str]]]

class EventTargetKinesisTarget(TypedDict, total=False):
    partitionKeyPath: Input[str]

class EventTargetRedshiftTarget(TypedDict, total=False):
    database: Required[Input[str]]
    dbUser: Input[str]
    secretsManagerArn: Input[str]
    sql: Input[str]
    statementName: Input[str]
    withEvent: Input[bool]

class EventTargetRetryPolicy(TypedDict, total=False):
    maximumEventAgeInSeconds: Input[int]
    maximumRetryAttempts: Input[int]

class EventTargetRunCommandTarget(TypedDict, total=False):
    key: Required[Input[str]]
    values: Required[Input[Sequence[Input[str]]]]

class EventTargetSagemakerPipelineTarget(TypedDict, total=False):
    pipelineParameterLists: Input[Sequence[Input[EventTargetSagemakerPipelineTargetPipelineParameterList]]]

class EventTargetSagemakerPipelineTargetPipelineParameterList(TypedDict, total=False):
    name: Required[Input[str]]
    value: Required[Input[str]]

class EventTargetSqsTarget(TypedDict, total=False):
    messageGroupId: Input[str]

class FileSystem(TypedDict, total=False):
    availabilityZoneName: Input[str]
    creationToken: Input[str]
    encrypted: Input[bool]
    kmsKeyId: Input[str]
    lifecyclePolicies: Input[Sequence[Input[FileSystemLifecyclePolicy]]]
    performanceMode: Input[str]
    protection: Input[FileSystemProtection]
    provisionedThroughputInMibps: Input[float]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    throughputMode: Input[str]

class FileSystemLifecyclePolicy(TypedDict, total=False):
    transitionToArchive: Input[str]
    transitionToIa: Input[str]
    transitionToPrimaryStorageClass: Input[str]

class FileSystemPolicy(TypedDict, total=False):
    fileSystemId: Required[Input[str]]
    policy: Required[Input[str]]
    bypassPolicyLockoutSafetyCheck: Input[bool]
    region: Input[str]

class FileSystemProtection(TypedDict, total=False):
    replicationOverwrite: Input[str]

class Grant(TypedDict, total=False):
    granteePrincipal: Required[Input[str]]
    keyId: Required[Input[str]]
    operations: Required[Input[Sequence[Input[str]]]]
    constraints: Input[Sequence[Input[GrantConstraint]]]
    grantCreationTokens: Input[Sequence[Input[str]]]
    name: Input[str]
    region: Input[str]
    retireOnDelete: Input[bool]
    retiringPrincipal: Input[str]

class GrantConstraint(TypedDict, total=False):
    encryptionContextEquals: Input[Mapping[str, Input[str]]]
    encryptionContextSubset: Input[Mapping[str, Input[str]]]

class InstanceProfile(TypedDict, total=False):
    name: Input[str]
    namePrefix: Input[str]
    path: Input[str]
    role: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class InternetGateway(TypedDict, total=False):
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    vpcId: Input[str]

class Key(TypedDict, total=False):
    bypassPolicyLockoutSafetyCheck: Input[bool]
    customKeyStoreId: Input[str]
    customerMasterKeySpec: Input[str]
    deletionWindowInDays: Input[int]
    description: Input[str]
    enableKeyRotation: Input[bool]
    isEnabled: Input[bool]
    keyUsage: Input[str]
    multiRegion: Input[bool]
    policy: Input[str]
    region: Input[str]
    rotationPeriodInDays: Input[int]
    tags: Input[Mapping[str, Input[str]]]
    xksKeyId: Input[str]

class LaunchTemplate(TypedDict, total=False):
    blockDeviceMappings: Input[Sequence[Input[LaunchTemplateBlockDeviceMapping]]]
    capacityReservationSpecification: Input[LaunchTemplateCapacityReservationSpecification]
    cpuOptions: Input[LaunchTemplateCpuOptions]
    creditSpecification: Input[LaunchTemplateCreditSpecification]
    defaultVersion: Input[int]
    description: Input[str]
    disableApiStop: Input[bool]
    disableApiTermination: Input[bool]
    ebsOptimized: Input[str]
    enclaveOptions: Input[LaunchTemplateEnclaveOptions]
    hibernationOptions: Input[LaunchTemplateHibernationOptions]
    iamInstanceProfile: Input[LaunchTemplateIamInstanceProfile]
    imageId: Input[str]
    instanceInitiatedShutdownBehavior: Input[str]
    instanceMarketOptions: Input[LaunchTemplateInstanceMarketOptions]
    instanceRequirements: Input[LaunchTemplateInstanceRequirements]
    instanceType: Input[str]
    kernelId: Input[str]
    keyName: Input[str]
    licenseSpecifications: Input[Sequence[Input[LaunchTemplateLicenseSpecification]]]
    maintenanceOptions: Input[LaunchTemplateMaintenanceOptions]
    metadataOptions: Input[LaunchTemplateMetadataOptions]
    monitoring: Input[LaunchTemplateMonitoring]
    name: Input[str]
    namePrefix: Input[str]
    networkInterfaces: Input[Sequence[Input[LaunchTemplateNetworkInterface]]]
    networkPerformanceOptions: Input[LaunchTemplateNetworkPerformanceOptions]
    placement: Input[LaunchTemplatePlacement]
    privateDnsNameOptions: Input[LaunchTemplatePrivateDnsNameOptions]
    ramDiskId: Input[str]
    region: Input[str]
    secondaryInterfaces: Input[Sequence[Input[LaunchTemplateSecondaryInterface]]]
    securityGroupNames: Input[Sequence[Input[str]]]
    tagSpecifications: Input[Sequence[Input[LaunchTemplateTagSpecification]]]
    tags: Input[Mapping[str, Input[str]]]
    updateDefaultVersion: Input[bool]
    userData: Input[str]
    vpcSecurityGroupIds: Input[Sequence[Input[str]]]

class LaunchTemplateBlockDeviceMapping(TypedDict, total=False):
    deviceName: Input[str]
    ebs: Input[LaunchTemplateBlockDeviceMappingEbs]
    noDevice: Input[str]
    virtualName: Input[str]

class LaunchTemplateBlockDeviceMappingEbs(TypedDict, total=False):
    deleteOnTermination: Input[str]
    encrypted: Input[str]
    iops: Input[int]
    kmsKeyId: Input[str]
    snapshotId: Input[str]
    throughput: Input[int]
    volumeInitializationRate: Input[int]
    volumeSize: Input[int]
    volumeType: Input[str]

class LaunchTemplateCapacityReservationSpecification(TypedDict, total=False):
    capacityReservationPreference: Input[str]
    capacityReservationTarget: Input[LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget]

class LaunchTemplateCapacityReservationSpecificationCapacityReservationTarget(TypedDict, total=False):
    capacityReservationId: Input[str]
    capacityReservationResourceGroupArn: Input[str]

class LaunchTemplateCpuOptions(TypedDict, total=False):
    amdSevSnp: Input[str]
    coreCount: Input[int]
    nestedVirtualization: Input[str]
    threadsPerCore: Input[int]

class LaunchTemplateCreditSpecification(TypedDict, total=False):
    cpuCredits: Required[Input[str]]

class LaunchTemplateEnclaveOptions(TypedDict, total=False):
    enabled: Input[bool]

class LaunchTemplateHibernationOptions(TypedDict, total=False):
    configured: Required[Input[bool]]

class LaunchTemplateIamInstanceProfile(TypedDict, total=False):
    arn: Input[str]
    name: Input[str]

class LaunchTemplateInstanceMarketOptions(TypedDict, total=False):
    marketType: Input[str]
    spotOptions: Input[LaunchTemplateInstanceMarketOptionsSpotOptions]

class LaunchTemplateInstanceMarketOptionsSpotOptions(TypedDict, total=False):
    blockDurationMinutes: Input[int]
    instanceInterruptionBehavior: Input[str]
    maxPrice: Input[str]
    spotInstanceType: Input[str]
    validUntil: Input[str]

class LaunchTemplateInstanceRequirements(TypedDict, total=False):
    memoryMib: Required[Input[LaunchTemplateInstanceRequirementsMemoryMib]]
    vcpuCount: Required[Input[LaunchTemplateInstanceRequirementsVcpuCount]]
    acceleratorCount: Input[LaunchTemplateInstanceRequirementsAcceleratorCount]
    acceleratorManufacturers: Input[Sequence[Input[str]]]
    acceleratorNames: Input[Sequence[Input[str]]]
    acceleratorTotalMemoryMib: Input[LaunchTemplateInstanceRequirementsAcceleratorTotalMemoryMib]
    acceleratorTypes: Input[Sequence[Input[str]]]
    allowedInstanceTypes: Input[Sequence[Input[str]]]
    bareMetal: Input[str]
    baselineEbsBandwidthMbps: Input[LaunchTemplateInstanceRequirementsBaselineEbsBandwidthMbps]
    burstablePerformance: Input[str]
    cpuManufacturers: Input[Sequence[Input[str]]]
    excludedInstanceTypes: Input[Sequence[Input[str]]]
    instanceGenerations: Input[Sequence[Input[str]]]
    localStorage: Input[str]
    localStorageTypes: Input[Sequence[Input[str]]]
    maxSpotPriceAsPercentageOfOptimalOnDemandPrice: Input[int]
    memoryGibPerVcpu: Input[LaunchTemplateInstanceRequirementsMemoryGibPerVcpu]
    networkBandwidthGbps: Input[LaunchTemplateInstanceRequirementsNetworkBandwidthGbps]
    networkInterfaceCount: Input[LaunchTemplateInstanceRequirementsNetworkInterfaceCount]
    onDemandMaxPricePercentageOverLowestPrice: Input[int]
    requireHibernateSupport: Input[bool]
    spotMaxPricePercentageOverLowestPrice: Input[int]
    totalLocalStorageGb: Input[LaunchTemplateInstanceRequirementsTotalLocalStorageGb]

class LaunchTemplateInstanceRequirementsAcceleratorCount(TypedDict, total=False):
    max: Input[int]
    min: Input[int]

class LaunchTemplateInstanceRequirementsAcceleratorTotalMemoryMib(TypedDict, total=False):
    max: Input[int]
    min: Input[int]

class LaunchTemplateInstanceRequirementsBaselineEbsBandwidthMbps(TypedDict, total=False):
    max: Input[int]
    min: Input[int]

class LaunchTemplateInstanceRequirementsMemoryGibPerVcpu(TypedDict, total=False):
    max: Input[float]
    min: Input[float]

class LaunchTemplateInstanceRequirementsMemoryMib(TypedDict, total=False):
    min: Required[Input[int]]
    max: Input[int]

class LaunchTemplateInstanceRequirementsNetworkBandwidthGbps(TypedDict, total=False):
    max: Input[float]
    min: Input[float]

class LaunchTemplateInstanceRequirementsNetworkInterfaceCount(TypedDict, total=False):
    max: Input[int]
    min: Input[int]

class LaunchTemplateInstanceRequirementsTotalLocalStorageGb(TypedDict, total=False):
    max: Input[float]
    min: Input[float]

class LaunchTemplateInstanceRequirementsVcpuCount(TypedDict, total=False):
    min: Required[Input[int]]
    max: Input[int]

class LaunchTemplateLicenseSpecification(TypedDict, total=False):
    licenseConfigurationArn: Required[Input[str]]

class LaunchTemplateMaintenanceOptions(TypedDict, total=False):
    autoRecovery: Input[str]

class LaunchTemplateMetadataOptions(TypedDict, total=False):
    httpEndpoint: Input[str]
    httpProtocolIpv6: Input[str]
    httpPutResponseHopLimit: Input[int]
    httpTokens: Input[str]
    instanceMetadataTags: Input[str]

class LaunchTemplateMonitoring(TypedDict, total=False):
    enabled: Input[bool]

class LaunchTemplateNetworkInterface(TypedDict, total=False):
    associateCarrierIpAddress: Input[str]
    associatePublicIpAddress: Input[str]
    connectionTrackingSpecification: Input[LaunchTemplateNetworkInterfaceConnectionTrackingSpecification]
    deleteOnTermination: Input[str]
    description: Input[str]
    deviceIndex: Input[int]
    enaQueueCount: Input[int]
    enaSrdSpecification: Input[LaunchTemplateNetworkInterfaceEnaSrdSpecification]
    interfaceType: Input[str]
    ipv4AddressCount: Input[int]
    ipv4Addresses: Input[Sequence[Input[str]]]
    ipv4PrefixCount: Input[int]
    ipv4Prefixes: Input[Sequence[Input[str]]]
    ipv6AddressCount: Input[int]
    ipv6Addresses: Input[Sequence[Input[str]]]
    ipv6PrefixCount: Input[int]
    ipv6Prefixes: Input[Sequence[Input[str]]]
    networkCardIndex: Input[int]
    networkInterfaceId: Input[str]
    primaryIpv6: Input[str]
    privateIpAddress: Input[str]
    securityGroups: Input[Sequence[Input[str]]]
    subnetId: Input[str]

class LaunchTemplateNetworkInterfaceConnectionTrackingSpecification(TypedDict, total=False):
    tcpEstablishedTimeout: Input[int]
    udpStreamTimeout: Input[int]
    udpTimeout: Input[int]

class LaunchTemplateNetworkInterfaceEnaSrdSpecification(TypedDict, total=False):
    enaSrdEnabled: Input[bool]
    enaSrdUdpSpecification: Input[LaunchTemplateNetworkInterfaceEnaSrdSpecificationEnaSrdUdpSpecification]

class LaunchTemplateNetworkInterfaceEnaSrdSpecificationEnaSrdUdpSpecification(TypedDict, total=False):
    enaSrdUdpEnabled: Input[bool]

class LaunchTemplateNetworkPerformanceOptions(TypedDict, total=False):
    bandwidthWeighting: Input[str]

class LaunchTemplatePlacement(TypedDict, total=False):
    affinity: Input[str]
    availabilityZone: Input[str]
    groupId: Input[str]
    groupName: Input[str]
    hostId: Input[str]
    hostResourceGroupArn: Input[str]
    partitionNumber: Input[int]
    spreadDomain: Input[str]
    tenancy: Input[str]

class LaunchTemplatePrivateDnsNameOptions(TypedDict, total=False):
    enableResourceNameDnsARecord: Input[bool]
    enableResourceNameDnsAaaaRecord: Input[bool]
    hostnameType: Input[str]

class LaunchTemplateSecondaryInterface(TypedDict, total=False):
    deleteOnTermination: Input[bool]
    deviceIndex: Input[int]
    interfaceType: Input[str]
    networkCardIndex: Input[int]
    privateIpAddressCount: Input[int]
    privateIpAddresses: Input[Sequence[Input[str]]]
    secondarySubnetId: Input[str]

class LaunchTemplateTagSpecification(TypedDict, total=False):
    resourceType: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class LifecyclePolicy(TypedDict, total=False):
    policy: Required[Input[str]]
    repository: Required[Input[str]]
    region: Input[str]

class LogGroup(TypedDict, total=False):
    deletionProtectionEnabled: Input[bool]
    kmsKeyId: Input[str]
    logGroupClass: Input[str]
    name: Input[str]
    namePrefix: Input[str]
    region: Input[str]
    retentionInDays: Input[int]
    skipDestroy: Input[bool]
    tags: Input[Mapping[str, Input[str]]]

class MountTarget(TypedDict, total=False):
    fileSystemId: Required[Input[str]]
    subnetId: Required[Input[str]]
    ipAddress: Input[str]
    ipAddressType: Input[str]
    ipv6Address: Input[str]
    region: Input[str]
    securityGroups: Input[Sequence[Input[str]]]

class NatGateway(TypedDict, total=False):
    allocationId: Input[str]
    availabilityMode: Input[str]
    availabilityZoneAddresses: Input[Sequence[Input[NatGatewayAvailabilityZoneAddress]]]
    connectivityType: Input[str]
    privateIp: Input[str]
    region: Input[str]
    secondaryAllocationIds: Input[Sequence[Input[str]]]
    secondaryPrivateIpAddressCount: Input[int]
    secondaryPrivateIpAddresses: Input[Sequence[Input[str]]]
    subnetId: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    vpcId: Input[str]

class NatGatewayAvailabilityZoneAddress(TypedDict, total=False):
    allocationIds: Input[Sequence[Input[str]]]
    availabilityZone: Input[str]
    availabilityZoneId: Input[str]

class NodeGroup(TypedDict, total=False):
    clusterName: Required[Input[str]]
    nodeRoleArn: Required[Input[str]]
    scalingConfig: Required[Input[NodeGroupScalingConfig]]
    subnetIds: Required[Input[Sequence[Input[str]]]]
    amiType: Input[str]
    capacityType: Input[str]
    diskSize: Input[int]
    forceUpdateVersion: Input[bool]
    instanceTypes: Input[Sequence[Input[str]]]
    labels: Input[Mapping[str, Input[str]]]
    launchTemplate: Input[NodeGroupLaunchTemplate]
    nodeGroupName: Input[str]
    nodeGroupNamePrefix: Input[str]
    nodeRepairConfig: Input[NodeGroupNodeRepairConfig]
    region: Input[str]
    releaseVersion: Input[str]
    remoteAccess: Input[NodeGroupRemoteAccess]
    tags: Input[Mapping[str, Input[str]]]
    taints: Input[Sequence[Input[NodeGroupTaint]]]
    updateConfig: Input[NodeGroupUpdateConfig]
    version: Input[str]
    warmPoolConfig: Input[NodeGroupWarmPoolConfig]

class NodeGroupLaunchTemplate(TypedDict, total=False):
    version: Required[Input[str]]
    id: Input[str]
    name: Input[str]

class NodeGroupNodeRepairConfig(TypedDict, total=False):
    enabled: Input[bool]
    maxParallelNodesRepairedCount: Input[int]
    maxParallelNodesRepairedPercentage: Input[int]
    maxUnhealthyNodeThresholdCount: Input[int]
    maxUnhealthyNodeThresholdPercentage: Input[int]
    nodeRepairConfigOverrides: Input[Sequence[Input[NodeGroupNodeRepairConfigNodeRepairConfigOverride]]]

class NodeGroupNodeRepairConfigNodeRepairConfigOverride(TypedDict, total=False):
    minRepairWaitTimeMins: Required[Input[int]]
    nodeMonitoringCondition: Required[Input[str]]
    nodeUnhealthyReason: Required[Input[str]]
    repairAction: Required[Input[str]]

class NodeGroupRemoteAccess(TypedDict, total=False):
    ec2SshKey: Input[str]
    sourceSecurityGroupIds: Input[Sequence[Input[str]]]

class NodeGroupScalingConfig(TypedDict, total=False):
    desiredSize: Required[Input[int]]
    maxSize: Required[Input[int]]
    minSize: Required[Input[int]]

class NodeGroupTaint(TypedDict, total=False):
    effect: Required[Input[str]]
    key: Required[Input[str]]
    value: Input[str]

class NodeGroupUpdateConfig(TypedDict, total=False):
    maxUnavailable: Input[int]
    maxUnavailablePercentage: Input[int]
    updateStrategy: Input[str]

class NodeGroupWarmPoolConfig(TypedDict, total=False):
    maxGroupPreparedCapacity: Input[int]
    minSize: Input[int]
    poolState: Input[str]
    reuseOnScaleIn: Input[bool]

class PlacementGroup(TypedDict, total=False):
    strategy: Required[Input[str]]
    name: Input[str]
    partitionCount: Input[int]
    region: Input[str]
    spreadLevel: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class PodIdentityAssociation(TypedDict, total=False):
    clusterName: Required[Input[str]]
    namespace: Required[Input[str]]
    roleArn: Required[Input[str]]
    serviceAccount: Required[Input[str]]
    disableSessionTags: Input[bool]
    policy: Input[str]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]
    targetRoleArn: Input[str]

class Queue(TypedDict, total=False):
    contentBasedDeduplication: Input[bool]
    deduplicationScope: Input[str]
    delaySeconds: Input[int]
    fifoQueue: Input[bool]
    fifoThroughputLimit: Input[str]
    kmsDataKeyReusePeriodSeconds: Input[int]
    kmsMasterKeyId: Input[str]
    maxMessageSize: Input[int]
    messageRetentionSeconds: Input[int]
    name: Input[str]
    namePrefix: Input[str]
    policy: Input[str]
    receiveWaitTimeSeconds: Input[int]
    redriveAllowPolicy: Input[str]
    redrivePolicy: Input[str]
    region: Input[str]
    sqsManagedSseEnabled: Input[bool]
    tags: Input[Mapping[str, Input[str]]]
    visibilityTimeoutSeconds: Input[int]

class QueuePolicy(TypedDict, total=False):
    policy: Required[Input[str]]
    queueUrl: Required[Input[str]]
    region: Input[str]

class Repository(TypedDict, total=False):
    encryptionConfigurations: Input[Sequence[Input[RepositoryEncryptionConfiguration]]]
    forceDelete: Input[bool]
    imageScanningConfiguration: Input[RepositoryImageScanningConfiguration]
    imageTagMutability: Input[str]
    imageTagMutabilityExclusionFilters: Input[Sequence[Input[RepositoryImageTagMutabilityExclusionFilter]]]
    name: Input[str]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class RepositoryEncryptionConfiguration(TypedDict, total=False):
    encryptionType: Input[str]
    kmsKey: Input[str]

class RepositoryImageScanningConfiguration(TypedDict, total=False):
    scanOnPush: Required[Input[bool]]

class RepositoryImageTagMutabilityExclusionFilter(TypedDict, total=False):
    filter: Required[Input[str]]
    filterType: Required[Input[str]]

class Role(TypedDict, total=False):
    assumeRolePolicy: Required[Input[str]]
    description: Input[str]
    forceDetachPolicies: Input[bool]
    inlinePolicies: Input[Sequence[Input[RoleInlinePolicy]]]
    managedPolicyArns: Input[Sequence[Input[str]]]
    maxSessionDuration: Input[int]
    name: Input[str]
    namePrefix: Input[str]
    path: Input[str]
    permissionsBoundary: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class RoleInlinePolicy(TypedDict, total=False):
    name: Input[str]
    policy: Input[str]

class RolePolicy(TypedDict, total=False):
    policy: Required[Input[str]]
    role: Required[Input[str]]
    name: Input[str]
    namePrefix: Input[str]

class RolePolicyAttachment(TypedDict, total=False):
    policyArn: Required[Input[str]]
    role: Required[Input[str]]

class Route(TypedDict, total=False):
    routeTableId: Required[Input[str]]
    carrierGatewayId: Input[str]
    coreNetworkArn: Input[str]
    destinationCidrBlock: Input[str]
    destinationIpv6CidrBlock: Input[str]
    destinationPrefixListId: Input[str]
    egressOnlyGatewayId: Input[str]
    gatewayId: Input[str]
    localGatewayId: Input[str]
    natGatewayId: Input[str]
    networkInterfaceId: Input[str]
    odbNetworkArn: Input[str]
    region: Input[str]
    transitGatewayId: Input[str]
    vpcEndpointId: Input[str]
    vpcPeeringConnectionId: Input[str]

class RouteTable(TypedDict, total=False):
    vpcId: Required[Input[str]]
    propagatingVgws: Input[Sequence[Input[str]]]
    region: Input[str]
    routes: Input[Sequence[Input[RouteTableRoute]]]
    tags: Input[Mapping[str, Input[str]]]

class RouteTableAssociation(TypedDict, total=False):
    routeTableId: Required[Input[str]]
    gatewayId: Input[str]
    region: Input[str]
    subnetId: Input[str]

class RouteTableRoute(TypedDict, total=False):
    carrierGatewayId: Input[str]
    cidrBlock: Input[str]
    coreNetworkArn: Input[str]
    destinationPrefixListId: Input[str]
    egressOnlyGatewayId: Input[str]
    gatewayId: Input[str]
    ipv6CidrBlock: Input[str]
    localGatewayId: Input[str]
    natGatewayId: Input[str]
    networkInterfaceId: Input[str]
    odbNetworkArn: Input[str]
    transitGatewayId: Input[str]
    vpcEndpointId: Input[str]
    vpcPeeringConnectionId: Input[str]

class SecurityGroup(TypedDict, total=False):
    description: Input[str]
    egress: Input[Sequence[Input[SecurityGroupEgress]]]
    ingress: Input[Sequence[Input[SecurityGroupIngress]]]
    name: Input[str]
    namePrefix: Input[str]
    region: Input[str]
    revokeRulesOnDelete: Input[bool]
    tags: Input[Mapping[str, Input[str]]]
    vpcId: Input[str]

class SecurityGroupEgress(TypedDict, total=False):
    fromPort: Required[Input[int]]
    protocol: Required[Input[str]]
    toPort: Required[Input[int]]
    cidrBlocks: Input[Sequence[Input[str]]]
    description: Input[str]
    ipv6CidrBlocks: Input[Sequence[Input[str]]]
    prefixListIds: Input[Sequence[Input[str]]]
    securityGroups: Input[Sequence[Input[str]]]
    self: Input[bool]

class SecurityGroupIngress(TypedDict, total=False):
    fromPort: Required[Input[int]]
    protocol: Required[Input[str]]
    toPort: Required[Input[int]]
    cidrBlocks: Input[Sequence[Input[str]]]
    description: Input[str]
    ipv6CidrBlocks: Input[Sequence[Input[str]]]
    prefixListIds: Input[Sequence[Input[str]]]
    securityGroups: Input[Sequence[Input[str]]]
    self: Input[bool]

class Subnet(TypedDict, total=False):
    vpcId: Required[Input[str]]
    assignIpv6AddressOnCreation: Input[bool]
    availabilityZone: Input[str]
    availabilityZoneId: Input[str]
    cidrBlock: Input[str]
    customerOwnedIpv4Pool: Input[str]
    enableDns64: Input[bool]
    enableLniAtDeviceIndex: Input[int]
    enableResourceNameDnsARecordOnLaunch: Input[bool]
    enableResourceNameDnsAaaaRecordOnLaunch: Input[bool]
    ipv4IpamPoolId: Input[str]
    ipv4NetmaskLength: Input[int]
    ipv6CidrBlock: Input[str]
    ipv6IpamPoolId: Input[str]
    ipv6Native: Input[bool]
    ipv6NetmaskLength: Input[int]
    mapCustomerOwnedIpOnLaunch: Input[bool]
    mapPublicIpOnLaunch: Input[bool]
    outpostArn: Input[str]
    privateDnsHostnameTypeOnLaunch: Input[str]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class Tag(TypedDict, total=False):
    autoscalingGroupName: Required[Input[str]]
    tag: Required[Input[TagTag]]
    region: Input[str]

class TagTag(TypedDict, total=False):
    key: Required[Input[str]]
    propagateAtLaunch: Required[Input[bool]]
    value: Required[Input[str]]

class Vpc(TypedDict, total=False):
    assignGeneratedIpv6CidrBlock: Input[bool]
    cidrBlock: Input[str]
    enableDnsHostnames: Input[bool]
    enableDnsSupport: Input[bool]
    enableNetworkAddressUsageMetrics: Input[bool]
    instanceTenancy: Input[str]
    ipv4IpamPoolId: Input[str]
    ipv4NetmaskLength: Input[int]
    ipv6CidrBlock: Input[str]
    ipv6CidrBlockNetworkBorderGroup: Input[str]
    ipv6IpamPoolId: Input[str]
    ipv6NetmaskLength: Input[int]
    region: Input[str]
    tags: Input[Mapping[str, Input[str]]]

class VpcEndpoint(TypedDict, total=False):
    vpcId: Required[Input[str]]
    autoAccept: Input[bool]
    dnsOptions: Input[VpcEndpointDnsOptions]
    ipAddressType: Input[str]
    policy: Input[str]
    privateDnsEnabled: Input[bool]
    region: Input[str]
    resourceConfigurationArn: Input[str]
    routeTableIds: Input[Sequence[Input[str]]]
    securityGroupIds: Input[Sequence[Input[str]]]
    serviceName: Input[str]
    serviceNetworkArn: Input[str]
    serviceRegion: Input[str]
    subnetConfigurations: Input[Sequence[Input[VpcEndpointSubnetConfiguration]]]
    subnetIds: Input[Sequence[Input[str]]]
    tags: Input[Mapping[str, Input[str]]]
    vpcEndpointType: Input[str]

class VpcEndpointDnsOptions(TypedDict, total=False):
    dnsRecordIpType: Input[str]
    privateDnsOnlyForInboundResolverEndpoint: Input[bool]
    privateDnsPreference: Input[str]
    privateDnsSpecifiedDomains: Input[Sequence[Input[str]]]

class VpcEndpointSubnetConfiguration(TypedDict, total=False):
    ipv4: Input[str]
    ipv6: Input[str]
    subnetId: Input[str]

class TagOutputs(TypedDict):
    autoscalingGroupName: Output[str]
    region: Output[str]
    tag: Output[Mapping[str, Any]]

class EventRuleOutputs(TypedDict):
    arn: Output[str]
    description: Output[str]
    eventBusName: Output[str]
    eventPattern: Output[str]
    forceDestroy: Output[bool]
    isEnabled: Output[bool]
    name: Output[str]
    namePrefix: Output[str]
    region: Output[str]
    roleArn: Output[str]
    scheduleExpression: Output[str]
    state: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class EventTargetOutputs(TypedDict):
    appsyncTarget: Output[Mapping[str, Any]]
    arn: Output[str]
    batchTarget: Output[Mapping[str, Any]]
    deadLetterConfig: Output[Mapping[str, Any]]
    ecsTarget: Output[Mapping[str, Any]]
    eventBusName: Output[str]
    forceDestroy: Output[bool]
    httpTarget: Output[Mapping[str, Any]]
    input: Output[str]
    inputPath: Output[str]
    inputTransformer: Output[Mapping[str, Any]]
    kinesisTarget: Output[Mapping[str, Any]]
    redshiftTarget: Output[Mapping[str, Any]]
    region: Output[str]
    retryPolicy: Output[Mapping[str, Any]]
    roleArn: Output[str]
    rule: Output[str]
    runCommandTargets: Output[Sequence[Any]]
    sagemakerPipelineTarget: Output[Mapping[str, Any]]
    sqsTarget: Output[Mapping[str, Any]]
    targetId: Output[str]

class LogGroupOutputs(TypedDict):
    arn: Output[str]
    deletionProtectionEnabled: Output[bool]
    kmsKeyId: Output[str]
    logGroupClass: Output[str]
    name: Output[str]
    namePrefix: Output[str]
    region: Output[str]
    retentionInDays: Output[int]
    skipDestroy: Output[bool]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class DefaultSecurityGroupOutputs(TypedDict):
    arn: Output[str]
    description: Output[str]
    egress: Output[Sequence[Any]]
    ingress: Output[Sequence[Any]]
    name: Output[str]
    namePrefix: Output[str]
    ownerId: Output[str]
    region: Output[str]
    revokeRulesOnDelete: Output[bool]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class EipOutputs(TypedDict):
    address: Output[str]
    allocationId: Output[str]
    arn: Output[str]
    associateWithPrivateIp: Output[str]
    associationId: Output[str]
    carrierIp: Output[str]
    customerOwnedIp: Output[str]
    customerOwnedIpv4Pool: Output[str]
    domain: Output[str]
    instance: Output[str]
    ipamPoolId: Output[str]
    networkBorderGroup: Output[str]
    networkInterface: Output[str]
    privateDns: Output[str]
    privateIp: Output[str]
    ptrRecord: Output[str]
    publicDns: Output[str]
    publicIp: Output[str]
    publicIpv4Pool: Output[str]
    region: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class InternetGatewayOutputs(TypedDict):
    arn: Output[str]
    ownerId: Output[str]
    region: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class LaunchTemplateOutputs(TypedDict):
    arn: Output[str]
    blockDeviceMappings: Output[Sequence[Any]]
    capacityReservationSpecification: Output[Mapping[str, Any]]
    cpuOptions: Output[Mapping[str, Any]]
    creditSpecification: Output[Mapping[str, Any]]
    defaultVersion: Output[int]
    description: Output[str]
    disableApiStop: Output[bool]
    disableApiTermination: Output[bool]
    ebsOptimized: Output[str]
    enclaveOptions: Output[Mapping[str, Any]]
    hibernationOptions: Output[Mapping[str, Any]]
    iamInstanceProfile: Output[Mapping[str, Any]]
    imageId: Output[str]
    instanceInitiatedShutdownBehavior: Output[str]
    instanceMarketOptions: Output[Mapping[str, Any]]
    instanceRequirements: Output[Mapping[str, Any]]
    instanceType: Output[str]
    kernelId: Output[str]
    keyName: Output[str]
    latestVersion: Output[int]
    licenseSpecifications: Output[Sequence[Any]]
    maintenanceOptions: Output[Mapping[str, Any]]
    metadataOptions: Output[Mapping[str, Any]]
    monitoring: Output[Mapping[str, Any]]
    name: Output[str]
    namePrefix: Output[str]
    networkInterfaces: Output[Sequence[Any]]
    networkPerformanceOptions: Output[Mapping[str, Any]]
    placement: Output[Mapping[str, Any]]
    privateDnsNameOptions: Output[Mapping[str, Any]]
    ramDiskId: Output[str]
    region: Output[str]
    secondaryInterfaces: Output[Sequence[Any]]
    securityGroupNames: Output[Sequence[Any]]
    tagSpecifications: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    updateDefaultVersion: Output[bool]
    userData: Output[str]
    vpcSecurityGroupIds: Output[Sequence[Any]]

class NatGatewayOutputs(TypedDict):
    allocationId: Output[str]
    associationId: Output[str]
    autoProvisionZones: Output[str]
    autoScalingIps: Output[str]
    availabilityMode: Output[str]
    availabilityZoneAddresses: Output[Sequence[Any]]
    connectivityType: Output[str]
    networkInterfaceId: Output[str]
    privateIp: Output[str]
    publicIp: Output[str]
    region: Output[str]
    regionalNatGatewayAddresses: Output[Sequence[Any]]
    regionalNatGatewayAutoMode: Output[str]
    routeTableId: Output[str]
    secondaryAllocationIds: Output[Sequence[Any]]
    secondaryPrivateIpAddressCount: Output[int]
    secondaryPrivateIpAddresses: Output[Sequence[Any]]
    subnetId: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class PlacementGroupOutputs(TypedDict):
    arn: Output[str]
    name: Output[str]
    partitionCount: Output[int]
    placementGroupId: Output[str]
    region: Output[str]
    spreadLevel: Output[str]
    strategy: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class RouteOutputs(TypedDict):
    carrierGatewayId: Output[str]
    coreNetworkArn: Output[str]
    destinationCidrBlock: Output[str]
    destinationIpv6CidrBlock: Output[str]
    destinationPrefixListId: Output[str]
    egressOnlyGatewayId: Output[str]
    gatewayId: Output[str]
    instanceId: Output[str]
    instanceOwnerId: Output[str]
    localGatewayId: Output[str]
    natGatewayId: Output[str]
    networkInterfaceId: Output[str]
    odbNetworkArn: Output[str]
    origin: Output[str]
    region: Output[str]
    routeTableId: Output[str]
    state: Output[str]
    transitGatewayId: Output[str]
    vpcEndpointId: Output[str]
    vpcPeeringConnectionId: Output[str]

class RouteTableOutputs(TypedDict):
    arn: Output[str]
    ownerId: Output[str]
    propagatingVgws: Output[Sequence[Any]]
    region: Output[str]
    routes: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class RouteTableAssociationOutputs(TypedDict):
    gatewayId: Output[str]
    region: Output[str]
    routeTableId: Output[str]
    subnetId: Output[str]

class SecurityGroupOutputs(TypedDict):
    arn: Output[str]
    description: Output[str]
    egress: Output[Sequence[Any]]
    ingress: Output[Sequence[Any]]
    name: Output[str]
    namePrefix: Output[str]
    ownerId: Output[str]
    region: Output[str]
    revokeRulesOnDelete: Output[bool]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class SubnetOutputs(TypedDict):
    arn: Output[str]
    assignIpv6AddressOnCreation: Output[bool]
    availabilityZone: Output[str]
    availabilityZoneId: Output[str]
    cidrBlock: Output[str]
    customerOwnedIpv4Pool: Output[str]
    enableDns64: Output[bool]
    enableLniAtDeviceIndex: Output[int]
    enableResourceNameDnsARecordOnLaunch: Output[bool]
    enableResourceNameDnsAaaaRecordOnLaunch: Output[bool]
    ipv4IpamPoolId: Output[str]
    ipv4NetmaskLength: Output[int]
    ipv6CidrBlock: Output[str]
    ipv6CidrBlockAssociationId: Output[str]
    ipv6IpamPoolId: Output[str]
    ipv6Native: Output[bool]
    ipv6NetmaskLength: Output[int]
    mapCustomerOwnedIpOnLaunch: Output[bool]
    mapPublicIpOnLaunch: Output[bool]
    outpostArn: Output[str]
    ownerId: Output[str]
    privateDnsHostnameTypeOnLaunch: Output[str]
    region: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcId: Output[str]

class VpcOutputs(TypedDict):
    arn: Output[str]
    assignGeneratedIpv6CidrBlock: Output[bool]
    cidrBlock: Output[str]
    defaultNetworkAclId: Output[str]
    defaultRouteTableId: Output[str]
    defaultSecurityGroupId: Output[str]
    dhcpOptionsId: Output[str]
    enableDnsHostnames: Output[bool]
    enableDnsSupport: Output[bool]
    enableNetworkAddressUsageMetrics: Output[bool]
    instanceTenancy: Output[str]
    ipv4IpamPoolId: Output[str]
    ipv4NetmaskLength: Output[int]
    ipv6AssociationId: Output[str]
    ipv6CidrBlock: Output[str]
    ipv6CidrBlockNetworkBorderGroup: Output[str]
    ipv6IpamPoolId: Output[str]
    ipv6NetmaskLength: Output[int]
    mainRouteTableId: Output[str]
    ownerId: Output[str]
    region: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class VpcEndpointOutputs(TypedDict):
    arn: Output[str]
    autoAccept: Output[bool]
    cidrBlocks: Output[Sequence[Any]]
    dnsEntries: Output[Sequence[Any]]
    dnsOptions: Output[Mapping[str, Any]]
    ipAddressType: Output[str]
    networkInterfaceIds: Output[Sequence[Any]]
    ownerId: Output[str]
    policy: Output[str]
    prefixListId: Output[str]
    privateDnsEnabled: Output[bool]
    region: Output[str]
    requesterManaged: Output[bool]
    resourceConfigurationArn: Output[str]
    routeTableIds: Output[Sequence[Any]]
    securityGroupIds: Output[Sequence[Any]]
    serviceName: Output[str]
    serviceNetworkArn: Output[str]
    serviceRegion: Output[str]
    state: Output[str]
    subnetConfigurations: Output[Sequence[Any]]
    subnetIds: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    vpcEndpointType: Output[str]
    vpcId: Output[str]

class LifecyclePolicyOutputs(TypedDict):
    policy: Output[str]
    region: Output[str]
    registryId: Output[str]
    repository: Output[str]

class RepositoryOutputs(TypedDict):
    arn: Output[str]
    encryptionConfigurations: Output[Sequence[Any]]
    forceDelete: Output[bool]
    imageScanningConfiguration: Output[Mapping[str, Any]]
    imageTagMutability: Output[str]
    imageTagMutabilityExclusionFilters: Output[Sequence[Any]]
    name: Output[str]
    region: Output[str]
    registryId: Output[str]
    repositoryUrl: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class FileSystemOutputs(TypedDict):
    arn: Output[str]
    availabilityZoneId: Output[str]
    availabilityZoneName: Output[str]
    creationToken: Output[str]
    dnsName: Output[str]
    encrypted: Output[bool]
    kmsKeyId: Output[str]
    lifecyclePolicies: Output[Sequence[Any]]
    name: Output[str]
    numberOfMountTargets: Output[int]
    ownerId: Output[str]
    performanceMode: Output[str]
    protection: Output[Mapping[str, Any]]
    provisionedThroughputInMibps: Output[float]
    region: Output[str]
    sizeInBytes: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    throughputMode: Output[str]

class FileSystemPolicyOutputs(TypedDict):
    bypassPolicyLockoutSafetyCheck: Output[bool]
    fileSystemId: Output[str]
    policy: Output[str]
    region: Output[str]

class MountTargetOutputs(TypedDict):
    availabilityZoneId: Output[str]
    availabilityZoneName: Output[str]
    dnsName: Output[str]
    fileSystemArn: Output[str]
    fileSystemId: Output[str]
    ipAddress: Output[str]
    ipAddressType: Output[str]
    ipv6Address: Output[str]
    mountTargetDnsName: Output[str]
    networkInterfaceId: Output[str]
    ownerId: Output[str]
    region: Output[str]
    securityGroups: Output[Sequence[Any]]
    subnetId: Output[str]

class AccessEntryOutputs(TypedDict):
    accessEntryArn: Output[str]
    clusterName: Output[str]
    createdAt: Output[str]
    kubernetesGroups: Output[Sequence[Any]]
    modifiedAt: Output[str]
    principalArn: Output[str]
    region: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    type: Output[str]
    userName: Output[str]

class AccessPolicyAssociationOutputs(TypedDict):
    accessScope: Output[Mapping[str, Any]]
    associatedAt: Output[str]
    clusterName: Output[str]
    modifiedAt: Output[str]
    policyArn: Output[str]
    principalArn: Output[str]
    region: Output[str]

class AddonOutputs(TypedDict):
    addonName: Output[str]
    addonVersion: Output[str]
    arn: Output[str]
    clusterName: Output[str]
    configurationValues: Output[str]
    createdAt: Output[str]
    modifiedAt: Output[str]
    namespaceConfig: Output[Mapping[str, Any]]
    podIdentityAssociations: Output[Sequence[Any]]
    preserve: Output[bool]
    region: Output[str]
    resolveConflictsOnCreate: Output[str]
    resolveConflictsOnUpdate: Output[str]
    serviceAccountRoleArn: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]

class ClusterOutputs(TypedDict):
    accessConfig: Output[Mapping[str, Any]]
    arn: Output[str]
    bootstrapSelfManagedAddons: Output[bool]
    certificateAuthority: Output[Mapping[str, Any]]
    clusterId: Output[str]
    computeConfig: Output[Mapping[str, Any]]
    controlPlaneScalingConfig: Output[Mapping[str, Any]]
    createdAt: Output[str]
    defaultAddonsToRemoves: Output[Sequence[Any]]
    deletionProtection: Output[bool]
    enabledClusterLogTypes: Output[Sequence[Any]]
    encryptionConfig: Output[Mapping[str, Any]]
    endpoint: Output[str]
    forceUpdateVersion: Output[bool]
    identities: Output[Sequence[Any]]
    kubeApiServerConfig: Output[Mapping[str, Any]]
    kubeControllerManagerConfig: Output[Mapping[str, Any]]
    kubeSchedulerConfig: Output[Mapping[str, Any]]
    kubernetesNetworkConfig: Output[Mapping[str, Any]]
    name: Output[str]
    outpostConfig: Output[Mapping[str, Any]]
    platformVersion: Output[str]
    region: Output[str]
    remoteNetworkConfig: Output[Mapping[str, Any]]
    roleArn: Output[str]
    status: Output[str]
    storageConfig: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    upgradePolicy: Output[Mapping[str, Any]]
    version: Output[str]
    vpcConfig: Output[Mapping[str, Any]]
    zonalShiftConfig: Output[Mapping[str, Any]]

class NodeGroupOutputs(TypedDict):
    amiType: Output[str]
    arn: Output[str]
    capacityType: Output[str]
    clusterName: Output[str]
    diskSize: Output[int]
    forceUpdateVersion: Output[bool]
    instanceTypes: Output[Sequence[Any]]
    labels: Output[Mapping[str, Any]]
    launchTemplate: Output[Mapping[str, Any]]
    nodeGroupName: Output[str]
    nodeGroupNamePrefix: Output[str]
    nodeRepairConfig: Output[Mapping[str, Any]]
    nodeRoleArn: Output[str]
    region: Output[str]
    releaseVersion: Output[str]
    remoteAccess: Output[Mapping[str, Any]]
    resources: Output[Sequence[Any]]
    scalingConfig: Output[Mapping[str, Any]]
    status: Output[str]
    subnetIds: Output[Sequence[Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    taints: Output[Sequence[Any]]
    updateConfig: Output[Mapping[str, Any]]
    version: Output[str]
    warmPoolConfig: Output[Mapping[str, Any]]

class PodIdentityAssociationOutputs(TypedDict):
    associationArn: Output[str]
    associationId: Output[str]
    clusterName: Output[str]
    disableSessionTags: Output[bool]
    externalId: Output[str]
    namespace: Output[str]
    policy: Output[str]
    region: Output[str]
    roleArn: Output[str]
    serviceAccount: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    targetRoleArn: Output[str]

class InstanceProfileOutputs(TypedDict):
    arn: Output[str]
    createDate: Output[str]
    name: Output[str]
    namePrefix: Output[str]
    path: Output[str]
    role: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    uniqueId: Output[str]

class RoleOutputs(TypedDict):
    arn: Output[str]
    assumeRolePolicy: Output[str]
    createDate: Output[str]
    description: Output[str]
    forceDetachPolicies: Output[bool]
    inlinePolicies: Output[Sequence[Any]]
    managedPolicyArns: Output[Sequence[Any]]
    maxSessionDuration: Output[int]
    name: Output[str]
    namePrefix: Output[str]
    path: Output[str]
    permissionsBoundary: Output[str]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    uniqueId: Output[str]

class RolePolicyOutputs(TypedDict):
    name: Output[str]
    namePrefix: Output[str]
    policy: Output[str]
    role: Output[str]

class RolePolicyAttachmentOutputs(TypedDict):
    policyArn: Output[str]
    role: Output[str]

class AliasOutputs(TypedDict):
    arn: Output[str]
    name: Output[str]
    namePrefix: Output[str]
    region: Output[str]
    targetKeyArn: Output[str]
    targetKeyId: Output[str]

class GrantOutputs(TypedDict):
    constraints: Output[Sequence[Any]]
    grantCreationTokens: Output[Sequence[Any]]
    grantId: Output[str]
    grantToken: Output[str]
    granteePrincipal: Output[str]
    keyId: Output[str]
    name: Output[str]
    operations: Output[Sequence[Any]]
    region: Output[str]
    retireOnDelete: Output[bool]
    retiringPrincipal: Output[str]

class KeyOutputs(TypedDict):
    arn: Output[str]
    bypassPolicyLockoutSafetyCheck: Output[bool]
    customKeyStoreId: Output[str]
    customerMasterKeySpec: Output[str]
    deletionWindowInDays: Output[int]
    description: Output[str]
    enableKeyRotation: Output[bool]
    isEnabled: Output[bool]
    keyId: Output[str]
    keyUsage: Output[str]
    multiRegion: Output[bool]
    policy: Output[str]
    region: Output[str]
    rotationPeriodInDays: Output[int]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    xksKeyId: Output[str]

class BucketOutputs(TypedDict):
    accelerationStatus: Output[str]
    acl: Output[str]
    arn: Output[str]
    bucket: Output[str]
    bucketDomainName: Output[str]
    bucketNamespace: Output[str]
    bucketPrefix: Output[str]
    bucketRegion: Output[str]
    bucketRegionalDomainName: Output[str]
    corsRules: Output[Sequence[Any]]
    forceDestroy: Output[bool]
    grants: Output[Sequence[Any]]
    hostedZoneId: Output[str]
    lifecycleRules: Output[Sequence[Any]]
    logging: Output[Mapping[str, Any]]
    objectLockConfiguration: Output[Mapping[str, Any]]
    objectLockEnabled: Output[bool]
    policy: Output[str]
    region: Output[str]
    replicationConfiguration: Output[Mapping[str, Any]]
    requestPayer: Output[str]
    serverSideEncryptionConfiguration: Output[Mapping[str, Any]]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    versioning: Output[Mapping[str, Any]]
    website: Output[Mapping[str, Any]]
    websiteDomain: Output[str]
    websiteEndpoint: Output[str]

class BucketLifecycleConfigurationOutputs(TypedDict):
    bucket: Output[str]
    expectedBucketOwner: Output[str]
    region: Output[str]
    rules: Output[Sequence[Any]]
    timeouts: Output[Mapping[str, Any]]
    transitionDefaultMinimumObjectSize: Output[str]

class BucketPolicyOutputs(TypedDict):
    bucket: Output[str]
    policy: Output[str]
    region: Output[str]

class BucketPublicAccessBlockOutputs(TypedDict):
    blockPublicAcls: Output[bool]
    blockPublicPolicy: Output[bool]
    bucket: Output[str]
    ignorePublicAcls: Output[bool]
    region: Output[str]
    restrictPublicBuckets: Output[bool]
    skipDestroy: Output[bool]

class BucketVersioningOutputs(TypedDict):
    bucket: Output[str]
    expectedBucketOwner: Output[str]
    mfa: Output[str]
    region: Output[str]
    versioningConfiguration: Output[Mapping[str, Any]]

class QueueOutputs(TypedDict):
    arn: Output[str]
    contentBasedDeduplication: Output[bool]
    deduplicationScope: Output[str]
    delaySeconds: Output[int]
    fifoQueue: Output[bool]
    fifoThroughputLimit: Output[str]
    kmsDataKeyReusePeriodSeconds: Output[int]
    kmsMasterKeyId: Output[str]
    maxMessageSize: Output[int]
    messageRetentionSeconds: Output[int]
    name: Output[str]
    namePrefix: Output[str]
    policy: Output[str]
    receiveWaitTimeSeconds: Output[int]
    redriveAllowPolicy: Output[str]
    redrivePolicy: Output[str]
    region: Output[str]
    sqsManagedSseEnabled: Output[bool]
    tags: Output[Mapping[str, Any]]
    tagsAll: Output[Mapping[str, Any]]
    url: Output[str]
    visibilityTimeoutSeconds: Output[int]

class QueuePolicyOutputs(TypedDict):
    policy: Output[str]
    queueUrl: Output[str]
    region: Output[str]

class Declare(Protocol):
    """Declares a resource of one of the types above: its inputs, and the ``outputs`` to read back besides."""

    @overload
    def __call__(
        self,
        token: Literal["aws:autoscaling/tag:Tag"],
        name: str,
        inputs: Tag,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["autoscalingGroupName", "region", "tag"]] = ...,
    ) -> CustomResource[TagOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:cloudwatch/eventRule:EventRule"],
        name: str,
        inputs: EventRule,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "description", "eventBusName", "eventPattern", "forceDestroy", "isEnabled", "name", "namePrefix", "region", "roleArn", "scheduleExpression", "state", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[EventRuleOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:cloudwatch/eventTarget:EventTarget"],
        name: str,
        inputs: EventTarget,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["appsyncTarget", "arn", "batchTarget", "deadLetterConfig", "ecsTarget", "eventBusName", "forceDestroy", "httpTarget", "input", "inputPath", "inputTransformer", "kinesisTarget", "redshiftTarget", "region", "retryPolicy", "roleArn", "rule", "runCommandTargets", "sagemakerPipelineTarget", "sqsTarget", "targetId"]] = ...,
    ) -> CustomResource[EventTargetOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:cloudwatch/logGroup:LogGroup"],
        name: str,
        inputs: LogGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "deletionProtectionEnabled", "kmsKeyId", "logGroupClass", "name", "namePrefix", "region", "retentionInDays", "skipDestroy", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[LogGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"],
        name: str,
        inputs: DefaultSecurityGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "description", "egress", "ingress", "name", "namePrefix", "ownerId", "region", "revokeRulesOnDelete", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[DefaultSecurityGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/eip:Eip"],
        name: str,
        inputs: Eip,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["address", "allocationId", "arn", "associateWithPrivateIp", "associationId", "carrierIp", "customerOwnedIp", "customerOwnedIpv4Pool", "domain", "instance", "ipamPoolId", "networkBorderGroup", "networkInterface", "privateDns", "privateIp", "ptrRecord", "publicDns", "publicIp", "publicIpv4Pool", "region", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[EipOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/internetGateway:InternetGateway"],
        name: str,
        inputs: InternetGateway,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "ownerId", "region", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[InternetGatewayOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/launchTemplate:LaunchTemplate"],
        name: str,
        inputs: LaunchTemplate,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "blockDeviceMappings", "capacityReservationSpecification", "cpuOptions", "creditSpecification", "defaultVersion", "description", "disableApiStop", "disableApiTermination", "ebsOptimized", "enclaveOptions", "hibernationOptions", "iamInstanceProfile", "imageId", "instanceInitiatedShutdownBehavior", "instanceMarketOptions", "instanceRequirements", "instanceType", "kernelId", "keyName", "latestVersion", "licenseSpecifications", "maintenanceOptions", "metadataOptions", "monitoring", "name", "namePrefix", "networkInterfaces", "networkPerformanceOptions", "placement", "privateDnsNameOptions", "ramDiskId", "region", "secondaryInterfaces", "securityGroupNames", "tagSpecifications", "tags", "tagsAll", "updateDefaultVersion", "userData", "vpcSecurityGroupIds"]] = ...,
    ) -> CustomResource[LaunchTemplateOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/natGateway:NatGateway"],
        name: str,
        inputs: NatGateway,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["allocationId", "associationId", "autoProvisionZones", "autoScalingIps", "availabilityMode", "availabilityZoneAddresses", "connectivityType", "networkInterfaceId", "privateIp", "publicIp", "region", "regionalNatGatewayAddresses", "regionalNatGatewayAutoMode", "routeTableId", "secondaryAllocationIds", "secondaryPrivateIpAddressCount", "secondaryPrivateIpAddresses", "subnetId", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[NatGatewayOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/placementGroup:PlacementGroup"],
        name: str,
        inputs: PlacementGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "name", "partitionCount", "placementGroupId", "region", "spreadLevel", "strategy", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[PlacementGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/route:Route"],
        name: str,
        inputs: Route,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["carrierGatewayId", "coreNetworkArn", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId", "egressOnlyGatewayId", "gatewayId", "instanceId", "instanceOwnerId", "localGatewayId", "natGatewayId", "networkInterfaceId", "odbNetworkArn", "origin", "region", "routeTableId", "state", "transitGatewayId", "vpcEndpointId", "vpcPeeringConnectionId"]] = ...,
    ) -> CustomResource[RouteOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/routeTable:RouteTable"],
        name: str,
        inputs: RouteTable,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "ownerId", "propagatingVgws", "region", "routes", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[RouteTableOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/routeTableAssociation:RouteTableAssociation"],
        name: str,
        inputs: RouteTableAssociation,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["gatewayId", "region", "routeTableId", "subnetId"]] = ...,
    ) -> CustomResource[RouteTableAssociationOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/securityGroup:SecurityGroup"],
        name: str,
        inputs: SecurityGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "description", "egress", "ingress", "name", "namePrefix", "ownerId", "region", "revokeRulesOnDelete", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[SecurityGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/subnet:Subnet"],
        name: str,
        inputs: Subnet,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "assignIpv6AddressOnCreation", "availabilityZone", "availabilityZoneId", "cidrBlock", "customerOwnedIpv4Pool", "enableDns64", "enableLniAtDeviceIndex", "enableResourceNameDnsARecordOnLaunch", "enableResourceNameDnsAaaaRecordOnLaunch", "ipv4IpamPoolId", "ipv4NetmaskLength", "ipv6CidrBlock", "ipv6CidrBlockAssociationId", "ipv6IpamPoolId", "ipv6Native", "ipv6NetmaskLength", "mapCustomerOwnedIpOnLaunch", "mapPublicIpOnLaunch", "outpostArn", "ownerId", "privateDnsHostnameTypeOnLaunch", "region", "tags", "tagsAll", "vpcId"]] = ...,
    ) -> CustomResource[SubnetOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/vpc:Vpc"],
        name: str,
        inputs: Vpc,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "assignGeneratedIpv6CidrBlock", "cidrBlock", "defaultNetworkAclId", "defaultRouteTableId", "defaultSecurityGroupId", "dhcpOptionsId", "enableDnsHostnames", "enableDnsSupport", "enableNetworkAddressUsageMetrics", "instanceTenancy", "ipv4IpamPoolId", "ipv4NetmaskLength", "ipv6AssociationId", "ipv6CidrBlock", "ipv6CidrBlockNetworkBorderGroup", "ipv6IpamPoolId", "ipv6NetmaskLength", "mainRouteTableId", "ownerId", "region", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[VpcOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ec2/vpcEndpoint:VpcEndpoint"],
        name: str,
        inputs: VpcEndpoint,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "autoAccept", "cidrBlocks", "dnsEntries", "dnsOptions", "ipAddressType", "networkInterfaceIds", "ownerId", "policy", "prefixListId", "privateDnsEnabled", "region", "requesterManaged", "resourceConfigurationArn", "routeTableIds", "securityGroupIds", "serviceName", "serviceNetworkArn", "serviceRegion", "state", "subnetConfigurations", "subnetIds", "tags", "tagsAll", "vpcEndpointType", "vpcId"]] = ...,
    ) -> CustomResource[VpcEndpointOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ecr/lifecyclePolicy:LifecyclePolicy"],
        name: str,
        inputs: LifecyclePolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["policy", "region", "registryId", "repository"]] = ...,
    ) -> CustomResource[LifecyclePolicyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:ecr/repository:Repository"],
        name: str,
        inputs: Repository,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "encryptionConfigurations", "forceDelete", "imageScanningConfiguration", "imageTagMutability", "imageTagMutabilityExclusionFilters", "name", "region", "registryId", "repositoryUrl", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[RepositoryOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:efs/fileSystem:FileSystem"],
        name: str,
        inputs: FileSystem,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "availabilityZoneId", "availabilityZoneName", "creationToken", "dnsName", "encrypted", "kmsKeyId", "lifecyclePolicies", "name", "numberOfMountTargets", "ownerId", "performanceMode", "protection", "provisionedThroughputInMibps", "region", "sizeInBytes", "tags", "tagsAll", "throughputMode"]] = ...,
    ) -> CustomResource[FileSystemOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:efs/fileSystemPolicy:FileSystemPolicy"],
        name: str,
        inputs: FileSystemPolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bypassPolicyLockoutSafetyCheck", "fileSystemId", "policy", "region"]] = ...,
    ) -> CustomResource[FileSystemPolicyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:efs/mountTarget:MountTarget"],
        name: str,
        inputs: MountTarget,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["availabilityZoneId", "availabilityZoneName", "dnsName", "fileSystemArn", "fileSystemId", "ipAddress", "ipAddressType", "ipv6Address", "mountTargetDnsName", "networkInterfaceId", "ownerId", "region", "securityGroups", "subnetId"]] = ...,
    ) -> CustomResource[MountTargetOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/accessEntry:AccessEntry"],
        name: str,
        inputs: AccessEntry,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accessEntryArn", "clusterName", "createdAt", "kubernetesGroups", "modifiedAt", "principalArn", "region", "tags", "tagsAll", "type", "userName"]] = ...,
    ) -> CustomResource[AccessEntryOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/accessPolicyAssociation:AccessPolicyAssociation"],
        name: str,
        inputs: AccessPolicyAssociation,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accessScope", "associatedAt", "clusterName", "modifiedAt", "policyArn", "principalArn", "region"]] = ...,
    ) -> CustomResource[AccessPolicyAssociationOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/addon:Addon"],
        name: str,
        inputs: Addon,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["addonName", "addonVersion", "arn", "clusterName", "configurationValues", "createdAt", "modifiedAt", "namespaceConfig", "podIdentityAssociations", "preserve", "region", "resolveConflictsOnCreate", "resolveConflictsOnUpdate", "serviceAccountRoleArn", "tags", "tagsAll"]] = ...,
    ) -> CustomResource[AddonOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/cluster:Cluster"],
        name: str,
        inputs: Cluster,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accessConfig", "arn", "bootstrapSelfManagedAddons", "certificateAuthority", "clusterId", "computeConfig", "controlPlaneScalingConfig", "createdAt", "defaultAddonsToRemoves", "deletionProtection", "enabledClusterLogTypes", "encryptionConfig", "endpoint", "forceUpdateVersion", "identities", "kubeApiServerConfig", "kubeControllerManagerConfig", "kubeSchedulerConfig", "kubernetesNetworkConfig", "name", "outpostConfig", "platformVersion", "region", "remoteNetworkConfig", "roleArn", "status", "storageConfig", "tags", "tagsAll", "upgradePolicy", "version", "vpcConfig", "zonalShiftConfig"]] = ...,
    ) -> CustomResource[ClusterOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/nodeGroup:NodeGroup"],
        name: str,
        inputs: NodeGroup,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["amiType", "arn", "capacityType", "clusterName", "diskSize", "forceUpdateVersion", "instanceTypes", "labels", "launchTemplate", "nodeGroupName", "nodeGroupNamePrefix", "nodeRepairConfig", "nodeRoleArn", "region", "releaseVersion", "remoteAccess", "resources", "scalingConfig", "status", "subnetIds", "tags", "tagsAll", "taints", "updateConfig", "version", "warmPoolConfig"]] = ...,
    ) -> CustomResource[NodeGroupOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:eks/podIdentityAssociation:PodIdentityAssociation"],
        name: str,
        inputs: PodIdentityAssociation,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["associationArn", "associationId", "clusterName", "disableSessionTags", "externalId", "namespace", "policy", "region", "roleArn", "serviceAccount", "tags", "tagsAll", "targetRoleArn"]] = ...,
    ) -> CustomResource[PodIdentityAssociationOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:iam/instanceProfile:InstanceProfile"],
        name: str,
        inputs: InstanceProfile,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "createDate", "name", "namePrefix", "path", "role", "tags", "tagsAll", "uniqueId"]] = ...,
    ) -> CustomResource[InstanceProfileOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:iam/role:Role"],
        name: str,
        inputs: Role,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "assumeRolePolicy", "createDate", "description", "forceDetachPolicies", "inlinePolicies", "managedPolicyArns", "maxSessionDuration", "name", "namePrefix", "path", "permissionsBoundary", "tags", "tagsAll", "uniqueId"]] = ...,
    ) -> CustomResource[RoleOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:iam/rolePolicy:RolePolicy"],
        name: str,
        inputs: RolePolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["name", "namePrefix", "policy", "role"]] = ...,
    ) -> CustomResource[RolePolicyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:iam/rolePolicyAttachment:RolePolicyAttachment"],
        name: str,
        inputs: RolePolicyAttachment,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["policyArn", "role"]] = ...,
    ) -> CustomResource[RolePolicyAttachmentOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:kms/alias:Alias"],
        name: str,
        inputs: Alias,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "name", "namePrefix", "region", "targetKeyArn", "targetKeyId"]] = ...,
    ) -> CustomResource[AliasOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:kms/grant:Grant"],
        name: str,
        inputs: Grant,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["constraints", "grantCreationTokens", "grantId", "grantToken", "granteePrincipal", "keyId", "name", "operations", "region", "retireOnDelete", "retiringPrincipal"]] = ...,
    ) -> CustomResource[GrantOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:kms/key:Key"],
        name: str,
        inputs: Key,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "bypassPolicyLockoutSafetyCheck", "customKeyStoreId", "customerMasterKeySpec", "deletionWindowInDays", "description", "enableKeyRotation", "isEnabled", "keyId", "keyUsage", "multiRegion", "policy", "region", "rotationPeriodInDays", "tags", "tagsAll", "xksKeyId"]] = ...,
    ) -> CustomResource[KeyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:s3/bucket:Bucket"],
        name: str,
        inputs: Bucket,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["accelerationStatus", "acl", "arn", "bucket", "bucketDomainName", "bucketNamespace", "bucketPrefix", "bucketRegion", "bucketRegionalDomainName", "corsRules", "forceDestroy", "grants", "hostedZoneId", "lifecycleRules", "logging", "objectLockConfiguration", "objectLockEnabled", "policy", "region", "replicationConfiguration", "requestPayer", "serverSideEncryptionConfiguration", "tags", "tagsAll", "versioning", "website", "websiteDomain", "websiteEndpoint"]] = ...,
    ) -> CustomResource[BucketOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"],
        name: str,
        inputs: BucketLifecycleConfiguration,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bucket", "expectedBucketOwner", "region", "rules", "timeouts", "transitionDefaultMinimumObjectSize"]] = ...,
    ) -> CustomResource[BucketLifecycleConfigurationOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:s3/bucketPolicy:BucketPolicy"],
        name: str,
        inputs: BucketPolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bucket", "policy", "region"]] = ...,
    ) -> CustomResource[BucketPolicyOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"],
        name: str,
        inputs: BucketPublicAccessBlock,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["blockPublicAcls", "blockPublicPolicy", "bucket", "ignorePublicAcls", "region", "restrictPublicBuckets", "skipDestroy"]] = ...,
    ) -> CustomResource[BucketPublicAccessBlockOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:s3/bucketVersioning:BucketVersioning"],
        name: str,
        inputs: BucketVersioning,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["bucket", "expectedBucketOwner", "mfa", "region", "versioningConfiguration"]] = ...,
    ) -> CustomResource[BucketVersioningOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:sqs/queue:Queue"],
        name: str,
        inputs: Queue,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["arn", "contentBasedDeduplication", "deduplicationScope", "delaySeconds", "fifoQueue", "fifoThroughputLimit", "kmsDataKeyReusePeriodSeconds", "kmsMasterKeyId", "maxMessageSize", "messageRetentionSeconds", "name", "namePrefix", "policy", "receiveWaitTimeSeconds", "redriveAllowPolicy", "redrivePolicy", "region", "sqsManagedSseEnabled", "tags", "tagsAll", "url", "visibilityTimeoutSeconds"]] = ...,
    ) -> CustomResource[QueueOutputs]: ...

    @overload
    def __call__(
        self,
        token: Literal["aws:sqs/queuePolicy:QueuePolicy"],
        name: str,
        inputs: QueuePolicy,
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal["policy", "queueUrl", "region"]] = ...,
    ) -> CustomResource[QueuePolicyOutputs]: ...
