"""Helm releases: charts that the rehearsal knows, as the objects that the real chart makes."""

from rehearsal.providers.kubernetes.helm.releases import RELEASE, Releases

__all__ = ["RELEASE", "Releases"]
