"""Helm releases: the real Helm with the program's values."""

from rehearsal.providers.kubernetes.helm.charts import Helm
from rehearsal.providers.kubernetes.helm.releases import RELEASE, Releases

__all__ = ["RELEASE", "Helm", "Releases"]
