"""A pod's service account on this machine: tokens bound to the pod, and the kubeconfig that uses one.

https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from facts.concepts.kubeconfig import kubeconfig
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api
from rehearsal.cluster.pki import write_private

_LIFE_SECONDS: Final = 3607
"""Lifetime that kubelets request: https://github.com/kubernetes/kubernetes/blob/v1.34.4/plugin/pkg/admission/serviceaccount."""

_RENEW_SECONDS: Final = 0.8 * _LIFE_SECONDS


class TokenFile:
    """One token of a pod's service account for one audience (``""``: the API server), in a file of its own."""

    def __init__(self, api: Api, pod: Mapping[str, Any], path: Path, audience: str = "") -> None:
        self._api = api
        self._pod = pod
        self.path = path
        self._audience = audience
        self._written = -_RENEW_SECONDS

    def renew(self) -> None:
        """Write a token if there is none, or if it expires soon. Raises ``ApiError`` without service account."""
        now = time.monotonic()
        if now - self._written < _RENEW_SECONDS:
            return
        metadata = self._pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: dict[str, Any] = {"expirationSeconds": _LIFE_SECONDS, "boundObjectRef": bound}
        if self._audience:
            spec["audiences"] = [self._audience]
        account = self._pod["spec"].get("serviceAccountName") or "default"
        path = resource_path("v1", f"serviceaccounts/{account}/token", namespace=metadata["namespace"])
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        # The program may read the file at any moment.
        draft = self.path.with_name(f".{self.path.name}")
        write_private(draft, self._api.create(path, request)["status"]["token"])
        draft.replace(self.path)
        self._written = now


def write_kubeconfig(path: Path, *, api_server: str, ca_pem_base64: str, namespace: str, token: Path) -> None:
    """A kubeconfig with the contents of the in-cluster mount: address, CA, namespace and token."""
    cluster = {"server": f"https://{api_server}", "certificate-authority-data": ca_pem_base64}
    write_private(path, kubeconfig("in-cluster", cluster, {"tokenFile": str(token)}, namespace))
