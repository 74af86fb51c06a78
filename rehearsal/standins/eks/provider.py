"""The AWS provider's stand-in: the engine's calls, handed to the resource type they are about."""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from catalog import CloudCatalog, of
from concepts.unknown import UNKNOWN, given
from rehearsal.simulation import Fleet
from rehearsal.standins.base import CheckFailure, Created, Diff, Properties, Provider, Request
from rehearsal.standins.eks import access, events, iam, keys, launch_templates, network, routes, security_groups
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.addons import AddonKind
from rehearsal.standins.eks.aws import moto_backend
from rehearsal.standins.eks.aws.backend import answer_in_process
from rehearsal.standins.eks.aws.server import AwsServer
from rehearsal.standins.eks.background import Background
from rehearsal.standins.eks.cluster import ClusterKind
from rehearsal.standins.eks.functions import FUNCTIONS
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.left import left
from rehearsal.standins.eks.node_group import NodeGroupKind
from rehearsal.standins.eks.scaling_group import TagKind
from rehearsal.standins.eks.shape import auto_named
from rehearsal.standins.eks.store import Store
from rehearsal.standins.registry import simulated
from rehearsal.standins.values import without_none

KINDS: Final[Mapping[str, Kind]] = {
    kind.token: kind
    for kind in (
        network.VpcKind(),
        network.SubnetKind(),
        network.InternetGatewayKind(),
        network.EipKind(),
        network.NatGatewayKind(),
        routes.RouteTableKind(),
        routes.RouteKind(),
        routes.RouteTableAssociationKind(),
        routes.VpcEndpointKind(),
        security_groups.SecurityGroupKind(),
        security_groups.DefaultSecurityGroupKind(),
        launch_templates.LaunchTemplateKind(),
        keys.KeyKind(),
        keys.AliasKind(),
        iam.RoleKind(),
        iam.RolePolicyKind(),
        iam.RolePolicyAttachmentKind(),
        iam.InstanceProfileKind(),
        events.LogGroupKind(),
        events.EventRuleKind(),
        events.EventTargetKind(),
        events.QueueKind(),
        events.QueuePolicyKind(),
        ClusterKind(),
        AddonKind(),
        access.AccessEntryKind(),
        access.AccessPolicyAssociationKind(),
        access.PodIdentityAssociationKind(),
        NodeGroupKind(),
        TagKind(),
    )
}

NO_REGION: Final = "is required: set aws:region"


class AwsProvider(Provider):
    """One simulated AWS account, in memory, whose machines are ``fleet``'s. A process has one: the next one empties it.

    Args:
        logs: the folder for ``aws-calls.jsonl``, the calls that controllers make.
        fleet: gets the clusters and node groups; ``None`` where programs are only previewed.
        catalog: machines, GPUs, zones and prices; the project's own for EKS by default.
        patience: seconds that a resource waits for others that it needs and that may be under way.
    """

    name = "aws"

    def __init__(
        self, logs: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None, patience: float = 60.0
    ) -> None:
        self.version = importlib.metadata.version("pulumi-aws")
        known = catalog or of("eks")
        moto_backend.forget()
        self._account = Account(Store(), fleet, known, known.reference_region, answer_in_process, patience)
        self._server = None if fleet is None else AwsServer(self._account, fleet, logs)
        self._background = Background(self._account, self._server)

    @override
    def instance(self) -> Provider:
        other = object.__new__(AwsProvider)
        other.version, other._background, other._server = self.version, self._background, self._server
        # One engine that is interrupted does not interrupt the next.
        other._account = replace(self._account, cancelled=threading.Event())
        return other

    @override
    def check_config(self, news: Properties) -> list[CheckFailure]:
        region = news.get("region")
        if region in (None, ""):
            return [CheckFailure("region", NO_REGION)]
        known = self._account.catalog.regions
        if region is UNKNOWN or region in known:
            return []
        return [CheckFailure("region", f"invalid AWS Region: {region}; the rehearsal knows {', '.join(sorted(known))}")]

    @property
    def account(self) -> Account:
        """The simulated account, as this instance is configured."""
        return self._account

    @property
    def server(self) -> AwsServer:
        """AWS for controllers in the cluster; ``RuntimeError`` where programs are only previewed."""
        if self._server is None:
            raise RuntimeError("a provider without a fleet has no cluster, so nothing in one calls AWS")
        return self._server

    @override
    def inventory(self) -> list[str]:
        return left(self._account, moto_backend.regions(self._account.id))

    @override
    def configure(self, config: Properties) -> None:
        region = config.get("region")
        if region not in (None, UNKNOWN):
            self._account = replace(self._account, region=str(region))
        if self._account.fleet is not None:
            # moto takes seconds to import, and the engine has other things to do first.
            threading.Thread(target=self._background.start, name="aws-start", daemon=True).start()

    @override
    def cancel(self) -> None:
        self._account.cancelled.set()

    @override
    def close(self) -> None:
        self._account.cancelled.set()
        self._background.stop()
        if self._server is not None:
            self._server.stop()

    @override
    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        shape = self._kind(request.type).shape
        inputs = without_none(shape.with_defaults(request, olds, news))
        return inputs, shape.failures(inputs)

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
        name = news.get(kind.shape.name) if kind.shape.name else None
        # Two resources of one name cannot exist at once; the real provider's bridge decides in the same way.
        clash = name is not None and name == old_inputs.get(kind.shape.name) and not auto_named(request, str(name))
        return replace(found, delete_before_replace=bool(found.replaces) and clash)

    @override
    def create(self, request: Request, inputs: Properties, timeout: float) -> Created:
        kind, account = self._kind(request.type), self._in(inputs)
        if request.preview:
            return Created("", kind.preview(account, inputs))
        with self._background.around(request.type):
            return kind.create(account, inputs)

    @override
    def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> Created:
        return self._kind(request.type).read(self._in(inputs or state), id, inputs)

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
        kind, account = self._kind(request.type), self._in(news)
        if request.preview:
            kind.preview(account, news)
            kept = {key: old_state[key] for key in old_state if key not in old_inputs}
            renewed = dict.fromkeys(kind.renewed(old_inputs, news), UNKNOWN)
            tags = {"tagsAll": given(news.get("tags"), {})} if kind.shape.tags else {}
            return {**kept, **without_none(news), **tags, **renewed}
        with self._background.around(request.type):
            return kind.update(account, id, news)

    @override
    def delete(self, request: Request, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        with self._background.around(request.type):
            self._kind(request.type).delete(self._in(inputs or state), id)

    @override
    def invoke(self, token: str, args: Properties) -> Properties:
        return simulated(self.name, "function", token, FUNCTIONS)(self._account, args)

    def _in(self, inputs: Properties) -> Account:
        """The account in the region that a resource names, or the configured one."""
        region = inputs.get("region")
        return replace(self._account, region=region) if isinstance(region, str) and region else self._account

    def _kind(self, type: str) -> Kind:
        return simulated(self.name, "resource type", type, KINDS)
