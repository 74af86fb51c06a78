"""Names and address ranges of Google Cloud's VPC networks."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Final

from facts.catalog.tables import rows

PRIVATE_RANGES: Final = tuple(IPv4Network(row["range"]) for row in rows("gke", "private_ranges"))
"""Ranges that a VPC takes as private addresses."""

NAME: Final = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
"""A pattern: the name of a network, a subnet or a reservation."""

EXISTING_NETWORK: Final = re.compile(rf"(projects/(?P<project>[^/]+)/global/networks/)?(?P<name>{NAME})")
"""A network as a stack file writes it: a name, or with the host project of a Shared VPC."""
