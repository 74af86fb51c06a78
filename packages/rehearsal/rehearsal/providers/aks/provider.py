"""The simulated Azure Native provider: its rows, its functions, and Azure's messages."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.aks import agent_pool, cluster, data, errors, identity, maintenance, network, provisioning
from rehearsal.providers.aks.agent_pool import Operations
from rehearsal.providers.aks.cloud import GROUP, TABLE, Subscription, id_of
from rehearsal.providers.aks.functions import FUNCTIONS
from rehearsal.providers.aks.ranking import Ranking
from rehearsal.providers.base import CallContext, Created, Previous, Properties
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import last_part
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.rules import tag_rules
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.store import Record
from rehearsal.providers.values import at, has_unknown
from rehearsal.providers.vendor import Action, CloudErrors
from rehearsal.simulation import Fleet, Night, UserInfo

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog

# Keys have no case. What Azure says of a tag that it refuses:
# https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
TAGS: Final = tag_rules(
    "tags",
    source="https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations",
    key=r"(?!(?i:microsoft|azure|windows))[^<>%&\\?/]{1,512}",
    value=r".{0,256}",
    most=50,
    distinct=True,
    refusal="InvalidTagNameCharacters: The tag name '{key}' is not valid, is there twice, or is one too many.",
)


class AzureNativeProvider(SimulatedProvider[Subscription]):
    """One simulated Azure subscription."""

    name = "azure-native"
    cloud_name = "aks"
    rows = TABLE.rows(network, identity, data, cluster, agent_pool)
    rules_for_all_types = (*TAGS, network.PLACE_OFFERED)
    functions = FUNCTIONS
    settings = ("subscriptionId", "tenantId", "location")
    words = InputMessages(
        unknown="Azure knows no such property in {object}; check the spelling",
        lacking="pulumi-azure-native {version} calls API version {api}, which does not have it",
        server="is set by Azure and cannot be given",
    )
    cloud_errors = CloudErrors(
        forbidden=lambda cloud, row, permission, id: errors.forbidden(permission, id),
        bad_request=lambda cloud, row, message: errors.bad_request(message),
        missing_reference=lambda cloud, references, value, id: (
            errors.no_group(value) if references.token == GROUP else errors.not_found(id)
        ),
        missing_resource=lambda cloud, row, id: errors.not_found(id),
        in_use=lambda cloud, row, id, by: errors.in_use(errors.BUSY.get(row.token, "InUse"), id, by),
        exists=lambda cloud, row, id: errors.already_exists(id),
    )
    common_output_names = ("name", "type", "azureApiVersion", "provisioningState")
    # ``Update`` in https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/provider.go, which
    # keeps the location as well, an input here.
    stable = ("name",)
    make_cloud = Subscription

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        super().__init__(directory, fleet, catalog)
        self._ranks = Ranking(self._cloud)
        self._operations = Operations()

    @override
    def by_itself(self) -> None:
        super().by_itself()
        self._ranks.close()

    @override
    def configure(self, config: Properties) -> None:
        super().configure(config)
        self._ranks.watch()

    @override
    def close(self) -> None:
        self._ranks.close()

    @override
    def principals(self) -> dict[str, UserInfo]:
        return cluster.find_principals(self._cloud)

    @override
    def maintain(self) -> Night | None:
        return maintenance.night(self._cloud)

    @override
    def problems(self) -> Iterable[str] | None:
        evaluated = [provisioning.problems(self._cloud, each) for each in self._cloud.store.all(cluster.CLUSTER)]
        return next((found for found in evaluated if found is not None), None)

    @override
    def current(self, row: SimulatedResource[Subscription], record: Record) -> Record:
        return identity.as_answered(record) if row.token == identity.ROLE_ASSIGNMENT else record

    @override
    def changed(self, row: SimulatedResource[Subscription]) -> None:
        self._ranks.watch()

    @override
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        id = "" if request.preview else self.new_resource(self.row(request.type), inputs).id
        with self.operation(request, id, "Creating"):
            return super().create(request, inputs, timeout)

    @override
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        with self.operation(request, id, "Updating"):
            return super().update(request, id, before, news, timeout)

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        with self.operation(request, id, "Deleting"):
            super().delete(request, id, inputs, state, timeout)

    @override
    def operation(self, request: CallContext, id: str, action: str) -> AbstractContextManager[None]:
        """Lock the cluster for an operation on it or on one of its pools."""
        if request.preview or request.type not in (cluster.CLUSTER, agent_pool.POOL):
            return nullcontext()
        changed = agent_pool.cluster_of(id) if request.type == agent_pool.POOL else id
        return self._operations.only(changed, f"{last_part(id)} - {action}")

    @override
    def auto_name(self, row: SimulatedResource[Subscription], request: CallContext, inputs: Properties) -> str:
        digits = random.Random(request.random_seed or None)
        if row.token == identity.ROLE_ASSIGNMENT:
            return str(uuid.UUID(int=digits.getrandbits(128), version=4))
        return f"{request.name}{digits.getrandbits(32):08x}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[Subscription], inputs: Properties) -> Properties:
        """``inputs`` with a location: the declared one, else the provider's, else the resource group's."""
        if not self._located(row) or inputs.get("location") is not None:
            return inputs
        location: Any = self._cloud.config.get("location")
        name = inputs.get("resourceGroupName")
        if location is None and name is not None and row.token != GROUP:
            group = None if name is UNKNOWN else self._cloud.find(id_of(self._cloud, GROUP, inputs), GROUP)
            # A group that is created by the same update decides later.
            location = group.inputs["location"] if group else UNKNOWN
        return {**inputs, "location": location}

    @override
    def deletes_first(
        self, row: SimulatedResource[Subscription], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        # The provider deletes first unless the address itself changed, auto-named or not.
        return all(old.get(key) == new.get(key) for key in self.address(row))

    @override
    def replacing(self, row: SimulatedResource[Subscription]) -> tuple[str, ...]:
        # https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/gen/replacement.go
        return ("location",) if self._located(row) else ()

    def _located(self, row: SimulatedResource[Subscription]) -> bool:
        return "location" in self.schema.inputs(row.token).properties

    @override
    def place(self, row: SimulatedResource[Subscription], inputs: Properties) -> Mapping[str, Any]:
        scope = inputs.get("scope")
        within = {"scope": scope.strip("/")} if isinstance(scope, str) else {}
        return {**inputs, **within, "subscription": self._cloud.subscription}

    @override
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        row = self.rows[references.token]
        return row.id.format_map(self.place(row, inputs)) if path in row.address else value.rstrip("/")

    @override
    def common_outputs(self, row: SimulatedResource[Subscription], inputs: Properties) -> Properties:
        # The type is the path's part behind the provider's namespace, without the names.
        namespace, *steps = row.id.rpartition("/providers/")[2].split("/")
        if row.token == GROUP:
            namespace, steps = "Microsoft.Resources", ["resourceGroups"]
        return {
            "azureApiVersion": self.schema.resources[row.token].api,
            "name": inputs[row.name],
            "provisioningState": "Succeeded",
            "type": "/".join([namespace, *(step for step in steps if not step.startswith("{"))]),
        }

    @override
    def require_unchanged(
        self, row: SimulatedResource[Subscription], old: Properties, new: Properties, *, nested: bool
    ) -> None:
        """The provider does not know which inputs are immutable, so it sends an update that fails."""
        # What the provider would replace a resource of its own for, nobody replaces inside another.
        immutable = {**row.immutable, **(dict.fromkeys(row.replaces) if nested else {})}
        for path, default in immutable.items():
            before, after = at(old, path), at(new, path)
            known = not has_unknown(before) and not has_unknown(after)
            if known and _comparable(before, default) != _comparable(after, default):
                raise errors.change_refused(path)

    @override
    def permission(self, row: SimulatedResource[Subscription], action: Action) -> str:
        """The resource's type, which is in its id, and what is done to it.

        https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations
        """
        _, own, typed = row.id.rpartition("/providers/")
        namespace, _, path = (typed if own else f"Microsoft.Resources{row.id}").partition("/")
        return "/".join((namespace, *path.split("/")[::2], "delete" if action == "delete" else "write"))


def _comparable(value: Any, default: Any) -> Any:
    if value is None:
        return default
    if isinstance(value, list):
        return sorted(map(str, value))
    return value.lower() if isinstance(value, str) and value.startswith("/") else value
