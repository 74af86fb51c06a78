"""Kubernetes versions that the simulated AKS offers: the one the rehearsal's control plane really runs."""

from __future__ import annotations

from typing import Final

KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""


def resolve(wanted: str | None) -> str | None:
    """The version that ``wanted`` (nothing, ``1.34`` or all of it) means; ``None`` if it is not offered.

    https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
    """
    parts = wanted.split(".") if wanted else []
    return KUBERNETES if len(parts) != 1 and KUBERNETES.split(".")[: len(parts)] == parts else None
