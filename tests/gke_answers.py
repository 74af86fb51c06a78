"""What Google's provider would answer: a subnet of the company's network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COMPUTE: Final = "https://www.googleapis.com/compute/v1"
SUBNETWORK: Final[dict[str, Any]] = {
    "ipCidrRange": "10.20.0.0/20",
    "secondaryIpRanges": [
        {"rangeName": "gpu-pods", "ipCidrRange": "10.24.0.0/14"},
        {"rangeName": "gpu-services", "ipCidrRange": "10.28.0.0/20"},
    ],
    "privateIpGoogleAccess": True,
}


def subnetwork(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The subnet of that name, in the network ``company`` of the project that is asked."""
    project = f"{COMPUTE}/projects/{asked['project']}"
    links = {
        "selfLink": f"{project}/regions/{asked['region']}/subnetworks/{asked['name']}",
        "network": f"{project}/global/networks/company",
    }
    return {**links, **SUBNETWORK}
