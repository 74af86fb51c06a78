"""GKE clusters: control plane, default pool, inline pools, and the system pods every cluster has.

Principals with access are accounts and groups with permission to get clusters, by their addresses:
https://cloud.google.com/kubernetes-engine/docs/how-to/role-based-access-control (users need ``container.clusters.get``,
and RBAC knows them by their address) and https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac
(groups of the domain whose security group the cluster names). That a group is a member of that one is not known here.
"""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from ipaddress import ip_network
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import Properties, ProviderError, at, without_none
from rehearsal.providers.cloud import Record, SimulatedCloud, last_part
from rehearsal.providers.encrypted import forget_keys
from rehearsal.providers.gke import rules
from rehearsal.providers.gke.cloud import SELF_LINK, TABLE, bad_request, chosen, not_registered, region_of
from rehearsal.providers.gke.iam import require_account, require_granted, service_agent
from rehearsal.providers.gke.network import network_of, subnetwork_of
from rehearsal.providers.gke.node_pool import CLUSTER, POOL, answered_config, move, pools_of
from rehearsal.providers.gke.nodes import GRANT, node_problem
from rehearsal.providers.gke.system import system_objects
from rehearsal.providers.resource import Lifecycle, NestedResource, Pending, SimulatedResource, ends, values_at
from rehearsal.providers.rules import minors_up
from rehearsal.simulation import Balancing, Night, UserInfo

_NOWHERE: Final = "127.0.0.1:9"  # the port "discard"
_NOBODYS_CERTIFICATE: Final = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
PROTECTED: Final = (
    "Cannot destroy cluster because deletion_protection is set to true. "
    "Set it to false to proceed with cluster deletion."
)
DEFAULT_POOL: Final = "default-pool"
_SECRETS_AGENT: Final = "container-engine-robot"
# An Ingress without a class is an external one: https://cloud.google.com/kubernetes-engine/docs/concepts/ingress
_INGRESS_CLASSES: Final = ("", "gce", "gce-internal")
_BY_NAME: Final = "controlPlaneEndpointsConfig.dnsEndpointConfig"
_BY_ADDRESS: Final = "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled"
# https://cloud.google.com/kubernetes-engine/docs/how-to/nodelocal-dns-cache,
# https://cloud.google.com/kubernetes-engine/docs/how-to/intranode-visibility
_NODES_RECREATED: Final = ("addonsConfig.dnsCacheConfig.enabled", "enableIntranodeVisibility")
# The roles that have the right, of https://cloud.google.com/kubernetes-engine/docs/how-to/iam.
MAY_LOG_IN: Final = ("clusterViewer", "viewer", "developer", "admin", "clusterAdmin")


def _takes_an_api_away(before: Properties, after: Properties) -> bool:
    old, new = ({*values_at(each, "enableK8sBetaApis.enabledApis")} for each in (before, after))
    return not old <= new


def _completed(cloud: SimulatedCloud, inputs: Properties) -> Properties:
    return {**inputs, "location": chosen(inputs.get("location"), cloud.default("zone") or cloud.default("region"))}


def _require(pending: Pending[SimulatedCloud]) -> None:
    _require_step(pending)
    inputs, network = pending.inputs, network_of(pending.cloud, pending.inputs)
    if inputs.get("subnetwork"):
        subnetwork = subnetwork_of(pending.cloud, inputs)
        if subnetwork.outputs["network"] != SELF_LINK + network.id:
            raise bad_request(f"Subnetwork {subnetwork.id} is not in network {network.id}.")
        _require_ranges(inputs, subnetwork)
    elif network.inputs.get("autoCreateSubnetworks") is False:
        raise bad_request(f"Network '{network.inputs['name']}' is in custom subnet mode: a subnetwork must be given.")
    # GKE writes all Secrets again: https://docs.cloud.google.com/kubernetes-engine/docs/troubleshooting/troubleshoot-secrets
    forget_keys(pending.cloud, pending.id, service_agent(inputs["project"], _SECRETS_AGENT))
    if at(inputs, "databaseEncryption.state") == "ENCRYPTED":
        # https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets
        key = str(at(inputs, "databaseEncryption.keyName"))
        require_granted(pending.cloud, pending.id, inputs["project"], key, _SECRETS_AGENT)
    for pool in _inline_pools(inputs):
        account = at(pool.inputs, "nodeConfig.serviceAccount")
        if account and account != "default":
            require_account(pending.cloud, account)


