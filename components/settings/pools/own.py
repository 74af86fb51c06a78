"""What a stack file without a cloud's machines becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from components.settings.sections.cluster import Kubernetes, Network, Security
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import MachineSetting, OwnStackFile
from components.settings.sections.stack_file import Autoscaling, Budget, StackFile
from facts.concepts.pool import ADMIN_POOL_NAME, Pool


@dataclass(frozen=True, kw_only=True)
class OwnPools:
    """Pools of nodes that the program does not rent.

    ``creates_cluster``: whether it makes a cluster of them, or finds one.
    """

    creates_cluster: ClassVar[bool] = True

    admin_pool: Pool
    gpu_pools: tuple[Pool, ...]
    cpu_pools: tuple[Pool, ...]


@dataclass(frozen=True, kw_only=True)
class OwnMachines(OwnPools):
    """The machines of a stack: the ``file`` says how they are reached and equipped, ``machines`` are by their pool's
    name.

    ``driver`` is the branch of NVIDIA's driver by pool; pools whose machines have one already are not in it.
    ``kernel_modules`` are its kernel modules, ``open`` or ``proprietary``, by pool; else the GPUs decide.
    """

    file: OwnStackFile
    machines: Mapping[str, tuple[MachineSetting, ...]]
    driver: Mapping[str, str]
    kernel_modules: Mapping[str, str]

    @property
    def control_planes(self) -> tuple[MachineSetting, ...]:
        """The machines with a control plane, the one of ``kubeadm init`` first."""
        return self.machines[ADMIN_POOL_NAME]


@dataclass(frozen=True, kw_only=True)
class ExistingNodes(OwnPools):
    """The nodes of a cluster that somebody else made.

    By the name of their pool: ``machines`` (names) or ``selectors`` (labels). A pool in neither is scaled by somebody
    else. ``context`` is that of the kubeconfig, ``None`` its current one.
    """

    creates_cluster: ClassVar[bool] = False

    context: str | None
    machines: Mapping[str, tuple[str, ...]]
    selectors: Mapping[str, Mapping[str, str]]


def in_common(
    file: OwnStackFile | ExistingStackFile, *, version: str | None = None, network: Mapping[str, Any] | None = None
) -> StackFile:
    """What the file has in common with a cloud's. ``version`` of Kubernetes: ``None`` if the cluster has one."""
    return StackFile.model_construct(
        cloud=file.cloud,
        region="",
        cluster_name=file.cluster_name,
        kubernetes=Kubernetes.model_construct(version=version),
        network=Network.model_validate({"privateEndpoint": True, **(network or {})}),
        security=Security.model_validate({"deletionProtection": file.security.deletion_protection}),
        autoscaling=Autoscaling(),
        workloads=file.workloads,
        budget=Budget.model_validate({"maxHourlyUsd": file.budget.max_hourly_usd}),
        access=file.access,
        teams=file.teams,
    )
