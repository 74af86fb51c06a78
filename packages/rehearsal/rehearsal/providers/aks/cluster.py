"""AKS clusters: control plane, identities, the pools that come with them, and the system pods every cluster has.

Principals with access: with Entra ID every member of the tenant; the cluster decides their permissions. A group is
known by its object id (https://learn.microsoft.com/azure/aks/azure-ad-rbac). Members of a group that may not ask Azure
for the kubeconfig would not find the cluster, so here they do not get in.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.aks import iam, node_pool
from rehearsal.providers.aks.network import NETWORK, SUBNET, prefixes, require_default_route, require_nat, subnets_of
from rehearsal.providers.aks.nodes import is_overlay, karpenter, max_pods, provisions, require_one_autoscaler
from rehearsal.providers.aks.rules import (
    LONG_TERM,
    community_support_ended,
    count_at_creation,
    inline_pools,
    long_term_only,
    long_term_refusal,
    run_by,
)
from rehearsal.providers.aks.system import system_objects
from rehearsal.providers.base import Properties, at, merged, without_none
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.encrypted import record_key, unreadable
from rehearsal.providers.resource import Lifecycle, NestedResource, Pending, SimulatedResource
from rehearsal.providers.rules import minors_up
from rehearsal.simulation import UserInfo, makers_rights

RESERVED_RANGES: Final = ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")
"""https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning"""
DEFAULT_RANGES: Final = {"podCidr": "10.244.0.0/16", "serviceCidr": "10.0.0.0/16"}
"""https://learn.microsoft.com/azure/aks/azure-cni-overlay, https://learn.microsoft.com/azure/aks/configure-kubenet"""
# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/containers
CLUSTER_USER: Final = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"


# What Azure answers where a request says nothing, beside ``answers`` in ``resources.yaml``.
_AZURE_NETWORK: Final[Properties] = {
    "ipFamilies": ["IPv4"],
    "loadBalancerSku": "standard",
    "networkDataplane": "azure",
    "networkPlugin": "azure",
    "outboundType": "loadBalancer",
}
_OVERLAY: Final[Properties] = {"networkPluginMode": "overlay", "podCidr": "10.244.0.0/16"}
_LOAD_BALANCER: Final[Properties] = {"backendPoolType": "nodeIPConfiguration", "managedOutboundIPs": {"count": 1}}
_OWN_POOL: Final[Properties] = {
    "kubeletDiskType": "OS",
    "osDiskType": "Managed",
    "osSKU": "Ubuntu",
    "powerState": {"code": "Running"},
    "provisioningState": "Succeeded",
    "scaleDownMode": "Delete",
    "type": "VirtualMachineScaleSets",
    "upgradeSettings": {"maxSurge": "10%", "maxUnavailable": "0"},
    "vmSize": "Standard_D4ds_v5",
}


def _network_profile(pending: Pending[azure.Subscription]) -> Properties:
    """The network with what Azure chooses; of Azure's own plugin alone, which is the default with an overlay."""
    declared = pending.inputs.get("networkProfile") or {}
    if declared.get("networkPlugin") not in (None, "azure"):
        return declared
    overlay = _OVERLAY if is_overlay(pending.inputs) else {}
    profile = {**_AZURE_NETWORK, **overlay, "serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.10", **declared}
    policy = "cilium" if profile["networkDataplane"] == "cilium" else "none"
    ranges = {f"{key}s": [profile[key]] for key in ("podCidr", "serviceCidr") if profile.get(key)}
    balancer = {"loadBalancerProfile": _LOAD_BALANCER} if profile["outboundType"] == "loadBalancer" else {}
    return {"networkPolicy": policy, **ranges, **balancer, **profile}


def _own_pools(pending: Pending[azure.Subscription]) -> list[Properties]:
    return [_own_pool(pending, pool) for pool in pending.inputs.get("agentPoolProfiles") or ()]


def _own_pool(pending: Pending[azure.Subscription], pool: Properties) -> Properties:
    chosen = {
        "currentOrchestratorVersion": _runs(pending),
        "maxPods": max_pods(pending.inputs, pool),
        "nodeImageVersion": node_pool.image(pool),
        "orchestratorVersion": _runs(pending),
    }
    return merged({**_OWN_POOL, **chosen}, pool)


def _pools(cluster: Properties) -> Iterator[NestedResource]:
    """A cluster's own pools, recorded like declared ones."""
    path = {key: cluster.get(key) for key in ("resourceGroupName", "resourceName")}
    for pool in inline_pools(cluster):
        own = {key: value for key, value in pool.items() if key != "name"}
        yield NestedResource(azure.POOL, {**own, **path, "agentPoolName": pool.get("name")})


