"""Reads kubeconfigs as ``kubectl`` does; errors are one sentence that names the file and the entry.

https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/,
https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from gpu.yaml_text import text_of

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/"""
IN_CLUSTER: Final = "in-cluster"
"""The context of a pod's service account, which no kubeconfig has."""
FILES: Final = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
"""What names a file, relative to the kubeconfig that says so."""
_REMEDY: Final = "write the kubeconfig of the stack again, or set KUBECONFIG to another file"


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the message names the file and the entry, and says what to do."""


@dataclass(frozen=True)
class KubeContext:
    """One context: the cluster's entry, the user's entry, and the namespace. ``user_at``: where the user is written.

    All paths in the entries are absolute. Scalars are text, or ``None``.
    """

    cluster: Mapping[str, Any]
    user: Mapping[str, Any] = field(default_factory=dict, repr=False)
    namespace: str = "default"
    name: str = field(default="", compare=False)
    user_at: str = field(default="the kubeconfig's user", compare=False)

    @property
    def server(self) -> str:
        """The API server's URL, without a slash at its end."""
        return str(self.cluster["server"]).rstrip("/")

    @property
    def anonymous(self) -> bool:
        """Whether the user's entry has no credentials at all."""
        return not any(self.user.get(key) for key in _CREDENTIALS)

    def bytes_of(self, entry: Mapping[str, Any], key: str) -> bytes | None:
        """The content of a certificate or key: base64 in ``<key>-data``, else the file ``<key>``; ``None`` for neither.

        Raises KubeconfigError.
        """
        at = self.user_at if entry is self.user else f"cluster {self.server}"
        try:
            if data := entry.get(f"{key}-data"):
                return base64.b64decode("".join(str(data).split()), validate=True)
            return Path(entry[key]).read_bytes() if entry.get(key) else None
        except (OSError, ValueError) as error:
            raise KubeconfigError(f"{at}: {key}: a certificate or key cannot be used: {reason(error)}") from error


_CREDENTIALS: Final = (
    "token", "tokenFile", "exec", "auth-provider", "username", "client-certificate", "client-certificate-data",
)  # fmt: skip


@dataclass(frozen=True)
class Kubeconfigs:
    """One or several kubeconfigs as one: an entry, and the current context, is that of the first file that has it.

    ``named``: the files, for messages. The entries of each section: name → (file, entry).
    """

    named: str
    current: str
    contexts: Mapping[str, tuple[str, Mapping[str, Any]]]
    clusters: Mapping[str, tuple[str, Mapping[str, Any]]] = field(repr=False)
    users: Mapping[str, tuple[str, Mapping[str, Any]]] = field(repr=False)

    def context(self, name: str | None = None) -> tuple[str, Mapping[str, Any]]:
        """The file and the entry of a context, by default the current one. Raises KubeconfigError: there is none."""
        if not (name or self.current):
            raise KubeconfigError(
                f"{self.named}: no current-context; write it, or choose a context: {_names(self.contexts) or 'none'}"
            )
        return self._entry("contexts", name or self.current)

    def select(self, context: str | None = None, cluster: str | None = None) -> KubeContext:
        """A context, by default the current one; with ``cluster`` in the place of the context's own.

        Raises KubeconfigError: an entry is missing, or lacks what it needs.
        """
        file, chosen = self.context(context)
        name = context or self.current
        cluster_name = cluster or text(chosen.get("cluster"))
        if not cluster_name:
            raise KubeconfigError(f"{file}: context {name!r} has no cluster; write one of {_names(self.clusters)}")
        cluster_file, entry = self._entry("clusters", cluster_name)
        server = text(entry.get("server"))
        if not re.match(r"https?://[^/]", server):
            problem = f"server {server!r} is no URL" if server else "has no server"
            raise KubeconfigError(f"{cluster_file}: cluster {cluster_name!r} {problem}; write the API server's URL")
        user_name = text(chosen.get("user"))
        user_file, user = self._entry("users", user_name) if user_name else (file, {})
        at = f"{user_file}: user {user_name!r}" if user_name else f"{file}: context {name!r} has no user"
        _check_shapes(f"{cluster_file}: cluster {cluster_name!r}", entry, _CLUSTER_SHAPES)
        _check_shapes(at, user, _USER_SHAPES)
        _check_shapes(f"{at}: exec", user.get("exec") or {}, _PLUGIN_SHAPES)
        return KubeContext(entry, user, text(chosen.get("namespace")) or "default", name, at)

    def _entry(self, section: str, name: str) -> tuple[str, Mapping[str, Any]]:
        entries: Mapping[str, tuple[str, Mapping[str, Any]]] = getattr(self, section)
        if name not in entries:
            raise KubeconfigError(
                f"{self.named}: {section} has no entry called {name!r}; there are: {_names(entries) or 'none'}"
            )
        return entries[name]


