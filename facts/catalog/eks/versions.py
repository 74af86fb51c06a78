"""Which Kubernetes a cluster runs, and the versions of others that go with it. No Pulumi import.

A stack file names a minor version or a channel; EKS picks the patch. Pinned here is what EKS does not choose.
"""

from __future__ import annotations

from typing import Final

from facts import catalog
from facts.catalog.tables import rows

CLUSTER_AUTOSCALERS: Final = {row["minor"]: row["cluster_autoscaler"] for row in rows("eks", "autoscalers")}
"""Kubernetes minor version → release of cluster-autoscaler."""

KARPENTERS: Final = {row["minor"]: row["karpenter"] for row in rows("eks", "autoscalers")}
"""Kubernetes minor version → release of Karpenter's two charts."""


def kubernetes_minor(version: str | None, channel: str) -> str:
    """The minor version (``1.35``) that ``kubernetes.version`` asks for, or else ``kubernetes.channel`` means."""
    written = catalog.of("eks").choices.kubernetes_versions[channel] if version is None else version
    return ".".join(written.removeprefix("v").split(".")[:2])
