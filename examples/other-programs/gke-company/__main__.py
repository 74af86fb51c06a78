"""A regional GKE Standard cluster of a platform team: CPU nodes, a GPU pool of its own, and the company's workloads.

It knows nothing of this project.
"""

import pathlib
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

config = pulumi.Config()
region, zones = config.require("region"), config.require_object("zones")

network = gcp.compute.Network("company", auto_create_subnetworks=False)
subnet = gcp.compute.Subnetwork(
    "company", network=network.id, region=region, ip_cidr_range="10.40.0.0/20", private_ip_google_access=True
)
router = gcp.compute.Router("company", network=network.id, region=region)
gcp.compute.RouterNat(
    "company",
    router=router.name,
    region=region,
    nat_ip_allocate_option="AUTO_ONLY",
    source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
)
account = gcp.serviceaccount.Account("nodes", account_id="platform-nodes")
gcp.projects.IAMMember(
    "nodes",
    project=gcp.config.project,
    role="roles/container.defaultNodeServiceAccount",
    member=account.email.apply(lambda email: f"serviceAccount:{email}"),
)

cluster = gcp.container.Cluster(
    "company",
    name=config.require("name"),
    location=region,
    node_locations=zones,
    network=network.id,
    subnetwork=subnet.id,
    remove_default_node_pool=True,
    initial_node_count=1,
    ip_allocation_policy={},
    private_cluster_config={"enable_private_nodes": True, "master_ipv4_cidr_block": "172.16.8.0/28"},
    master_authorized_networks_config={
        "cidr_blocks": [{"cidr_block": "203.0.113.0/24", "display_name": "office"}],
        "gcp_public_cidrs_access_enabled": False,
    },
    workload_identity_config={"workload_pool": f"{gcp.config.project}.svc.id.goog"},
    resource_labels={"team": "platform"},
    deletion_protection=False,
)


def pool(name: str, autoscaling: Any, **config: Any) -> gcp.container.NodePool:
    """Nodes of the company's service account."""
    own = {"service_account": account.email, "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
    nodes: Any = {**own, "workload_metadata_config": {"mode": "GKE_METADATA"}, **config}
    return gcp.container.NodePool(
        name,
        name=name,
        cluster=cluster.id,
        initial_node_count=autoscaling.get("min_node_count", 1),
        autoscaling=autoscaling,
        node_config=nodes,
    )


general = pool(
    "general",
    {"min_node_count": 1, "max_node_count": 3},
    machine_type="e2-standard-8",
    labels={"company.example/tier": "general"},
)
inference = pool(
    "inference",
    {"total_min_node_count": 1, "total_max_node_count": 2, "location_policy": "ANY"},
    machine_type="g2-standard-8",
    labels={"company.example/tier": "inference"},
    guest_accelerators=[
        {"type": "nvidia-l4", "count": 1, "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"}}
    ],
)


def kubeconfig(endpoint: str, authority: str) -> str:
    """As `gcloud container clusters get-credentials` writes it."""
    return f"""
apiVersion: v1
kind: Config
clusters: [{{name: company, cluster: {{server: "https://{endpoint}", certificate-authority-data: {authority}}}}}]
contexts: [{{name: company, context: {{cluster: company, user: company}}}}]
current-context: company
users:
- name: company
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      provideClusterInfo: true
"""


access = pulumi.Output.all(cluster.endpoint, cluster.master_auth.cluster_ca_certificate)
provider = k8s.Provider("company", kubeconfig=access.apply(lambda each: kubeconfig(*each)))
k8s.yaml.ConfigFile(
    "company",
    str(pathlib.Path(__file__).with_name("company.yaml")),
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[general, inference]),
)
pulumi.export("cluster", cluster.name)
