"""The kubeconfig of users and of the Kubernetes provider: an Entra token by plugin, no certificate, no key."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import yaml

from facts.catalog import of
from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.kubeconfig import plugin_user


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
    plugin = of("aks").credential_plugin
    cluster = {"server": server, "certificate-authority-data": ca_pem_base64}
    hint = "Install it: az aks install-cli"
    user = plugin_user(plugin.command, plugin.arguments.split(), hint, provideClusterInfo=False)
    return document(context, cluster, user)
