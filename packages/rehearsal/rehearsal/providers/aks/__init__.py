"""Simulated Azure Native provider: Azure's request shapes, AKS's behaviour, no account and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rehearsal.providers.aks.errors import REFUSALS
from rehearsal.providers.aks.provider import AzureNativeProvider

if TYPE_CHECKING:
    from rehearsal.simulation import Fleet

__all__ = ["REFUSALS", "AzureNativeProvider", "make"]


def make(run_dir: Path, fleet: Fleet | None) -> AzureNativeProvider:
    """The provider of a rehearsal; it writes to a folder of ``run_dir``. Without a fleet it only serves previews."""
    return AzureNativeProvider(run_dir / "cloud", fleet)
