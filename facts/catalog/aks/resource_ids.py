"""Resource IDs as a stack file writes them. No Pulumi import: settings check them.

https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
"""

from __future__ import annotations

import re
from typing import Final

GROUP: Final = r"/subscriptions/(?P<subscription>[0-9a-fA-F-]{36})/resourceGroups/(?P<group>[-\w.()]+)/providers"
"""A pattern: the subscription and the resource group with which an ID begins."""

CONTAINER: Final = re.compile(
    GROUP + r"/Microsoft\.Storage/storageAccounts/(?P<account>[a-z0-9]{3,24})/blobServices/default"
    r"/containers/(?P<container>[-a-z0-9]{3,63})",
    re.IGNORECASE,
)
"""A blob container."""

_NETWORKING: Final = (
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Network/"
)

EXISTING_NETWORK: Final = re.compile(_NETWORKING + r"virtualNetworks/(?P<name>[^/]+)", re.IGNORECASE)
"""A virtual network."""

ROUTE_TABLE: Final = re.compile(_NETWORKING + r"routeTables/(?P<name>[^/]+)", re.IGNORECASE)
"""A route table."""

PRIVATE_DNS_ZONE: Final = re.compile(_NETWORKING + r"privateDnsZones/(?P<name>[^/]+)", re.IGNORECASE)
"""A private DNS zone."""

NO_DNS_ZONE: Final = "none"
"""Instead of one: https://learn.microsoft.com/azure/aks/private-clusters#configuration-options-for-private-dns"""
