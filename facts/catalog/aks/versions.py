"""Which minor versions of Kubernetes AKS supports, and in which channel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final

from facts.catalog.model import Support

CHANNELS: Final = ("rapid", "regular", "stable", "extended")
"""``extended`` is long-term support: https://learn.microsoft.com/azure/aks/long-term-support"""

SUPPORTED: Final[Mapping[str, Support]] = {
    "1.31": Support(extended=date(2025, 11, 1), until=date(2026, 11, 30)),
    "1.32": Support(extended=date(2026, 4, 1), until=date(2027, 3, 31)),
    "1.33": Support(extended=date(2026, 8, 1), until=date(2027, 7, 31)),
    "1.34": Support(extended=date(2026, 12, 1), until=date(2027, 11, 30)),
    "1.35": Support(extended=date(2027, 4, 1), until=date(2028, 3, 31)),
    "1.36": Support(extended=date(2027, 7, 1), until=date(2028, 6, 30)),
    "1.37": Support(extended=date(2027, 11, 1), until=date(2028, 10, 31)),
}
"""Minor version → community support, then long-term support alone. The months are those of
https://learn.microsoft.com/azure/aks/supported-kubernetes-versions (read 2026-08-21); each counts to its last day."""
