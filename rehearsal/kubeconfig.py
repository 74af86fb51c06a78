"""Reads a kubeconfig as ``kubectl`` does: the cluster's address and CA, and the user's token or credential plugin."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rehearsal.api import Api


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the message names the entry."""


def connect(kubeconfig: str, folder: Path, search_path: str = "") -> Api:
    """An ``Api`` for the current context, as its user.

    ``folder`` keeps the cluster's CA as a file for as long as the ``Api`` is used; credential plugins are looked for on
    ``search_path``.

    Raises:
        KubeconfigError: an entry is missing, or the credential plugin is missing or fails.
    """
    content: Mapping[str, Any] = yaml.safe_load(kubeconfig)
    context = _entry(content, "contexts", content.get("current-context", ""))["context"]
    cluster = _entry(content, "clusters", context["cluster"])["cluster"]
    user = _entry(content, "users", context["user"])["user"]
    token = user.get("token") or _token_of(user.get("exec"), cluster, search_path)
    return Api(cluster["server"].removeprefix("https://"), _authority(cluster, folder), token)


def _authority(cluster: Mapping[str, Any], folder: Path) -> Path:
    if "certificate-authority" in cluster:
        return Path(cluster["certificate-authority"])
    content = base64.b64decode(cluster["certificate-authority-data"])
    file = folder / f"ca-{hashlib.sha256(content).hexdigest()[:12]}.pem"
    # Several threads connect at once: none may read half a file.
    draft = folder / f".{file.name}.{threading.get_ident()}"
    draft.write_bytes(content)
    draft.replace(file)
    return file


def _entry(content: Mapping[str, Any], section: str, name: str) -> Mapping[str, Any]:
    for entry in content.get(section) or ():
        if entry["name"] == name:
            found: Mapping[str, Any] = entry
            return found
    raise KubeconfigError(f"the kubeconfig has no entry {name!r} in {section}")


def _token_of(plugin: Mapping[str, Any] | None, cluster: Mapping[str, Any], search_path: str) -> str:
    # https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
    if plugin is None:
        raise KubeconfigError("the kubeconfig's user has neither a token nor a credential plugin (exec)")
    program = shutil.which(plugin["command"], path=search_path)
    if program is None:
        raise KubeconfigError(
            f"the credential plugin {plugin['command']} is not on PATH. {plugin.get('installHint', '')}"
        )
    request = {
        "apiVersion": plugin["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False, **({"cluster": dict(cluster)} if plugin.get("provideClusterInfo") else {})},
    }
    environment = {"PATH": search_path, "KUBERNETES_EXEC_INFO": json.dumps(request)}
    environment |= {pair["name"]: pair["value"] for pair in plugin.get("env") or ()}
    done = subprocess.run(
        [program, *(plugin.get("args") or ())], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        raise KubeconfigError(f"the credential plugin {plugin['command']} failed: {done.stderr.strip()}")
    token: str = json.loads(done.stdout)["status"]["token"]
    return token
