"""The provider's kubeconfig: contents or a path, and the cluster it points at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rehearsal.providers.base import ProviderError


def load_kubeconfig(config: Mapping[str, Any], path: Sequence[Path] = ()) -> dict[str, Any]:
    """The kubeconfig of a provider's configuration, with the ``context`` and ``cluster`` it chooses made current.

    ``path`` is searched first for exec credential plugins. Raises ``ProviderError`` if there is no kubeconfig: unlike
    the real provider this one never falls back to the user's own, so a rehearsal cannot touch a cluster by accident.
    """
    text = config.get("kubeconfig")
    if not text:
        raise ProviderError(
            "the Kubernetes provider has no kubeconfig, and a rehearsal never uses ~/.kube/config; "
            "pass opts=ResourceOptions(provider=<a kubernetes.Provider with the cluster's kubeconfig>)"
        )
    loaded = _parse(text)
    if config.get("context"):
        loaded["current-context"] = config["context"]
    context = _named(loaded, "contexts", loaded.get("current-context"))
    if config.get("cluster"):
        context.setdefault("context", {})["cluster"] = config["cluster"]
    cluster = _named(loaded, "clusters", context.get("context", {}).get("cluster"))
    if not cluster.get("cluster", {}).get("server"):
        raise ProviderError(f"kubeconfig: cluster {cluster['name']!r} has no server; write the API server's URL")
    for user in loaded.get("users") or []:
        command = (user.get("user") or {}).get("exec")
        if command and path:
            _search_first(command, path)
    return loaded


def active_cluster(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The cluster entry (server, certificate authority) that ``config`` selects; ``None`` if that cannot be told."""
    try:
        loaded = load_kubeconfig(config)
        context = _named(loaded, "contexts", loaded.get("current-context"))
        found: Mapping[str, Any] = _named(loaded, "clusters", context["context"]["cluster"])["cluster"]
        return found
    except (ProviderError, KeyError):
        return None


def _parse(text: Any) -> dict[str, Any]:
    """``text`` is YAML or JSON; a path has neither braces nor line breaks."""
    if isinstance(text, dict):
        return dict(text)
    content = str(text)
    if "\n" not in content and "{" not in content:
        try:
            content = Path(content).expanduser().read_text()
        except OSError as error:
            raise ProviderError(f"kubeconfig: {error}; write its contents or the path of a readable file") from error
    try:
        loaded = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ProviderError(f"kubeconfig: neither YAML nor JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise ProviderError("kubeconfig: not a mapping; write the contents of a kubeconfig or the path of one")
    return loaded


def _named(kubeconfig: dict[str, Any], section: str, name: Any) -> dict[str, Any]:
    entries = kubeconfig.get(section) or []
    for entry in entries:
        if entry.get("name") == name:
            found: dict[str, Any] = entry
            return found
    names = ", ".join(sorted(str(entry.get("name")) for entry in entries)) or "none"
    raise ProviderError(f"kubeconfig: {section} has no entry called {name!r}; there are: {names}")


def _search_first(command: dict[str, Any], path: Sequence[Path]) -> None:
    """Let ``command`` be found in ``path``; a kubeconfig with a PATH of its own keeps it behind."""
    environment = [entry for entry in command.get("env") or [] if entry.get("name") != "PATH"]
    own = [entry["value"] for entry in command.get("env") or [] if entry.get("name") == "PATH"]
    value = os.pathsep.join([*(str(each) for each in path), *(own or [os.environ.get("PATH", os.defpath)])])
    command["env"] = [*environment, {"name": "PATH", "value": value}]
