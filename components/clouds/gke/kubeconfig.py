"""The kubeconfig of users and of the Kubernetes provider: Google's credential plugin, no token, no client key."""

from __future__ import annotations

from facts.catalog import of
from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.kubeconfig import plugin_user


def kubeconfig(context: str, endpoint: str, ca_pem_base64: str | None) -> str:
    """A kubeconfig, as JSON (which is YAML); ``endpoint`` is a host, with a port if it is not 443.

    ``ca_pem_base64`` is the cluster's CA, which proves its addresses; ``None`` for its endpoint by name, whose
    certificate is of a public authority: https://github.com/hashicorp/terraform-provider-kubernetes/issues/2637.

    The plugin takes the application-default credentials, as the Google Cloud provider does, so that the
    same principal creates the cluster and its objects.

    https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl
    """
    plugin = of("gke").credential_plugin
    authority = {} if ca_pem_base64 is None else {"certificate-authority-data": ca_pem_base64}
    cluster = {"server": f"https://{endpoint}", **authority}
    hint = "Install it: gcloud components install gke-gcloud-auth-plugin"
    return document(
        context, cluster, plugin_user(plugin.command, plugin.arguments.split(), hint, provideClusterInfo=True)
    )
