"""The simulated Google Cloud provider: its rows, its functions (who the project is, which versions and zones there
are), and Google's messages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from rehearsal.providers.base import CallContext, CheckFailure, Created, Properties, ProviderError
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import Record, SimulatedCloud, last_part
from rehearsal.providers.differences import same_resource
from rehearsal.providers.encrypted import unreadable
from rehearsal.providers.gke import cloud as google
from rehearsal.providers.gke import cluster, data, iam, network, node_pool, rules
from rehearsal.providers.gke.network import SUBNETWORK
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.rules import tag_rules
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.vendor import Action, auto_named
from rehearsal.simulation import Night, UserInfo

if TYPE_CHECKING:
    pass


def get_project(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``organizations.getProject``: the named project, or the configured one."""
    project = args.get("projectId") or cloud.default("project")
    if not project:
        raise ProviderError("project: required field is not set; set gcp:project or give project_id")
    return {
        "autoCreateNetwork": True,
        "billingAccount": "",
        "deletionPolicy": "PREVENT",
        "effectiveLabels": {},
        "folderId": "",
        "id": f"projects/{project}",
        "labels": {},
        "name": project,
        "number": google.project_number(project),
        "orgId": "",
        "projectId": project,
        "pulumiLabels": {},
        "tags": {},
    }


def get_engine_versions(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``container.getEngineVersions``: the one version that runs here, for every channel."""
    location = args.get("location") or cloud.default("zone") or cloud.default("region") or ""
    if google.region_of(location) not in cloud.catalog.regions:
        raise google.bad_request(f'Location "{location}" is not known to this rehearsal.')
    prefix = args.get("versionPrefix") or ""
    offered = [rules.VERSION] if rules.VERSION.startswith(prefix) else []
    channels = dict.fromkeys(rules.CHANNELS, rules.VERSION)
    return {
        "defaultClusterVersion": rules.VERSION,
        "id": location,
        "latestMasterVersion": offered[0] if offered else "",
        "latestNodeVersion": offered[0] if offered else "",
        "location": location,
        "project": args.get("project") or cloud.default("project"),
        "releaseChannelDefaultVersion": channels,
        "releaseChannelLatestVersion": channels,
        "releaseChannelUpgradeTargetVersion": channels,
        "validMasterVersions": offered,
        "validNodeVersions": offered,
        "versionPrefix": prefix,
    }


def get_zones(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``compute.getZones``: the zones of a region; none are down."""
    region = args.get("region") or cloud.default("region") or ""
    if (problem := google.unknown_region(cloud, region)) is not None:
        raise google.bad_request(problem)
    project = args.get("project") or cloud.default("project")
    up = args.get("status") in (None, "", "UP")
    names = sorted(cloud.catalog.regions[region]) if up else []
    return {"id": f"projects/{project}/regions/{region}", "names": names, "project": project, "region": region}


def get_subnetwork(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``compute.getSubnetwork``: a subnetwork by name, of any project that one may look into."""
    place = {key: args.get(key) or cloud.default(key) for key in ("project", "region")}
    id = f"projects/{place['project']}/regions/{place['region']}/subnetworks/{args.get('name')}"
    record = cloud.find(id, SUBNETWORK)
    if record is None:
        raise google.not_found(f"The resource '{id}' was not found")
    return {"privateIpGoogleAccess": False, "secondaryIpRanges": [], **record.state, "id": id}


def get_cluster(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``container.getCluster``: a cluster by name and location, with all its pools, whoever declared them.

    One that is not there: ``d.SetId("")`` and then ``fmt.Errorf("%s not found", id)``, as in
    https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/data_source_google_container_cluster.go
    """
    project = args.get("project") or cloud.default("project")
    location = args.get("location") or cloud.default("zone") or cloud.default("region")
    id = f"projects/{project}/locations/{location}/clusters/{args.get('name')}"
    record = cloud.find(id, cluster.CLUSTER)
    if record is None:
        raise ProviderError(f"{id} not found")
    pools = [node_pool.as_answered(each).state for each in node_pool.pools_of(cloud, id)]
    own = ("cluster", "deletionPolicy", "id", "location", "operation", "project")
    listed = [{key: value for key, value in pool.items() if key not in own} for pool in pools]
    return {"workloadIdentityConfigs": [], **_as_lists({**record.state, "nodePools": listed}), "id": id}


_MAPS: Final = frozenset({"effectiveLabels", "labels", "metadata", "pulumiLabels", "resourceLabels"})
"""Blocks that are maps of the user's own keys; a function has every other one as a list, in the plural."""


def _as_lists(state: Properties) -> Properties:
    """A resource's state as the provider's function of the same name has it."""
    result: Properties = {}
    for key, value in state.items():
        if isinstance(value, dict) and key not in _MAPS:
            result[_plural(key)] = [_as_lists(value)]
        elif isinstance(value, list):
            result[key] = [_as_lists(each) if isinstance(each, dict) else each for each in value]
        else:
            result[key] = value
    return result


def _plural(name: str) -> str:
    if name.endswith(("us", "ss")):
        return f"{name}es"
    if name.endswith("s"):
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


FUNCTIONS: Final[Mapping[str, Callable[[SimulatedCloud, Properties], Properties]]] = {
    "gcp:organizations/getProject:getProject": get_project,
    "gcp:container/getCluster:getCluster": get_cluster,
    "gcp:container/getEngineVersions:getEngineVersions": get_engine_versions,
    "gcp:compute/getSubnetwork:getSubnetwork": get_subnetwork,
    "gcp:compute/getZones:getZones": get_zones,
}


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


class GcpProvider(SimulatedProvider[SimulatedCloud]):
    """One simulated Google Cloud."""

    name = "gcp"
    cloud_name = "gke"
    rows = google.TABLE.rows(network, iam, data, cluster, node_pool, rules)
    rules_for_all_types = TAGS
    functions = FUNCTIONS
    settings = ("project", "region", "zone")
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
