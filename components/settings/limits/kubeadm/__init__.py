"""Valid keys of own machines that do not go together."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits import own
from components.settings.limits.kubeadm.refused import REFUSED
from components.settings.sections.own_machines import OwnStackFile, networks

STACK_FILE: Final = OwnStackFile
"""The sections of the file."""


def _machines_apart(file: OwnStackFile) -> Iterator[Problem]:
    """Each machine is in one pool, and no two have a name, an address or a host key in common."""
    for key, what in (("name", "name"), ("address", "address"), ("host_key", "host key")):
        owners: dict[str, str] = {}
        for path, machine in file.all_machines():
            value = getattr(machine, key)
            if value in owners:
                field = "hostKey" if key == "host_key" else key
                shown = "this host key" if key == "host_key" else f"the {what} '{value}'"
                yield Problem(
                    f"{path}.{field}",
                    f"{owners[value]} has {shown} too",
                    "Write each machine once; machines copied from one image need host keys of their own "
                    "(ssh-keygen -A)",
                )
            else:
                owners[value] = path
    virtual = file.admin_pool.virtual_address
    for _, machine in file.all_machines():
        if machine.address == virtual:
            yield Problem(
                "adminPool.virtualAddress",
                f"{virtual} is the address of {machine.name}",
                "Write an address of the machines' network that nothing has",
            )


def _ranges_apart(file: OwnStackFile) -> Iterator[Problem]:
    """No machine has an address of the pods or services."""
    addresses = {f"{machine.name} ({machine.address})": machine.address for _, machine in file.all_machines()}
    if file.admin_pool.virtual_address:
        addresses["adminPool.virtualAddress"] = file.admin_pool.virtual_address
    network = file.network
    ranges = {"podCidr": network.pod_cidr, "serviceCidr": network.service_cidr}
    parts = {key: [IPv4Network(text)] for key, text in ranges.items()}
    if network.load_balancer_range is not None:
        ranges["loadBalancerRange"] = network.load_balancer_range
        parts["loadBalancerRange"] = networks(network.load_balancer_range)
    for key, text in ranges.items():
        inside = [
            name for name, address in addresses.items() if any(IPv4Address(address) in part for part in parts[key])
        ]
        if inside:
            yield Problem(
                f"network.{key}",
                f"{text} holds the addresses of {', '.join(inside)}",
                "Choose a range that no machine and nothing that they talk to is in",
            )


CHECKS: Final = (functools.partial(own.of_clouds, rows=REFUSED), own.names_apart, _machines_apart, _ranges_apart)
"""What is checked of a file."""
