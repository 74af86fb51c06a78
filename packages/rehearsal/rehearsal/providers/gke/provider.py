"""The simulated Google Cloud provider: its rows, its functions, and Google's messages."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from rehearsal.providers.base import CallContext, CheckFailure, Properties, ProviderError
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import SimulatedCloud, last_part
from rehearsal.providers.differences import same_resource
from rehearsal.providers.gke import cluster, data, errors, iam, network, node_pool, pool_rules
from rehearsal.providers.gke.class_order import ClassOrder
from rehearsal.providers.gke.cloud import SELF_LINK, TABLE, chosen, region_of
from rehearsal.providers.gke.functions import FUNCTIONS
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.rules import tag_rules
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.store import Record
from rehearsal.providers.vendor import Action, CloudErrors, auto_named
from rehearsal.simulation import Fleet, Night, UserInfo

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog

# Of labels on clusters and machines: https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels
TAGS: Final = tag_rules(
    "resourceLabels",
    "nodeConfig.resourceLabels",
    source="https://cloud.google.com/compute/docs/labeling-resources#requirements",
    key=r"[a-z][a-z0-9_-]{0,62}",
    value=r"[a-z0-9_-]{0,63}",
    most=64,
    refusal="Invalid label '{key}': keys and values are of lower-case letters, digits, '_' and '-'.",
)


_CONTAINER: Final = "gcp:container/"
# The longest name, which in Compute Engine is longer than in GKE.
_NAME: Final = 63
_CONTAINER_NAME: Final = 40
_AUTO_NAMED: Final = re.compile(r"(.+)-[0-9a-f]{7}")


def _missing_reference(cloud: SimulatedCloud, references: Reference, value: str, id: str) -> ProviderError:
    if references.token.startswith(_CONTAINER):
        return errors.not_found(f"Not found: {id}")
    path = value.removeprefix(SELF_LINK) if "/" in value else id
    return errors.not_found(f"The resource '{path}' was not found")


class GcpProvider(SimulatedProvider[SimulatedCloud]):
    """One simulated Google Cloud."""

    name = "gcp"
    cloud_name = "gke"
    rows = TABLE.rows(network, iam, data, cluster, node_pool, pool_rules)
    rules_for_all_types = TAGS
    functions = FUNCTIONS
    settings = ("project", "region", "zone")
    words = InputMessages(
        unknown="{api} has no such field in {object}; check the spelling",
        lacking="the provider has no such input, although {api} has such a field in {object}; check the spelling",
        server="is set by the server and cannot be given",
    )
    cloud_errors = CloudErrors(
        forbidden=lambda cloud, row, permission, id: errors.forbidden(permission, id),
        bad_request=lambda cloud, row, message: errors.bad_request(message),
        missing_reference=_missing_reference,
        missing_resource=lambda cloud, row, id: errors.not_found(f"Not found: {id}"),
        in_use=lambda cloud, row, id, by: errors.in_use(id, by),
        exists=lambda cloud, row, id: errors.already_exists(id),
    )
    make_cloud = SimulatedCloud

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        super().__init__(directory, fleet, catalog)
        self._order = ClassOrder(self._cloud)

    @override
    def by_itself(self) -> None:
        super().by_itself()
        self._order.close()

    @override
    def configure(self, config: Properties) -> None:
        super().configure(config)
        self._order.watch()

    @override
    def close(self) -> None:
        self._order.close()

    @override
    def changed(self, row: SimulatedResource[SimulatedCloud]) -> None:
        self._order.watch()

    @override
    def principals(self) -> dict[str, UserInfo]:
        return cluster.find_principals(self._cloud)

    @override
    def maintain(self) -> Night:
        return cluster.night(self._cloud)

    @override
    def current(self, row: SimulatedResource[SimulatedCloud], record: Record) -> Record:
        return node_pool.as_answered(record) if row.token == node_pool.POOL else record

    @override
    def auto_name(self, row: SimulatedResource[SimulatedCloud], request: CallContext, inputs: Properties) -> str:
        limit = _CONTAINER_NAME if row.token.startswith(_CONTAINER) else _NAME
        digits = f"{random.Random(request.random_seed or None).getrandbits(28):07x}"
        return f"{request.name.lower()[: limit - 8]}-{digits}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[SimulatedCloud], inputs: Properties) -> Properties:
        known = self.schema.inputs(row.token).properties
        defaults = {key: self._cloud.default(key) for key in ("project", "region") if key in known}
        return {**inputs, **{key: chosen(inputs.get(key), default) for key, default in defaults.items()}}

    @override
    def failures(self, row: SimulatedResource[SimulatedCloud], inputs: Properties) -> list[CheckFailure]:
        failures = super().failures(row, inputs)
        if "project" in self.schema.inputs(row.token).properties and inputs.get("project") is None:
            failures.append(CheckFailure("project", "is required: set gcp:project, or project on the resource"))
        return failures

    @override
    def deletes_first(
        self, row: SimulatedResource[SimulatedCloud], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        # Two resources of one name cannot exist at once; the real provider's bridge decides in the same way.
        name = new.get("name")
        return (
            name is not None
            and name == old.get("name")
            and not auto_named(_AUTO_NAMED, request.name.lower(), str(name))
        )

    @override
    def place(self, row: SimulatedResource[SimulatedCloud], inputs: Properties) -> Mapping[str, Any]:
        linked = {key: last_part(inputs[key]) for key in row.links if isinstance(inputs.get(key), str)}
        return {**inputs, **linked}

    @override
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        row = self.rows[references.token]
        region = last_part(inputs.get("region") or region_of(inputs.get("location") or ""))
        id = row.id.format_map({**inputs, "region": region, row.address[-1]: last_part(value)})
        # A link into another project or region means another resource, even if the last part is the same.
        return id if same_resource(value, SELF_LINK + id) else value.removeprefix(SELF_LINK)

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        """Apply ``deletionPolicy``: ``ABANDON`` only forgets the resource, ``PREVENT`` refuses as the provider does.

        https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/tpgresource/utils.go
        """
        policy = inputs.get("deletionPolicy")
        if policy == "PREVENT":
            raise ProviderError(
                f'cannot destroy "{id}" without setting deletion_policy="DELETE" and running `pulumi up`'
            )
        if policy != "ABANDON":
            super().delete(request, id, inputs, state, timeout)

    @override
    def permission(self, row: SimulatedResource[SimulatedCloud], action: Action) -> str:
        return row.permission.format(action=action)
