"""A stand-in for the Google Cloud provider: Google's own request shapes, GKE's behaviour, no account and no network."""

from rehearsal.providers.gcp.provider import GcpProvider

__all__ = ["GcpProvider"]
