"""Which Kubernetes a cluster runs, and the versions of others that go with it. No Pulumi import.

A stack file names a minor version or a channel; EKS picks the patch. Pinned here is what EKS does not choose, as read
in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts import catalog

CLUSTER_AUTOSCALERS: Final[Mapping[str, str]] = {
    "1.32": "v1.32.5",
    "1.33": "v1.33.5",
    "1.34": "v1.34.4",
    "1.35": "v1.35.1",
    "1.36": "v1.36.0",
}
"""Kubernetes minor version → release of cluster-autoscaler, whose minor is to be the same. The releases are in
https://github.com/kubernetes/k8s.io/pull/9676 (1.33 and later) and https://github.com/kubernetes/k8s.io/pull/8815
(1.32)."""

KARPENTERS: Final[Mapping[str, str]] = dict.fromkeys(("1.32", "1.33", "1.34", "1.35", "1.36"), "1.14.1")
"""Kubernetes minor version → release of Karpenter's two charts, one for all: 1.14 goes with 1.26 to 1.36
(https://karpenter.sh/v1.14/upgrading/compatibility/), and its controller reports an error on any other version
(https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/version/version.go)."""


def kubernetes_minor(version: str | None, channel: str) -> str:
    """The minor version (``1.35``) that ``kubernetes.version`` asks for, or else ``kubernetes.channel`` means."""
    written = catalog.of("eks").kubernetes_versions[channel] if version is None else version
    return ".".join(written.removeprefix("v").split(".")[:2])
