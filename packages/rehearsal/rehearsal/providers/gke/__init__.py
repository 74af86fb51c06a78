"""Simulated Google Cloud provider: Google's request shapes, GKE's behaviour, no account and no network."""

from rehearsal.providers.gke.cloud import REFUSALS
from rehearsal.providers.gke.provider import GcpProvider

__all__ = ["PROVIDER", "REFUSALS", "GcpProvider"]

PROVIDER = GcpProvider
