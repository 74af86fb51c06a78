"""A cluster that somebody else made, in the catalogue: its ranges and versions are its owner's."""

from __future__ import annotations

from typing import Final

from facts.catalog.unrented import unrented

CATALOG: Final = unrented(
    "existing",
    channels=(),
    default_ranges={"node_cidr": "", "pod_cidr": None, "service_cidr": ""},
    pod_addresses=0,
)