def _inline_pools(cluster: Properties) -> Iterator[NestedResource]:
    """The pools declared inside a cluster: its ``nodePools``, else the default pool.

    A default pool that is to be removed gets no machines: it is deleted before anything can use it.
    """
    shared = {"project": cluster.get("project"), "location": cluster.get("location"), "cluster": cluster.get("name")}
    pools: Any = cluster.get("nodePools")
    if not isinstance(pools, list) or not pools:
        default = {"nodeConfig": cluster.get("nodeConfig"), "nodeCount": cluster.get("initialNodeCount")}
        pools = [{"name": DEFAULT_POOL, **without_none(default)}]
    for index, pool in enumerate(pools):
        if isinstance(pool, dict):
            inputs = {"name": f"pool-{index}", **copy.deepcopy(pool), **shared}
            yield NestedResource(POOL, inputs, recorded=cluster.get("removeDefaultNodePool") is not True)


def _require_ranges(inputs: Properties, subnetwork: Record) -> None:
    policy = inputs.get("ipAllocationPolicy") or {}
    known = {entry["rangeName"] for entry in subnetwork.inputs.get("secondaryIpRanges") or []}
    _require_apart(inputs, subnetwork)
    for key, what in (("clusterSecondaryRangeName", "Pod"), ("servicesSecondaryRangeName", "Services")):
        name = policy.get(key)
        if name and name not in known:
            raise bad_request(
                f"{what} secondary range '{name}' does not exist in subnetwork '{last_part(subnetwork.id)}' "
                f"(it has: {', '.join(sorted(known)) or 'none'})."
            )


def _require_apart(inputs: Properties, subnetwork: Record) -> None:
    """400 for a control plane in the nodes', pods' or services' range: "must not overlap with any other ranges".

    https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/projects.locations.clusters#PrivateClusterConfig
    """
    text = at(inputs, "privateClusterConfig.masterIpv4CidrBlock")
    ranges = [subnetwork.inputs, *(subnetwork.inputs.get("secondaryIpRanges") or [])]
    for taken in (entry.get("ipCidrRange") for entry in ranges):
        if text and taken and ip_network(text).overlaps(ip_network(taken)):
            raise bad_request(f"master_ipv4_cidr_block {text} overlaps with {taken} of subnetwork {subnetwork.id}.")


def _range(pending: Pending[SimulatedCloud], name: str, block: str) -> str | None:
    if not pending.inputs.get("subnetwork"):
        return None
    secondary = subnetwork_of(pending.cloud, pending.inputs).inputs.get("secondaryIpRanges") or []
    ranges = {entry["rangeName"]: entry.get("ipCidrRange") for entry in secondary}
    policy = pending.inputs.get("ipAllocationPolicy") or {}
    return ranges.get(policy.get(name)) or policy.get(block)


_PODS: Final = "10.112.0.0/14"
_SERVICES: Final = "34.118.224.0/20"
"""GKE's own range: https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips"""


def _pods(pending: Pending[SimulatedCloud]) -> str:
    """The range of the pods: of a named secondary range, or one of GKE's choice of the length that is asked for."""
    declared = _range(pending, "clusterSecondaryRangeName", "clusterIpv4CidrBlock") or ""
    return _PODS.partition("/")[0] + declared if declared.startswith("/") else declared or _PODS


def _services(pending: Pending[SimulatedCloud]) -> str:
    declared = _range(pending, "servicesSecondaryRangeName", "servicesIpv4CidrBlock") or ""
    return _SERVICES if declared in ("", "/20") else declared


def _addresses(pending: Pending[SimulatedCloud]) -> Properties:
    policy = pending.inputs.get("ipAllocationPolicy") or {}
    return {
        "clusterSecondaryRangeName": f"gke-{pending.inputs['name']}-pods-{zlib.crc32(pending.id.encode()):08x}",
        "networkTierConfig": {"networkTier": "NETWORK_TIER_DEFAULT"},
        "stackType": "IPV4",
        **policy,
        "clusterIpv4CidrBlock": _pods(pending),
        "servicesIpv4CidrBlock": _services(pending),
    }


def _own_subnetwork(pending: Pending[SimulatedCloud]) -> str:
    """The subnetwork; a network in auto mode has one of its name in each region."""
    inputs = pending.inputs
    if inputs.get("subnetwork"):
        return subnetwork_of(pending.cloud, inputs).id
    network = network_of(pending.cloud, inputs)
    project, name = network.id.split("/")[1], last_part(network.id)
    return f"projects/{project}/regions/{region_of(inputs['location'])}/subnetworks/{name}"


def _version(pending: Pending[SimulatedCloud]) -> str | None:
    """The version that is asked for, or what runs already: it is a minimum, so the provider sends no lower one
    (``cur.LessThan(des)`` in
    https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/resource_container_cluster.go).
    """
    asked = rules.resolve(pending.inputs.get("minMasterVersion"))
    runs = pending.before.outputs["masterVersion"] if pending.before else None
    return runs if runs and (asked is None or rules.not_newer(asked, runs)) else asked


