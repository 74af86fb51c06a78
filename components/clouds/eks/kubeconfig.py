"""How people and the Kubernetes provider reach the cluster: a token of the AWS command line, no key in the file."""

from __future__ import annotations

from concepts.kubeconfig import kubeconfig as document


def kubeconfig(cluster_name: str, region: str, endpoint: str, ca_pem_base64: str) -> str:
    """A kubeconfig, as JSON (which is YAML); ``endpoint`` is a URL.

    https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
    """
    context = f"eks_{region}_{cluster_name}"
    cluster = {"server": endpoint, "certificate-authority-data": ca_pem_base64}
    credential_plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [
            *("eks", "get-token"),
            *("--cluster-name", cluster_name),
            *("--region", region),
            *("--output", "json"),
        ],
        "installHint": "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/",
        "interactiveMode": "IfAvailable",
    }
    return document(context, cluster, {"exec": credential_plugin})
