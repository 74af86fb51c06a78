"""The tags or labels of any resource of any cloud, for exemptions by tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from facts.concepts.unknown import at, items

_PLACES: Final = (
    ("tags",),  # AWS, Azure
    ("labels",),  # Google Cloud, EKS node groups
    ("resourceLabels",),  # GKE clusters
    ("nodeConfig", "resourceLabels"),
    ("nodeConfig", "labels"),
    ("nodeLabels",),  # AKS agent pools
    ("metadata", "labels"),  # Kubernetes
)


def tags_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Key → value of every tag or label that is known; a later place does not hide an earlier one."""
    tags: dict[str, str] = {}
    for place in _PLACES:
        value = at(properties, *place)
        # Auto Scaling groups list their tags.
        pairs = [(at(entry, "key"), at(entry, "value")) for entry in items(value)] if isinstance(value, list) else ()
        for key, text in value.items() if isinstance(value, Mapping) else pairs:
            if isinstance(key, str) and isinstance(text, str):
                tags.setdefault(key, text)
    return tags
