"""A GKE cluster in the project's default network, and a pool of T4 GPUs; as in
https://github.com/pulumi/examples/tree/master/gcp-py-gke."""

import pulumi
import pulumi_gcp as gcp

cluster = gcp.container.Cluster("ml", initial_node_count=1, deletion_protection=False)
gcp.container.NodePool(
    "t4",
    cluster=cluster.name,
    location=cluster.location,
    initial_node_count=0,
    autoscaling={"min_node_count": 0, "max_node_count": 2},
    node_config={
        "machine_type": "n1-standard-4",
        "guest_accelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
)
pulumi.export("cluster", cluster.name)
