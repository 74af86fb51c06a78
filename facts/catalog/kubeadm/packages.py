"""Where own machines get their packages, and the keys that sign them.

- Kubernetes: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/. One repository for
  each minor version; its key expires and is renewed under the same fingerprint.
- Driver: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (network repository). One repository for
  each release of each distribution.
- Toolkit: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html

Fingerprints: as several public repositories pin them (read 2026-11-25).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A signed apt repository. ``url`` may have ``{minor}``, the Kubernetes minor version, and ``{distribution}``, such
    as ``ubuntu2404``; so may ``key``, the address of the key with this ``fingerprint``."""

    url: str
    key: str
    fingerprint: str


REPOSITORIES: Final[Mapping[str, Repository]] = {
    "kubernetes": Repository(
        url="https://pkgs.k8s.io/core:/stable:/v{minor}/deb/",
        key="https://pkgs.k8s.io/core:/stable:/v{minor}/deb/Release.key",
        fingerprint="DE15B14486CD377B9E876E1A234654DA9A296436",
    ),
    "driver": Repository(
        url="https://developer.download.nvidia.com/compute/cuda/repos/{distribution}/x86_64/",
        key="https://developer.download.nvidia.com/compute/cuda/repos/{distribution}/x86_64/3bf863cc.pub",
        fingerprint="EB693B3035CD5710E231E123A4B469963BF863CC",
    ),
    "toolkit": Repository(
        url="https://nvidia.github.io/libnvidia-container/stable/deb/amd64/",
        key="https://nvidia.github.io/libnvidia-container/gpgkey",
        fingerprint="C95B321B61E88C1809C4F759DDCAE044F796ECB0",
    ),
}

MINORS: Final = ("1.34", "1.35")
"""Minor versions of Kubernetes, the default first: the one that is rehearsed. 1.35 is the last that works with
containerd 1, which Ubuntu 22.04 and Debian 12 have:
https://kubernetes.io/blog/2025/09/12/kubernetes-v1-35-sneak-peek/ and KEP-4033."""

DRIVER_BRANCHES: Final = ("580", "575", "570")
"""Branches of NVIDIA's data centre driver, the default first: https://docs.nvidia.com/datacenter/tesla/drivers/"""
