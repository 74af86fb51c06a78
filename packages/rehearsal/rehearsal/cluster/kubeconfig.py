"""Reads a kubeconfig, and gets its user's bearer token: from there, or of a credential plugin.

``kubectl`` trusts a kubeconfig as a program: it runs the commands and reads the files that it names. Here it comes from
the rehearsed program, over the port of the simulated provider. So only the simulated credential plugins
run, from the run's own folder and with nothing of the kubeconfig in their environment, and no file is read.

https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/,
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins, by which the
simulated plugins of the clouds' kubeconfigs print the cluster user's token, too.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import yaml

from facts.catalog import clouds, of
from rehearsal.cluster.pki import write_private


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

        Raises KubeconfigError: it is not a kubeconfig, or an entry is missing.
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
        if files := sorted(key for key in _FILES for each in (entry, user) if each.get(key)):
            raise KubeconfigError(
                f"kubeconfig: {', '.join(files)}: a rehearsal reads no file that a kubeconfig names; write what "
                "`kubectl config view --minify --flatten --raw` prints: it has their content"
            )
        return cls(entry, _harmless(user), str(chosen.get("namespace") or "default"))

    @property
    def server(self) -> str:
        """The API server's URL, without a slash at its end."""
        return str(self.cluster["server"]).rstrip("/")

    def tls(self, trusted: Path | None = None) -> ssl.SSLContext:
        """What the server has to prove, and the user's client certificate if there is one.

        A cluster without an authority of its own has to prove itself to those that this machine trusts, or to the one
        in the file ``trusted``. Raises KubeconfigError: a certificate or key is missing or malformed.
        """
        try:
            authority = _pem(self.cluster, "certificate-authority-data")
            anybody = None if authority or trusted is None else str(trusted)
            context = ssl.create_default_context(cadata=authority and authority.decode(), cafile=anybody)
            if self.cluster.get("insecure-skip-tls-verify"):
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            certificate = _pem(self.user, "client-certificate-data")
            if certificate is not None:
                # Python reads client certificates from files only; this one is readable by its owner alone.
                with tempfile.NamedTemporaryFile() as file:
                    file.write(certificate + b"\n" + (_pem(self.user, "client-key-data") or b""))
                    file.flush()
                    context.load_cert_chain(file.name)
        except (OSError, ValueError) as error:  # among them ssl.SSLError and binascii.Error
            raise KubeconfigError(f"kubeconfig: a certificate or key cannot be used: {error}") from error
        # urllib3 sets the protocols again for each connection. A thread that connects meanwhile reads freed memory, and
        # the server refuses its hello (decode_error). https://github.com/urllib3/urllib3/blob/2.8.0/src/urllib3/util/ssl_.py
        context.set_alpn_protocols(["http/1.1"])
        vars(context)["set_alpn_protocols"] = lambda _: None
        return context


def _entry(kubeconfig: Mapping[str, Any], section: str, kind: str, name: Any) -> Mapping[str, Any]:
    entries = kubeconfig.get(section) or ()
    for entry in entries:
        if entry.get("name") == name:
            return entry.get(kind) or {}
    names = ", ".join(sorted(str(entry.get("name")) for entry in entries)) or "none"
    raise KubeconfigError(f"kubeconfig: {section} has no entry called {name!r}; there are: {names}")


def _pem(entry: Mapping[str, Any], key: str) -> bytes | None:
    data = entry.get(key)
    return base64.b64decode("".join(data.split()), validate=True) if data else None


_PLUGIN_SECONDS: Final = 30.0
_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
PLUGINS: Final = {plugin.command: plugin for plugin in (of(cloud).account.credential_plugin for cloud in clouds())}
"""The programs that kubeconfigs of the simulated clouds name → what each has to be asked."""


def _harmless(user: Mapping[str, Any]) -> Mapping[str, Any]:
    """A user's entry as any client may run it: only a simulated plugin, without variables of its own."""
    if not user.get("exec"):
        return user
    command = user["exec"].get("command")
    if command not in PLUGINS:
        raise KubeconfigError(
            f"kubeconfig: the credential plugin {command} is not simulated, and a rehearsal runs no other program that "
            f"a kubeconfig names; it has {', '.join(sorted(PLUGINS))}"
        )
    return {**user, "exec": {key: value for key, value in user["exec"].items() if key != "env"}}


