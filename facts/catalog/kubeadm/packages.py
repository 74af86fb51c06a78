"""Where own machines get their packages, the keys that sign them, and the versions that are supported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from facts.catalog.tables import rows


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A signed apt repository. ``url`` may have ``{minor}``, the Kubernetes minor version, ``{distribution}``, such as
    ``ubuntu2404``, ``{architecture}`` (``x86_64`` or ``sbsa``) and ``{debArchitecture}`` (``amd64`` or ``arm64``); so
    may ``key``, the address of the key with this ``fingerprint``. ``keys``: distribution → address and fingerprint of
    the key, where it has another."""

    url: str
    key: str
    fingerprint: str
    keys: Mapping[str, tuple[str, str]]


def _repository(name: str) -> Repository:
    by_distribution = {row["distribution"]: row for row in rows("kubeadm", "repositories") if row["name"] == name}
    usual = by_distribution.pop("")
    keys = {distribution: (row["key"], row["fingerprint"]) for distribution, row in by_distribution.items()}
    return Repository(url=usual["url"], key=usual["key"], fingerprint=usual["fingerprint"], keys=keys)


REPOSITORIES: Final = {name: _repository(name) for name in ("kubernetes", "driver", "toolkit")}

MINORS: Final = {row["minor"]: date.fromisoformat(row["until"]) for row in rows("kubeadm", "kubernetes_minors")}
"""Minor version of Kubernetes, the default first → the last day on which it is supported."""

_BRANCHES: Final = rows("kubeadm", "driver_branches")

DRIVER_BRANCHES: Final = {row["branch"]: date.fromisoformat(row["until"]) for row in _BRANCHES if row["until"]}
"""Branch of NVIDIA's data centre driver, the default first → the last day on which it is supported."""

PROPRIETARY_BRANCHES: Final = tuple(row["branch"] for row in _BRANCHES if row["proprietary"])
"""Those that also have proprietary kernel modules."""

ENDED_DRIVER_BRANCHES: Final = {row["branch"]: row["ended"] for row in _BRANCHES if row["ended"]}
"""Branches without support → the month in which it ended."""
