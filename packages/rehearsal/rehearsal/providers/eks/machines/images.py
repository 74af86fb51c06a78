"""EKS's optimized images, by the names that AWS gives them.

https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html,
https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami-bottlerocket.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Family = Literal["al2023", "bottlerocket"]

_AL2023: Final = re.compile(
    r"amazon-eks-node-al2023-(?P<arch>x86_64|arm64)-(?P<variant>standard|nvidia|neuron)-(?P<minor>1\.\d+)-v\d+"
)
_BOTTLEROCKET: Final = re.compile(
    r"bottlerocket-aws-k8s-(?P<minor>1\.\d+)(-(?P<variant>nvidia))?-(?P<arch>x86_64|aarch64)-v[0-9.]+.*"
)
_ARCHITECTURES: Final = {"aarch64": "arm64"}
_OS: Final = {"al2023": "Amazon Linux 2023", "bottlerocket": "Bottlerocket OS"}


@dataclass(frozen=True)
class NodeImage:
    """An image that boots into a kubelet: ``minor`` of Kubernetes, ``arch`` as EC2 says it (``x86_64``)."""

    family: Family
    variant: str
    minor: str
    arch: str

    @property
    def os(self) -> str:
        """What its nodes say that they run."""
        return _OS[self.family]

    @property
    def ami_type(self) -> str:
        """EKS's word for an image of this kind: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html."""
        if self.family == "bottlerocket":
            return f"BOTTLEROCKET_{self.arch}" + ("_NVIDIA" if self.variant == "nvidia" else "")
        return f"AL2023_{self.arch}_{self.variant.upper()}"


def node_image(name: str) -> NodeImage | None:
    """The image of that name, ``None`` for one that is not known to boot into a kubelet."""
    match = _AL2023.fullmatch(name)
    if match:
        return NodeImage("al2023", match["variant"], match["minor"], match["arch"])
    match = _BOTTLEROCKET.fullmatch(name)
    if match:
        arch = _ARCHITECTURES.get(match["arch"], match["arch"])
        return NodeImage("bottlerocket", match["variant"] or "standard", match["minor"], arch)
    return None
