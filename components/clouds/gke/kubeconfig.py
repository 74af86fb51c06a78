"""How people and the Kubernetes provider reach the cluster: Google's credential plugin, no token, no client key."""

from __future__ import annotations

from concepts.kubeconfig import kubeconfig as document


def kubeconfig(context: str, endpoint: str, ca_pem_base64: str) -> str:
    """A kubeconfig, as JSON (which is YAML); ``endpoint`` is a host, with a port if it is not 443.

    https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl
    """
    cluster = {"server": f"https://{endpoint}", "certificate-authority-data": ca_pem_base64}
    credential_plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "installHint": "Install it: gcloud components install gke-gcloud-auth-plugin",
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
    }
    return document(context, cluster, {"exec": credential_plugin})
