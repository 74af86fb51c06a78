"""Kubernetes versions that the simulated GKE offers: the one the rehearsal's control plane really runs."""

from __future__ import annotations

from typing import Final

KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""

# Google's patch number after ``-gke.`` has no counterpart here.
VERSION: Final = f"{KUBERNETES}-gke.1000000"
CHANNELS: Final = ("RAPID", "REGULAR", "STABLE")


def resolve(wanted: str | None) -> str | None:
    """The version that ``wanted`` (nothing, ``latest``, ``-``, ``1.34`` or all of it) means; ``None`` if not offered.

    https://cloud.google.com/kubernetes-engine/versioning#specifying_cluster_version
    """
    if not wanted or wanted in ("latest", "-") or wanted == VERSION:
        return VERSION
    parts = wanted.split(".")
    return VERSION if "-" not in wanted and KUBERNETES.split(".")[: len(parts)] == parts else None
