"""The simulated AWS provider: its rows, the requests by which moto records them, and AWS's messages."""

from __future__ import annotations

import copy
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from typing_extensions import override

from facts.concepts.pool import Pool
from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import CallContext, CheckFailure, Created, Properties, ProviderError, at
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import Record, Store
from rehearsal.providers.eks import access, cluster, data, events, iam, network, node_pool, problems, scaling_group
from rehearsal.providers.eks.authorization.identity import Roles
from rehearsal.providers.eks.autoscaling.autoscaler_simulation import AutoscalerSimulation
from rehearsal.providers.eks.aws_api import backend
from rehearsal.providers.eks.aws_api.backend import answer_in_process
from rehearsal.providers.eks.aws_api.server import AwsServer
from rehearsal.providers.eks.background import Background
from rehearsal.providers.eks.cloud import Account, AwsError, forbidden, maker, not_found
from rehearsal.providers.eks.functions import FUNCTIONS
from rehearsal.providers.eks.leftovers import leftovers
from rehearsal.providers.eks.machines import instance
from rehearsal.providers.eks.network import CLUSTER
from rehearsal.providers.eks.request import BY_ARN, parameters, request_of, retag, tags_of
from rehearsal.providers.eks.row import TABLE, Row, refused
from rehearsal.providers.eks.rules import REFERENCES, TAGS
from rehearsal.providers.resource import Pending, Reference, SimulatedResource
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.vendor import ZEROS, Action, CloudErrors, auto_named
from rehearsal.simulation import Fleet, Night, UserInfo

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog

NO_REGION: Final = "is required: set aws:region"
_LOOK_SECONDS: Final = 0.5
_DIGITS: Final = 7  # hex, at the end of a name that the provider generates
_AUTO_NAMED: Final = re.compile(rf"(.+)[0-9a-f]{{{_DIGITS}}}")


def _in_use(account: Account, row: Row, id: str, by: str) -> ProviderError:
    reason = f"The {row.tagged or 'resource'} '{id}' has dependencies and cannot be deleted: {by} uses it."
    return refused(row.token, "DependencyViolation", reason, request_of(row.token)[1].replace("Create", "Delete"))


