"""The taints and labels that a machine's boot data makes its kubelet register with.

Reads what clouds pass to a machine (cloud-init scripts and MIME documents, EKS ``NodeConfig``, kubeadm's
``JoinConfiguration``, Bottlerocket's TOML), plain or in base64, with or without gzip.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from facts.concepts.declared import UnknownReason
from facts.concepts.kubernetes import Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at
from policies.readers.taints import parse_taint, taints_of

# The kubelet's flags (https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/), and those of k3s and
# RKE2 (https://docs.k3s.io/cli/agent).
_FLAG: Final = re.compile(r"--(register-with-taints|node-taint|node-labels?)[= ]['\"]?([^\s'\"\\]+)")
# Comments, and commands that only write to the screen.
_IDLE: Final = re.compile(
    r"^[ \t]*(?::|true|logger|(?:echo|printf)\b(?![^\n]*[>|]))[ \t][^\n]*|(?:^|[ \t])#[^\n]*", re.MULTILINE
)
_TABLE: Final = re.compile(r"^\[settings\.kubernetes\.node-(taints|labels)\]\s*$(.*?)(?=^\[|\Z)", re.M | re.S)
_ENTRY: Final = re.compile(r"^\s*\"?([\w./-]+)\"?\s*=\s*\[?\s*\"([^\"]*)\"", re.M)
_DOCUMENT: Final = re.compile(r"^apiVersion:\s*(?:node\.eks\.aws|kubeadm\.k8s\.io)/.*?(?=^--|\Z)", re.M | re.S)
_JOINS: Final = re.compile(
    r"/etc/eks/bootstrap|node\.eks\.aws/|\[settings\.kubernetes\]|\bkubelet\b|kubeadm|\bk3s\b|\brke2\b", re.I
)


@dataclass(frozen=True)
class Registration:
    """What a kubelet registers with; ``joins``: whether the boot data makes the machine a Kubernetes node at all."""

    taints: Maybe[tuple[Taint, ...]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    joins: Maybe[bool] = False
    unknown_reason: UnknownReason | None = None
    """Why its taints and labels cannot be read."""


NOTHING: Final = Registration()
UNREADABLE: Final = Registration(taints=UNKNOWN, joins=UNKNOWN)
_SHELL: Final = replace(
    UNREADABLE,
    unknown_reason=UnknownReason(
        "its boot data takes taints or labels from a shell variable",
        "Write the taints as literal text in the boot data, or set them on the group where the cloud supports that.",
    ),
)
_NO_TEXT: Final = replace(
    UNREADABLE,
    unknown_reason=UnknownReason(
        "its boot data is not text that the gate reads", "Write the boot data as text, base64 or gzip of it."
    ),
)


def registration(user_data: Any) -> Registration:
    """Reads boot data. The result is unknown if the data is unknown, is not text, or takes values from a shell."""
    if user_data is UNKNOWN:
        return UNREADABLE
    if not user_data:
        return NOTHING
    script = decoded(str(user_data))
    if script is None:
        return _NO_TEXT
    taints: list[Taint] = []
    labels: dict[str, str] = {}
    for flag, value in _FLAG.findall(_IDLE.sub("", script)):
        if "$" in value:  # a shell variable: what it holds is not visible here
            return _SHELL
        if flag.startswith("node-label"):
            labels.update(parsed_labels(value))
        else:
            taints += parsed_taints(value)
    for kind, table in _TABLE.findall(script):
        for key, value in _ENTRY.findall(table):
            if kind == "labels":
                labels[key] = value
            else:
                taints += parsed_taints(f"{key}={value}" if ":" in value else f"{key}:{value}")
    for document in _DOCUMENT.findall(script):
        try:
            config = yaml.safe_load(document)
        except yaml.YAMLError:
            return _NO_TEXT
        listed = taints_of(at(config, "spec", "kubelet", "config", "registerWithTaints"))
        joining = taints_of(at(config, "nodeRegistration", "taints"))
        if listed is UNKNOWN or joining is UNKNOWN:
            return UNREADABLE
        taints += listed + joining
    return Registration(tuple(taints), labels, bool(_JOINS.search(script)))


def parsed_taints(value: str) -> Iterable[Taint]:
    """Taints in the kubelet's spelling, ``key=value:Effect`` or ``key:Effect``, separated by commas."""
    taints = (parse_taint(part.strip()) for part in value.split(","))
    return [taint for taint in taints if taint is not None]


def parsed_labels(value: str) -> dict[str, str]:
    """Labels in the kubelet's spelling, ``key=value`` separated by commas."""
    pairs = (part.partition("=") for part in value.split(",") if "=" in part)
    return {key.strip(): text for key, _, text in pairs}


def decoded(data: str) -> str | None:
    """The text, out of base64 and gzip where it is in them; ``None`` for other bytes."""
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return data
    try:
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        return raw.decode()
    except (UnicodeDecodeError, OSError, EOFError):
        return None