# A shell script starts in two milliseconds; clients run it before every command.
_SCRIPT: Final = """\
#!/bin/sh
case "$*" in
  {accepted}) ;;
  *) echo "{name} $*: {otherwise}; write {name} {arguments}" >&2; exit 2 ;;
esac
if ! read -r token < '{token}'; then
  echo "{name}: the rehearsal that made this cluster is gone; start another" >&2
  exit 1
fi
cat <<END
{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{{"token":"$token"}}}}
END
"""


class UserTokens:
    """Tokens of one user. Thread-safe.

    A plugin's token is kept until it expires or is refused. Plugins are looked for in ``path`` alone. Of this process's
    environment they see PATH only: no cloud credentials of the user.
    """

    def __init__(self, kubeconfig: Kubeconfig, path: Sequence[Path] = ()) -> None:
        self._kubeconfig = kubeconfig
        self._path = tuple(path)
        self._lock = threading.Lock()
        self._token = ""
        self._expires: datetime | None = None

    def token(self, refused: str | None = None) -> str:
        """The token to use now, empty for a user with a client certificate; ``refused`` is one the server rejected.

        Raises KubeconfigError: there are no credentials, or the plugin is missing or fails.
        """
        user = self._kubeconfig.user
        if user.get("token"):
            return str(user["token"])
        if not user.get("exec"):
            if user.get("client-certificate-data"):
                return ""
            raise KubeconfigError(
                "the kubeconfig's user has neither a token nor a client certificate nor a credential plugin (exec)"
            )
        with self._lock:
            expired = self._expires is not None and self._expires <= datetime.now(timezone.utc)
            if expired or self._token in ("", refused):
                self._token, self._expires = self._ask(user["exec"])
            return self._token

    def _ask(self, plugin: Mapping[str, Any]) -> tuple[str, datetime | None]:
        name = plugin["command"]
        program = shutil.which(name, path=os.pathsep.join(map(str, self._path))) if name in PLUGINS else None
        if program is None:
            raise KubeconfigError(f"the rehearsal has no credential plugin {name} for this kubeconfig")
        cluster = {"cluster": dict(self._kubeconfig.cluster)} if plugin.get("provideClusterInfo") else {}
        request = {
            "apiVersion": plugin["apiVersion"],
            "kind": "ExecCredential",
            "spec": {"interactive": False, **cluster},
        }
        try:
            done = subprocess.run(
                [program, *(plugin.get("args") or ())],
                env={"PATH": os.environ.get("PATH", os.defpath), "KUBERNETES_EXEC_INFO": json.dumps(request)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PLUGIN_SECONDS,
                check=True,
            )
            status = json.loads(done.stdout)["status"]
            expires = status.get("expirationTimestamp")
            return status["token"], datetime.fromisoformat(expires.replace("Z", "+00:00")) if expires else None
        except subprocess.CalledProcessError as error:
            raise KubeconfigError(f"the credential plugin {name} failed: {error.stderr.strip()}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KubeconfigError(f"the credential plugin {name} failed: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KubeconfigError(
                f"the credential plugin {name} gave no ExecCredential with a token: {error!r}"
            ) from error


def write_credential_plugins(plugins: Path, token: str, *, logged_in: bool = False) -> None:
    """Make the executables in ``plugins``, which goes first on PATH. The token is in a file of its own, mode 0600.

    ``logged_in``: the user is logged in with the clouds' commands, too, as the owner of a program that needs it is.
    """
    plugins.mkdir(parents=True, exist_ok=True)
    file = plugins.absolute() / ".cluster-user-token"
    write_private(file, token + "\n")
    for name, known in PLUGINS.items():
        plugin = plugins / name
        quoted = str(file).replace("'", "'\\''")
        otherwise = known.otherwise or "the simulated plugin does not know this command"
        accepted = f"'{known.arguments}'*" + ("|''" if logged_in and known.logged_in else "")
        words = {"name": name, "arguments": known.arguments, "otherwise": otherwise}
        plugin.write_text(_SCRIPT.format(token=quoted, accepted=accepted, **words))
        plugin.chmod(0o755)
