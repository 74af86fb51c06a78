"""A project's own keys in a stack file, as the engine and the program read them: the settings and the gate alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

NAMESPACE: Final = "gpucluster"
_TEXTS: Final = ("cloud", "region", "availability", "clusterName")
"""Keys whose value is a text, even one that looks like JSON."""


def own_name(key: object) -> str:
    """The key without the project's namespace, ``""`` for a key of another; ``gpucluster:config:cloud`` is an old form.

    https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/config/key.go (``ParseKey``)
    """
    namespace, _, name = str(key).partition(":")
    return name.removeprefix("config:") if namespace == NAMESPACE else ""


def decoded(name: str, value: object) -> object:
    """A key's value: the engine has lists and mappings as JSON in a text, and a stack file may have them so."""
    if name in _TEXTS or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def own_config(config: object) -> dict[str, Any]:
    """The project's own keys of ``config:`` in a stack file, without their namespace."""
    pairs = config.items() if isinstance(config, Mapping) else ()
    return {name: decoded(name, value) for key, value in pairs if (name := own_name(key))}


def defaults(project: object) -> dict[str, Any]:
    """What ``config:`` of ``Pulumi.yaml`` gives each stack: https://www.pulumi.com/docs/iac/concepts/config/#project-level-configuration."""
    pairs = project.items() if isinstance(project, Mapping) else ()
    values = {
        own_name(key) or str(key): entry.get("value", entry.get("default")) if isinstance(entry, Mapping) else entry
        for key, entry in pairs
    }
    return {name: decoded(name, value) for name, value in values.items()}
