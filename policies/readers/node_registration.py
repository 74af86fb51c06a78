"""The taints and labels that a machine's boot data makes its kubelet register with, and how often it offers each GPU.

Reads what clouds pass to a machine (cloud-init scripts and MIME documents, EKS ``NodeConfig``, kubeadm's
``JoinConfiguration``, Bottlerocket's TOML), plain or in base64, with or without gzip.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import yaml

from facts.concepts.declared import GpuSharing, UnknownReason
from facts.concepts.kubernetes import Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce
from policies.readers.resource import Declared, Item
from policies.readers.taints import parse_taint, taints_of

# The kubelet's flags (https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/), and those of k3s and
# RKE2 (https://docs.k3s.io/cli/agent).
_FLAG: Final = re.compile(r"--(register-with-taints|node-taint|node-labels?)[= ]['\"]?([^\s'\"\\]+)")
# Comments, and commands that only write to the screen.
_IDLE: Final = re.compile(
    r"^[ \t]*(?::|true|logger|(?:echo|printf)\b(?![^\n]*[>|]))[ \t][^\n]*|(?:^|[ \t])#[^\n]*", re.MULTILINE
)
_CONTINUED: Final = re.compile(r"\\\r?\n[ \t]*")
_BOOTSTRAP: Final = re.compile(
    r"bootstrap\.sh['\"]?(?=[ \t]+['\"$\w-])|nodeadm[ \t]+init|kubeadm[ \t]+join|k3s[ \t]+(?:agent|server)"
    r"|kubelet(?=[ \t]+--)"
)
_M_I: Final = re.MULTILINE | re.IGNORECASE
_BOUNDARY: Final = re.compile(r"^--\S+[ \t]*\r?$", re.MULTILINE)
_CONTENT_TYPE: Final = re.compile(r"^Content-Type:\s*(?!multipart/)([\w./+-]+)", _M_I)
_NOT_RUN: Final = ("text/plain", "text/html", "text/markdown", "application/octet-stream")
# What a shell writes: a here-document, or a line; the first group has the command that says where it goes.
_HERE_DOCUMENT: Final = re.compile(r"^([^\n]*<<-?[ \t]*['\"\\]?(\w+)['\"]?[^\n]*)\n.*?^[ \t]*\2[ \t]*$", re.M | re.S)
_ECHO: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:sudo[ \t]+)?(?:echo|printf)\b[^\n]*?([>|][^\n]*)$", re.MULTILINE)
_ASSIGNMENT: Final = re.compile(
    r"^[ \t]*(?:export[ \t]+|declare[ \t]+|readonly[ \t]+)?(\w+)=['\"][^\n]*$", re.MULTILINE
)
# Files and variables that kubelets and their agents read, and shells.
_CONFIGURES: Final = re.compile(
    r"kubelet|k3s|rke2|nodeadm|kubeadm|eks|node-?config|\b(?:ba)?sh\b(?!\.)|cloud-init|systemd", re.IGNORECASE
)
_TABLE: Final = re.compile(r"^\[settings\.kubernetes\.node-(taints|labels)\]\s*$(.*?)(?=^\[|\Z)", re.M | re.S)
_ENTRY: Final = re.compile(r"^\s*\"?([\w./-]+)\"?\s*=\s*\[?\s*\"([^\"]*)\"", re.M)
_DOCUMENT: Final = re.compile(
    r"^apiVersion:\s*(?:node\.eks\.aws|kubeadm\.k8s\.io)/.*?(?=^--|^[A-Z]+\s*$|\Z)", re.M | re.S
)
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
_SEVERAL: Final = replace(
    UNREADABLE,
    unknown_reason=UnknownReason(
        "its boot data has several commands that join a cluster, with different taints",
        "Join by one command, or give all of them the same taints.",
    ),
)
_WRITTEN: Final = replace(
    UNREADABLE,
    unknown_reason=UnknownReason(
        "its boot data only writes taints into a file or a variable",
        "Write the taints as arguments of the command that joins the cluster.",
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
    whole = decoded(str(user_data))
    if whole is None:
        return _NO_TEXT
    script, written = _apart(_CONTINUED.sub(" ", _IDLE.sub("", _parts_that_run(whole))))
    taints: list[Taint] = []
    labels: dict[str, str] = {}
    flags = _FLAG.findall(script)
    if any("$" in value for _, value in flags):  # a shell variable: what it holds is not visible here
        return _SHELL
    for flag, value in flags:
        if flag.startswith("node-label"):
            labels.update(parsed_labels(value))
        else:
            taints += parsed_taints(value)
    if len({_taints_in(each) for each in _bootstraps(script)}) > 1:
        return _SEVERAL
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
    if not _taints_in(written) <= {*taints}:
        return _WRITTEN
    return Registration(tuple(dict.fromkeys(taints)), labels, bool(_JOINS.search(whole)))


def _parts_that_run(text: str) -> str:
    """Boot data without those parts of a MIME message that nothing runs.

    https://docs.cloud-init.io/en/latest/explanation/format/mime-archive.html: of plain text, what begins with ``#``;
    https://awslabs.github.io/amazon-eks-ami/nodeadm/: a part of its own type.
    """
    if _CONTENT_TYPE.search(text) is None:
        return text
    kept: list[str] = []
    for part in _BOUNDARY.split(text):
        headers, _, payload = part.lstrip("\r\n").replace("\r\n", "\n").partition("\n\n")
        kind = _CONTENT_TYPE.search(headers)
        if kind is None:
            kept.append(part)
            continue
        plain = decoded(payload) or "" if re.search(r"^Content-Transfer-Encoding:\s*base64", headers, _M_I) else payload
        if kind[1].lower() not in _NOT_RUN or plain.startswith("#"):
            kept.append(f"{headers}\n\n{plain}")
    return "\n--\n".join(kept)


def _apart(script: str) -> tuple[str, str]:
    """A script, and what it only writes into files that are no configuration of a kubelet, or into a variable that it
    does not use: what becomes of that is not visible here."""
    written: list[str] = []

    def moved(match: re.Match[str]) -> str:
        if _CONFIGURES.search(match[1]):
            return match[0]
        written.append(match[0])
        return ""

    own = _ECHO.sub(moved, _HERE_DOCUMENT.sub(moved, script))
    for assignment in _ASSIGNMENT.finditer(_HERE_DOCUMENT.sub("", own)):
        if not _CONFIGURES.search(assignment[1]) and not re.search(rf"\$\{{?{assignment[1]}\b", own):
            own = own.replace(assignment[0], "")
            written.append(assignment[0])
    return own, "\n".join(written)


def _bootstraps(script: str) -> Iterator[str]:
    """Each command by which the machine joins a cluster, with its arguments."""
    for line in script.splitlines():
        ends = [match.start() for match in _BOOTSTRAP.finditer(line)]
        yield from (line[start:end] for start, end in pairwise([*ends, len(line)]))


def _taints_in(text: str) -> frozenset[Taint]:
    flags = ((flag, value) for flag, value in _FLAG.findall(text) if not flag.startswith("node-label"))
    return frozenset(taint for _, value in flags for taint in parsed_taints(value))


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


# Bottlerocket's own device plugin, by the boot data of a group's template or a node class:
# https://bottlerocket.dev/en/os/latest/#/api/settings/kubelet-device-plugins/
_SLICING: Final = re.compile(r"^[^#\n]*device-sharing-strategy\"?\s*=\s*[\"']time-slicing[\"']", re.MULTILINE)
_SLICES: Final = re.compile(r"time-slicing\"?(?:\]|\.)[^\[]*?\breplicas\"?\s*=\s*(\d+)")
_DEFAULT_SLICES: Final = 2


def shared_by_boot_data(group: Declared) -> Iterable[Item]:
    """How often the machines of a group offer each GPU, by the boot data of what it refers to."""
    for each in group.references:
        sources = (each.properties.get("userData"), each.properties.get("userDataBase64"))
        data = coalesce(*sources, at(each.properties, "spec", "userData"))
        boot = decoded(data) if isinstance(data, str) else None
        if boot is not None and _SLICING.search(boot):
            written = _SLICES.search(boot)
            replicas = _DEFAULT_SLICES if written is None else int(written[1])
            if replicas > 1:
                yield GpuSharing(f"{group.kind} '{group.name}'", replicas, group.urn)
