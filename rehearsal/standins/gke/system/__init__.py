"""The pods that every new GKE cluster has: manifests in this folder, applied by the fleet with the control plane."""

from __future__ import annotations

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

MANIFESTS = Path(__file__).parent


def system_objects() -> list[dict[str, Any]]:
    """Every object of a new cluster's system, in the order in which they can be applied."""
    return copy.deepcopy(_objects())


@lru_cache(maxsize=1)
def _objects() -> list[dict[str, Any]]:
    documents = [d for path in sorted(MANIFESTS.glob("*.yaml")) for d in yaml.safe_load_all(path.read_text("utf-8"))]
    return [document for document in documents if document]
