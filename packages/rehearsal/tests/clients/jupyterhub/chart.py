"""The part of JupyterHub's chart that a rehearsal's empty one leaves out, as far as a notebook needs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

NAMESPACE: Final = "notebook"
HUB: Final = "hub"
_HERE: Final = Path(__file__).parent
DEFAULTS: Final[dict[str, Any]] = yaml.safe_load((_HERE / "defaults.yaml").read_text())


def objects(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The hub's account with its rights, and the notebooks' files."""
    *rights, secret = yaml.safe_load_all((_HERE / "objects.yaml").read_text())
    files = {key: file["stringData"] for key, file in values["singleuser"]["extraFiles"].items()}
    return [*rights, {**secret, "stringData": files}]