def of_user(variables: Mapping[str, str]) -> Kubeconfigs:
    """The kubeconfigs of ``KUBECONFIG``, else ``~/.kube/config``, else the service account of the pod that this is.

    Raises KubeconfigError: there is none, or one of them cannot be read.
    """
    written = dict.fromkeys(file for file in variables.get("KUBECONFIG", "").split(os.pathsep) if file)
    paths = [_with_home(file) for file in written or ("~/.kube/config",)]
    merged = of_files(paths)
    if merged.contexts:
        return merged
    if not written and (pod := _of_pod(variables)) is not None:
        return pod
    problem = "has no context" if merged.named else "does not exist"
    named = merged.named or ", ".join(map(str, paths))
    raise KubeconfigError(f"no usable kubeconfig: {named} {problem}; set KUBECONFIG to the stack's kubeconfig")


def _with_home(file: str) -> Path:
    try:
        return Path(file).expanduser()
    except RuntimeError:  # a user without a home
        return Path(file)


def of_files(paths: Sequence[Path]) -> Kubeconfigs:
    """The kubeconfigs in these files; one that does not exist is left out. Raises KubeconfigError."""
    contents: list[tuple[str, Any, Path]] = []
    for path in paths:
        try:
            contents.append((str(path), load(path.read_bytes(), str(path)), path.absolute().parent))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise KubeconfigError(f"kubeconfig {path}: {reason(error)}; {_REMEDY}") from error
    return merge(contents)