def _require_step(pending: Pending[SimulatedCloud]) -> None:
    """400 for a version more than one minor above the running one, in Google's words of a channel's default version:
    https://github.com/kubeflow/code-intelligence/issues/153."""
    runs, version = (pending.before.outputs["masterVersion"] if pending.before else None), _version(pending)
    if runs and version and minors_up(runs, version) > 1:
        raise bad_request(
            f"Master version {runs} cannot be upgraded to version {version}: cannot upgrade the master more than a "
            "minor version at a time."
        )


def _master_auth(pending: Pending[SimulatedCloud]) -> Properties:
    certificate = at(pending.before.outputs, "masterAuth.clusterCaCertificate") if pending.before else None
    return {**(pending.inputs.get("masterAuth") or {}), **without_none({"clusterCaCertificate": certificate})}


def _endpoints(pending: Pending[SimulatedCloud]) -> Properties:
    """The cluster's endpoints. The DNS endpoint always exists; its setting decides whether it admits external traffic:
    https://cloud.google.com/python/docs/reference/container/latest/google.cloud.container_v1beta1.types.ControlPlaneEndpointsConfig.DNSEndpointConfig
    """
    endpoints = pending.inputs.get("controlPlaneEndpointsConfig") or {}
    known = at(pending.before.outputs, f"{_BY_NAME}.endpoint") if pending.before else ""
    return {
        "ipEndpointsConfig": {"enabled": True},
        **endpoints,
        "dnsEndpointConfig": {
            "allowExternalTraffic": False,
            **(endpoints.get("dnsEndpointConfig") or {}),
            "endpoint": known,
        },
    }


def _private(pending: Pending[SimulatedCloud]) -> Properties:
    known = pending.before.outputs["privateClusterConfig"] if pending.before else {}
    addresses = {key: known.get(key) for key in ("privateEndpoint", "publicEndpoint")}
    return without_none({**(pending.inputs.get("privateClusterConfig") or {}), **addresses})


def _moved(old: Properties, new: Properties) -> tuple[str, ...]:
    for path, absent in (("privateClusterConfig.enablePrivateEndpoint", False), (_BY_ADDRESS, True)):
        before, after = ((absent if value is None else value) for value in (at(old, path), at(new, path)))
        if before is UNKNOWN or after is UNKNOWN or before != after:  # of an unknown one, it may move
            return ("endpoint",)
    return ()


def _start(cloud: SimulatedCloud, cluster: Record, before: Record | None) -> Record:
    """Start the control plane, unless an earlier attempt did, and open its endpoints.

    A private endpoint is an address in the cluster's network:
    https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation. At the endpoint by name, Google's front
    end shows a certificate that everybody trusts, and not that of the cluster's CA
    (https://github.com/hashicorp/terraform-provider-kubernetes/issues/2637, https://github.com/fluxcd/flux2/issues/5896).
    """
    inputs = cluster.inputs
    zones = rules.cluster_zones(inputs, cloud)
    if before is not None and rules.cluster_zones(before.inputs, cloud) != zones:
        move(cloud, cluster.id, zones)
    if before is not None and any(at(before.state, path) != at(cluster.state, path) for path in _NODES_RECREATED):
        for pool in pools_of(cloud, cluster.id):
            cloud.machines().recreate_nodes(inputs["name"], pool.inputs["name"])
    if cluster.outputs["endpoint"] and (before is None or _access(before.inputs) == _access(inputs)):
        return cluster
    for pool in _inline_pools(inputs) if before is None else ():
        if (problem := node_problem(cloud, inputs, TABLE.sent(POOL, pool.inputs))) is not None:
            raise not_registered(1, problem)
    without_ingress = bool(at(inputs, "addonsConfig.httpLoadBalancing.disabled"))
    endpoint = cloud.machines().create_cluster(
        inputs["name"],
        version=cluster.outputs["masterVersion"],
        region=region_of(inputs["location"]),
        zones=zones,
        system_objects=system_objects(TABLE.sent(CLUSTER, inputs), cluster.outputs["masterVersion"]),
        balancing=Balancing(ingress_classes=() if without_ingress else _INGRESS_CLASSES),
    )
    auth = {**cluster.outputs["masterAuth"], "clusterCaCertificate": endpoint.ca_pem_base64}
    ways = copy.deepcopy(cluster.outputs["controlPlaneEndpointsConfig"])
    by_name = ways["dnsEndpointConfig"]
    by_name["endpoint"] = endpoint.name if by_name["allowExternalTraffic"] else endpoint.nowhere
    address = endpoint.private if at(inputs, "privateClusterConfig.enablePrivateEndpoint") else endpoint.host
    addresses = {"privateEndpoint": endpoint.private, "publicEndpoint": endpoint.host}
    if at(inputs, _BY_ADDRESS) is False:
        address, addresses = by_name["endpoint"], {"privateEndpoint": "", "publicEndpoint": ""}
    reached = {
        "endpoint": address,
        "controlPlaneEndpointsConfig": ways,
        "masterAuth": auth,
        "privateClusterConfig": {**cluster.outputs["privateClusterConfig"], **addresses},
    }
    return replace(cluster, outputs={**cluster.outputs, **reached})


