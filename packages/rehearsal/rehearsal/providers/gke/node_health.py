"""Why a pool's nodes would not work: their account's roles, their access scopes, and their way to Google's registries.

Google starts such machines and bills them: without a way to the registry they never become ready
(https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/308), without the role or the
scopes they write no logs and no metrics, and where they stream images without a role for it, no pod starts
(https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/2251). A rehearsal has no node in
any of these cases.
"""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import SELF_LINK
from rehearsal.providers.gke.network import NAT, ROUTER, subnetwork_of
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

GRANT: Final = "gcp:projects/iAMMember:IAMMember"
# https://docs.cloud.google.com/kubernetes-engine/security/configure-node-service-accounts; the two are its main parts.
_NODE_ROLES: Final = ("roles/container.defaultNodeServiceAccount", "roles/editor", "roles/owner")
_PARTS: Final = {"roles/logging.logWriter", "roles/monitoring.metricWriter"}
# Those with serviceusage.services.use: https://cloud.google.com/kubernetes-engine/docs/how-to/image-streaming#requirements
_STREAMING_ROLES: Final = (
    "roles/serviceusage.serviceUsageConsumer",
    "roles/serviceusage.serviceUsageAdmin",
    "roles/container.nodeServiceAccount",
    "roles/editor",
    "roles/owner",
)
# https://cloud.google.com/kubernetes-engine/docs/how-to/access-scopes: what GKE itself gives nodes, at least.
_SCOPES: Final = {
    "logs": ("logging.write", "logging.admin"),
    "metrics": ("monitoring", "monitoring.write"),
    "pulls images": ("devstorage.read_only", "devstorage.read_write", "devstorage.full_control"),
}
_EVERYTHING: Final = "cloud-platform"


def node_problem(cloud: SimulatedCloud, cluster: Properties, pool: Properties) -> str | None:
    """Why nodes of ``pool`` (its inputs) would not work in ``cluster`` (its inputs); ``None`` if they would."""
    config = pool.get("nodeConfig") or {}
    return _roles(cloud, cluster, config) or _scopes(config) or _network(cloud, cluster, pool)


def _roles(cloud: SimulatedCloud, cluster: Properties, config: Properties) -> str | None:
    """Only an account of this program is judged: roles that others granted are not known."""
    account, project = str(config.get("serviceAccount") or ""), cluster["project"]
    if not account.endswith(f"@{project}.iam.gserviceaccount.com"):
        return None
    member = f"serviceAccount:{account}"
    grants = [each.inputs for each in cloud.store.all(GRANT) if each.inputs["member"] == member]
    roles = {each["role"] for each in grants if each["project"] == project}
    if not roles.intersection(_NODE_ROLES) and not roles >= _PARTS:
        lacking = _NODE_ROLES[0]
    elif at(config, "gcfsConfig.enabled") and not roles.intersection(_STREAMING_ROLES):
        lacking = _STREAMING_ROLES[0]
    else:
        return None
    return f"the nodes' service account {account} lacks {lacking} on project {project}"


def _scopes(config: Properties) -> str | None:
    scopes = {str(each).rpartition("/")[2] for each in config.get("oauthScopes") or ()}
    if not scopes or _EVERYTHING in scopes:
        return None
    lacking = [what for what, ways in _SCOPES.items() if not scopes.intersection(ways)]
    if not lacking:
        return None
    return f"the nodes' access scopes ({', '.join(sorted(scopes))}) lack one for: {', '.join(lacking)}"


def _network(cloud: SimulatedCloud, cluster: Properties, pool: Properties) -> str | None:
    """A private node needs Private Google Access or NAT; NAT must cover the pods, too.

    GKE turns Private Google Access on when it makes a cluster, and a program that declares the opposite turns it off
    again. Which ranges: https://cloud.google.com/nat/docs/nat-product-interactions
    """
    own = at(pool, "networkConfig.enablePrivateNodes")
    private = at(cluster, "privateClusterConfig.enablePrivateNodes") if own is None else own
    if not private or not cluster.get("subnetwork"):
        return None
    subnetwork = subnetwork_of(cloud, cluster)
    gateways = [_translated(gateway, subnetwork) for gateway in _gateways(cloud, subnetwork)]
    ranges = {range_ for served in gateways for range_ in served}
    pods = at(cluster, "ipAllocationPolicy.clusterSecondaryRangeName")
    name = subnetwork.inputs["name"]
    if not ranges.intersection({"nodes", "*"}) and not subnetwork.inputs.get("privateIpGoogleAccess"):
        return (
            f"its nodes are private, and subnetwork '{name}' has neither Private Google Access nor Cloud NAT for its "
            "primary range: they cannot pull from Google's registries"
        )
    if ranges and pods and not ranges.intersection({pods, "*"}):
        return f"Cloud NAT serves subnetwork '{name}', but not its range '{pods}', from which pods reach the Internet"
    return None


def _gateways(cloud: SimulatedCloud, subnetwork: Record) -> list[Properties]:
    """The NAT gateways of the subnetwork's region and network."""
    result = []
    for gateway in cloud.store.all(NAT):
        inputs = gateway.inputs
        router = cloud.store.get(
            ROUTER, f"projects/{inputs['project']}/regions/{inputs['region']}/routers/{inputs['router']}"
        )
        same_region = inputs["region"] == subnetwork.inputs["region"]
        if router is not None and same_region and router.outputs["network"] == subnetwork.outputs["network"]:
            result.append(inputs)
    return result


def _translated(gateway: Properties, subnetwork: Record) -> set[Any]:
    """The ranges of the subnetwork that the gateway serves: ``nodes``, names of secondary ones, or ``*`` for all."""
    how = gateway.get("sourceSubnetworkIpRangesToNat")
    if how != "LIST_OF_SUBNETWORKS":
        return {"nodes"} if how == "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES" else {"*"}
    ranges: set[Any] = set()
    for entry in gateway.get("subnetworks") or ():
        if str(entry["name"]).removeprefix(SELF_LINK) in (subnetwork.id, subnetwork.inputs["name"]):
            written = set(entry.get("sourceIpRangesToNats") or ())
            ranges |= {"*"} if "ALL_IP_RANGES" in written else set()
            ranges |= {"nodes"} if "PRIMARY_IP_RANGE" in written else set()
            ranges |= set(entry.get("secondaryIpRangeNames") or ())
    return ranges
