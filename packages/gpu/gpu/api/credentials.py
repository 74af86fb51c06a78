"""What a user of a kubeconfig shows to the cluster: from there, from a file, or of a credential plugin.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from urllib3.util import make_headers

from gpu.api.kubeconfig import KubeconfigError, KubeContext, flag, reason, text

_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_CONFIG: Final = "client.authentication.k8s.io/exec"
"""The extension of a cluster's entry that is the plugin's own configuration."""
_CLUSTER_KEYS: Final = ("server", "tls-server-name", "proxy-url")
_TERMINAL: Final = threading.Lock()
"""Of plugins that always ask the user something, one does at a time; others of several clusters run at once."""
_LOG_IN: Final = "log in to the cloud again"


@dataclass(frozen=True)
class Environment:
    """What credential plugins and connections get of this machine.

    ``variables``: those of plugins, and the proxies. ``path``: where plugins are looked for. ``programs``: the only
    plugins that run; ``None`` for all. ``terminal``: whether plugins may talk to the user. ``seconds``: their limit.
    """

    variables: Mapping[str, str] = field(repr=False)
    path: str
    programs: Collection[str] | None = None
    terminal: bool = False
    seconds: float | None = None

    @classmethod
    def of_user(cls, *, terminal: bool) -> Environment:
        """All that the user's own programs get; plugins of the kubeconfig are trusted, as ``kubectl`` does."""
        return cls(os.environ, os.environ.get("PATH", os.defpath), terminal=terminal and sys.stderr.isatty())


@dataclass(frozen=True)
class Credential:
    """The header ``Authorization`` of a request, and the connection's client certificate with its key (PEM)."""

    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)


