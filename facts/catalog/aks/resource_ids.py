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

EXISTING_NETWORK: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Network/"
    r"virtualNetworks/(?P<name>[^/]+)",
    re.IGNORECASE,
)
"""A virtual network."""
