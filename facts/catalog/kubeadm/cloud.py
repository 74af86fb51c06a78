"""Own machines in the catalogue: nothing scales."""

from __future__ import annotations

from typing import Final

from facts.catalog.kubeadm.packages import MINORS
from facts.catalog.unrented import unrented

CATALOG: Final = unrented(
    "kubeadm",
    channels=tuple(MINORS),
    default_ranges={"node_cidr": "", "pod_cidr": "10.244.0.0/16", "service_cidr": "10.96.0.0/16"},
    pod_addresses=256,
)
