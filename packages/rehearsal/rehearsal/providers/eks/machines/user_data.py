"""User data of an instance: the cluster to join, and the configuration of its kubelet.

AL2023: ``NodeConfig`` in YAML, alone or in parts of a MIME archive, later parts override earlier ones
(https://awslabs.github.io/amazon-eks-ami/nodeadm/). Bottlerocket: TOML
(https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/).
"""

from __future__ import annotations

import email
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from rehearsal.providers.eks.machines.instance import Family
from rehearsal.providers.values import merged as merged_values

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Settings = Mapping[str, Any]
_NODE_CONFIG: Final = "application/node.eks.aws"
_FLAGS: Final = {"--max-pods": "maxPods"}
_RESERVED: Final = {
    "kube-reserved": "kubeReserved",
    "system-reserved": "systemReserved",
    "eviction-hard": "evictionHard",
    "max-pods": "maxPods",
}


class UserDataError(Exception):
    """Why an image cannot make a node with this user data."""


@dataclass(frozen=True)
class Bootstrap:
    """The cluster in the instance's user data, and its kubelet: ``settings`` are keys of a KubeletConfiguration.

    ``taints`` are in the API's form. ``raid0``: the instance's own disks are the node's storage.
    """

    cluster: str
    endpoint: str
    ca: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    settings: Settings = field(default_factory=dict)
    raid0: bool = False


def bootstrap(family: Family, text: str) -> Bootstrap:
    """What the text makes an image of the family do.

    Raises UserDataError: it is not of the form that the image reads, or names no cluster.
    """
    if not text.strip():
        raise UserDataError("it has no user data, so it joins no cluster")
    try:
        parsed = _al2023(text) if family == "al2023" else _bottlerocket(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserDataError(f"its user data cannot be read by {family}: {error}") from error
    lacking = [name for name in ("cluster", "endpoint", "ca") if not getattr(parsed, name)]
    if lacking:
        raise UserDataError(f"its user data does not say the cluster's {', '.join(lacking)}")
    return parsed


def _al2023(text: str) -> Bootstrap:
    merged: dict[str, Any] = {}
    for part in _node_configs(text):
        merged = merged_values(merged, yaml.safe_load(part) or {})
    if not merged:
        raise UserDataError(f"its user data has no part of type {_NODE_CONFIG}")
    spec = merged["spec"]
    cluster, kubelet = spec.get("cluster") or {}, spec.get("kubelet") or {}
    settings = dict(kubelet.get("config") or {})
    labels: dict[str, str] = {}
    for name, value in _flags(kubelet.get("flags") or ()):
        if name == "--node-labels":
            labels.update(_pairs(value))
        elif name == "--register-with-taints":
            settings["registerWithTaints"] = [_taint(each) for each in value.split(",")]
        elif name in _FLAGS:
            settings[_FLAGS[name]] = int(value)
    storage = (spec.get("instance") or {}).get("localStorage") or {}
    return Bootstrap(
        cluster.get("name") or "",
        cluster.get("apiServerEndpoint") or "",
        cluster.get("certificateAuthority") or "",
        labels,
        tuple(settings.pop("registerWithTaints", None) or ()),
        settings,
        storage.get("strategy") == "RAID0",
    )


def _bottlerocket(text: str) -> Bootstrap:
    settings = tomllib.loads(text).get("settings") or {}
    kubernetes = settings.get("kubernetes") or {}
    taints = [
        {"key": key, "value": value, "effect": effect}
        for key, values in (kubernetes.get("node-taints") or {}).items()
        for value, _, effect in (
            str(each).partition(":") for each in (values if isinstance(values, list) else [values])
        )
    ]
    commands = [
        word
        for each in (settings.get("bootstrap-commands") or {}).values()
        for command in each.get("commands") or ()
        for word in command
    ]
    return Bootstrap(
        kubernetes.get("cluster-name") or "",
        kubernetes.get("api-server") or "",
        kubernetes.get("cluster-certificate") or "",
        kubernetes.get("node-labels") or {},
        tuple(taints),
        {key: kubernetes[name] for name, key in _RESERVED.items() if name in kubernetes},
        "ephemeral-storage" in commands,
    )


def _node_configs(text: str) -> Iterator[str]:
    message = email.message_from_string(text.lstrip())
    if not message.is_multipart():
        # Only a document of the right kind, and not a script, is a configuration by itself.
        if "kind: NodeConfig" in text:
            yield text
        return
    for part in message.walk():
        if part.get_content_type() == _NODE_CONFIG:
            payload = part.get_payload(decode=True)
            yield payload.decode() if isinstance(payload, bytes) else str(payload)


def _flags(words: Any) -> Iterator[tuple[str, str]]:
    """``--name=value``, as a shell takes it apart."""
    for word in words:
        for each in shlex.split(word):
            name, _, value = each.partition("=")
            yield name, value


def _pairs(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (each.partition("=") for each in text.split(",") if each)}


def _taint(text: str) -> dict[str, str]:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}
