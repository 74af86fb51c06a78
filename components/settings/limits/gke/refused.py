"""What a stack on GKE does not support, and how it writes names and IDs: one row each."""

from __future__ import annotations

import re
from typing import Final

from components.settings.fields.answers import Form, Refused
from facts.catalog.gke.networks import EXISTING_NETWORK, PROJECT

REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        keys=("gpuPools.driverVersion",),
        value="latest",
        together={"image": "ubuntu"},
        message="GKE installs the latest driver on Container-Optimized OS only",
        remedy="Write driverVersion: default, or image: cos",
    ),
    # A container beside Google's installer partitions GPUs, and without it a node offers none:
    # https://github.com/GoogleCloudPlatform/container-engine-accelerators/blob/master/nvidia-driver-installer/cos/daemonset-preloaded.yaml
    Refused(
        keys=("gpuPools.mig",),
        together={"drivers": "daemonset"},
        message="the DaemonSet installs the driver and partitions no GPU",
        remedy="Write drivers: managed (GKE then partitions them, too), or leave mig out",
    ),
    # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
    Refused(
        keys=("gpuPools.fabric",),
        together={"network.dataplane": "legacy"},
        message="GKE offers the devices with dataplane v2 alone",
        remedy="Leave network.dataplane out",
    ),
    Refused(
        keys=("gpuPools.imageStreaming",),
        together={"image": "ubuntu"},
        message="GKE streams images on Container-Optimized OS only",
        remedy="Write image: cos, or leave imageStreaming out",
    ),
    # Google decides how its autoscaler chooses a pool and how long it waits; users choose a profile:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#autoscaling_profiles
    Refused(
        keys=("autoscaling.unneededMinutes", "cpuPools.unneededMinutes"),
        message="the pinned Google Cloud provider has no input for this (the API has NodeConfig.consolidationDelay)",
        remedy="Leave it out; autoscaling.profile controls how soon idle nodes are removed",
    ),
    Refused(
        keys=("gpuPools.unneededMinutes",),
        together={"computeClass": False},
        message="the pinned Google Cloud provider has no input for this (the API has NodeConfig.consolidationDelay)",
        remedy="Leave it out; autoscaling.profile controls how soon idle nodes are removed. Or write computeClass: "
        "true",
    ),
    # https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#master_ipv4_cidr_block
    Refused(
        keys=("network.controlPlaneCidr",),
        within=(28, 28),
        message="{value} has prefix {prefix}, but GKE needs /28",
        remedy="Write a range with prefix /28, or leave it out to let GKE choose",
    ),
    Refused(
        keys=("existingCluster.nodeClass",),
        message="node classes are Karpenter's, which GKE's pools do not need",
        remedy="Leave it out",
    ),
    Refused(
        keys=("existingCluster.subnets", "existingCluster.securityGroups"),
        message="GKE's nodes are in the cluster's own subnet, and have no security groups",
        remedy="Leave it out",
    ),
    Refused(
        keys=("existingCluster.resourceGroup",),
        message="clusters of GKE are in a project, without groups",
        remedy="Leave it out; gcp:project is the project",
    ),
    Refused(
        keys=("network.privateEndpoint",),
        together={"network.dnsEndpoint": False, "network.existing": None},
        message="the control plane would be reachable only from the network that this stack creates, so the program "
        "itself could not create objects in the cluster",
        remedy="Add dnsEndpoint: true, which is reachable from anywhere with IAM. Or write privateEndpoint: false "
        "and your address in authorizedNetworks",
    ),
    # https://cloud.google.com/nat/docs/overview
    Refused(
        keys=("network.nat",),
        message="Cloud NAT is a regional service: one gateway serves all zones",
        remedy="Leave it out",
    ),
    # Names as in https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc
    Refused(
        keys=("network.existing.podRange",),
        value=None,
        present=("network.existing",),
        message="missing: pods need a secondary range of the subnet",
        remedy="Write for example podRange: pods",
    ),
    Refused(
        keys=("network.existing.serviceRange",),
        value=None,
        present=("network.existing",),
        message="missing: services need a secondary range of the subnet",
        remedy="Write for example serviceRange: services",
    ),
    Refused(
        keys=("network.existing.privateDnsZone",),
        message="on this cloud the control plane's name needs no zone",
        remedy="Leave it out",
    ),
    Refused(
        keys=("security.dataKey",),
        together={"workloads.registry": None, "workloads.checkpoints": None},
        message="nothing to encrypt: the stack has neither a registry nor checkpoints",
        remedy="Leave it out, or set workloads: {registry: {}, checkpoints: {}}",
    ),
    # https://docs.cloud.google.com/filestore/docs/cmek#supported_tiers
    Refused(
        keys=("workloads.sharedVolume",),
        present=("security.dataKey",),
        message="Filestore's basic tier, which the program uses, cannot be encrypted with security.dataKey",
        remedy="Leave one of the two out, or mount a Filestore instance of the zonal tier with your own "
        "PersistentVolume",
    ),
    Refused(
        keys=("security.controlPlaneIdentity",),
        message="Google's own service agent runs GKE's control plane",
        remedy="Leave it out; nodeIdentity is for the nodes",
    ),
    Refused(
        keys=("security.permissionsBoundary", "security.rolePath"),
        message="GKE has no such setting for identities",
        remedy="Leave it out; use the organisation's deny policies to limit permissions",
    ),
    Refused(
        keys=("addonVersions",),
        message="GKE chooses the versions of its add-ons itself",
        remedy="Leave it out",
    ),
)

