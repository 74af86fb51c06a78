"""What the catalogue knows about Azure Kubernetes Service."""

from __future__ import annotations

from components.catalog.aks.catalog import AksCatalog

CATALOG = AksCatalog()

__all__ = ["CATALOG"]
