"""GKE's built-in ComputeClasses are refused to pods, as their nodes are created past the stack's pools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

_FILE: Final = Path(__file__).with_name("compute-classes.yaml")


def manifests() -> list[Mapping[str, Any]]:
    """The ValidatingAdmissionPolicy and its binding, which ``compute-classes.yaml`` documents."""
    return list(yaml.safe_load_all(_FILE.read_text(encoding="utf-8")))
