"""An existing subnet of the cluster's project or of a Shared VPC's host project: read, never changed.

A Shared VPC requires setup in its host project: roles of service agents, firewall rules for GKE.
https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any, Final

import pulumi

from components.clouds.data_lookup import look_up, refuse
from components.settings import Settings
from components.settings.fields.problems import Problem
from components.settings.limits import common
from facts import catalog
from facts.catalog.gke.networks import EXISTING_NETWORK

_SUBNETWORK: Final = "gcp:compute/getSubnetwork:getSubnetwork"


class ExistingNetwork:
    """``network.Network`` without resources.

    Raises:
        pulumi.RunError: no such subnet, or an unsuitable one; lists all problems, before any resource is created.
    """

    def __init__(self, settings: Settings, parent: pulumi.Resource) -> None:
        existing = settings.network.existing
        parts = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
        assert existing is not None
        assert parts is not None  # settings refuse any other
        project = parts["project"] or settings.project
        arguments = {"project": project, "region": settings.region, "name": existing.subnets[0]}
        about = f"network.existing.subnets: '{arguments['name']}' in {settings.region}, project {project}"
        subnet = look_up(_SUBNETWORK, arguments, parent, about)
        refuse(_problems(settings, subnet, f"projects/{project}/global/networks/{parts['name']}"), settings)
        if not subnet.get("privateIpGoogleAccess"):
            pulumi.warn(
                f"network.existing.subnets: '{arguments['name']}' has no Private Google Access, so the nodes reach "
                "Google's registries only through NAT",
                parent,
            )
        self.network: str = subnet["network"]
        self.subnetwork: str = subnet["selfLink"]
        self.pod_range, self.service_range = str(existing.pod_range), str(existing.service_range)
        self.ready: list[pulumi.Resource] = []


def _problems(settings: Settings, subnet: Mapping[str, Any], network: str) -> Iterator[Problem]:
    existing = settings.network.existing
    assert existing is not None
    if not str(subnet["network"]).endswith(f"/{network}"):
        yield Problem(
            "network.existing.network",
            f"the subnet is in {str(subnet['network']).partition('/projects/')[2]}, not in {network}",
            "Write the network of the subnet, or a subnet of the network",
        )
    known, nodes = catalog.of(settings.cloud), settings.max_nodes
    primary = IPv4Network(subnet["ipCidrRange"])
    if primary.num_addresses - known.choices.reserved_addresses < nodes:
        yield common.existing_too_small(
            "subnets", existing.subnets[0], primary, primary.num_addresses - known.choices.reserved_addresses, nodes
        )
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnet.get("secondaryIpRanges") or ()}
    for key, name in (("podRange", existing.pod_range), ("serviceRange", existing.service_range)):
        if name not in ranges:
            has = ", ".join(sorted(ranges)) or "none"
            yield Problem(
                f"network.existing.{key}", f"the subnet has no range '{name}'", f"Write one that it has: {has}"
            )
        elif key == "podRange":
            pods = IPv4Network(ranges[name])
            room = pods.num_addresses // known.nodes.pod_addresses
            if room < nodes:
                yield common.existing_too_small(key, str(name), pods, room, nodes)
    control_plane = settings.network.control_plane_cidr
    for subnet_range in (str(primary), *ranges.values()):
        if control_plane is not None and IPv4Network(control_plane).overlaps(IPv4Network(subnet_range)):
            yield Problem(
                "network.controlPlaneCidr",
                f"{control_plane} overlaps with {subnet_range} of the subnet",
                "Choose another range",
            )
