"""The kubeconfig of users and of the Kubernetes provider: an Entra token by plugin, no certificate, no key."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Final

import yaml

from facts.concepts.kubeconfig import kubeconfig as document

_SERVER_APPLICATION: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
"""AKS's own application in Entra, the audience of every token: https://learn.microsoft.com/azure/aks/kubelogin-authentication"""


def endpoint(kubeconfigs: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """The control plane's URL and CA (PEM, base64) from what ``listManagedClusterUserCredentials`` answers.

    Raises:
        ValueError: there is no kubeconfig in the answer.
    """
    if not kubeconfigs:
        raise ValueError("Azure has no kubeconfig for this cluster")
    cluster = yaml.safe_load(base64.b64decode(kubeconfigs[0]["value"]))["clusters"][0]["cluster"]
    return cluster["server"], cluster["certificate-authority-data"]


def kubeconfig(context: str, server: str, ca_pem_base64: str) -> str:
    """A kubeconfig, as JSON (which is YAML), that uses the login of ``az login``.

    Azure's own kubeconfig needs a code from a browser, which a program cannot enter.
    """
    cluster = {"server": server, "certificate-authority-data": ca_pem_base64}
    credential_plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "kubelogin",
        "args": ["get-token", "--login", "azurecli", "--server-id", _SERVER_APPLICATION],
        "installHint": "Install it: az aks install-cli",
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": False,
    }
    return document(context, cluster, {"exec": credential_plugin})
