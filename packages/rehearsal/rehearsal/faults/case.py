"""What a fault is. The faulty program imports this itself, so it must stay cheap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

NODE_POOL: Final = "gcp:container/nodePool:NodePool"
KUBERNETES_PROVIDER: Final = "pulumi:providers:kubernetes"

Program = Callable[[], None]
Injection = Callable[[Program], None]


@dataclass(frozen=True)
class Case:
    """One fault of the program.

    ``inject`` gets the original program as a function and must call it, with something changed before or added after.
    ``rule`` is the policy that must refuse it, ``None`` if only the cloud or the cluster can know. Without the gate,
    the rehearsal's check ``check`` must fail, and its detail must contain ``reason``.
    """

    name: str
    title: str
    stack: str
    rule: str | None
    check: str
    reason: str
    inject: Injection


def is_gpu_pool(type: str, properties: dict[str, Any]) -> bool:
    """Whether a resource is a node pool with GPUs."""
    return type == NODE_POOL and bool((properties.get("nodeConfig") or {}).get("guestAccelerators"))
