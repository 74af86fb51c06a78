"""The Google Cloud provider's stand-in: the engine's calls, handed to the resource type they are about."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from components.catalog import CloudCatalog, of
from rehearsal.providers.base import UNKNOWN, CheckFailure, Created, Diff, Properties, Provider, Request
from rehearsal.providers.gcp import iam, network
from rehearsal.providers.gcp.cloud import Cloud
from rehearsal.providers.gcp.cluster import ClusterKind
from rehearsal.providers.gcp.errors import already_exists
from rehearsal.providers.gcp.functions import FUNCTIONS
from rehearsal.providers.gcp.kind import Kind, deletable
from rehearsal.providers.gcp.node_pool import NodePoolKind
from rehearsal.providers.gcp.shape import auto_named
from rehearsal.providers.registry import simulated
from rehearsal.providers.store import Store
from rehearsal.providers.values import without_none
from rehearsal.simulation import Fleet

KINDS: Final[Mapping[str, Kind]] = {
    kind.token: kind
    for kind in (
        network.NetworkKind(),
        network.SubnetworkKind(),
        network.RouterKind(),
        network.RouterNatKind(),
        network.FirewallKind(),
        network.AddressKind(),
        iam.AccountKind(),
        iam.ProjectMemberKind(),
        iam.CryptoKeyMemberKind(),
        iam.RepositoryMemberKind(),
        iam.ServiceKind(),
        ClusterKind(),
        NodePoolKind(),
    )
}

SETTINGS: Final = ("project", "region", "zone")


class GcpProvider(Provider):
    """One simulated Google Cloud, whose resources are in ``state_dir`` and whose machines are ``fleet``'s.

    Args:
        state_dir: holds ``gcp.json``; made if it is not there. Several processes may share it.
        fleet: gets the clusters and node pools; ``None`` where programs are only previewed.
        catalog: machines, GPUs, zones and prices; the project's own for GKE by default.
    """

    name = "gcp"

    def __init__(self, state_dir: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        self.version = importlib.metadata.version("pulumi-gcp")
        self._cloud = Cloud(Store(state_dir, "gcp", already_exists), fleet, catalog or of("gke"))

    @override
    def instance(self) -> Provider:
        other = object.__new__(GcpProvider)
        other.version, other._cloud = self.version, self._cloud
        return other

    @override
    def configure(self, config: Properties) -> None:
        known = {key: config[key] for key in SETTINGS if config.get(key) not in (None, UNKNOWN)}
        self._cloud = replace(self._cloud, config=known)

    @override
    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        kind = self._kind(request.type)
        inputs = without_none(kind.complete(self._cloud, kind.shape.with_defaults(request, olds, news)))
        failures = kind.shape.failures(inputs)
        if kind.needs_project and inputs.get("project") is None:
            failures.append(CheckFailure("project", "is required: set gcp:project, or project on the resource"))
        return inputs, failures

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
        found = self._kind(request.type).diff(old_inputs, news, ignore_changes)
        name = news.get("name")
        # Two resources of one name cannot exist at once; the real provider's bridge decides in the same way.
        clash = name is not None and name == old_inputs.get("name") and not auto_named(request, str(name))
        return replace(found, delete_before_replace=bool(found.replaces) and clash)

    @override
    def create(self, request: Request, inputs: Properties, timeout: float) -> Created:
        kind = self._kind(request.type)
        if request.preview:
            return Created("", kind.preview(self._cloud, inputs))
        return kind.create(self._cloud, inputs)

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
            kind.preview(self._cloud, news)
            return {**without_none(news), **{key: old_state[key] for key in kind.computed if key in old_state}}
        return kind.update(self._cloud, id, news)

    @override
    def delete(self, request: Request, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        kind = self._kind(request.type)
        if deletable(id, inputs):
            kind.delete(self._cloud, id)

    @override
    def invoke(self, token: str, args: Properties) -> Properties:
        return simulated(self.name, "function", token, FUNCTIONS)(self._cloud, args)

    def _kind(self, type: str) -> Kind:
        return simulated(self.name, "resource type", type, KINDS)