class Credentials:
    """The credentials of a context's user. Thread-safe. A plugin's are kept until they expire or are refused."""

    def __init__(self, context: KubeContext, environment: Environment) -> None:
        """Read the certificate of the user's entry. Raises KubeconfigError."""
        self._context = context
        self._environment = environment
        self._lock = threading.Lock()
        self._of_plugin: Credential | None = None
        self._expires: datetime | None = None
        certificate = context.bytes_of(context.user, "client-certificate")
        key = context.bytes_of(context.user, "client-key")
        if (certificate is None) != (key is None):
            missing = "client-key" if key is None else "client-certificate"
            raise KubeconfigError(f"{context.user_at}: a certificate or key cannot be used: {missing} is missing")
        self._certificate = certificate + b"\n" + key if certificate and key else b""

    def get(self, refused: Credential | None = None) -> Credential:
        """The credential to use now; ``refused`` is one that the server rejected.

        Raises KubeconfigError: the plugin is missing or fails, a file cannot be read, or a login has expired.
        """
        credential = self._current(refused)
        if not (credential.authorization.isascii() and credential.authorization.isprintable()):
            raise KubeconfigError(
                f"{self._context.user_at}: the token has line breaks or other characters that no token has; {_LOG_IN}"
            )
        return credential

    def _current(self, refused: Credential | None) -> Credential:
        user = self._context.user
        token = self._token()
        if token:
            return Credential(f"Bearer {token}", self._certificate)
        if user.get("exec"):
            return self._plugin(user["exec"], refused)
        if user.get("auth-provider"):
            return Credential(f"Bearer {self._provided(user['auth-provider'])}", self._certificate)
        if user.get("username"):
            basic = make_headers(basic_auth=f"{text(user['username'])}:{text(user.get('password'))}")
            return Credential(basic["authorization"], self._certificate)
        return Credential("", self._certificate)

    def impersonation(self) -> list[tuple[str, str]]:
        """The headers by which the user acts as another one.

        https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
        """
        user = self._context.user
        if not user.get("as"):
            if user.get("as-groups") or user.get("as-uid") or user.get("as-user-extra"):
                at = self._context.user_at
                raise KubeconfigError(f"{at}: as-groups, as-uid and as-user-extra need `as`; write it")
            return []
        headers = [("Impersonate-User", text(user["as"]))]
        if user.get("as-uid"):
            headers.append(("Impersonate-Uid", text(user["as-uid"])))
        headers += [("Impersonate-Group", text(group)) for group in user.get("as-groups") or ()]
        for key, values in (user.get("as-user-extra") or {}).items():
            headers += [(f"Impersonate-Extra-{quote(key, safe='')}", text(value)) for value in values or ()]
        return headers

    def _token(self) -> str:
        """The token of the file, which may be renewed there; else the one in the kubeconfig."""
        user = self._context.user
        token = text(user.get("token")).strip()
        if not user.get("tokenFile"):
            return token
        try:
            return Path(user["tokenFile"]).read_text().strip() or token
        except (OSError, ValueError) as error:
            if token:
                return token
            raise KubeconfigError(
                f"{self._context.user_at}: tokenFile: {reason(error)}; {_LOG_IN}, or write the path of the token"
            ) from error

    def _provided(self, provider: Mapping[str, Any]) -> str:
        """The token that OIDC's provider, the last of them, has in the kubeconfig."""
        at, name = self._context.user_at, provider.get("name")
        if name != "oidc":
            raise KubeconfigError(
                f"{at}: auth-provider {name} does not exist since kubectl 1.26; have the cloud's own command write the "
                "kubeconfig again, with a credential plugin (exec)"
            )
        config = provider.get("config")
        token = text(config.get("id-token")) if isinstance(config, Mapping) else ""
        remedy = f"{_LOG_IN}, or use a credential plugin (exec) that renews it"
        try:
            payload = token.split(".")[1]
            expiry = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).get("exp")
            expired = expiry is not None and float(expiry) <= datetime.now(timezone.utc).timestamp()
        except (ValueError, IndexError, AttributeError, TypeError) as error:
            raise KubeconfigError(f"{at}: auth-provider oidc has no usable id-token; {remedy}") from error
        if expired:
            raise KubeconfigError(f"{at}: the id-token of auth-provider oidc has expired; {remedy}")
        return token

    def _plugin(self, plugin: Mapping[str, Any], refused: Credential | None) -> Credential:
        with self._lock:
            expired = self._expires is not None and self._expires <= datetime.now(timezone.utc)
            if self._of_plugin is None or expired or self._of_plugin == refused:
                self._of_plugin, self._expires = self._ask(plugin)
            return self._of_plugin

    def _ask(self, plugin: Mapping[str, Any]) -> tuple[Credential, datetime | None]:
        command, at = text(plugin.get("command")), self._context.user_at
        if plugin.get("apiVersion") not in _VERSIONS:
            raise KubeconfigError(
                f"{at}: the credential plugin {command} has apiVersion {plugin.get('apiVersion')}; write "
                f"{_VERSIONS[1]}, or have the cloud's own command write the kubeconfig again"
            )
        allowed = self._environment.programs is None or command in self._environment.programs
        program = shutil.which(command, path=self._environment.path) if allowed else None
        if program is None:
            hint = _one_line(text(plugin.get("installHint")))
            raise KubeconfigError(
                f"{at}: the credential plugin {command} is not installed: {hint or 'install it, so that it is on PATH'}"
            )
        printed = self._run(program, plugin, command)
        try:
            return self._credential(json.loads(printed)["status"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KubeconfigError(
                f"{at}: the credential plugin {command} gave no ExecCredential with a token, or a certificate and its "
                f"key; update it, or {_LOG_IN}"
            ) from error

    def _credential(self, status: Mapping[str, Any]) -> tuple[Credential, datetime | None]:
        """Of a plugin's answer. Raises ValueError, KeyError, TypeError or AttributeError."""
        token, certificate = status.get("token"), status.get("clientCertificateData")
        pair = f"{certificate}\n{status['clientKeyData']}".encode() if certificate else b""
        if not token and not pair:
            raise ValueError
        expiry = status.get("expirationTimestamp")
        # Python 3.10 reads neither Z nor fractions that have not 3 or 6 digits.
        expires = datetime.fromisoformat(re.sub(r"\.\d+", "", expiry).replace("Z", "+00:00")) if expiry else None
        return Credential(f"Bearer {token}" if token else "", pair or self._certificate), expires

    def _run(self, program: str, plugin: Mapping[str, Any], command: str) -> str:
        """What the plugin prints. On a terminal the user sees its messages; else they are in the error."""
        at, terminal = self._context.user_at, self._environment.terminal
        mode = plugin.get("interactiveMode") or "IfAvailable"
        interactive = terminal and mode != "Never" and sys.stdin.isatty()
        if mode == "Always" and not interactive:
            raise KubeconfigError(f"{at}: the credential plugin {command} asks questions; run this on a terminal")
        cluster = {"cluster": self._cluster_info()} if flag(plugin, "provideClusterInfo") else {}
        request = {
            "apiVersion": plugin["apiVersion"],
            "kind": "ExecCredential",
            "spec": {"interactive": interactive, **cluster},
        }
        own = {text(each.get("name")): text(each.get("value")) for each in plugin.get("env") or ()}
        try:
            with _TERMINAL if mode == "Always" else nullcontext():
                done = subprocess.run(
                    [program, *map(text, plugin.get("args") or ())],
                    env={**self._environment.variables, **own, "KUBERNETES_EXEC_INFO": json.dumps(request)},
                    stdin=None if interactive else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=None if terminal else subprocess.PIPE,
                    text=True,
                    timeout=self._environment.seconds,
                    check=True,
                )
        except subprocess.CalledProcessError as error:
            words = _one_line(error.stderr or "") or f"exit code {error.returncode}"
            raise KubeconfigError(f"{at}: the credential plugin {command} failed: {words}; {_LOG_IN}") from error
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            words = reason(error)
            raise KubeconfigError(f"{at}: the credential plugin {command} failed: {words}; {_LOG_IN}") from error
        return done.stdout

    def _cluster_info(self) -> dict[str, Any]:
        """https://kubernetes.io/docs/reference/config-api/client-authentication.v1/#client-authentication-k8s-io-v1-Cluster"""
        entry = self._context.cluster
        info: dict[str, Any] = {key: text(entry[key]) for key in _CLUSTER_KEYS if entry.get(key)}
        if flag(entry, "insecure-skip-tls-verify"):
            info["insecure-skip-tls-verify"] = True
        if authority := self._context.bytes_of(entry, "certificate-authority"):
            info["certificate-authority-data"] = base64.b64encode(authority).decode()
        for extension in entry.get("extensions") or ():
            if extension.get("name") == _CONFIG:
                info["config"] = extension.get("extension")
        return info


def _one_line(words: str) -> str:
    """Without line breaks and colours of a terminal."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", words).split()).rstrip(".")
