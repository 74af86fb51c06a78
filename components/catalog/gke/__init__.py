"""What the catalogue knows about Google Kubernetes Engine."""

from __future__ import annotations

from components.catalog.gke.catalog import GkeCatalog

CATALOG = GkeCatalog()

__all__ = ["CATALOG"]
