"""The context that the modules of an AKS cluster share after its control plane is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pulumi

from components.clouds.aks.identity import Identity
from components.clouds.aks.running_pools import RunningPool
from components.resources import CustomResource
from components.settings import Settings
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks


class ExistingPools(Protocol):
    """The pools that a cluster has."""

    def find(self, pool: Pool, after: Sequence[pulumi.Resource]) -> RunningPool:
        """The existing pool, read when all of ``after`` is up to date."""
        ...


@dataclass(frozen=True, kw_only=True)
class PoolsContext:
    """The cluster of a stack's pools: its ``name``, resource ``group`` (a name), and its nodes' ``subnet`` (an ID);
    ``running_pools`` are its existing pools.

    A cluster that somebody else made has no ``made`` control plane. There ``theirs`` are properties of its pools that
    new ones take over, by the provider's names, and the subnet is one of them.
    """

    settings: Settings
    name: pulumi.Input[str]
    group: pulumi.Input[str]
    running_pools: ExistingPools
    subnet: pulumi.Input[str] | None = None
    made: tuple[CustomResource[aks.ManagedClusterOutputs], ...] = ()
    theirs: pulumi.Output[Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class Context(PoolsContext):
    """The same of a cluster that the stack makes: its ``control_plane``, and the identity of its ``nodes``."""

    control_plane: CustomResource[aks.ManagedClusterOutputs]
    nodes: Identity
    subnet: pulumi.Input[str] = ""
