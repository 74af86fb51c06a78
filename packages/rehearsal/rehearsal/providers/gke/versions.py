"""Kubernetes versions that the simulated GKE offers. Its control plane really runs one of them, ``KUBERNETES``."""

from __future__ import annotations

import re
from typing import Final

KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""

# Google's patch number after ``-gke.`` has no counterpart here.
VERSION: Final = f"{KUBERNETES}-gke.1000000"
CHANNELS: Final = ("RAPID", "REGULAR", "STABLE", "EXTENDED")
# Which ones Google offers changes by the week (https://cloud.google.com/kubernetes-engine/docs/release-schedule): those
# of November 2026, of which the oldest are in the channel Extended only.
MINORS: Final = range(32, 38)
EXTENDED_MINORS: Final = range(32, 34)
_VERSION: Final = re.compile(r"1\.(\d+)(\.\d+(-gke\.\d+)?)?")


def resolve(requested: str | None) -> str | None:
    """The version for ``requested`` (nothing, ``latest``, ``-``, ``1.34`` or a full version); ``None`` if not offered.

    Another version than the control plane's is accepted and reported by cluster and nodes, but not run.

    https://cloud.google.com/kubernetes-engine/versioning#specifying_cluster_version
    """
    if not requested or requested in ("latest", "-") or requested == VERSION:
        return VERSION
    match = _VERSION.fullmatch(requested)
    if match is None or int(match[1]) not in MINORS:
        return None
    if match[3]:
        return requested
    parts = requested.split(".")
    if KUBERNETES.split(".")[: len(parts)] == parts:
        return VERSION
    return f"{requested if match[2] else requested + '.0'}-gke.1000000"


def extended_only(version: str | None) -> bool:
    """Whether the version is in extended support: https://cloud.google.com/kubernetes-engine/versioning."""
    match = _VERSION.fullmatch(version or "")
    return match is not None and int(match[1]) in EXTENDED_MINORS


def not_newer(version: str, master: str) -> bool:
    """Whether nodes of ``version`` may be in a cluster of ``master``."""
    return _numbers(version) <= _numbers(master)[: len(_numbers(version))]


def minors_behind(version: str, master: str) -> int:
    """How many minor versions older than ``master`` nodes of ``version`` are; 0 if it names none (``latest``)."""
    minor = _numbers(version)[1:2]
    return _numbers(master)[1] - minor[0] if minor else 0


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
