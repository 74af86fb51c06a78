"""A stack file of own machines → settings, or every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from pydantic import ValidationError

from components.settings.fields import ValidationContext
from components.settings.own.sections import MachineSetting, OwnCpuPool, OwnGpuPool, OwnStackFile, Packages, Ssh
from components.settings.problems import Problem, invalid
from facts import catalog
from facts.catalog.gpus import GPUS
from facts.concepts.pool import (
    ADMIN_POOL_NAME,
    SKYPILOT_LABEL,
    Pool,
    PoolGpus,
    TimeSharing,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

SECRET: Final = "sshPrivateKey"
"""The one key of a stack file that is a secret."""

MACHINE_TYPE: Final = "own"
"""What a pool of own machines has in place of a machine type."""

# What a cloud makes and own machines have nothing for: key of ``workloads`` → what to do instead.
_CLOUD_ONLY: Final[Mapping[str, str]] = {
    "registry": "Write a registry's address in the images of your jobs",
    "pullFrom": "Write a registry's address in the images of your jobs; a pull secret gives access to it",
    "checkpoints": "Write checkpoints to a volume, or to a bucket elsewhere with a key in a Kubernetes secret",
    "sharedVolume": "Use an NFS server of your own: a PersistentVolume with nfs: {server, path}",
}


@dataclass(frozen=True, kw_only=True)
class OwnMachines:
    """The machines of a stack: ``machines`` by the name of their pool, and how they are reached and equipped.

    ``driver`` is the branch of NVIDIA's driver by pool; pools whose machines have one already are not in it.
    """

    ssh: Ssh
    packages: Packages
    version: str
    pod_cidr: str
    service_cidr: str
    network_plugin: str
    admin_kubeconfig: bool
    machines: Mapping[str, tuple[MachineSetting, ...]]
    driver: Mapping[str, str]

    @property
    def control_plane(self) -> MachineSetting:
        """The machine with the control plane."""
        return self.machines[ADMIN_POOL_NAME][0]


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A valid file with its pools."""

    file: OwnStackFile
    admin_pool: Pool
    gpu_pools: tuple[Pool, ...]
    cpu_pools: tuple[Pool, ...]
    own: OwnMachines


def resolve(raw: Mapping[str, Any]) -> Resolved | list[Problem]:
    """The pools and machines of a stack file, or all its problems."""
    cloud = str(raw["cloud"])
    where = ValidationContext(cloud, catalog.of(cloud), None, ())
    try:
        file = OwnStackFile.model_validate(_of_file(raw), context=where)
    except ValidationError as error:
        return invalid(error, OwnStackFile, raw)
    if problems := [*_machines_apart(file), *_ranges_apart(file), *_names_apart(file), *_cloud_only(raw)]:
        return problems
    smallest = min(pool.gpus_per_node for pool in file.gpu_pools)
    whole = {pool.gpus_per_node for pool in file.gpu_pools if pool.time_sharing is None}
    gpu_pools = tuple(_gpu_pool(index, pool, smallest, whole) for index, pool in enumerate(file.gpu_pools))
    cpu_pools = tuple(_cpu_pool(index, pool) for index, pool in enumerate(file.cpu_pools))
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
        admin_kubeconfig=file.security.admin_kubeconfig,
        machines=machines,
        driver={
            pool.name: entry.driver_version
            for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)
            if entry.drivers == "managed"
        },
    )
    return Resolved(
        file=file,
        admin_pool=_pool(ADMIN_POOL_NAME, "admin", file.admin_pool.machines, admin_pool_labels()),
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        own=own,
    )


def _of_file(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without the secret, and without the value that Pulumi.yaml gives every stack."""
    return {key: value for key, value in raw.items() if key != SECRET and (key, value) != ("availability", "zonal")}


def _gpu_pool(index: int, entry: OwnGpuPool, smallest: int, whole: set[int]) -> Pool:
    size, sharing = entry.gpus_per_node, entry.time_sharing
    part = PoolGpus(
        type=entry.gpu,
        accelerator=entry.gpu,
        per_node=size,
        drivers=entry.drivers,
        time_sharing=None if sharing is None else TimeSharing(clients_per_gpu=sharing.clients_per_gpu),
    )
    launcher = {SKYPILOT_LABEL: GPUS[entry.gpu].skypilot.lower()} if entry.gpu in GPUS and sharing is None else {}
    name = f"{entry.name}-{size}"
    return _pool(
        name,
        "gpu",
        entry.machines,
        {**launcher, **gpu_pool_labels(name, entry.gpu, size, entry.labels)},
        gpu_part=part,
        taints=gpu_pool_taints(
            size,
            smallest,
            tuple(taint.node_taint() for taint in entry.taints),
            shares=part.shares if size in whole else 1,
        ),
        hourly_usd=entry.hourly_usd,
        dearest_hourly_usd=entry.hourly_usd,
        declared_at=f"gpuPools[{index}]",
    )


def _cpu_pool(index: int, entry: OwnCpuPool) -> Pool:
    return _pool(
        entry.name,
        "cpu",
        entry.machines,
        cpu_pool_labels(entry.name, entry.labels),
        taints=tuple(taint.node_taint() for taint in entry.taints),
        hourly_usd=entry.hourly_usd,
        dearest_hourly_usd=entry.hourly_usd,
        declared_at=f"cpuPools[{index}]",
    )


def _pool(name: str, role: Any, machines: Sequence[MachineSetting], labels: Mapping[str, str], **more: Any) -> Pool:
    """A pool of machines that are always there."""
    return Pool(
        name=name,
        role=role,
        machine_types=(MACHINE_TYPE,),
        image="ubuntu",
        disk_gb=0,
        min_nodes=len(machines),
        max_nodes=len(machines),
        autoscaled=False,
        owned=True,
        zones=(),
        labels=labels,
        **more,
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


def _ranges_apart(file: OwnStackFile) -> Iterator[Problem]:
    """No machine has an address of the pods or services."""
    for key, text in (("podCidr", file.network.pod_cidr), ("serviceCidr", file.network.service_cidr)):
        inside = [
            f"{machine.name} ({machine.address})"
            for _, machine in file.all_machines()
            if IPv4Address(machine.address) in IPv4Network(text)
        ]
        if inside:
            yield Problem(
                f"network.{key}",
                f"{text} holds the addresses of {', '.join(inside)}",
                "Choose a range that no machine and nothing that they talk to is in",
            )


def _names_apart(file: OwnStackFile) -> Iterator[Problem]:
    owners = {ADMIN_POOL_NAME: "adminPool"}
    names = [(f"gpuPools[{i}]", f"{pool.name}-{pool.gpus_per_node}") for i, pool in enumerate(file.gpu_pools)]
    names += [(f"cpuPools[{i}]", pool.name) for i, pool in enumerate(file.cpu_pools)]
    for path, name in names:
        if name in owners:
            message = f"two pools would be named '{name}': this one and {owners[name]}"
            yield Problem(f"{path}.name", message, "Choose another name: each resulting pool needs a unique name")
        owners.setdefault(name, path)


def _cloud_only(raw: Mapping[str, Any]) -> Iterator[Problem]:
    workloads = raw.get("workloads")
    for key, remedy in _CLOUD_ONLY.items():
        if isinstance(workloads, Mapping) and key in workloads:
            yield Problem(f"workloads.{key}", "a cloud makes it, own machines have none", remedy)
