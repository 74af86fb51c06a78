"""The simulated credential plugin of a cloud's kubeconfig: prints the cluster user's token.

The protocol: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from facts.catalog import clouds, of
from rehearsal.cluster.pki import write_private

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
