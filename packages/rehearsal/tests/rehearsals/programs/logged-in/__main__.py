"""The same, and an object in the cluster by the kubeconfig of somebody who is logged in with gcloud; as in
https://github.com/pulumi/templates/tree/master/kubernetes-gcp-python."""

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

cluster = gcp.container.Cluster("ml", initial_node_count=1, network="default", deletion_protection=False)
gcp.container.NodePool(
    "l4",
    cluster=cluster.name,
    location=cluster.location,
    initial_node_count=0,
    autoscaling={"min_node_count": 0, "max_node_count": 2},
    node_config={
        "machine_type": "g2-standard-4",
        "guest_accelerators": [{"type": "nvidia-l4", "count": 1}],
        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
)


def kubeconfig(endpoint: str, authority: str) -> str:
    """For kubectl; its user is the account of `gcloud auth login`."""
    return f"""
apiVersion: v1
kind: Config
clusters: [{{name: ml, cluster: {{server: "https://{endpoint}", certificate-authority-data: {authority}}}}}]
contexts: [{{name: ml, context: {{cluster: ml, user: ml}}}}]
current-context: ml
users:
- name: ml
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      provideClusterInfo: true
"""


access = pulumi.Output.all(cluster.endpoint, cluster.master_auth.cluster_ca_certificate)
provider = k8s.Provider("ml", kubeconfig=access.apply(lambda each: kubeconfig(*each)))
k8s.core.v1.Namespace("research", opts=pulumi.ResourceOptions(provider=provider, depends_on=[cluster]))
