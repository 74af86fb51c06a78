"""Kubeconfigs as a rehearsal uses them: those of ``gpu``, less what would run or read something of this machine.

``kubectl`` and ``gpu`` trust a kubeconfig as a program: they run the commands and read the files that it names. Here it
comes from the rehearsed program, over the port of the simulated provider. So only the simulated credential plugins
run, from the run's own folder and with nothing of the kubeconfig in their environment, and no file is read.

By https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins the simulated
plugins of the clouds' kubeconfigs print the cluster user's token.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from facts.catalog import clouds, of
from gpu.api.shared import FILES, Environment, KubeconfigError, KubeContext, load, merge
from rehearsal.cluster.pki import write_private

_PLUGIN_SECONDS: Final = 30.0
PLUGINS: Final = {plugin.command: plugin for plugin in (of(cloud).account.credential_plugin for cloud in clouds())}
"""The programs that kubeconfigs of the simulated clouds name → what each has to be asked."""


@dataclass(frozen=True)
class Kubeconfig(KubeContext):
    """One context of a kubeconfig that names no file, and no program but a simulated plugin."""

    @classmethod
    def parse(
        cls, content: str | Mapping[str, Any], context: str | None = None, cluster: str | None = None
    ) -> Kubeconfig:
        """The current context, or ``context``; with ``cluster`` in the place of the context's own.

        Raises KubeconfigError: it is not a kubeconfig, an entry is missing, or it names files or programs.
        """
        loaded = load(content, "kubeconfig") if isinstance(content, str) else content
        chosen = merge([("kubeconfig", loaded, Path("/"))]).select(context, cluster)
        keys = [*FILES["clusters"], *FILES["users"]]
        if files := sorted(key for key in keys for entry in (chosen.cluster, chosen.user) if entry.get(key)):
            raise KubeconfigError(
                f"kubeconfig: {', '.join(files)}: a rehearsal reads no file that a kubeconfig names; write what "
                "`kubectl config view --minify --flatten --raw` prints: it has their content"
            )
        return cls(chosen.cluster, _harmless(chosen.user), chosen.namespace, chosen.name, chosen.user_at)


def environment(path: Sequence[Path] = ()) -> Environment:
    """Credential plugins are looked for in ``path`` alone; of the user's variables they see PATH, connections none."""
    variables = {"PATH": os.environ.get("PATH", os.defpath)}
    folders = os.pathsep.join(map(str, path))
    return Environment(variables, folders, programs=frozenset(PLUGINS), seconds=_PLUGIN_SECONDS)


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
