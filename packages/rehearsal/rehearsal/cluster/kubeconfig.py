"""Reads a kubeconfig as ``kubectl`` does: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/."""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the message names the entry."""


@dataclass(frozen=True)
class Kubeconfig:
    """One context: the cluster's entry, the user's entry, and the namespace."""

    cluster: Mapping[str, Any]
    user: Mapping[str, Any] = field(default_factory=dict, repr=False)
    namespace: str = "default"

    @classmethod
    def parse(
        cls, content: str | Mapping[str, Any], context: str | None = None, cluster: str | None = None
    ) -> Kubeconfig:
        """The current context, or ``context``; with ``cluster`` in the place of the context's own.

        Raises:
            KubeconfigError: it is not a kubeconfig, or an entry is missing.
        """
        try:
            loaded = yaml.safe_load(content) if isinstance(content, str) else content
        except yaml.YAMLError as error:
            raise KubeconfigError(f"kubeconfig: neither YAML nor JSON: {error}") from error
        if not isinstance(loaded, Mapping):
            raise KubeconfigError("kubeconfig: not a mapping; write the contents of a kubeconfig or the path of one")
        chosen = _entry(loaded, "contexts", "context", context or loaded.get("current-context"))
        name = cluster or chosen.get("cluster")
        entry = _entry(loaded, "clusters", "cluster", name)
        if not entry.get("server"):
            raise KubeconfigError(f"kubeconfig: cluster {name!r} has no server; write the API server's URL")
        user = _entry(loaded, "users", "user", chosen["user"]) if chosen.get("user") else {}
        return cls(entry, user, str(chosen.get("namespace") or "default"))

    @property
    def server(self) -> str:
        """The API server's URL, without a slash at its end."""
        return str(self.cluster["server"]).rstrip("/")

    def tls(self, trusted: Path | None = None) -> ssl.SSLContext:
        """What the server has to prove, and the user's client certificate if there is one.

        A cluster without an authority of its own has to prove itself to those that this machine trusts, or to the one
        in the file ``trusted``.

        Raises:
            KubeconfigError: a certificate or key is missing or malformed.
        """
        try:
            authority = _pem(self.cluster, "certificate-authority")
            anybody = None if authority or trusted is None else str(trusted)
            context = ssl.create_default_context(cadata=authority and authority.decode(), cafile=anybody)
            if self.cluster.get("insecure-skip-tls-verify"):
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            certificate = _pem(self.user, "client-certificate")
            if certificate is not None:
                # Python reads client certificates from files only; this one is readable by its owner alone.
                with tempfile.NamedTemporaryFile() as file:
                    file.write(certificate + b"\n" + (_pem(self.user, "client-key") or b""))
                    file.flush()
                    context.load_cert_chain(file.name)
        except (OSError, ValueError) as error:  # among them ssl.SSLError and binascii.Error
            raise KubeconfigError(f"kubeconfig: a certificate or key cannot be used: {error}") from error
        return context


def _entry(kubeconfig: Mapping[str, Any], section: str, kind: str, name: Any) -> Mapping[str, Any]:
    entries = kubeconfig.get(section) or ()
    for entry in entries:
        if entry.get("name") == name:
            return entry.get(kind) or {}
    names = ", ".join(sorted(str(entry.get("name")) for entry in entries)) or "none"
    raise KubeconfigError(f"kubeconfig: {section} has no entry called {name!r}; there are: {names}")


def _pem(entry: Mapping[str, Any], key: str) -> bytes | None:
    if data := entry.get(f"{key}-data"):
        return base64.b64decode("".join(data.split()), validate=True)
    return Path(entry[key]).read_bytes() if entry.get(key) else None
