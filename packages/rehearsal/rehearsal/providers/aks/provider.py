"""The simulated Azure Native provider: its rows, ids, names and permissions, and Azure's messages."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.aks import cluster, data, iam, network, node_pool, nodes, rules
from rehearsal.providers.aks.functions import FUNCTIONS
from rehearsal.providers.aks.node_pool import Operations
from rehearsal.providers.base import CallContext, Created, Previous, Properties, at, has_unknown
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.vendor import Action
from rehearsal.simulation import Fleet, Night, UserInfo

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog


class AzureNativeProvider(SimulatedProvider[azure.Subscription]):
    """One simulated Azure subscription."""

    name = "azure-native"
    cloud_name = "aks"
    rows = azure.TABLE.rows(network, iam, data, cluster, node_pool)
    rules_for_all_types = (*rules.TAGS, network.PLACE_OFFERED)
    functions = FUNCTIONS
    settings = ("subscriptionId", "tenantId", "location")
    words = InputMessages(
        unknown="Azure knows no such property in {object}; check the spelling",
        lacking="pulumi-azure-native {version} calls API version {api}, which does not have it",
        server="is set by Azure and cannot be given",
    )
    cloud_errors = azure.ERRORS
    common_output_names = ("name", "type", "azureApiVersion", "provisioningState")
    # ``Update`` in https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/provider.go, which
    # keeps the location as well, an input here.
    stable = ("name",)
    make_cloud = azure.Subscription
    pool_order = node_pool.Ranking

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        super().__init__(directory, fleet, catalog)
        self._operations = Operations()

    @override
    def principals(self) -> dict[str, UserInfo]:
        return cluster.find_principals(self._cloud)

    @override
    def maintain(self) -> Night | None:
        return nodes.night(self._cloud)

    @override
    def problems(self) -> Iterable[str] | None:
        evaluated = [nodes.problems(self._cloud, each) for each in self._cloud.store.all(azure.CLUSTER)]
        evaluated.append(cluster.problems(self._cloud))
        lists = [problems for problems in evaluated if problems is not None]
        return [problem for problems in lists for problem in problems] if lists else None

    @override
    def current(self, row: SimulatedResource[azure.Subscription], record: Record) -> Record:
        if row.token == azure.POOL:
            return node_pool.live(self._cloud, record)
        return iam.as_answered(record) if row.token == iam.ROLE_ASSIGNMENT else record

    @override
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        id = "" if request.preview else self.new_resource(self.row(request.type), inputs).id
        with self.operation(request, id, "Creating"):
            return super().create(request, inputs, timeout)

    @override
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        with self.operation(request, id, "Updating"):
            state = super().update(request, id, before, news, timeout)
        # Azure answers with the pool as it has it then.
        return state if request.preview or request.type != azure.POOL else self.read(request, id, news, state).state

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        with self.operation(request, id, "Deleting"):
            super().delete(request, id, inputs, state, timeout)

    @override
    def operation(self, request: CallContext, id: str, action: str) -> AbstractContextManager[None]:
        """Lock the cluster for an operation on it or on one of its pools."""
        if request.preview or request.type not in (azure.CLUSTER, azure.POOL):
            return nullcontext()
        changed = node_pool.cluster_of(id) if request.type == azure.POOL else id
        return self._operations.only(changed, f"{last_part(id)} - {action}")

    @override
    def auto_name(self, row: SimulatedResource[azure.Subscription], request: CallContext, inputs: Properties) -> str:
        digits = random.Random(request.random_seed or None)
        if row.token == iam.ROLE_ASSIGNMENT:
            return str(uuid.UUID(int=digits.getrandbits(128), version=4))
        return f"{request.name}{digits.getrandbits(32):08x}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Properties:
        """``inputs`` with a location: the declared one, else the provider's, else the resource group's."""
        if not self._located(row) or inputs.get("location") is not None:
            return inputs
        location: Any = self._cloud.config.get("location")
        name = inputs.get("resourceGroupName")
        if location is None and name is not None and row.token != azure.GROUP:
            group = (
                None
                if name is UNKNOWN
                else self._cloud.find(azure.id_of(self._cloud, azure.GROUP, inputs), azure.GROUP)
            )
            # A group that is created by the same update decides later.
            location = group.inputs["location"] if group else UNKNOWN
        return {**inputs, "location": location}

    @override
    def deletes_first(
        self, row: SimulatedResource[azure.Subscription], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        # The provider deletes first unless the address itself changed, auto-named or not.
        return all(old.get(key) == new.get(key) for key in self.address(row))

    def _located(self, row: SimulatedResource[azure.Subscription]) -> bool:
        return "location" in self.schema.inputs(row.token).properties

    @override
    def place(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Mapping[str, Any]:
        scope = inputs.get("scope")
        within = {"scope": scope.strip("/")} if isinstance(scope, str) else {}
        return {**inputs, **within, "subscription": self._cloud.subscription}

    @override
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        row = self.rows[references.token]
        return row.id.format_map(self.place(row, inputs)) if path in row.address else value.rstrip("/")

    @override
    def common_outputs(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Properties:
        # The type is the path's part behind the provider's namespace, without the names.
        namespace, *steps = row.id.rpartition("/providers/")[2].split("/")
        if row.token == azure.GROUP:
            namespace, steps = "Microsoft.Resources", ["resourceGroups"]
        return {
            "azureApiVersion": self.schema.resources[row.token].api,
            "name": inputs[row.name],
            "provisioningState": "Succeeded",
            "type": "/".join([namespace, *(step for step in steps if not step.startswith("{"))]),
        }

    @override
    def require_unchanged(
        self, row: SimulatedResource[azure.Subscription], old: Properties, new: Properties, *, nested: bool
    ) -> None:
        """The provider does not know which inputs are immutable, so it sends an update that fails."""
        if not nested and "location" not in row.replaces and _moves(old.get("location"), new.get("location")):
            raise azure.move_refused(old[row.name], old["resourceGroupName"], old["location"], new["location"])
        # What the provider would replace a resource of its own for, nobody replaces inside another.
        immutable = {**row.immutable, **(dict.fromkeys(row.replaces) if nested else {})}
        for path, default in immutable.items():
            before, after = at(old, path), at(new, path)
            known = not has_unknown(before) and not has_unknown(after)
            if known and _comparable(before, default) != _comparable(after, default):
                raise azure.change_refused(path)

    @override
    def permission(self, row: SimulatedResource[azure.Subscription], action: Action) -> str:
        """The resource's type, which is in its id, and what is done to it.

        https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations
        """
        _, own, typed = row.id.rpartition("/providers/")
        namespace, _, path = (typed if own else f"Microsoft.Resources{row.id}").partition("/")
        return "/".join((namespace, *path.split("/")[::2], "delete" if action == "delete" else "write"))


def _comparable(value: Any, default: Any) -> Any:
    if value is None:
        value = default
    if isinstance(value, list):
        value = sorted(map(str, value))
    # Nothing, off and none are one.
    return value.lower() if isinstance(value, str) and value.startswith("/") else value or None


def _moves(before: Any, after: Any) -> bool:
    """Whether these are two locations; ``West Europe`` is ``westeurope``."""
    known = isinstance(before, str) and isinstance(after, str)
    return known and before.replace(" ", "").lower() != after.replace(" ", "").lower()
