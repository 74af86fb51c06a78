"""Simulated Google Cloud provider: Google's request shapes, GKE's behaviour, no account and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rehearsal.providers.gke.errors import REFUSALS
from rehearsal.providers.gke.provider import GcpProvider

if TYPE_CHECKING:
    from rehearsal.simulation import Fleet

__all__ = ["REFUSALS", "GcpProvider", "make"]


def make(run_dir: Path, fleet: Fleet | None) -> GcpProvider:
    """The provider of a rehearsal; it writes to a folder of ``run_dir``. Without a fleet it only serves previews."""
    return GcpProvider(run_dir / "cloud", fleet)
