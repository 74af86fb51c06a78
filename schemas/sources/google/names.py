"""Where Google's API has an input of pulumi-gcp under another name or at another place, or not at all.

The provider's inputs are Terraform-shaped. Most are called what the API calls them; the tables list only the
differences, per API object. An input that neither a table nor the API knows stops the generator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class To:
    """Sent as the field at ``path`` (dotted, below the object that the input belongs to)."""

    path: str


@dataclass(frozen=True)
class Local:
    """Read by the provider itself (part of the address, an option, an output), never part of the request.

    ``values`` are those it may have, where it is an enum.
    """

    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefusedInput:
    """An input that the rehearsal does not simulate; ``reason`` says why, or what to write instead."""

    reason: str


Rule = To | Local | RefusedInput
Table = Mapping[str, Mapping[str, Rule]]
"""API object (schema name) → input name → what becomes of it."""


@dataclass(frozen=True)
class Request:
    """The request that makes a resource: the discovery document, the schema of its body, and the names that differ."""

    api: str
    schema: str
    table: Table


DELETION_POLICY: Final = Local(("DELETE", "PREVENT", "ABANDON"))
"""https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/tpgresource/utils.go"""

_NODE_CONFIG: Final[Table] = {
    "NodeConfig": {
        "guestAccelerators": To("accelerators"),
        "effectiveTaints": Local(),
        "gpudirectStrategy": To("gpuDirectConfig.gpuDirectStrategy"),
        "loggingVariant": To("loggingConfig.variantConfig.variant"),
        "nodeImageConfigs": To("nodeImageConfig"),
        "resourceManagerTags": To("resourceManagerTags.tags"),
    },
    "AcceleratorConfig": {"count": To("acceleratorCount"), "type": To("acceleratorType")},
    "LinuxNodeConfig": {"hugepagesConfig": To("hugepages")},
    "WindowsNodeConfig": {"osversion": To("osVersion")},
    "NodeKubeletConfig": {
        "insecureKubeletReadonlyPortEnabled": To("insecureKubeletReadonlyPortEnabled"),
    },
    "PrivateRegistryAccessConfig": {"certificateAuthorityDomainConfigs": To("certificateAuthorityDomainConfig")},
    "HostConfig": {"cas": To("ca"), "clients": To("client"), "headers": To("header")},
    "RegistryHeader": {"values": To("value")},
}

_NODE_POOL: Final[Table] = {
    **_NODE_CONFIG,
    "NodePool": {
        "cluster": Local(),
        "deletionPolicy": DELETION_POLICY,
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

_CLUSTER: Final[Table] = {
    **_NODE_POOL,
    "Cluster": {
        "allowNetAdmin": To("autopilot.workloadPolicyConfig.allowNetAdmin"),
        "autopilotClusterPolicyConfig": To("autopilot.clusterPolicyConfig"),
        "autopilotPrivilegedAdmissions": To("autopilot.privilegedAdmissionConfig.allowlistPaths"),
        "clusterAutoscaling": To("autoscaling"),
        "datapathProvider": To("networkConfig.datapathProvider"),
        "dataplaneOptimizationMode": To("networkConfig.dataplaneV2Config.scalabilityMode"),
        "defaultMaxPodsPerNode": To("defaultMaxPodsConstraint.maxPodsPerNode"),
        "defaultSnatStatus": To("networkConfig.defaultSnatStatus"),
        "deletionPolicy": DELETION_POLICY,
        "deletionProtection": Local(),
        "desiredEmulatedVersion": RefusedInput("emulated versions are not simulated; leave it out"),
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
        "additionalIpRangesConfigs": RefusedInput(
            "additional subnetworks of a cluster are not simulated; leave them out"
        ),
    },
    "LoggingConfig": {"enableComponents": To("componentConfig.enableComponents")},
    "MaintenancePolicy": {
        "dailyMaintenanceWindow": To("window.dailyMaintenanceWindow"),
        "maintenanceExclusions": To("window.maintenanceExclusions"),
        "recurringMaintenanceWindow": To("window.recurringMaintenanceWindow"),
        "recurringWindow": To("window.recurringWindow"),
    },
    "TimeWindow": {"exclusionName": Local(), "exclusionOptions": To("maintenanceExclusionOptions")},
    "RecurringTimeWindow": {"startTime": To("window.startTime"), "endTime": To("window.endTime")},
    "MonitoringConfig": {
        "enableComponents": To("componentConfig.enableComponents"),
        "managedPrometheus": To("managedPrometheusConfig"),
    },
    "NodeConfigDefaults": {
        "insecureKubeletReadonlyPortEnabled": To("nodeKubeletConfig.insecureKubeletReadonlyPortEnabled"),
        "loggingVariant": To("loggingConfig.variantConfig.variant"),
    },
    "NodePoolAutoConfig": {
        "linuxNodeConfig": RefusedInput(
            "is set by the server at creation; set it per pool in nodeConfig.linuxNodeConfig"
        ),
        "resourceManagerTags": To("resourceManagerTags.tags"),
    },
    "ResourceUsageExportConfig": {
        "enableResourceConsumptionMetering": To("consumptionMeteringConfig.enabled"),
    },
}

_OPTIONS: Final = {"project": Local(), "deletionPolicy": DELETION_POLICY}


def _compute(schema: str, own: Mapping[str, Rule], **nested: Mapping[str, Rule]) -> Request:
    return Request("compute.v1", schema, {schema: {**_OPTIONS, **own}, **nested})


def _binding(api: str, *address: str) -> Request:
    """A grant is sent as a policy's binding with one member; ``address`` are the inputs that say on what."""
    return Request(api, "Binding", {"Binding": {"member": To("members"), **dict.fromkeys(address, Local())}})


