"""The simulated Google Cloud provider: its rows, ids, names and permissions, and Google's messages."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from typing_extensions import override

from rehearsal.providers.base import CallContext, CheckFailure, Created, Properties, ProviderError
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import Record, SimulatedCloud, last_part
from rehearsal.providers.differences import same_resource
from rehearsal.providers.encrypted import unreadable
from rehearsal.providers.gke import cloud as google
from rehearsal.providers.gke import cluster, data, iam, network, node_pool, rules
from rehearsal.providers.gke.functions import FUNCTIONS
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.vendor import ZEROS, Action, auto_named
from rehearsal.simulation import Night, UserInfo

_CONTAINER: Final = "gcp:container/"
# The longest name, which in Compute Engine is longer than in GKE.
_NAME: Final = 63
_CONTAINER_NAME: Final = 40
_AUTO_NAMED: Final = re.compile(r"(.+)-[0-9a-f]{7}")


class GcpProvider(SimulatedProvider[SimulatedCloud]):
    """One simulated Google Cloud."""

    name = "gcp"
    cloud_name = "gke"
    rows = google.TABLE.rows(network, iam, data, cluster, node_pool, rules)
    rules_for_all_types = rules.TAGS
    functions = FUNCTIONS
    settings = ("project", "region", "zone")
    absent = ZEROS
    words = InputMessages(
        unknown="{api} has no such field in {object}; check the spelling",
        lacking="the provider has no such input, although {api} has such a field in {object}; check the spelling",
        server="is set by the server and cannot be given",
    )
    cloud_errors = google.ERRORS
    make_cloud = network.Project
    pool_order = node_pool.ClassOrder

    @override
    def principals(self) -> dict[str, UserInfo]:
        return cluster.find_principals(self._cloud)

    @override
    def problems(self) -> Iterable[str] | None:
        lost = unreadable(self._cloud, lambda _, key, agent: iam.may_use(self._cloud, key, agent))
        public = node_pool.made_public(self._cloud)
        return lost if not public else [*(lost or ()), *public]

    @override
    def maintain(self) -> Night:
        return cluster.night(self._cloud)

    @override
    def current(self, row: SimulatedResource[SimulatedCloud], record: Record) -> Record:
        if row.token == cluster.CLUSTER:
            return node_pool.with_all_pools(self._cloud, record)
        return node_pool.as_answered(record) if row.token == node_pool.POOL else record

    @override
    def found(self, request: CallContext, inputs: Properties) -> Created:
        created = super().found(request, inputs)
        record = self._cloud.find(created.id, request.type)
        if request.type == cluster.CLUSTER and record is not None and not record.outputs["endpoint"]:
            self._cloud.store.put(cluster.unreachable(record))
        return created

    @override
    def auto_name(self, row: SimulatedResource[SimulatedCloud], request: CallContext, inputs: Properties) -> str:
        limit = _CONTAINER_NAME if row.token.startswith(_CONTAINER) else _NAME
        digits = f"{random.Random(request.random_seed or None).getrandbits(28):07x}"
        return f"{request.name.lower()[: limit - 8]}-{digits}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[SimulatedCloud], inputs: Properties) -> Properties:
        known = self.schema.inputs(row.token).properties
        optional = [key for key in ("project", "region") if key in known and not known[key].required]
        defaults = {key: self._cloud.default(key) for key in optional}
        return {**inputs, **{key: google.chosen(inputs.get(key), default) for key, default in defaults.items()}}

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
        region = last_part(inputs.get("region") or google.region_of(inputs.get("location") or ""))
        id = row.id.format_map({**inputs, "region": region, row.address[-1]: last_part(value)})
        # A link into another project or region means another resource, even if the last part is the same.
        return id if same_resource(value, google.SELF_LINK + id) else value.removeprefix(google.SELF_LINK)

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