def _require(pending: Pending[azure.Subscription]) -> None:
    if pending.before is not None:
        _require_pools_of_before(pending.cloud, pending.before, pending.inputs)
        _require_version(pending.before, pending.inputs)
    for pool in inline_pools(pending.inputs):
        problem = count_at_creation(pool) if pending.before is None else None
        if problem:
            raise azure.bad_request(problem)
    others = (
        [pool.inputs for pool in node_pool.pools_of(pending.cloud, pending.id)] if pending.before is not None else []
    )
    named = {pool["name"] for pool in inline_pools(pending.inputs)}
    require_one_autoscaler(
        pending.inputs,
        [*inline_pools(pending.inputs), *(pool for pool in others if pool["agentPoolName"] not in named)],
    )
    _require_kubelet_identity(pending.cloud, pending.inputs)
    for pool in inline_pools(pending.inputs):
        node_pool.require_subnets(pending.cloud, pool, pending.inputs)
        node_pool.require_zones(pending.cloud, pool, pending.inputs["location"])
    # https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
    disks = pending.inputs.get("diskEncryptionSetID")
    node_pool.require_role(
        pending.cloud, pending.inputs, disks, iam.READERS, "Microsoft.Compute/diskEncryptionSets/read", disks
    )
    _require_ranges_apart(pending.cloud, pending.inputs)
    require_nat(pending.cloud, pending.inputs)
    require_default_route(pending.cloud, pending.inputs)
    _require_link(pending.cloud, pending.inputs)
    kms = at(pending.inputs, "securityProfile.azureKeyVaultKms") or {}
    if kms.get("enabled"):
        record_key(pending.cloud, pending.id, kms["keyId"], "the control plane's identity")


def _require_pools_of_before(cloud: azure.Subscription, before: Record, inputs: Properties) -> None:
    """400 if an update of a cluster adds a pool, or names versions of only some of its pools."""
    exist = {last_part(pool.id) for pool in node_pool.pools_of(cloud, before.id)}
    # Those of a cluster whose start failed are still to come.
    exist |= {str(pool["name"]) for pool in inline_pools(before.inputs)}
    named = {str(pool["name"]) for pool in inline_pools(inputs)}
    if named - exist:
        # https://github.com/pulumi/pulumi-azure-nextgen/issues/168
        raise azure.bad_request(
            "A new agent pool was introduced. Adding agent pools to an existing cluster is not allowed through managed "
            "cluster operations. For agent pool specific change, please use per agent pool operations: "
            "https://aka.ms/agent-pool-rest-api",
            "BadRequest",
        )
    for pool in inline_pools(inputs):
        record = cloud.find(f"{before.id}/agentPools/{pool['name']}", azure.POOL)
        if record is not None:
            node_pool.require_its_size(cloud, record, pool)
    if any(pool.get("orchestratorVersion") for pool in inline_pools(inputs)) and exist - named:
        # https://github.com/Azure/ARO-HCP/pull/662
        raise azure.bad_request(
            "Using managed cluster api, all Agent pools' OrchestratorVersion must be all specified or all unspecified. "
            "If all specified, they must be stay unchanged or the same with control plane. For agent pool specific "
            "change, please use per agent pool operations: https://aka.ms/agent-pool-rest-api",
            "NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged",
        )


def _require_version(before: Record, inputs: Properties) -> None:
    """400 for a version below the running one, for one more than a minor above it, and for a plan without long-term
    support for a version that has no other.

    Azure may have upgraded the cluster since: its state says how far. The words: https://github.com/rancher/rancher/issues/24071,
    https://github.com/rancher/dashboard/issues/11884. A version out of community support may be left by several minors
    (https://learn.microsoft.com/azure/aks/upgrade-aks-cluster). So may any with long-term support, whose page
    (https://learn.microsoft.com/azure/aks/long-term-support) leads from one such version to the latest; nobody has
    recorded that between versions in community support.
    """
    version, runs = inputs.get("kubernetesVersion"), before.outputs["currentKubernetesVersion"]
    after = run_by(version, runs)
    if long_term_only(after) and inputs.get("supportPlan") != LONG_TERM:
        raise azure.bad_request(long_term_refusal(after), "BadRequest")
    if version is None or runs.split(".")[: len(version.split("."))] == version.split("."):
        return
    if [int(part) for part in version.split(".")] < [int(part) for part in runs.split(".")]:
        raise azure.bad_request(
            f"Downgrading Kubernetes version {runs} to {version} is not allowed.", "OperationNotAllowed"
        )
    if minors_up(runs, version) > 1 and not community_support_ended(runs) and inputs.get("supportPlan") != LONG_TERM:
        raise azure.bad_request(
            f"Upgrading Kubernetes version {runs} to {version} is not allowed.", "OperationNotAllowed"
        )


