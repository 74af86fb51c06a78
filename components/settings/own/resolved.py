"""What a stack file without a cloud's machines becomes, and the checks that all such files have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.settings.own.existing_sections import ExistingStackFile
from components.settings.own.sections import MachineSetting, OwnStackFile, Packages, Ssh
from components.settings.problems import Problem
from facts import catalog
from facts.concepts.pool import ADMIN_POOL_NAME, Pool


@dataclass(frozen=True, kw_only=True)
class OwnMachines:
    """The machines of a stack: ``machines`` by the name of their pool, and how they are reached and equipped.

    ``driver`` is the branch of NVIDIA's driver by pool; pools whose machines have one already are not in it.
    ``kernel_modules`` are its kernel modules, ``open`` or ``proprietary``, by pool; else the GPUs decide.
    ``virtual_address``: of the API server, on whichever control plane works.
    """

    ssh: Ssh
    packages: Packages
    version: str
    pod_cidr: str
    service_cidr: str
    network_plugin: str
    load_balancer_range: str | None
    authorized_ranges: tuple[str, ...]
    admin_kubeconfig: bool
    machines: Mapping[str, tuple[MachineSetting, ...]]
    driver: Mapping[str, str]
    kernel_modules: Mapping[str, str]
    virtual_address: str | None = None

    @property
    def control_planes(self) -> tuple[MachineSetting, ...]:
        """The machines with a control plane, the one of ``kubeadm init`` first."""
        return self.machines[ADMIN_POOL_NAME]

    @property
    def control_plane(self) -> MachineSetting:
        """The first machine with a control plane."""
        return self.control_planes[0]


@dataclass(frozen=True, kw_only=True)
class ExistingNodes:
    """The nodes of a cluster that somebody else made.

    By the name of their pool: ``machines`` (names) or ``selectors`` (labels). A pool in neither is scaled by somebody
    else. ``context`` is that of the kubeconfig, ``None`` its current one.
    """

    context: str | None
    machines: Mapping[str, tuple[str, ...]]
    selectors: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A valid file with its pools. ``version`` of Kubernetes: ``None`` if the cluster has one already. ``network``: the
    keys of that section of a cloud's stack file."""

    file: OwnStackFile | ExistingStackFile
    version: str | None
    network: Mapping[str, Any]
    admin_pool: Pool
    gpu_pools: tuple[Pool, ...]
    cpu_pools: tuple[Pool, ...]
    own: OwnMachines | ExistingNodes


def own_keys(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without the secret, and without the value that Pulumi.yaml gives every stack."""
    secret = catalog.OWN_SECRETS[str(raw["cloud"])]
    return {key: value for key, value in raw.items() if key != secret and (key, value) != ("availability", "zonal")}


def names_apart(file: OwnStackFile | ExistingStackFile) -> Iterator[Problem]:
    """No two pools have one name."""
    owners = {ADMIN_POOL_NAME: "adminPool"}
    names = [(f"gpuPools[{i}]", f"{pool.name}-{pool.gpus_per_node}") for i, pool in enumerate(file.gpu_pools)]
    names += [(f"cpuPools[{i}]", pool.name) for i, pool in enumerate(file.cpu_pools)]
    for path, name in names:
        if name in owners:
            message = f"two pools would be named '{name}': this one and {owners[name]}"
            yield Problem(f"{path}.name", message, "Choose another name: each resulting pool needs a unique name")
        owners.setdefault(name, path)
