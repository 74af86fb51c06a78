"""A zonal GKE cluster with a small CPU pool and a pool of L4 GPUs that GKE's autoscaler scales from zero."""

from typing import Any

import pulumi
import pulumi_gcp as gcp

config = pulumi.Config()
zone = config.require("zone")
max_gpu_nodes = config.get_int("maxGpuNodes") or 4

network = gcp.compute.Network("ml", auto_create_subnetworks=False)
subnet = gcp.compute.Subnetwork("ml", network=network.id, ip_cidr_range="10.10.0.0/20", private_ip_google_access=True)
router = gcp.compute.Router("ml", network=network.id)
gcp.compute.RouterNat(
    "ml",
    router=router.name,
    nat_ip_allocate_option="AUTO_ONLY",
    source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
)

nodes = gcp.serviceaccount.Account("nodes", account_id="ml-nodes")
gcp.projects.IAMMember(
    "nodes",
    project=gcp.config.project,
    role="roles/container.defaultNodeServiceAccount",
    member=nodes.email.apply(lambda email: f"serviceAccount:{email}"),
)


def node_config(**more: Any) -> dict[str, Any]:
    """What every node has, and more."""
    return {
        "service_account": nodes.email,
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        **more,
    }


cluster = gcp.container.Cluster(
    "ml",
    location=zone,
    network=network.id,
    subnetwork=subnet.id,
    remove_default_node_pool=True,
    initial_node_count=1,
    node_config=node_config(),
    networking_mode="VPC_NATIVE",
    ip_allocation_policy={},
    private_cluster_config={"enable_private_nodes": True, "master_ipv4_cidr_block": "172.16.0.0/28"},
    master_authorized_networks_config={"cidr_blocks": [{"cidr_block": config.require("office")}]},
    datapath_provider="ADVANCED_DATAPATH",
    release_channel={"channel": "REGULAR"},
    workload_identity_config={"workload_pool": f"{gcp.config.project}.svc.id.goog"},
    deletion_protection=False,
)

gcp.container.NodePool(
    "cpu",
    cluster=cluster.id,
    node_count=1,
    node_config=node_config(machine_type="e2-standard-4"),
)

gcp.container.NodePool(
    "l4",
    cluster=cluster.id,
    initial_node_count=0,
    autoscaling={"total_min_node_count": 0, "total_max_node_count": max_gpu_nodes, "location_policy": "ANY"},
    node_config=node_config(
        machine_type="g2-standard-8",
        spot=True,
        guest_accelerators=[
            {
                "type": "nvidia-l4",
                "count": 1,
                "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
            }
        ],
        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    ),
)

# Not part of what a rehearsal simulates: it is named in the verdict.
topic = gcp.pubsub.Topic("jobs", labels={"team": "ml"})

pulumi.export("cluster", cluster.name)
pulumi.export("topic", topic.id)