_BUCKET: Final[Table] = {
    "Bucket": {
        "deletionPolicy": DELETION_POLICY,
        "enableObjectRetention": Local(),
        "forceDestroy": Local(),
        "lifecycleRules": To("lifecycle.rule"),
        "location": To("location"),
        "project": Local(),
        "publicAccessPrevention": To("iamConfiguration.publicAccessPrevention"),
        "requesterPays": To("billing.requesterPays"),
        "uniformBucketLevelAccess": To("iamConfiguration.uniformBucketLevelAccess.enabled"),
    },
    "Bucket.cors": {
        "methods": To("method"),
        "origins": To("origin"),
        "responseHeaders": To("responseHeader"),
    },
    "Bucket.ipFilter.publicNetworkSource": {"allowedIpCidrRanges": To("allowedIpCidrRanges")},
    "Bucket.lifecycle.rule.condition": {
        "matchesPrefixes": To("matchesPrefix"),
        "matchesStorageClasses": To("matchesStorageClass"),
        "matchesSuffixes": To("matchesSuffix"),
        "sendAgeIfZero": Local(),
        "sendDaysSinceCustomTimeIfZero": Local(),
        "sendDaysSinceNoncurrentTimeIfZero": Local(),
        "sendNumNewerVersionsIfZero": Local(),
        "withState": Local(("LIVE", "ARCHIVED", "ANY", "")),
    },
}

REQUESTS: Final[Mapping[str, Request]] = {
    "gcp:artifactregistry/repository:Repository": Request(
        "artifactregistry.v1",
        "Repository",
        {"Repository": {**_OPTIONS, "location": Local(), "repositoryId": Local()}},
    ),
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": _binding(
        "artifactregistry.v1", "project", "location", "repository"
    ),
    "gcp:compute/address:Address": _compute("Address", {"region": Local()}),
    "gcp:compute/firewall:Firewall": _compute(
        "Firewall",
        {"allows": To("allowed"), "denies": To("denied"), "enableLogging": To("logConfig.enable")},
        **{"Firewall.allowed": {"protocol": To("IPProtocol")}, "Firewall.denied": {"protocol": To("IPProtocol")}},
    ),
    "gcp:compute/network:Network": _compute(
        "Network",
        {
            "bgpAlwaysCompareMed": To("routingConfig.bgpAlwaysCompareMed"),
            "bgpBestPathSelectionMode": To("routingConfig.bgpBestPathSelectionMode"),
            "bgpInterRegionCost": To("routingConfig.bgpInterRegionCost"),
            "deleteBgpAlwaysCompareMed": Local(),
            "deleteDefaultRoutesOnCreate": RefusedInput("deleting the default routes is not simulated; leave it out"),
            "routingMode": To("routingConfig.routingMode"),
        },
    ),
    "gcp:compute/router:Router": _compute(
        "Router", {"nccGateway": RefusedInput("NCC gateways are not simulated; give a network")}
    ),
    "gcp:compute/routerNat:RouterNat": _compute(
        "RouterNat",
        {
            "router": Local(),
            "region": Local(),
            "initialNatIps": RefusedInput("initial NAT addresses are not simulated; use natIps"),
        },
        RouterNatSubnetworkToNat={"sourceIpRangesToNats": To("sourceIpRangesToNat")},
    ),
    "gcp:compute/subnetwork:Subnetwork": _compute("Subnetwork", {"sendSecondaryIpRangeIfEmpty": Local()}),
    "gcp:container/cluster:Cluster": Request("container.v1beta1", "Cluster", _CLUSTER),
    "gcp:container/nodePool:NodePool": Request("container.v1beta1", "NodePool", _NODE_POOL),
    "gcp:filestore/instance:Instance": Request(
        "file.v1",
        "Instance",
        {
            "Instance": {
                "deletionPolicy": DELETION_POLICY,
                "desiredReplicaState": Local(),
                "initialReplication": RefusedInput("replication is not simulated; leave it out"),
                "location": Local(),
                "name": Local(),
                "project": Local(),
                "zone": RefusedInput("is deprecated; give the zone as location"),
            }
        },
    ),
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": _binding("cloudkms.v1", "cryptoKeyId"),
    "gcp:projects/iAMMember:IAMMember": _binding("cloudresourcemanager.v1", "project"),
    "gcp:projects/service:Service": Request(
        "serviceusage.v1",
        "EnableServiceRequest",
        {
            "EnableServiceRequest": {
                "checkIfServiceHasUsageOnDestroy": Local(),
                "deletionPolicy": DELETION_POLICY,
                "disableDependentServices": Local(),
                "disableOnDestroy": Local(),
                "project": Local(),
                "service": Local(),
            }
        },
    ),
    "gcp:secretmanager/secretIamMember:SecretIamMember": _binding("secretmanager.v1", "project", "secretId"),
    "gcp:storage/bucket:Bucket": Request("storage.v1", "Bucket", _BUCKET),
    "gcp:storage/bucketIAMMember:BucketIAMMember": _binding("cloudresourcemanager.v1", "bucket"),
    "gcp:serviceaccount/account:Account": Request(
        "iam.v1",
        "CreateServiceAccountRequest",
        {
            "CreateServiceAccountRequest": {
                "createIgnoreAlreadyExists": Local(),
                "deletionPolicy": DELETION_POLICY,
                "description": To("serviceAccount.description"),
                "disabled": Local(),
                "displayName": To("serviceAccount.displayName"),
                "project": Local(),
            }
        },
    ),
}
"""Type token → the request."""
