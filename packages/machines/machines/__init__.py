"""The provider plugin of own machines: Kubernetes by kubeadm on machines that are reached by SSH."""

from __future__ import annotations

from typing import Final

NAME: Final = "gpucluster-machines"
VERSION: Final = "0.1.0"
