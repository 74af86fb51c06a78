"""How each cloud spells one more taint on a node pool; the inverse of the readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.rules.model import Taint

AddTaint = Callable[[dict[str, Any], Taint], bool]
"""Adds the taint to a pool's properties in place; false where they have another shape than expected (a secret)."""

_CONSTANTS: Final[Mapping[str, str]] = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def _entry(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, "value": taint.value or "", "effect": _CONSTANTS[taint.effect]}


def _gke(properties: dict[str, Any], taint: Taint) -> bool:
    config = properties.setdefault("nodeConfig", {})
    return isinstance(config, dict) and _append(config, "taints", _entry(taint))


def _eks(properties: dict[str, Any], taint: Taint) -> bool:
    return _append(properties, "taints", _entry(taint))


def _aks(properties: dict[str, Any], taint: Taint) -> bool:
    return _append(properties, "nodeTaints", str(taint))


def _append(holder: dict[str, Any], key: str, value: object) -> bool:
    present = holder.get(key)
    if present is not None and not isinstance(present, list):
        return False
    holder[key] = [*(present or []), value]
    return True


ADD_TAINT: Final[Mapping[str, AddTaint]] = {
    "gcp:container/nodePool:NodePool": _gke,
    "aws:eks/nodeGroup:NodeGroup": _eks,
    "azure-native:containerservice:AgentPool": _aks,
}
"""Type token of a pool → how to add a taint to its properties."""