class AwsProvider(SimulatedProvider[Account]):
    """One simulated AWS account, in memory, whose machines are ``fleet``'s. A process has one: the next one empties it.

    Args:
        logs: the folder for ``aws-calls.jsonl``, the calls that controllers make.
        patience: seconds that a resource waits for others that it needs and that may be under way.
    """

    name = "aws"
    cloud_name = "eks"
    folder = "logs"
    rows = TABLE.rows(data, network, iam, events, cluster, access, node_pool, scaling_group)
    rules_for_all_types = (*TAGS, *REFERENCES)
    functions = FUNCTIONS
    settings = ("region",)
    absent = ZEROS
    words = InputMessages(
        unknown="pulumi-aws {version} has no such input in {object}; check the spelling", lacking="", server=""
    )
    cloud_errors = CloudErrors(
        forbidden=lambda cloud, row, permission, id: forbidden(maker(cloud), *request_of(row.token), id or "*"),
        bad_request=lambda cloud, row, message: refused(row.token, *message.partition(": ")[::2]),
        # Only clusters are looked up in the records; about the rest AWS itself is asked.
        missing_reference=lambda cloud, references, value, id: cluster.no_cluster(id),
        missing_resource=lambda cloud, row, id: refused(row.token, "NotFound", f"{id} does not exist", "Describe"),
        in_use=_in_use,
    )
    ids_are_paths = False

    def __init__(
        self, logs: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None, patience: float = 60.0
    ) -> None:
        backend.forget()
        super().__init__(logs, fleet, catalog)
        self._cloud = replace(self._cloud, patience=patience)
        self._server = None if fleet is None else AwsServer(self._cloud, fleet, logs)
        self._background = Background(self._server)
        self._roles = Roles(self._cloud)

    @override
    def new_cloud(self, directory: Path, fleet: Fleet | None, catalogue: Callable[[], CloudCatalog]) -> Account:
        region = catalogue().reference_region
        return Account(store=Store(), fleet=fleet, catalogue=catalogue, region=region, answers=answer_in_process)

    @override
    def instance(self) -> AwsProvider:
        other = copy.copy(self)
        # One engine that is interrupted does not interrupt the next.
        other._cloud = replace(self._cloud, cancelled=threading.Event())
        return other

    @override
    def check_config(self, news: Properties) -> list[CheckFailure]:
        region = news.get("region")
        if region in (None, ""):
            return [CheckFailure("region", NO_REGION)]
        known = self._cloud.catalog.regions
        if region is UNKNOWN or region in known:
            return []
        return [CheckFailure("region", f"invalid AWS Region: {region}; the rehearsal knows {', '.join(sorted(known))}")]

    @override
    def by_itself(self) -> None:
        self._cloud = replace(self._cloud, patience=0.0)
        self._background.stop()

    @override
    def settle(self) -> None:
        AutoscalerSimulation(self._home()).look()

    @property
    def account(self) -> Account:
        """The simulated account, as this instance is configured."""
        return self._cloud

    @property
    def server(self) -> AwsServer:
        """AWS for controllers in the cluster; ``RuntimeError`` where programs are only previewed."""
        if self._server is None:
            raise RuntimeError("a provider without a fleet has no cluster, so nothing in one calls AWS")
        return self._server

    @override
    def inventory(self) -> list[str]:
        used, known = backend.regions(self._cloud.id), self._cloud.catalog.regions
        # Services without regions answer in each.
        regional = tuple(each for each in used if each in known) or (self._cloud.region,)
        # Placement groups are ours: moto knows of no use of EC2 where there is nothing else.
        return leftovers(self._cloud, regional if used or self._cloud.supply.placement_groups else ())

    @override
    def principals(self) -> dict[str, UserInfo]:
        return access.find_principals(self._cloud)

    @override
    def reserve(self, pools: Sequence[Pool]) -> None:
        instance.reserve(self._cloud, pools)

    @override
    def exhaust(self, pools: Collection[str]) -> None:
        instance.exhaust(self._cloud, pools)

    @override
    def reclaim(self, node: str) -> bool:
        return instance.reclaim(self._home(), node)

    @override
    def maintain(self) -> Night:
        return Night("", announced=tuple(instance.announce_maintenance(self._home())))

    @override
    def problems(self) -> Iterable[str] | None:
        return problems.problems(self._home(), self._roles) if self._cloud.store.all(CLUSTER) else None

    def _home(self) -> Account:
        """The account in the region of its cluster, in which an engine may have configured another instance."""
        clusters = self._cloud.store.all(CLUSTER)
        return replace(self._cloud, region=clusters[0].outputs["region"]) if clusters else self._cloud

    @override
    def configure(self, config: Properties) -> None:
        super().configure(config)
        self._cloud = replace(self._cloud, region=self._cloud.default("region") or self._cloud.region)
        if self._cloud.fleet is not None:
            # moto takes seconds to import, and the engine has other things to do first.
            start = threading.Thread(target=self._background.start, args=(self._cloud,), name="aws-start", daemon=True)
            start.start()

    @override
    def cancel(self) -> None:
        self._cloud.cancelled.set()

    @override
    def close(self) -> None:
        self._cloud.cancelled.set()
        self._background.stop()
        if self._server is not None:
            self._server.stop()

    @override
    def changed(self, row: SimulatedResource[Account]) -> None:
        self._background.changed(self._cloud, row.token)

    # What the provider knows.

    @override
    def auto_name(self, row: SimulatedResource[Account], request: CallContext, inputs: Properties) -> str:
        prefix = inputs.get(f"{row.name}Prefix")
        prefix = prefix if isinstance(prefix, str) else f"{request.name}-"
        digits = random.Random(request.random_seed or None).getrandbits(4 * _DIGITS)
        return f"{prefix[: _aws_row(row).name_limit - _DIGITS]}{digits:0{_DIGITS}x}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[Account], inputs: Properties) -> Properties:
        return inputs

    @override
    def deletes_first(
        self, row: SimulatedResource[Account], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        # As the real provider's bridge decides: two resources of one name cannot exist at once.
        name = new.get(row.name) if row.name else None
        return (
            name is not None
            and name == old.get(row.name)
            and not auto_named(_AUTO_NAMED, f"{request.name}-", str(name))
        )

    @override
    def place(self, row: SimulatedResource[Account], inputs: Properties) -> Mapping[str, Any]:
        here = self._cloud
        return {**inputs, "region": here.region, "account": here.id, "partition": here.partition}

    @override
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        return value

    @override
    def failures(self, row: SimulatedResource[Account], inputs: Properties) -> list[CheckFailure]:
        aws_row = _aws_row(row)
        failures = super().failures(row, inputs)
        present = [key for key in aws_row.one_of if inputs.get(key) is not None]
        if aws_row.one_of and len(present) != 1:
            failures.append(
                CheckFailure(present[-1] if present else aws_row.one_of[0], f"give one of {', '.join(aws_row.one_of)}")
            )
        if inputs.get("region") not in (None, "", UNKNOWN, self._cloud.region):
            failures.append(CheckFailure("region", f"the rehearsal has one region: {self._cloud.region}"))
        return [*failures, *aws_row.wrong(inputs)]

    # Where moto has a resource, it says what there is.

    @override
    def require(self, row: SimulatedResource[Account], pending: Pending[Account]) -> None:
        if _aws_row(row).describe is None:
            super().require(row, pending)
        else:
            row.requires(pending)

    @override
    def make(self, row: SimulatedResource[Account], pending: Pending[Account]) -> Pending[Account]:
        """What exists already is refused by moto, or by the row's own look."""
        aws_row = _aws_row(row)
        if aws_row.make is not None:
            pending = replace(pending, id=aws_row.make(pending))
        elif aws_row.describe is not None:
            pending = replace(pending, id=self._requested(aws_row, pending))
        if aws_row.completes_with_change:
            aws_row.follow(pending.cloud, pending.id, {}, pending.inputs)
        return self._described(aws_row, pending) or pending

    @override
    def found(self, request: CallContext, inputs: Properties) -> Created:
        row = self.row(request.type)
        if row.lifecycle is None or self._cloud.fleet is not None:
            return super().found(request, inputs)
        # A preview has no machines, and reads what moto describes.
        record = self.recorded(row, self.make(row, self.new_resource(row, inputs)))
        self._cloud.store.put(record)
        return self.read(request, record.id, inputs, {})

    @override
    def change(self, row: SimulatedResource[Account], pending: Pending[Account]) -> Pending[Account]:
        aws_row = _aws_row(row)
        assert pending.before is not None
        # It sends what differs from its state: `HasChange` in the update function of each type of
        # https://github.com/hashicorp/terraform-provider-aws.
        old, new = pending.deployed, pending.inputs
        aws_row.follow(pending.cloud, pending.id, old, new)
        if aws_row.retag is not None:
            aws_row.retag(pending.cloud, pending.id, old, new)
        elif aws_row.describe is not None and "tagsAll" in row.outputs:
            target = str(pending.before.outputs["arn"]) if request_of(row.token)[0] in BY_ARN else pending.id
            retag(pending.cloud, row.token, target, old.get("tags") or {}, new.get("tags") or {})
        return self._described(aws_row, pending) or pending

    @override
    def remove(self, row: SimulatedResource[Account], record: Record) -> None:
        try:
            _aws_row(row).end(self._cloud, record.id, record.inputs)
        except AwsError as error:
            if not not_found(error):
                raise

    @override
    def current(self, row: SimulatedResource[Account], record: Record) -> Record | None:
        aws_row = _aws_row(row)
        if aws_row.describe is None:
            return record
        pending = self._described(aws_row, Pending(self._cloud, record.id, record.inputs, record))
        if pending is None:
            return None
        return replace(self.recorded(row, pending), inputs=aws_row.live(self._cloud, record))

    def _requested(self, row: Row, pending: Pending[Account]) -> str:
        service, operation = request_of(row.token)
        params = row.wrap(pending.inputs, parameters(row.token, pending.inputs))
        tags = pending.inputs.get("tags")
        if tags and "tagsAll" in row.outputs:
            params |= tags_of(service, row.tagged, tags)
        answer = pending.cloud.call(service, operation, **params)
        return str(at(answer, row.answer)) if row.answer else pending.id

    def _described(self, row: Row, pending: Pending[Account]) -> Pending[Account] | None:
        """A resource with what AWS says of it now; ``None`` if it is gone."""
        if row.describe is None:
            return pending
        try:
            answer = row.describe(pending.cloud, pending.id, pending.inputs)
        except AwsError as error:
            if not_found(error):
                return None
            raise
        return None if answer is None else replace(pending, answer=answer)

    @override
    def with_retries(self, attempt: Callable[[], None]) -> None:
        """As the provider does, try again while something that may be on its way out still uses a resource."""
        deadline = time.monotonic() + self._cloud.patience
        while True:
            try:
                return attempt()
            except AwsError as error:
                waits = error.code == "DependencyViolation" and time.monotonic() < deadline
                if not waits or self._cloud.cancelled.wait(_LOOK_SECONDS):
                    raise

    @override
    def permission(self, row: SimulatedResource[Account], action: Action) -> str:
        return ":".join(request_of(row.token)) if action == "create" else ""

    @override
    def failure_prefix(self, what: str, id: str, action: str) -> str:
        return f"waiting for {what} ({id}) {'create' if action == 'creating' else 'update'}"


def _aws_row(row: SimulatedResource[Account]) -> Row:
    return cast("Row", row)