FORMS: Final[tuple[Form, ...]] = (
    Form(
        keys=("security.kmsKey", "security.diskKey", "security.dataKey"),
        # https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings/create (keyRingId)
        written=re.compile(
            rf"(?a)projects/{PROJECT}/locations/(?P<region>[a-z0-9-]+)/keyRings/[-\w]{{1,63}}/cryptoKeys/[-\w]{{1,63}}"
        ),
        is_not="the full name of a Cloud KMS key",
        remedy="Write projects/<project>/locations/{region}/keyRings/<ring>/cryptoKeys/<key>",
        elsewhere="Use a key of a key ring in {region}",
    ),
    # Not the project's default accounts, which may change the project: docs/policies.md#node-identity
    Form(
        keys=("security.nodeIdentity",),
        written=re.compile(r"[a-z0-9-]{6,30}@[a-z0-9.:-]+\.iam\.gserviceaccount\.com"),
        is_not="the e-mail address of a service account for nodes alone, whose name has 6 to 30 characters",
        remedy="Write for example gpu-nodes@my-project.iam.gserviceaccount.com",
    ),
    # "default" is the project's Compute Engine account:
    # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/NodeConfig
    Form(
        keys=("existingCluster.nodeIdentity",),
        written=re.compile(r"default|[^\s/@]+@[a-z0-9.:-]+\.gserviceaccount\.com"),
        is_not="the e-mail address of a service account",
        remedy="Write for example gpu-nodes@my-project.iam.gserviceaccount.com",
    ),
    # https://cloud.google.com/compute/docs/regions-zones
    Form(
        keys=("existingCluster.location",),
        written=re.compile(r"(?P<region>[a-z]+-[a-z]+\d+)(-[a-z])?"),
        is_not="a region or zone",
        remedy="Write the location that the cloud lists, in {region}",
        elsewhere="Write {region}",
    ),
    # https://cloud.google.com/iam/docs/principal-identifiers: those with a user or group name in the cluster. Of a
    # workforce pool, users and groups alone: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/oidc
    Form(
        keys=("access[].who",),
        written=re.compile(
            r"(user|group|serviceAccount):[^@\s:]+@[^@\s:]+\.[^@\s:]+"
            r"|principal://iam\.googleapis\.com/locations/global/workforcePools/[a-z0-9-]+/subject/\S+"
            r"|principalSet://iam\.googleapis\.com/locations/global/workforcePools/[a-z0-9-]+/group/\S+"
        ),
        is_not="an IAM member with a name in the cluster",
        remedy="Write for example group:research@example.com, user:ann@example.com, "
        "serviceAccount:ci@my-project.iam.gserviceaccount.com or, of a workforce pool, "
        "principal://iam.googleapis.com/locations/global/workforcePools/<pool>/subject/<user> or "
        "principalSet://iam.googleapis.com/locations/global/workforcePools/<pool>/group/<group>; of a workload pool, "
        "the service account that its identities impersonate",
    ),
    Form(
        keys=("network.existing.network",),
        written=EXISTING_NETWORK,
        is_not="a VPC network",
        remedy="Write its name, or projects/<host project>/global/networks/<name> for a Shared VPC",
    ),
    # https://cloud.google.com/storage/docs/buckets#naming
    Form(
        keys=("identities[].read", "identities[].write"),
        written=re.compile(r"(?!goog)(?!.*google)[a-z0-9][-_.a-z0-9]{1,61}[a-z0-9]"),
        is_not="a valid bucket name",
        remedy="Write for example my-datasets",
    ),
    # https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/create
    Form(
        keys=("identities[].secrets",),
        written=re.compile(r"(?a)[-\w]{1,255}"),
        is_not="a valid secret name",
        remedy="Write for example wandb-key",
    ),
)