def load(content: str | bytes, where: str) -> Any:
    """YAML or JSON, with text for every scalar. Raises KubeconfigError."""
    try:
        return text_of(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise KubeconfigError(f"{where}: neither YAML nor JSON{line} ({problem}); {_REMEDY}") from error


def merge(contents: Iterable[tuple[str, Any, Path]]) -> Kubeconfigs:
    """Kubeconfigs with their names and folders, as one. Raises KubeconfigError: one of them is no kubeconfig."""
    sections: dict[str, dict[str, tuple[str, Mapping[str, Any]]]] = {"contexts": {}, "clusters": {}, "users": {}}
    names: list[str] = []
    current = ""
    for where, content, folder in contents:
        names.append(where)
        if content is None:
            continue
        if not isinstance(content, Mapping):
            hint = "`pulumi stack output kubeconfig` needs --show-secrets" if content == ["secret"] else _REMEDY
            raise KubeconfigError(f"{where}: not a mapping, so no kubeconfig; {hint}")
        current = current or text(content.get("current-context"))
        for section, entries in sections.items():
            own = {name: _typed(_absolute(section, entry, folder)) for name, entry in _entries(where, content, section)}
            for name, entry in own.items():
                entries.setdefault(name, (where, entry))
    return Kubeconfigs(", ".join(names), current, **sections)


_CLUSTER_SHAPES: Final[Mapping[str, type]] = {"extensions": list}
_USER_SHAPES: Final[Mapping[str, type]] = {
    "exec": Mapping,
    "auth-provider": Mapping,
    "as-groups": list,
    "as-user-extra": Mapping,
}
_PLUGIN_SHAPES: Final[Mapping[str, type]] = {"args": list, "env": list}
_OF_MAPPINGS: Final = ("env", "extensions")


def _check_shapes(at: str, entry: Mapping[str, Any], shapes: Mapping[str, type]) -> None:
    """Raises KubeconfigError: what has to be a list or a mapping is none."""
    for key, shape in shapes.items():
        value = entry.get(key)
        members = value if key in _OF_MAPPINGS and isinstance(value, list) else ()
        if value and not (isinstance(value, shape) and all(isinstance(each, Mapping) for each in members)):
            kind = "mapping" if shape is Mapping else "list of mappings" if key in _OF_MAPPINGS else "list"
            raise KubeconfigError(f"{at}: {key} is no {kind}; {_REMEDY}")


def _entries(where: str, content: Mapping[str, Any], section: str) -> list[tuple[str, Mapping[str, Any]]]:
    listed = content.get(section) or []
    kind = section.removesuffix("s")
    entries: list[tuple[str, Mapping[str, Any]]] = []
    for each in listed if isinstance(listed, list) else [None]:
        named: Mapping[str, Any] = each if isinstance(each, Mapping) else {}
        name, entry = text(named.get("name")), named.get(kind) or {}
        if not name or not isinstance(entry, Mapping):
            raise KubeconfigError(f"{where}: {section} is no list of entries with name and {kind}; {_REMEDY}")
        if name in dict(entries):
            raise KubeconfigError(f"{where}: {section} has two entries called {name!r}; rename one")
        entries.append((name, entry))
    return entries


def _absolute(section: str, entry: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Paths are relative to the file that names them; a command is, if it has a slash."""
    files: dict[str, Any] = {key: str(folder / text(entry[key])) for key in FILES.get(section, ()) if entry.get(key)}
    plugin = entry.get("exec")
    if section == "users" and isinstance(plugin, Mapping) and os.sep in (command := text(plugin.get("command"))):
        files["exec"] = {**plugin, "command": str(folder / command)}
    return {**entry, **files}


def _typed(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its booleans, which are text until now: who writes the entry into another file needs them as they were."""
    flags = {key: flag(entry, key) for key in _FLAGS if key in entry}
    plugin = entry.get("exec")
    return {**entry, **flags, **({"exec": _typed(plugin)} if isinstance(plugin, Mapping) else {})}


# https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
_FLAGS: Final = ("insecure-skip-tls-verify", "disable-compression", "provideClusterInfo")


def _of_pod(variables: Mapping[str, str]) -> Kubeconfigs | None:
    host, port = variables.get("KUBERNETES_SERVICE_HOST"), variables.get("KUBERNETES_SERVICE_PORT")
    token, namespace = SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "namespace"
    if not host or not port or not token.exists():
        return None
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    cluster = {"server": server, "certificate-authority": str(SERVICE_ACCOUNT / "ca.crt")}
    own = namespace.read_text().strip() if namespace.exists() else ""
    context = {"cluster": IN_CLUSTER, "user": IN_CLUSTER, "namespace": own}
    where = "the pod's service account"
    entries = [{IN_CLUSTER: (where, entry)} for entry in (context, cluster, {"tokenFile": str(token)})]
    return Kubeconfigs(where, IN_CLUSTER, *entries)


def text(value: Any) -> str:
    """A scalar as text, nothing for null."""
    return "" if value is None else str(value)


def flag(entry: Mapping[str, Any], key: str) -> bool:
    """A boolean, which may be text."""
    return str(entry.get(key)).lower() == "true"


def reason(error: Exception) -> str:
    """What the system says, with the file."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _names(entries: Iterable[str]) -> str:
    return ", ".join(sorted(entries))
