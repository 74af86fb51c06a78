"""A stack file of own machines → settings, or every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from pydantic import ValidationError

from components.settings.fields import ValidationContext
from components.settings.limits.keys import without_refused
from components.settings.own import pools
from components.settings.own.resolved import OwnMachines, Resolved, names_apart, own_keys
from components.settings.own.sections import OwnStackFile, networks
from components.settings.problems import Problem, invalid
from facts import catalog
from facts.concepts.pool import ADMIN_POOL_NAME, admin_pool_labels

STACK_FILE: Final = OwnStackFile
"""The sections of the file."""


def resolve(raw: Mapping[str, Any]) -> Resolved | list[Problem]:
    """The pools and machines of a stack file, or all its problems."""
    cloud = str(raw["cloud"])
    where = ValidationContext(cloud, catalog.of(cloud), None, ())
    cleaned, refused = without_refused(own_keys(raw))
    try:
        file = OwnStackFile.model_validate(cleaned, context=where)
    except ValidationError as error:
        return [*refused, *invalid(error, OwnStackFile, cleaned)]
    if problems := [*refused, *_machines_apart(file), *_ranges_apart(file), *names_apart(file)]:
        return problems
    counts = [len(pool.machines) for pool in file.gpu_pools]
    gpu_pools = pools.gpu_pools(file.gpu_pools, counts, [pool.drivers for pool in file.gpu_pools])
    cpu_pools = tuple(pools.cpu_pool(index, pool, len(pool.machines)) for index, pool in enumerate(file.cpu_pools))
    machines = {ADMIN_POOL_NAME: file.admin_pool.machines}
    machines |= {pool.name: entry.machines for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)}
    machines |= {pool.name: entry.machines for pool, entry in zip(cpu_pools, file.cpu_pools, strict=True)}
    own = OwnMachines(
        ssh=file.ssh,
        packages=file.packages,
        version=file.kubernetes.version,
        pod_cidr=file.network.pod_cidr,
        service_cidr=file.network.service_cidr,
        network_plugin=file.network.plugin,
        load_balancer_range=file.network.load_balancer_range,
        authorized_ranges=tuple(each.cidr for each in file.network.authorized_networks),
        admin_kubeconfig=file.security.admin_kubeconfig,
        machines=machines,
        virtual_address=file.admin_pool.virtual_address,
        driver={
            pool.name: entry.driver_version
            for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)
            if entry.drivers == "managed"
        },
        kernel_modules={
            pool.name: entry.kernel_modules
            for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)
            if entry.kernel_modules is not None
        },
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
