"""The Azure Native provider's stand-in: the engine's calls, handed to the resource type they are about."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from components.catalog import of
from rehearsal.providers.azure_native import identity, network
from rehearsal.providers.azure_native.agent_pool import AgentPoolKind
from rehearsal.providers.azure_native.cloud import Cloud
from rehearsal.providers.azure_native.cluster import ClusterKind
from rehearsal.providers.azure_native.errors import already_exists
from rehearsal.providers.azure_native.functions import FUNCTIONS
from rehearsal.providers.azure_native.group import GroupKind
from rehearsal.providers.azure_native.kind import Kind
from rehearsal.providers.azure_native.ranking import Ranking
from rehearsal.providers.base import UNKNOWN, CheckFailure, Created, Diff, Properties, Provider, Request
from rehearsal.providers.registry import simulated
from rehearsal.providers.store import Store
from rehearsal.providers.values import without_none
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from components.catalog.model import CloudCatalog

KINDS: Final[Mapping[str, Kind]] = {
    kind.token: kind
    for kind in (
        GroupKind(),
        network.NetworkKind(),
        network.SubnetKind(),
        network.NatKind(),
        network.AddressKind(),
        network.SecurityGroupKind(),
        network.RouteTableKind(),
        identity.IdentityKind(),
        identity.RoleAssignmentKind(),
        identity.EncryptionSetKind(),
        ClusterKind(),
        AgentPoolKind(),
    )
}

SETTINGS: Final = ("subscriptionId", "tenantId", "location")


class AzureNativeProvider(Provider):
    """One simulated Azure subscription, whose resources are in ``directory`` and whose machines are ``fleet``'s.

    Args:
        directory: holds ``azure-native.json``; made if it is not there. Several processes may share it.
        fleet: gets the clusters and agent pools; ``None`` where programs are only previewed.
        catalog: machines, GPUs, zones and prices; the project's own for AKS by default.
    """

    name = "azure-native"

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        self.version = importlib.metadata.version("pulumi-azure-native")
        store = Store(directory, self.name, already_exists)
        self._cloud = Cloud(store, fleet, lambda: catalog or of("aks"))
        self._ranks = Ranking(self._cloud)

    @override
    def instance(self) -> Provider:
        other = object.__new__(AzureNativeProvider)
        other.version, other._cloud, other._ranks = self.version, self._cloud, self._ranks
        return other

    @override
    def configure(self, config: Properties) -> None:
        known = {key: config[key] for key in SETTINGS if config.get(key) not in (None, UNKNOWN)}
        self._cloud = replace(self._cloud, config=known)
        self._ranks.watch()

    @override
    def close(self) -> None:
        self._ranks.close()

    @override
    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        kind = self._kind(request.type)
        named = kind.shape.with_name(request, olds, without_none(news))
        inputs = without_none(kind.complete(self._cloud, named))
        return inputs, kind.shape.failures(inputs)

    @override
    def diff(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        ignore_changes: tuple[str, ...],
    ) -> Diff:
        kind = self._kind(request.type)
        found = kind.diff(old_inputs, news, ignore_changes)
        # The provider deletes first unless the address itself changed, auto-named or not.
        moved = any(path in kind.shape.addresses for path in found.replaces)
        return replace(found, delete_before_replace=bool(found.replaces) and not moved)

    @override
    def create(self, request: Request, inputs: Properties, timeout: float) -> Created:
        kind = self._kind(request.type)
        if request.preview:
            return Created("", kind.preview(self._cloud, inputs))
        created = kind.create(self._cloud, inputs)
        self._ranks.watch()
        return created

    @override
    def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> Created:
        return self._kind(request.type).read(self._cloud, id, inputs)

    @override
    def update(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        timeout: float,
    ) -> Properties:
        kind = self._kind(request.type)
        if request.preview:
            kind.preview(self._cloud, news, old_inputs)
            return {**old_state, **without_none(news)}
        state = kind.update(self._cloud, id, news)
        self._ranks.watch()
        return state

    @override
    def delete(self, request: Request, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        self._kind(request.type).delete(self._cloud, id)

    @override
    def invoke(self, token: str, args: Properties) -> Properties:
        return simulated(self.name, "function", token, FUNCTIONS)(self._cloud, args)

    def _kind(self, type: str) -> Kind:
        return simulated(self.name, "resource type", type, KINDS)
