"""What a stack file without a cloud's machines becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.settings.own.existing_sections import ExistingStackFile
from components.settings.own.sections import MachineSetting, OwnStackFile
from facts.concepts.pool import ADMIN_POOL_NAME, Pool


@dataclass(frozen=True, kw_only=True)
class OwnMachines:
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
