"""Names of Google Cloud's projects and networks, and address ranges of its VPC networks."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Final

from facts.catalog.tables import rows

PRIVATE_RANGES: Final = tuple(IPv4Network(row["range"]) for row in rows("gke", "private_ranges"))
"""Ranges that a VPC takes as private addresses."""

NAME: Final = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
"""A pattern: the name of a network, a subnet or a reservation."""

PROJECT: Final = r"[a-z0-9][a-z0-9.:-]*"
"""A pattern: a project in the full name of a resource, by its ID, which may have a domain, or by its number."""

EXISTING_NETWORK: Final = re.compile(rf"(projects/(?P<project>{PROJECT})/global/networks/)?(?P<name>{NAME})")
"""A network as a stack file writes it: a name, or with the host project of a Shared VPC."""
