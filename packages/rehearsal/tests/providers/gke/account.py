"""A driver of the simulated Google Cloud provider: the engine's calls in the engine's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Step
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.gke import GcpProvider

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
ADDRESS = "gcp:compute/address:Address"
ACCOUNT = "gcp:serviceaccount/account:Account"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"

PROJECT = "demo-project"
ZONE = "us-central1-a"
REPOSITORY_MEMBER = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"
KEY_MEMBER = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
SERVICE = "gcp:projects/service:Service"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
FILES = "gcp:filestore/instance:Instance"
SECRET_MEMBER = "gcp:secretmanager/secretIamMember:SecretIamMember"


class Google(Account):
    """A project in Google Cloud."""

    provider_type = GcpProvider
    settings: ClassVar[dict[str, str]] = {"project": PROJECT, "region": "us-central1"}
    missing = "Error 404: "
    in_use = "resourceInUseByAnotherResource"
    setting = "project"

    @classmethod
    @override
    def steps(cls) -> Sequence[Step]:
        return STEPS

    def network(self) -> tuple[Created, Created]:
        """A custom network with one subnetwork and the ranges of a cluster."""
        network = self.create(NETWORK, {"name": "net", "autoCreateSubnetworks": False})
        return network, self.create(SUBNETWORK, subnetwork(network=network.state["selfLink"]))

    def cluster(self, **changes: Any) -> Created:
        """A zonal cluster in a network of its own, without a default pool."""
        network, subnet = self.network()
        return self.create(CLUSTER, cluster(network=network.id, subnetwork=subnet.id, **changes))


def subnetwork(**changes: Any) -> Properties:
    return {
        "name": "sub",
        "network": "net",
        "ipCidrRange": "10.0.0.0/20",
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
            {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
        ],
        "privateIpGoogleAccess": True,
        **changes,
    }


def cluster(**changes: Any) -> Properties:
    return {
        "name": "gpu-dev",
        "location": ZONE,
        "network": "net",
        "subnetwork": "sub",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        "privateClusterConfig": {"enablePrivateNodes": True, "masterIpv4CidrBlock": "172.16.0.0/28"},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "deletionProtection": False,
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
        **changes,
    }


def cpu_pool(**changes: Any) -> Properties:
    return {
        "name": "admin",
        "cluster": CLUSTER_ID,
        "nodeCount": 1,
        "nodeConfig": {"machineType": "e2-standard-2"},
        **changes,
    }


def gpu_pool(**changes: Any) -> Properties:
    """A pool of T4 nodes that starts at zero; ``nodeConfig`` in ``changes`` is merged, not replaced."""
    config = {
        "machineType": "n1-standard-4",
        "spot": True,
        "imageType": "COS_CONTAINERD",
        "guestAccelerators": [gpu("nvidia-tesla-t4", 1, "DEFAULT")],
        "labels": {"team": "vision"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        **changes.pop("nodeConfig", {}),
    }
    scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"}
    return {"name": "t4-1", "cluster": CLUSTER_ID, "autoscaling": scaling, "nodeConfig": config, **changes}


def gpu(type: str, count: int, driver: str | None = None, **more: Any) -> Properties:
    accelerator: Properties = {"type": type, "count": count, **more}
    if driver:
        accelerator["gpuDriverInstallationConfig"] = {"gpuDriverVersion": driver}
    return accelerator


CLUSTER_ID = f"projects/{PROJECT}/locations/{ZONE}/clusters/gpu-dev"


def nat(**changes: Any) -> Properties:
    return {
        "name": "nat",
        "router": "router",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{"name": "sub", "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
        **changes,
    }


def files(size: int = 1024, **changes: Any) -> Properties:
    return {
        "name": "gpu-dev-shared",
        "location": ZONE,
        "tier": "BASIC_HDD",
        "fileShares": {"name": "shared", "capacityGb": size},
        "networks": [{"network": "net", "modes": ["MODE_IPV4"], "connectMode": "DIRECT_PEERING"}],
        **changes,
    }


_FIREWALL: Properties = {"name": "ssh", "network": "net", "allows": [{"protocol": "tcp", "ports": ["22"]}]}
_ACCOUNT: Properties = {"accountId": "gpu-dev-nodes"}
_GRANT: Properties = {
    "role": "roles/viewer",
    "member": f"serviceAccount:gpu-dev-nodes@{PROJECT}.iam.gserviceaccount.com",
}
_OTHER_ROLE: Properties = {**_GRANT, "role": "roles/editor"}
_ON_PROJECT: Properties = {"project": PROJECT}
_ON_KEY: Properties = {"cryptoKeyId": f"projects/{PROJECT}/locations/global/keyRings/r/cryptoKeys/k"}
_ON_REPOSITORY: Properties = {"repository": "images"}
_ON_BUCKET: Properties = {"bucket": "gpu-dev-checkpoints"}
_ON_SECRET: Properties = {"secretId": "token"}
_IMAGES: Properties = {"repositoryId": "images", "format": "DOCKER"}
_BUCKET: Properties = {"name": "gpu-dev-checkpoints", "location": "US-CENTRAL1"}

STEPS = (
    Step(
        NETWORK,
        {"name": "net", "autoCreateSubnetworks": False},
        {"name": "net", "autoCreateSubnetworks": False, "mtu": 1500},
        {"name": "net", "autoCreateSubnetworks": True},
    ),
    Step(
        SUBNETWORK,
        subnetwork(),
        subnetwork(privateIpv6GoogleAccess="DISABLE_GOOGLE_ACCESS"),
        subnetwork(network="other"),
    ),
    Step(
        ROUTER,
        {"name": "router", "network": "net"},
        {"name": "router", "network": "net", "description": "d"},
        {"name": "router", "network": "other"},
    ),
    Step(NAT, nat(), nat(minPortsPerVm=64), nat(router="other")),
    Step(FIREWALL, _FIREWALL, {**_FIREWALL, "priority": 900}, {**_FIREWALL, "name": "other"}),
    Step(ADDRESS, {"name": "a"}, {"name": "a", "labels": {"team": "vision"}}, {"name": "b"}),
    Step(ACCOUNT, _ACCOUNT, {**_ACCOUNT, "displayName": "Nodes"}, {"accountId": "gpu-dev-others"}),
    Step(PROJECT_MEMBER, {**_ON_PROJECT, **_GRANT}, None, {**_ON_PROJECT, **_OTHER_ROLE}),
    Step(KEY_MEMBER, {**_ON_KEY, **_GRANT}, None, {**_ON_KEY, **_OTHER_ROLE}),
    Step(REPOSITORY, _IMAGES, {**_IMAGES, "description": "d"}, {**_IMAGES, "format": "PYTHON"}),
    Step(REPOSITORY_MEMBER, {**_ON_REPOSITORY, **_GRANT}, None, {**_ON_REPOSITORY, **_OTHER_ROLE}),
    Step(BUCKET_MEMBER, {**_ON_BUCKET, **_GRANT}, None, {**_ON_BUCKET, **_OTHER_ROLE}),
    Step(SECRET_MEMBER, {**_ON_SECRET, **_GRANT}, None, {**_ON_SECRET, **_OTHER_ROLE}),
    Step(BUCKET, _BUCKET, {**_BUCKET, "versioning": {"enabled": True}}, {**_BUCKET, "location": "EU"}),
    Step(FILES, files(), files(labels={"team": "vision"}), files(tier="BASIC_SSD", size=2560)),
    Step(
        SERVICE,
        {"service": "container.googleapis.com"},
        {"service": "container.googleapis.com", "disableOnDestroy": True},
        {"service": "compute.googleapis.com"},
    ),
    Step(CLUSTER, cluster(), cluster(resourceLabels={"team": "vision"}), cluster(name="other")),
    Step(POOL, gpu_pool(), gpu_pool(nodeConfig={"labels": {"team": "text"}}), gpu_pool(nodeConfig={"spot": False})),
)
