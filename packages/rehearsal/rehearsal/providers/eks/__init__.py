"""Simulated AWS provider: botocore's requests, moto's answers, EKS's behaviour, no account and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rehearsal.providers.eks.base.errors import REFUSALS
from rehearsal.providers.eks.provider import AwsProvider

if TYPE_CHECKING:
    from rehearsal.simulation import Fleet

__all__ = ["REFUSALS", "AwsProvider", "make"]


def make(run_dir: Path, fleet: Fleet | None) -> AwsProvider:
    """The provider of a rehearsal; it writes to a folder of ``run_dir``. Without a fleet it only serves previews."""
    return AwsProvider(run_dir / "logs", fleet)
