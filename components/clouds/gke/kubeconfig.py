"""The kubeconfig of a cluster of Google, the stack's own or somebody else's."""

from __future__ import annotations

from typing import Final

from facts import catalog
from facts.concepts.kubeconfig import kubeconfig, plugin_user

_HINT: Final = "Install it: gcloud components install gke-gcloud-auth-plugin"


def kubeconfig_of(name: str, location: str, project: str | None, host: str, authority: str | None) -> str:
    """Google's credential plugin takes the application-default credentials, as the Google Cloud provider does: the same
    principal creates the cluster and its objects.
    https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl

    ``authority``: the cluster's CA (PEM, base64), which proves its addresses. ``None`` for its endpoint by name, whose
    certificate is of a public authority: https://github.com/hashicorp/terraform-provider-kubernetes/issues/2637.
    """
    plugin = catalog.of("gke").account.credential_plugin
    user = plugin_user(plugin.command, plugin.arguments.split(), _HINT, provideClusterInfo=True)
    known = {} if authority is None else {"certificate-authority-data": authority}
    return kubeconfig(f"gke_{project}_{location}_{name}", {"server": f"https://{host}", **known}, user)
