"""What the catalogue knows about Amazon Elastic Kubernetes Service."""

from __future__ import annotations

from components.catalog.eks.catalog import EksCatalog

CATALOG = EksCatalog()

__all__ = ["CATALOG"]
