"""Upstream binaries that only a rehearsal of own machines needs: kubeadm, kubelet, a network, DNS."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rehearsal.tools.modules import KUBERNETES, Module, Overlay, Stamp

_HERE: Final = Path(__file__).resolve().parent

KUBEADM: Final = Module(
    _HERE / "kubeadm",
    stamps=KUBERNETES.stamps,
    minutes=4,
    build_gib=2.0,
    installed_gib=0.2,
)
"""A module of its own, so that the control plane of all other rehearsals is not built again."""

CRICTL: Final = Module(
    _HERE / "crictl",
    stamps=(Stamp("sigs.k8s.io/cri-tools/pkg/version.Version", "sigs.k8s.io/cri-tools"),),
    minutes=1,
    build_gib=0.5,
    installed_gib=0.1,
)

COREDNS: Final = Module(
    _HERE / "coredns",
    minutes=3,
    build_gib=1.0,
    installed_gib=0.1,
)
"""Of the version that kubeadm deploys (``CoreDNSVersion``): https://github.com/kubernetes/kubernetes/blob/v1.34.4/cmd/kubeadm/app/constants/constants.go"""

FLANNEL: Final = Module(
    _HERE / "flannel",
    names={"flannel": "flanneld", "install_conf": "install-conf"},
    stamps=(Stamp("github.com/flannel-io/flannel/pkg/version.Version", "github.com/flannel-io/flannel"),),
    # One backend needs an SDK that not every Go module proxy has, the other a C compiler; machines here use vxlan.
    edits=tuple(
        Overlay(
            "github.com/flannel-io/flannel",
            "main.go",
            f'\t_ "github.com/flannel-io/flannel/pkg/backend/{backend}"\n',
            "",
        )
        for backend in ("tencentvpc", "udp")
    ),
    minutes=1.5,
    build_gib=1.0,
    installed_gib=0.1,
)

CNI_PLUGINS: Final = Module(
    _HERE / "cni-plugins",
    stamps=(
        Stamp(
            "github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion",
            "github.com/containernetworking/plugins",
        ),
    ),
    minutes=0.7,
    build_gib=0.3,
    installed_gib=0.1,
)
"""Of the version of the package kubernetes-cni beside the pinned Kubernetes."""

FLANNEL_CNI: Final = Module(
    _HERE / "flannel-cni",
    names={"flannel": "flannel-cni"},
    minutes=0.2,
    build_gib=0.1,
    installed_gib=0.01,
)
"""Flannel's CNI plugin from the last release that lies in the CNI project's own module, for CNI 1.0 as flannel asks.

Newer ones are in github.com/flannel-io/cni-plugin, which is not available from every Go module proxy.
"""

LOCAL_PATH: Final = Module(
    _HERE / "local-path",
    minutes=4,
    build_gib=1.0,
    installed_gib=0.1,
)
"""The newest release that is a Go module; it makes the machines' volumes."""

LAB_IMAGE: Final = Module(
    _HERE / "lab-image",
    minutes=0.3,
    build_gib=0.1,
    installed_gib=0.02,
)
"""Our own program: what runs in the rehearsal's container images, and the simulated NVIDIA driver's commands."""

LAB: Final = (KUBEADM, CRICTL, COREDNS, CNI_PLUGINS, FLANNEL, FLANNEL_CNI, LOCAL_PATH, LAB_IMAGE)