def _runs(pending: Pending[azure.Subscription]) -> str:
    now = None if pending.before is None else pending.before.outputs["currentKubernetesVersion"]
    return run_by(pending.inputs.get("kubernetesVersion"), now)


def _made_in(pending: Pending[azure.Subscription]) -> str:
    # https://learn.microsoft.com/azure/aks/faq: AKS's own resource group
    inputs = pending.inputs
    own = f"MC_{inputs['resourceGroupName']}_{inputs['resourceName']}_{inputs['location']}"
    return inputs.get("nodeResourceGroup") or own


def _prefix(pending: Pending[azure.Subscription]) -> str:
    return str(pending.inputs.get("dnsPrefix") or pending.inputs.get("fqdnSubdomain"))


def _host(pending: Pending[azure.Subscription]) -> str:
    number = zlib.crc32(pending.id.lower().encode())
    return f"{_prefix(pending)}-{number:08x}.hcp.{pending.inputs['location']}.azmk8s.io"


def _private_host(pending: Pending[azure.Subscription]) -> str | None:
    if not at(pending.inputs, "apiServerAccessProfile.enablePrivateCluster"):
        return None
    return _host(pending).replace(".hcp.", f".{azure.identifier('zone', pending.id)}.privatelink.")


def _issuer(pending: Pending[azure.Subscription]) -> Properties:
    issuer = {"enabled": False, **(pending.inputs.get("oidcIssuerProfile") or {})}
    if issuer["enabled"]:
        host = f"https://{pending.inputs['location']}.oic.prod-aks.azure.com"
        issuer["issuerURL"] = f"{host}/{pending.cloud.tenant}/{azure.identifier('issuer', pending.id)}/"
    return issuer


def _kubelet(pending: Pending[azure.Subscription]) -> Properties:
    """The identity of the nodes: the declared one, else one that AKS makes in its own resource group."""
    cloud, inputs = pending.cloud, pending.inputs
    declared = at(inputs, "identityProfile.kubeletidentity")
    if declared:
        state = azure.require(cloud, declared["resourceId"], iam.IDENTITY).outputs
        identity = {"clientId": state["clientId"], "objectId": state["principalId"]}
        return {**identity, **without_none(declared)}
    name = f"{inputs['resourceName']}-agentpool"
    group = f"/subscriptions/{cloud.subscription}/resourceGroups/{_made_in(pending)}"
    id = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
    return {"clientId": azure.identifier("client", id), "objectId": azure.identifier("principal", id), "resourceId": id}


def _start(cloud: azure.Subscription, cluster: Record, before: Record | None) -> Record:
    """Start the control plane unless an earlier attempt did. Reorder the pools if their order changed."""
    if cloud.store.get("endpoint", endpoint_path(cluster)) is None:
        _start_control_plane(cloud, cluster)
    if provisions(cluster.inputs):
        cloud.machines().run_karpenter(cluster.inputs["resourceName"], karpenter(cloud, cluster))
    if before is not None and (node_pool.uses_priorities(cluster) or node_pool.uses_priorities(before)):
        for pool in node_pool.pools_of(cloud, cluster.id):
            node_pool.start_nodes(cloud, pool)
    if before is not None and _reimaged(before.inputs, cluster.inputs):
        for pool in node_pool.pools_of(cloud, cluster.id):
            cloud.machines().recreate_nodes(last_part(cluster.id), last_part(pool.id))
    return cluster


def _reimaged(before: Properties, after: Properties) -> bool:
    """Whether Azure reimages the nodes of all pools: for another proxy, other authorities or a second family of
    addresses, of which one that an update leaves out stays as it was; and where the system patches itself or did.

    https://learn.microsoft.com/azure/aks/node-disruption-policy
    """
    paths = ("httpProxyConfig", "networkProfile.ipFamilies", "securityProfile.customCATrustCertificates")
    others = [(at(before, path), at(after, path)) for path in paths]
    channels = {at(each, "autoUpgradeProfile.nodeOSUpgradeChannel") for each in (before, after)}
    return any(new is not None and new != former for former, new in others) or (
        len(channels) > 1 and "Unmanaged" in channels
    )


