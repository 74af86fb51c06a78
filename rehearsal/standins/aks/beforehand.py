"""What was there before the stack: the network that its file names, as somebody else's program would make it."""

from __future__ import annotations

from collections.abc import Generator

from components.settings import Settings
from components.settings.limits.aks import EXISTING_NETWORK
from rehearsal.standins.aks.group import GROUP
from rehearsal.standins.aks.network import NETWORK, ROUTE_TABLE, SUBNET
from rehearsal.standins.base import Properties


def resources(settings: Settings) -> Generator[tuple[str, Properties], object, None]:
    """Type and inputs of each; none where the stack makes its own network.

    The subnet has room for 1,000 nodes, and a route table, by which a company's traffic goes through its firewall.
    """
    existing = settings.network.existing
    written = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
    if existing is None or written is None:
        return
    group, network = written["group"], written["name"]
    yield GROUP, {"resourceGroupName": group, "location": settings.region}
    there = {"resourceGroupName": group, "location": settings.region}
    yield ROUTE_TABLE, {**there, "routeTableName": f"{network}-routes"}
    space = {"addressPrefixes": ["10.20.0.0/16"]}
    yield NETWORK, {**there, "virtualNetworkName": network, "addressSpace": space}
    folder = existing.network.partition("/virtualNetworks/")[0]
    yield (
        SUBNET,
        {
            "resourceGroupName": group,
            "virtualNetworkName": network,
            "subnetName": existing.subnets[0],
            "addressPrefix": "10.20.0.0/22",
            "routeTable": {"id": f"{folder}/routeTables/{network}-routes"},
        },
    )
