"""Ends machines of Karpenter that do not become ready: ``node-reaper.yaml``, which runs ``stuck_nodes.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.resources import documents


def manifests() -> list[dict[str, Any]]:
    """The service account, its role with binding, and the CronJob, in this order."""
    here = Path(__file__).parent
    return documents(here / "node-reaper.yaml", script=(here / "stuck_nodes.py").read_text())