def unreachable(cluster: Record) -> Record:
    """A cluster at an address where nobody answers."""
    auth = {**cluster.outputs["masterAuth"], "clusterCaCertificate": _NOBODYS_CERTIFICATE}
    return replace(cluster, outputs={**cluster.outputs, "endpoint": _NOWHERE, "masterAuth": auth})


def _access(inputs: Properties) -> tuple[Any, ...]:
    private = at(inputs, "privateClusterConfig.enablePrivateEndpoint")
    return private, at(inputs, f"{_BY_NAME}.allowExternalTraffic"), at(inputs, _BY_ADDRESS)


def _unprotected(cloud: SimulatedCloud, cluster: Record) -> None:
    if cluster.inputs.get("deletionProtection"):
        raise ProviderError(PROTECTED)


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        CLUSTER,
        outputs={
            "clusterIpv4Cidr": _pods,
            "controlPlaneEndpointsConfig": _endpoints,
            "ipAllocationPolicy": _addresses,
            "endpoint": lambda pending: pending.before.outputs["endpoint"] if pending.before else "",
            "masterAuth": _master_auth,
            "masterVersion": _version,
            "nodeConfig": lambda pending: (
                None
                if pending.inputs.get("removeDefaultNodePool")
                else answered_config(pending.inputs.get("nodeConfig") or {})
            ),
            "network": lambda pending: network_of(pending.cloud, pending.inputs).id,
            "nodeLocations": lambda pending: sorted(
                {*rules.cluster_zones(pending.inputs, pending.cloud)} - {pending.inputs["location"]}
            ),
            "nodeVersion": lambda pending: pending.inputs.get("nodeVersion") or _version(pending),
            "privateClusterConfig": _private,
            "servicesIpv4Cidr": _services,
            "subnetwork": _own_subnetwork,
        },
        recomputed=_moved,
        derive_inputs=_completed,
        requires=_require,
        nested=_inline_pools,
        require_deletable=_unprotected,
        # `CustomizeDiff` in google-beta/services/container/resource_container_cluster.go of
        # https://github.com/hashicorp/terraform-provider-google-beta.
        replaces_if={
            "dnsConfig.additiveVpcScopeDnsDomain": lambda _, news: news.get("enableAutopilot") is True,
            "enableFqdnNetworkPolicy": ends("enableFqdnNetworkPolicy"),
            "enableK8sBetaApis.enabledApis": _takes_an_api_away,
            "enableL4IlbSubsetting": ends("enableL4IlbSubsetting"),
        },
        lifecycle=Lifecycle(
            "cluster", _start, lambda cloud, cluster: cloud.machines().delete_cluster(cluster.inputs["name"])
        ),
    ),
)


def find_principals(cloud: SimulatedCloud) -> dict[str, UserInfo]:
    """IAM member → its user and groups for the API server."""
    domains = {
        (at(record.inputs, "authenticatorGroupsConfig.securityGroup") or "").rpartition("@")[2]
        for record in cloud.store.all(CLUSTER)
    }
    logins = {}
    for grant in cloud.store.all(GRANT):
        member, role = grant.inputs["member"], grant.inputs["role"]
        kind, _, address = member.partition(":")
        if role not in {f"roles/container.{name}" for name in MAY_LOG_IN}:
            continue
        if kind == "group":
            if address.rpartition("@")[2] in domains:
                logins[member] = UserInfo(f"somebody-in-{address}", (address,))
        elif kind in ("user", "serviceAccount"):
            logins[member] = UserInfo(address)
        elif "/workforcePools/" in member:
            # By their whole identifiers: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/oidc
            logins[member] = UserInfo(f"somebody-in-{member}", (member,)) if "/group/" in member else UserInfo(member)
    return logins


def night(cloud: SimulatedCloud) -> Night:
    """When GKE upgrades nodes: at any hour without a window."""
    window = next((at(each.inputs, "maintenancePolicy.recurringWindow") for each in cloud.store.all(CLUSTER)), None)
    if window is None:
        return Night("any hour")
    first, end = (datetime.fromisoformat(window[key].replace("Z", "+00:00")) for key in ("startTime", "endTime"))
    if window["recurrence"] != f"FREQ=WEEKLY;BYDAY={first:%a}".upper()[:-1]:
        return Night(f"{window['recurrence']} from {window['startTime']}")
    return Night(f"{first:%A %H:%M} {(end - first).total_seconds() / 3600:g} h".lower())
