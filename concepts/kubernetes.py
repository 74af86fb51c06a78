"""Kubernetes' words that all of us use: the GPU resource and label, taints and tolerations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

GPU_RESOURCE: Final = "nvidia.com/gpu"


GPU_PRESENT_LABEL: Final = "nvidia.com/gpu.present"


SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""A pod's annotation: ``"false"`` and no cluster-autoscaler ends the pod to empty its node.

https://kubernetes.io/docs/reference/labels-annotations-taints/#cluster-autoscaler-kubernetes-io-safe-to-evict
"""


Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True)
class Taint:
    """A node taint, in Kubernetes' words (``effect`` is ``NoSchedule``, never a cloud's spelling)."""

    key: str
    value: str | None
    effect: Effect

    def __str__(self) -> str:
        return f"{self.key}={self.value or ''}:{self.effect}"


@dataclass(frozen=True)
class Toleration:
    """A pod's toleration; ``key=None`` with ``Exists`` tolerates everything, ``effect=None`` every effect."""

    key: str | None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether a node with ``taint`` takes pods that have this toleration."""
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key is not None and self.key != taint.key:
            return False
        return self.operator == "Exists" or (self.key is not None and (self.value or "") == (taint.value or ""))
