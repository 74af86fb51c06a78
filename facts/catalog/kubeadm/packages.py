"""Where own machines get their packages, and the keys that sign them.

- Kubernetes: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/. One repository for
  each minor version; its key expires and is renewed under the same fingerprint.
- Driver: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (network repository). One repository for
  each release of each distribution and each architecture; that of Arm servers is called sbsa
  (https://github.com/NVIDIA/ansible-role-nvidia-driver/pull/82). Since Debian 13 and Ubuntu 26.04 each has a key of its
  own: that of the older ones is signed with SHA-1, which apt 3 refuses.
- Toolkit: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html

Fingerprints: as several public repositories pin them (read 2026-11-25), each in at least two of different owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A signed apt repository. ``url`` may have ``{minor}``, the Kubernetes minor version, ``{distribution}``, such as
    ``ubuntu2404``, ``{architecture}`` (``x86_64`` or ``sbsa``) and ``{debArchitecture}`` (``amd64`` or ``arm64``); so
    may ``key``, the address of the key with this ``fingerprint``. ``keys``: distribution → address and fingerprint of
    the key, where it has another."""

    url: str
    key: str
    fingerprint: str
    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)


_CUDA: Final = "https://developer.download.nvidia.com/compute/cuda/repos/{distribution}/{architecture}/"

REPOSITORIES: Final[Mapping[str, Repository]] = {
    "kubernetes": Repository(
        url="https://pkgs.k8s.io/core:/stable:/v{minor}/deb/",
        key="https://pkgs.k8s.io/core:/stable:/v{minor}/deb/Release.key",
        fingerprint="DE15B14486CD377B9E876E1A234654DA9A296436",
    ),
    "driver": Repository(
        url=_CUDA,
        key=f"{_CUDA}3bf863cc.pub",
        fingerprint="EB693B3035CD5710E231E123A4B469963BF863CC",
        keys={
            "debian13": (f"{_CUDA}8793F200.pub", "02182E60104FCDC26EAE1B8597A5D4CB8793F200"),
            "ubuntu2604": (f"{_CUDA}60DF8A40.pub", "14BAFBC7562AD710CA04E69905FBB6DA60DF8A40"),
        },
    ),
    "toolkit": Repository(
        url="https://nvidia.github.io/libnvidia-container/stable/deb/{debArchitecture}/",
        key="https://nvidia.github.io/libnvidia-container/gpgkey",
        fingerprint="C95B321B61E88C1809C4F759DDCAE044F796ECB0",
    ),
}

MINORS: Final[Mapping[str, date]] = {
    "1.36": date(2027, 6, 28),
    "1.37": date(2027, 10, 28),
    "1.35": date(2027, 2, 28),
    "1.34": date(2026, 10, 27),
}
"""Minor version of Kubernetes, the default first → the last day on which it is supported: https://kubernetes.io/releases/
(read 2026-11-25). All start with containerd 1.6 and 1.7, which Debian 12 and 13 have; 1.38 will not:
https://github.com/kubernetes/enhancements/pull/6087. Neither is supported by containerd's project any more, and it
recommends later patches than Debian 12's 1.6.20 (https://github.com/containerd/containerd/blob/main/RELEASES.md):
security fixes are the distribution's. The default is the newest that has had half a year of patches."""

DRIVER_BRANCHES: Final[Mapping[str, date]] = {
    "580": date(2028, 6, 30),
    "595": date(2027, 3, 31),
    "620": date(2029, 9, 30),
}
"""Branch of NVIDIA's data centre driver, the default first → the last day of the month until which it is supported:
https://docs.nvidia.com/datacenter/tesla/drivers/620/supported-drivers-and-cuda-toolkit-versions.html"""

PROPRIETARY_BRANCHES: Final = ("580", "595")
"""Those that also have proprietary kernel modules; since 620 all are open:
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/620/kernel-modules.html"""

ENDED_DRIVER_BRANCHES: Final[Mapping[str, str]] = {
    "535": "June 2026",
    "570": "February 2026",
    "610": "August 2026",
}
"""Branches without support → the month in which it ended, as the same pages of earlier branches say:
https://docs.nvidia.com/datacenter/tesla/drivers/615/supported-drivers-and-cuda-toolkit-versions.html and
https://docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html (of branch 580, which
counts 575 and older ones as ended already; new feature branches such as 590 have no date)."""