def _stop(cloud: azure.Subscription, cluster: Record) -> None:
    cloud.machines().delete_cluster(cluster.inputs["resourceName"])
    cloud.store.remove("endpoint", endpoint_path(cluster))


def endpoint_path(cluster: Record) -> str:
    """The store's key for the control plane's real address. The ``fqdn`` does not resolve."""
    return f"{cluster.id}#endpoint"


def _start_control_plane(cloud: azure.Subscription, cluster: Record) -> None:
    inputs = cluster.inputs
    region = inputs["location"]
    endpoint = cloud.machines().create_cluster(
        inputs["resourceName"],
        version=cluster.outputs["currentKubernetesVersion"],
        region=region,
        zones=cloud.catalog.regions[region],
        system_objects=[*system_objects(inputs), makers_rights(everything=_maker_is_admin(cloud, cluster))],
    )
    cloud.store.put(Record(endpoint_path(cluster), "endpoint", {}, vars(endpoint).copy()))


def _maker_is_admin(cloud: azure.Subscription, cluster: Record) -> bool:
    """Where Azure's roles decide, even the owner of the subscription may do nothing inside without the one for it:
    https://learn.microsoft.com/azure/aks/manage-azure-rbac. A grant after the cluster was made changes nothing here.
    Otherwise Entra ID's users have only what bindings in the cluster give them, and its administrators' groups all; the
    maker is taken to be in one: https://learn.microsoft.com/azure/aks/enable-authentication-microsoft-entra-id."""
    entra = cluster.inputs.get("aadProfile")
    if entra and not entra.get("enableAzureRBAC"):
        return bool(entra.get("adminGroupObjectIDs"))
    return not entra or iam.has_role(
        cloud, azure.identifier("caller", cloud.subscription), cluster.id, {iam.RBAC_CLUSTER_ADMIN}
    )


def _require_kubelet_identity(cloud: azure.Subscription, inputs: Properties) -> None:
    kubelet = at(inputs, "identityProfile.kubeletidentity.resourceId")
    if not kubelet:
        return
    identity = azure.require(cloud, kubelet, iam.IDENTITY)
    user = azure.require(cloud, inputs["identity"]["userAssignedIdentities"][0], iam.IDENTITY)
    if not iam.has_role(cloud, user.outputs["principalId"], identity.id, iam.OPERATORS):
        raise azure.bad_request(
            f"The cluster using user-assigned managed identity must be granted 'Managed Identity Operator' role to "
            f"assign kubelet identity. You can grant it on {identity.id}.",
            "CustomKubeletIdentityMissingPermissionError",
        )


def _require_ranges_apart(cloud: azure.Subscription, inputs: Properties) -> None:
    """400 for a declared range that overlaps the network or what Azure reserves; for one of Azure's own that overlaps a
    subnet, as users quote it: https://github.com/Azure/terraform-azurerm-aks/issues/57."""
    networks: dict[str, Any] = {}
    subnets: dict[str, Any] = {}
    for pool in inline_pools(inputs):
        subnet = cloud.find(pool["vnetSubnetID"], SUBNET) if pool.get("vnetSubnetID") else None
        network = cloud.find(subnet.id.rpartition("/subnets/")[0], NETWORK) if subnet else None
        for text in at(network.inputs, "addressSpace.addressPrefixes") or [] if network else []:
            networks[f"virtual network range {text}"] = ipaddress.ip_network(text)
        for text in [each for one in subnets_of(cloud, network.id) for each in prefixes(one.inputs)] if network else []:
            subnets[f"an existing subnet, {text}"] = ipaddress.ip_network(text)
    reserved = {f"range {text}, which Azure reserves": ipaddress.ip_network(text) for text in RESERVED_RANGES}
    profile = inputs.get("networkProfile") or {}
    # Pods with addresses of the subnet have no range of their own.
    in_subnet = profile.get("networkPlugin") == "azure" and profile.get("networkPluginMode") != "overlay"
    for key, default in DEFAULT_RANGES.items():
        declared = profile.get(key)
        if in_subnet and key == "podCidr" and not declared:
            continue
        for what, range_ in ({**networks, **reserved} if declared else subnets).items():
            if ipaddress.ip_network(declared or default).overlaps(range_):
                raise azure.bad_request(
                    f"networkProfile.{key} {declared or default} overlaps {what}.",
                    "ServiceCidrOverlapExistingSubnetsCidr",
                )


