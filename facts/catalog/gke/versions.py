"""Which minor versions of Kubernetes GKE supports, and in which channel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final

from facts.catalog.model import Support

CHANNELS: Final = ("rapid", "regular", "stable", "extended")
"""https://cloud.google.com/kubernetes-engine/docs/concepts/release-channels"""

SUPPORTED: Final[Mapping[str, Support]] = {
    "1.32": Support(extended=date(2026, 4, 11), until=date(2027, 2, 11)),
    "1.33": Support(extended=date(2026, 8, 3), until=date(2027, 6, 3)),
}
"""Minor version → standard support, then extended support in the channel ``extended`` alone: 14 and 24 months from the
Regular channel (https://cloud.google.com/kubernetes-engine/versioning). That of 1.32 is dated in
https://endoflife.date/api/v1/products/google-kubernetes-engine (read 2026-11-25), that of 1.33 is counted from its day
in Regular. Google's dates are estimates (https://cloud.google.com/kubernetes-engine/docs/release-schedule); those of
1.34 and later were in no copy that was read; that of 1.31 ended in October 2026."""
