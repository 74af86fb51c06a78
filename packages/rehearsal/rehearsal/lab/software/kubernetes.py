"""Kubernetes' Debian packages, as https://pkgs.k8s.io has them.

Names, versions, files and dependencies: https://github.com/kubernetes/release/tree/master/cmd/krel/templates/latest.
Unlike there, no unit is enabled on installation, so that what relies on that fails here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rehearsal.lab.software.debs import Package
from rehearsal.tools.modules import CNI_PLUGINS, CRICTL, KUBERNETES

FILES: Final = Path(__file__).resolve().parent / "files"
_SYSTEMD: Final = "/lib/systemd/system"


def version() -> str:
    """The pinned version without ``v``, e.g. ``1.34.4``."""
    return KUBERNETES.version("k8s.io/kubernetes").lstrip("v")


def _core(tools: Path, version: str) -> list[Package]:
    """kubeadm, kubelet and kubectl of a ``version`` such as ``v1.34.4``, from the binaries in ``tools``."""
    release = f"{version.lstrip('v')}-1.1"
    return [
        Package(
            "kubeadm",
            release,
            "Command-line utility for administering a Kubernetes cluster",
            {
                "/usr/bin/kubeadm": tools / "kubeadm",
                f"{_SYSTEMD}/kubelet.service.d/10-kubeadm.conf": (FILES / "10-kubeadm.conf").read_text(),
            },
        ),
        Package(
            "kubelet",
            release,
            "Node agent for Kubernetes clusters",
            {
                "/usr/bin/kubelet": tools / "kubelet",
                f"{_SYSTEMD}/kubelet.service": (FILES / "kubelet.service").read_text(),
                "/etc/default/kubelet": "KUBELET_EXTRA_ARGS=\n",
                "/etc/kubernetes/manifests/.kubelet-keep": "",
                "/var/lib/kubelet/.kubelet-keep": "",
            },
            {
                "Depends": "kubernetes-cni (>= 1.2.0), mount, util-linux",
                "Recommends": "iptables (>= 1.8.4)",
            },
            {"prerm": script("stop.prerm.sh", "kubelet.service")},
        ),
        Package(
            "kubectl",
            release,
            "Command-line utility for interacting with a Kubernetes cluster",
            {"/usr/bin/kubectl": tools / "kubectl"},
        ),
    ]


def packages(tools: Path, own: Path, version: str) -> list[Package]:
    """A repository's: of ``version`` from the binaries in ``own``, and what they need from those in ``tools``."""
    crictl = CRICTL.version("sigs.k8s.io/cri-tools").lstrip("v")
    cni = CNI_PLUGINS.version("github.com/containernetworking/plugins").lstrip("v")
    return [
        *_core(own, version),
        Package(
            "cri-tools",
            f"{crictl}-1.1",
            "Command-line utility for interacting with a container runtime",
            {"/usr/bin/crictl": tools / "crictl"},
        ),
        Package(
            "kubernetes-cni",
            f"{cni}-1.1",
            "Binaries required to provision kubernetes container networking",
            {f"/opt/cni/bin/{name}": tools / name for name in CNI_PLUGINS.binaries},
        ),
    ]


def script(file: str, unit: str) -> str:
    """A maintainer script of ``files/`` for the systemd unit ``unit``."""
    return (FILES / file).read_text().replace("UNIT", unit)
