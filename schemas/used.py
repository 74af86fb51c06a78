"""The resource types that the schemas describe: those that the program declares or the simulated providers hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

SOURCES: Final = {"gke": "google/names.yaml", "eks": "amazon/names.yaml", "aks": "azure/models.yaml"}
"""Cloud → the file of ``schemas/sources`` in which each type has its entry."""


def _types(file: Path) -> tuple[str, ...]:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return tuple(sorted(content.get("models", content)))


USED: Final[Mapping[str, tuple[str, ...]]] = {
    cloud: _types(Path(__file__).parent / "sources" / name) for cloud, name in SOURCES.items()
}
"""Cloud → type tokens."""
