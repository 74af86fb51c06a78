"""What Google's provider would answer: a subnet of the company's network, and a cluster that somebody else made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COMPUTE: Final = "https://www.googleapis.com/compute/v1"
SUBNETWORK: Final[dict[str, Any]] = {
    "ipCidrRange": "10.20.0.0/20",
    "secondaryIpRanges": [
        {"rangeName": "gpu-pods", "ipCidrRange": "10.24.0.0/14"},
        {"rangeName": "gpu-services", "ipCidrRange": "10.28.0.0/20"},
    ],
    "privateIpGoogleAccess": True,
}


def subnetwork(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The subnet of that name, in the network ``company`` of the project that is asked."""
    project = f"{COMPUTE}/projects/{asked['project']}"
    links = {
        "selfLink": f"{project}/regions/{asked['region']}/subnetworks/{asked['name']}",
        "network": f"{project}/global/networks/company",
    }
    return {**links, **SUBNETWORK}


# As `gcloud container clusters create` makes it, in the spelling of the provider's function; of pulumi-cluster.json and
# containercluster-minimal.json of the recordings, but for names and addresses.
RESEARCH: Final[dict[str, Any]] = {
    "name": "research",
    "location": "us-central1-a",
    "endpoint": "203.0.113.10",
    "masterAuths": [{"clusterCaCertificate": "Q0E=", "clientCertificateConfigs": [{"issueClientCertificate": False}]}],
    "masterVersion": "1.34.4-gke.1193000",
    "enableAutopilot": False,
    "enableLegacyAbac": False,
    "enableShieldedNodes": True,
    "privateClusterConfigs": [{"enablePrivateNodes": True, "enablePrivateEndpoint": False}],
    "workloadIdentityConfigs": [{"workloadPool": "my-project.svc.id.goog"}],
    "datapathProvider": "ADVANCED_DATAPATH",
    "clusterAutoscalings": [{"enabled": False, "autoscalingProfile": "BALANCED", "resourceLimits": []}],
    "controlPlaneEndpointsConfigs": [
        {"dnsEndpointConfigs": [{"endpoint": "gke-0123.us-central1.gke.goog", "allowExternalTraffic": False}]}
    ],
    "databaseEncryptions": [{"state": "DECRYPTED", "keyName": ""}],
    "masterAuthorizedNetworksConfigs": [{"cidrBlocks": [{"cidrBlock": "198.51.100.0/24"}]}],
    "networkPolicies": [{"enabled": False, "provider": "PROVIDER_UNSPECIFIED"}],
    "network": "projects/my-project/global/networks/default",
    "subnetwork": "projects/my-project/regions/us-central1/subnetworks/default",
    "nodePools": [
        {
            "name": "default-pool",
            "initialNodeCount": 3,
            "nodeCount": 3,
            "autoscalings": [],
            "nodeLocations": ["us-central1-a"],
            "nodeConfigs": [
                {
                    "machineType": "e2-standard-4",
                    "serviceAccount": "nodes@my-project.iam.gserviceaccount.com",
                    "imageType": "COS_CONTAINERD",
                    "guestAccelerators": [],
                    "effectiveTaints": [],
                    "labels": {},
                    "workloadMetadataConfigs": [{"mode": "GKE_METADATA"}],
                }
            ],
        }
    ],
}
CLUSTERS: Final[list[dict[str, Any]]] = [
    RESEARCH,
    {**RESEARCH, "name": "another"},
    {**RESEARCH, "name": "twice"},
    {**RESEARCH, "name": "twice", "location": "us-central1-b"},
]
"""The clusters of the project; a test may have others."""


def cluster(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster of that name and place, or the provider's error:
    https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/data_source_google_container_cluster.go"""
    for each in CLUSTERS:
        if (each["name"], each["location"]) == (asked["name"], asked["location"]):
            return each
    place = f"projects/{asked['project']}/locations/{asked['location']}"
    raise LookupError(f"{place}/clusters/{asked['name']} not found")


CALLS: Final[dict[str, Any]] = {"gcp:container/getCluster:getCluster": cluster}