def _require_link(cloud: azure.Subscription, inputs: Properties) -> None:
    """403 if the zone with a private cluster's name cannot be linked to a network with DNS servers of its own.

    The cluster's identity needs Network Contributor there (https://learn.microsoft.com/azure/aks/private-clusters); on
    the subnet it is not enough: https://github.com/Azure/AKS/issues/4841.
    """
    access = inputs.get("apiServerAccessProfile") or {}
    zone = access.get("privateDNSZone") or "system"
    if not access.get("enablePrivateCluster") or zone == "none":
        return
    own = zone == "system"
    if own and "private-dns-zones" in cloud.account_limits.policies:
        # As users quote it: https://github.com/Azure/terraform-azurerm-aks/issues/710
        raise azure.api_error(
            HTTPStatus.FORBIDDEN,
            "RequestDisallowedByPolicy",
            f"Create or update private dns zone failed. Resource 'privatelink.{inputs['location']}.azmk8s.io' was "
            "disallowed by policy.",
        )
    known = iam.principals_of(cloud, inputs)
    if not own and not any(iam.has_role(cloud, principal, zone, iam.ZONE_KEEPERS) for principal in known):
        # https://learn.microsoft.com/azure/aks/private-clusters#configuration-options-for-private-dns
        raise azure.api_error(
            HTTPStatus.FORBIDDEN,
            "CustomPrivateDNSZoneMissingPermissionError",
            "Service principal or user assigned identity must be given permission to read and write to custom private "
            f"dns zone {zone}. Check access result not allowed for action Microsoft.Network/privateDnsZones/read.",
        )
    for pool in inline_pools(inputs):
        network = cloud.find(str(pool.get("vnetSubnetID")).rpartition("/subnets/")[0], NETWORK)
        if network is None or (own and not at(network.inputs, "dhcpOptions.dnsServers")):
            continue
        if not any(iam.has_role(cloud, principal, network.id, iam.NETWORKERS) for principal in known):
            raise azure.api_error(
                HTTPStatus.FORBIDDEN,
                "LinkedAuthorizationFailed",
                "The cluster's identity does not have permission to perform action "
                f"'Microsoft.Network/virtualNetworks/join/action' on the linked scope '{network.id}'.",
            )


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    azure.TABLE.row(
        azure.CLUSTER,
        outputs={
            "agentPoolProfiles": _own_pools,
            "networkProfile": _network_profile,
            "azurePortalFQDN": lambda pending: f"{_prefix(pending)}.portal.hcp.{pending.inputs['location']}.azmk8s.io",
            "currentKubernetesVersion": _runs,
            "fqdn": _host,
            "identity": iam.identity_outputs,
            "identityProfile": lambda pending: {"kubeletidentity": _kubelet(pending)},
            "kubernetesVersion": lambda pending: pending.inputs.get("kubernetesVersion") or _runs(pending),
            "nodeResourceGroup": _made_in,
            "oidcIssuerProfile": _issuer,
            "privateFQDN": _private_host,
            "resourceUID": lambda pending: azure.identifier("uid", pending.id).replace("-", ""),
        },
        requires=_require,
        nested=_pools,
        lifecycle=Lifecycle("cluster", _start, _stop),
    ),
)


def problems(cloud: azure.Subscription) -> list[str] | None:
    """Secrets that a control plane cannot read: its identity needs a former key until they are written again, of which
    nothing is known here: https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption."""

    def may_use(cluster: str, key: str, _: str) -> bool:
        record = azure.require(cloud, cluster, azure.CLUSTER)
        known = iam.principals_of(cloud, record.inputs)
        return any(iam.may_encrypt(cloud, principal, key) for principal in known)

    return unreadable(cloud, may_use)


def find_principals(cloud: azure.Subscription) -> dict[str, UserInfo]:
    """Object id of a group → its members' user and groups for the API server."""
    clusters = [record for record in cloud.store.all(azure.CLUSTER) if at(record.inputs, "aadProfile.managed")]
    return {
        grant.inputs["principalId"]: UserInfo(
            f"somebody-in-{grant.inputs['principalId']}", (grant.inputs["principalId"],)
        )
        for grant in cloud.store.all(iam.ROLE_ASSIGNMENT)
        if grant.inputs.get("principalType") == "Group"
        and azure.same(last_part(grant.inputs["roleDefinitionId"]), CLUSTER_USER)
        and any(azure.same(f"/{grant.inputs['scope'].strip('/')}", cluster.id) for cluster in clusters)
    }
