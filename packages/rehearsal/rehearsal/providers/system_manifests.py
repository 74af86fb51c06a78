"""The manifests of pods that a cloud runs in every new cluster."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml


def manifests(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Copies of the objects in ``<name>.yaml`` of the folder, in the order of the names."""
    return [copy.deepcopy(each) for name in names for each in _read(folder / f"{name}.yaml")]


@cache
def _read(file: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(file.read_text("utf-8")) if document]
