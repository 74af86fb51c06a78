"""Azure's names of what the stack calls its pools. No Pulumi import: settings look for names that collide.

Names of resources: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Final

# Linux pools may have 12 characters today; older clusters and tools take 11.
# https://learn.microsoft.com/azure/aks/create-node-pools#limitations
POOL_NAME_LIMIT: Final = 11
# https://learn.microsoft.com/rest/api/aks/managed-clusters/create-or-update
_DNS_PREFIX_LIMIT: Final = 54
_DIGEST_LENGTH: Final = 5
_PLAIN: Final = re.compile(rf"[a-z][a-z0-9]{{0,{POOL_NAME_LIMIT - 1}}}")


def pool_name(name: str) -> str:
    """The agent pool's name: ``name`` itself if AKS takes it, else its beginning and a digest of all of it.

    Hyphens alone are reason enough for the digest: without it ``a-1`` and ``a1`` would be one pool.
    """
    if _PLAIN.fullmatch(name):
        return name
    digest = base64.b32encode(hashlib.sha256(name.encode()).digest()).decode().lower()[:_DIGEST_LENGTH]
    letters = re.sub(r"[^a-z0-9]", "", name.lower()).lstrip("0123456789")
    return f"{letters[: POOL_NAME_LIMIT - _DIGEST_LENGTH] or 'p'}{digest}"


def dns_prefix(cluster_name: str) -> str:
    """The beginning of the control plane's host name, which Azure makes unique itself: letters, digits and hyphens."""
    return cluster_name.replace("_", "-")[:_DNS_PREFIX_LIMIT].strip("-")


def scale_set_pattern(name: str) -> str:
    """A regular expression for the name of the scale set behind the pool, whose digits Azure chooses."""
    return f"^aks-{pool_name(name)}-[0-9]+-vmss$"


def zone_numbers(zones: Sequence[str]) -> list[str]:
    """Zones as the API wants them: ``eastus-1`` is ``1``, and ``eastus-0``, outside of all zones, is none."""
    return [number for zone in zones if (number := zone.rpartition("-")[2]) != "0"]
