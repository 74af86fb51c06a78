"""The file that tells clients where a cluster is and who they are there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def kubeconfig(context: str, cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str = "") -> str:
    """A kubeconfig with one context, as JSON (which is YAML).

    ``cluster`` and ``user`` are entries of https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/, such as
    ``{"server": …, "certificate-authority-data": …}`` and ``{"exec": …}``.
    """
    entry = {"cluster": context, "user": context} | ({"namespace": namespace} if namespace else {})
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": context, "user": user}],
            "contexts": [{"name": context, "context": entry}],
            "current-context": context,
        },
        indent=2,
    )


def plugin_user(command: str, arguments: Sequence[str], hint: str, **more: Any) -> dict[str, Any]:
    """A user whose token a credential plugin gets; ``hint`` says how to install it, ``more`` are further fields.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
    """
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command,
        "args": list(arguments),
        "installHint": hint,
        "interactiveMode": "IfAvailable",
    }
    return {"exec": {**plugin, **more}}
