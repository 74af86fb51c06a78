"""The bearer token of a kubeconfig's user: written there, in a file, or handed out by a credential plugin.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins, by which the
simulated plugins of the clouds' kubeconfigs print the cluster user's token, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from facts.catalog import clouds, of
from rehearsal.cluster.kubeconfig import Kubeconfig, KubeconfigError
from rehearsal.cluster.pki import write_private

_PLUGIN_SECONDS: Final = 30.0
PLUGINS: Final = {plugin.command: plugin for plugin in (of(cloud).credential_plugin for cloud in clouds())}
"""The programs that kubeconfigs of the simulated clouds name → what each has to be asked."""

# A shell script starts in two milliseconds; clients run it before every command.
_SCRIPT: Final = """\
#!/bin/sh
case "$*" in
  '{arguments}'*) ;;
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

    A plugin's token is kept until it expires or is refused. Plugins are looked for in ``path`` and then on PATH (their
    own entry's, if it has one). Of this process's environment they see PATH only: no cloud credentials of the user.
    """

    def __init__(self, kubeconfig: Kubeconfig, path: Sequence[Path] = ()) -> None:
        self._kubeconfig = kubeconfig
        self._path = tuple(path)
        self._lock = threading.Lock()
        self._token = ""
        self._expires: datetime | None = None

    def token(self, refused: str | None = None) -> str:
        """The token to use now, empty for a user with a client certificate; ``refused`` is one the server rejected.

        Raises:
            KubeconfigError: there are no credentials, or the plugin is missing or fails.
        """
        user = self._kubeconfig.user
        if user.get("token"):
            return str(user["token"])
        if user.get("tokenFile"):
            try:
                return Path(user["tokenFile"]).read_text().strip()
            except OSError as error:
                raise KubeconfigError(f"the kubeconfig's tokenFile cannot be read: {error}") from error
        if not user.get("exec"):
            if user.get("client-certificate") or user.get("client-certificate-data"):
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
        own = {pair["name"]: pair["value"] for pair in plugin.get("env") or ()}
        search_path = os.pathsep.join([*map(str, self._path), own.get("PATH") or os.environ.get("PATH", os.defpath)])
        program = shutil.which(name, path=search_path)
        if program is None:
            raise KubeconfigError(
                f"the credential plugin {name} is not on PATH. {plugin.get('installHint') or ''}".strip()
            )
        cluster = {"cluster": dict(self._kubeconfig.cluster)} if plugin.get("provideClusterInfo") else {}
        request = {
            "apiVersion": plugin["apiVersion"],
            "kind": "ExecCredential",
            "spec": {"interactive": False, **cluster},
        }
        try:
            done = subprocess.run(
                [program, *(plugin.get("args") or ())],
                env={**own, "PATH": search_path, "KUBERNETES_EXEC_INFO": json.dumps(request)},
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


def write_credential_plugins(plugins: Path, token: str) -> None:
    """Make the executables in ``plugins``, which goes first on PATH. The token is in a file of its own, mode 0600."""
    plugins.mkdir(parents=True, exist_ok=True)
    file = plugins.absolute() / ".cluster-user-token"
    write_private(file, token + "\n")
    for name, known in PLUGINS.items():
        plugin = plugins / name
        quoted = str(file).replace("'", "'\\''")
        otherwise = known.otherwise or "the simulated plugin does not know this command"
        plugin.write_text(_SCRIPT.format(token=quoted, name=name, arguments=known.arguments, otherwise=otherwise))
        plugin.chmod(0o755)
