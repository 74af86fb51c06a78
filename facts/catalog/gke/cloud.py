"""Google Kubernetes Engine in the catalogue. Its tables in ``data`` say where they come from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from facts.catalog.account import CloudAccount, CredentialPlugin
from facts.catalog.choices import Choices
from facts.catalog.cloud import CloudCatalog
from facts.catalog.gke.machines import GkeMachines, is_custom
from facts.catalog.gke.networks import NAME, PROJECT
from facts.catalog.gke.nodes import allocatable, confidential_mib, disk_mib, streaming_mib, system_replicas
from facts.catalog.gke.quotas import quotas
from facts.catalog.gke.rights import needed
from facts.catalog.labels import Labels
from facts.catalog.model import Price
from facts.catalog.nodes import CloudNodes, system_pods
from facts.catalog.prices import Prices, fees
from facts.catalog.raw import raw_inputs
from facts.catalog.tags import RegistryName
from facts.concepts.parts import Fabric

_FEES: Final = fees("gke")
# E2, N1 and N2 in https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/gce/gce_price_info.go
_CUSTOM_PREMIUM: Final = 1.05


def nat_price(nodes: int, gateways: int) -> Price:
    """Cloud NAT for ``nodes`` nodes with one address, without traffic; above 32 nodes the price no longer grows.

    One gateway serves all zones, however many are asked for.
    """
    gateway = _FEES["nat per node"].usd * nodes if nodes <= 32 else _FEES["nat above 32 nodes"].usd
    return replace(_FEES["address"], usd=gateway + _FEES["address"].usd)


CATALOG: Final = CloudCatalog(
    name="gke",
    account=CloudAccount(
        key="gcp:project",
        example="my-project",
        # 6 to 30 characters, older ones behind a domain: https://docs.cloud.google.com/resource-manager/docs/creating-managing-projects
        form=re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"),
        placeholders=("my-gcp-project",),
        # Without the argument it takes the account of `gcloud auth login`, which may be another one or none:
        # https://github.com/kubernetes/cloud-provider-gcp/blob/master/cmd/gke-gcloud-auth-plugin/cred.go
        credential_plugin=CredentialPlugin(
            command="gke-gcloud-auth-plugin",
            arguments="--use_application_default_credentials",
            otherwise="gcloud has no active account here (gcloud auth login), only application-default credentials",
            logged_in=True,
        ),
        people=(
            "group:research@example.com",
            "user:ann@example.com",
            "serviceAccount:ci@my-project.iam.gserviceaccount.com",
        ),
        # https://cloud.google.com/artifact-registry/docs/repositories/repo-overview; those of Container Registry:
        # https://cloud.google.com/artifact-registry/docs/transition/setup-gcr-repo
        registry_name=RegistryName(
            written=re.compile(
                rf"projects/(?P<project>{PROJECT})/locations/(?P<location>[a-z0-9-]+)/repositories/"
                rf"(?P<repository>{NAME}|(?:[a-z]+\.)?gcr\.io)"
            ),
            example="projects/<project>/locations/<location>/repositories/<repository>",
        ),
        quotas=quotas,
        quota_page="https://console.cloud.google.com/iam-admin/quotas",
        rights=needed,
    ),
    machines=GkeMachines(
        cloud="gke",
        default_admin="e2-custom-2-10240",
        default_cpu="e2-standard-4",
    ),
    prices=Prices(
        cloud="gke",
        reference_region="us-central1",
        control_plane=_FEES["control plane"],
        extended_support=_FEES["extended support"],
        nat=nat_price,
        volume=_FEES["volume"],
        billed_vcpus={"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0},
        premium=lambda type: _CUSTOM_PREMIUM if is_custom(type) else 1.0,
    ),
    nodes=CloudNodes(
        cloud="gke",
        images=("cos", "ubuntu"),
        allocatable=allocatable,
        streaming_mib=streaming_mib,
        confidential_mib=confidential_mib,
        disk_mib=disk_mib,
        # A /24 at the default of 110 pods per node: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr
        pod_addresses=256,
        system_pods=system_pods("gke", "node", "cluster"),
        gpu_node_pods=system_pods("gke", "gpu-node"),
        volume_pods=system_pods("gke", "volume-node"),
        system_replicas=system_replicas,
        # Of 30 s the last 15 are for system pods; a pod's longer grace period has no effect:
        # https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
        spot_notice_seconds=15,
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
        fabric=Fabric(devices=0, resource="mrdma.google.com", claimed=True),
        # https://catalog.ngc.nvidia.com/orgs/nvidia/containers/pytorch; RDMA over Ethernet is NCCL's network IB, too.
        fabric_image="nvcr.io/nvidia/pytorch:25.09-py3",
        fabric_network="IB",
    ),
    labels=Labels(
        cloud="gke",
        fabric={"cloud.google.com/gke-networking-dra-driver": "true"},
        accelerated=("cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator"),
        # "scale-from-0 scenarios": pkg/cloudprovider/gke/dynamicresources/predictor.go and gpu.go in
        # https://github.com/GoogleCloudPlatform/cluster-autoscaler (2026-08-21), as in
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra
        gpu_claims={"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"},
    ),
    choices=Choices(
        cloud="gke",
        autoscalers=("managed",),
        channels=("rapid", "regular", "stable", "extended"),
        unsupported_capacity={
            # https://cloud.google.com/compute/docs/instances/future-reservations-overview
            "capacity-block": "Google sells machines for some days as reservations, by name: write reserved",
        },
        location_policies=("any", "balanced"),
        dataplanes=("v2", "legacy"),
        gpu_metrics=True,
        default_ranges={"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"},
        # Network, gateway, second-to-last and broadcast:
        # https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
        reserved_addresses=4,
        joins_clusters=("managed",),
        existing_network="projects/<host project>/global/networks/<name>",
        # GKE's own error says so: https://github.com/pulumi/pulumi-gcp/issues/1510
        max_name_length=40,
        # Of tier BASIC_HDD: https://cloud.google.com/filestore/docs/service-tiers
        volume_gib=(1024, 65433),
        raw=raw_inputs(
            "gke",
            cluster="gcp:container/cluster:Cluster",
            pool="gcp:container/nodePool:NodePool",
        ),
    ),
    # https://docs.cloud.google.com/sdk/gcloud/reference/storage/cp
    copy_command="gcloud storage cp --recursive {url} .",
    # The program's clusters send the logs of workloads: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/view-logs
    log_command=(
        """gcloud logging read --project {project} """
        """'resource.type="k8s_container" resource.labels.cluster_name="{cluster}" """
        """resource.labels.namespace_name="{namespace}" resource.labels.pod_name=~"{pods}"' """
        "--freshness 30d --order asc --format 'value(textPayload,jsonPayload)'"
    ),
)
