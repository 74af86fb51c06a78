"""How each cloud spells one more taint or label on a node pool; the inverse of the readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.rules.model import Taint

AddTaint = Callable[[dict[str, Any], Taint], bool]
"""Adds the taint to a pool's properties in place; false where they have another shape than expected (a secret)."""

AddLabel = Callable[[dict[str, Any], str, str], bool]
"""Adds a label (key, value) likewise."""

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


def _gke_label(properties: dict[str, Any], key: str, value: str) -> bool:
    config = properties.setdefault("nodeConfig", {})
    return isinstance(config, dict) and _set(config, "labels", key, value)


def _eks_label(properties: dict[str, Any], key: str, value: str) -> bool:
    return _set(properties, "labels", key, value)


def _aks_label(properties: dict[str, Any], key: str, value: str) -> bool:
    return _set(properties, "nodeLabels", key, value)


def _set(holder: dict[str, Any], place: str, key: str, value: str) -> bool:
    present = holder.get(place)
    if present is not None and not isinstance(present, dict):
        return False
    holder[place] = {**(present or {}), key: value}
    return True


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

ADD_LABEL: Final[Mapping[str, AddLabel]] = {
    "gcp:container/nodePool:NodePool": _gke_label,
    "aws:eks/nodeGroup:NodeGroup": _eks_label,
    "azure-native:containerservice:AgentPool": _aks_label,
}
"""Type token of a pool → how to add a label to its properties."""
