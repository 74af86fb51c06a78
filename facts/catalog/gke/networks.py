"""Names and address ranges of Google Cloud's VPC networks."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Final

PRIVATE_RANGES: Final = tuple(
    IPv4Network(block)
    for block in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
    )
)
"""Ranges that a VPC takes as private addresses: https://cloud.google.com/vpc/docs/subnets#valid-ranges"""

NAME: Final = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
"""A pattern: the name of a network, a subnet or a reservation."""

EXISTING_NETWORK: Final = re.compile(rf"(projects/(?P<project>[^/]+)/global/networks/)?(?P<name>{NAME})")
"""A network as a stack file writes it: a name, or with the host project of a Shared VPC."""
