"""A stack file of own machines → settings, or every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from components.settings.own import pools
from components.settings.own.resolved import OwnMachines, Resolved
from components.settings.own.sections import OwnStackFile, networks
from components.settings.own.valid import valid
from components.settings.problems import Problem
from facts.concepts.pool import ADMIN_POOL_NAME, admin_pool_labels

STACK_FILE: Final = OwnStackFile
"""The sections of the file."""


def resolve(raw: Mapping[str, Any]) -> Resolved | list[Problem]:
    """The pools and machines of a stack file, or all its problems."""
    file = valid(raw, OwnStackFile, _machines_apart, _ranges_apart)
    if isinstance(file, list):
        return file
    counts = [len(pool.machines) for pool in file.gpu_pools]
    gpu_pools = pools.gpu_pools(file.gpu_pools, counts, [pool.drivers for pool in file.gpu_pools])
    cpu_pools = tuple(pools.cpu_pool(index, pool, len(pool.machines)) for index, pool in enumerate(file.cpu_pools))
    of_gpus = dict(zip((pool.name for pool in gpu_pools), file.gpu_pools, strict=True))
    of_cpus = dict(zip((pool.name for pool in cpu_pools), file.cpu_pools, strict=True))
    entries = {ADMIN_POOL_NAME: file.admin_pool, **of_gpus, **of_cpus}
    own = OwnMachines(
        file=file,
        machines={name: entry.machines for name, entry in entries.items()},
        driver={name: entry.driver_version for name, entry in of_gpus.items() if entry.drivers == "managed"},
        kernel_modules={name: entry.kernel_modules for name, entry in of_gpus.items() if entry.kernel_modules},
    )
    return Resolved(
        file=file,
        version=file.kubernetes.version,
        network={"podCidr": file.network.pod_cidr, "serviceCidr": file.network.service_cidr},
        admin_pool=pools.fixed_pool(ADMIN_POOL_NAME, "admin", len(file.admin_pool.machines), admin_pool_labels()),
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        own=own,
    )


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
