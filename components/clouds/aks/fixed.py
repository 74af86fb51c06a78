"""What Azure never changes of a running cluster although the provider plans it as an update.

Such an update would fail in the middle: the provider leaves it to Azure's error
(https://github.com/pulumi/pulumi-azure-native/pull/3655). So the program refuses it before it changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from components.clouds.aks import auto_provisioning
from components.clouds.aks.network import profile
from components.clouds.aks.running_pools import RunningPools
from components.clouds.data_lookup import refuse, step_problem
from components.clouds.deployed import Deployed
from components.settings import Problem, Settings
from facts import catalog
from facts.catalog.aks.naming import pool_name, zone_numbers

_CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
_NETWORK: Final = "azure-native:network:VirtualNetwork"
_AGENT_POOL: Final = "azure-native:containerservice:AgentPool"
_NODE_POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
_OTHERWISE: Final = "for another one create a new cluster, in a stack of its own"
# With another one of these the provider replaces the cluster, and the new one has what the stack file says.
_REPLACING: Final = ("dnsServiceIP", "networkDataplane", "networkPolicy", "outboundType", "podCidr", "serviceCidr")


def refuse_other_fixed(name: str, settings: Settings, outbound: str, deployed: Deployed, running: RunningPools) -> None:
    """End the program if the stack file has another network, endpoint or admin machine than the running cluster, or a
    version that Azure does not make of the ``running`` one.

    ``outbound`` is the declared way out of its nodes.

    Raises:
        pulumi.RunError: it has.
    """
    cluster = deployed.outputs(_CLUSTER, f"{name}-control-plane")
    if not cluster or _replaced(settings, outbound, cluster):
        return
    pools = {pool["name"]: pool for pool in cluster.get("agentPoolProfiles") or ()}
    admin = pools.get(pool_name(settings.admin_pool.name)) or {}
    network = list(_other_network(name, settings, admin, deployed))
    others = [*_other_endpoint(settings, cluster), *_other_machines(settings, admin)]
    versions = _other_version(settings, running) if running.version else ()
    identities, autoscaler = _other_identities(settings, cluster), _other_autoscaler(settings, cluster, deployed)
    refuse([*network, *others, *identities, *versions, *autoscaler], settings)


def _replaced(settings: Settings, outbound: str, cluster: Mapping[str, Any]) -> bool:
    running, declared = cluster.get("networkProfile") or {}, profile(settings, outbound)
    # A network of others keeps the way out that it had when the cluster was made.
    keys = [
        key for key in _REPLACING if key in declared and (key != "outboundType" or settings.network.existing is None)
    ]
    places = (
        str(cluster.get("name", settings.cluster_name)).lower() == settings.cluster_name.lower(),
        str(cluster.get("location", settings.region)).lower() == settings.region.lower(),
        running.get("networkDataplane", "azure") == declared.get("networkDataplane", "azure"),
    )
    return not all(places) or any(running.get(key) != declared.get(key) for key in keys)


def _other_network(name: str, settings: Settings, admin: Mapping[str, Any], deployed: Deployed) -> Iterator[Problem]:
    """The subnet of the admin nodes, and the ranges of a network of our own, in which they are."""
    existing = settings.network.existing
    group = f"/subscriptions/{settings.project}/resourceGroups/{settings.cluster_name}"
    own = f"{group}/providers/Microsoft.Network/virtualNetworks/{settings.cluster_name}/subnets/nodes"
    declared = own if existing is None else f"{existing.network}/subnets/{existing.subnets[0]}"
    running = str(admin.get("vnetSubnetID") or declared)
    ranges = (deployed.outputs(_NETWORK, f"{name}-network").get("addressSpace") or {}).get("addressPrefixes")
    network, _, subnet = running.partition("/subnets/")
    if subnet and running.lower() != declared.lower():
        again = f"Write existing: {{network: {network}, subnets: [{subnet}]}}"
        yield Problem(
            "network.existing",
            f"the nodes of the running cluster are in {running}, and Azure cannot move them",
            f"{'Take existing out' if running.lower() == own.lower() else again}; {_OTHERWISE}",
        )
    elif existing is None and ranges and settings.network.node_cidr not in ranges:
        yield Problem(
            "network.nodeCidr",
            f"the nodes of the running cluster are in {ranges[0]}, and Azure cannot move them",
            f"Write nodeCidr: {ranges[0]}; {_OTHERWISE}",
        )


def _other_endpoint(settings: Settings, cluster: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/private-clusters"""
    access = cluster.get("apiServerAccessProfile") or {}
    private = bool(access.get("enablePrivateCluster"))
    zone, declared = access.get("privateDNSZone") or "system", settings.network.private_dns_zone or "system"
    if private != settings.network.private_endpoint:
        yield Problem(
            "network.privateEndpoint",
            f"the control plane of the running cluster is {'private' if private else 'public'}, and Azure cannot "
            "change it",
            f"Write privateEndpoint: {str(private).lower()}; {_OTHERWISE}",
        )
    elif private and zone.lower() != declared.lower():
        yield Problem(
            "network.existing.privateDnsZone",
            f"the name of the running cluster is in the zone {zone}, and Azure cannot move it",
            f"{'Take privateDnsZone out' if zone == 'system' else f'Write privateDnsZone: {zone}'}; {_OTHERWISE}",
        )


def _other_identities(settings: Settings, cluster: Mapping[str, Any]) -> Iterator[Problem]:
    """The control plane uses its former identity for hours, and nodes get another one by an upgrade of their pools,
    which ends what runs there: https://learn.microsoft.com/azure/aks/use-managed-identity."""
    group = f"/subscriptions/{settings.project}/resourceGroups/{settings.cluster_name}"
    security, kubelet = settings.security, (cluster.get("identityProfile") or {}).get("kubeletidentity") or {}
    control_planes = (cluster.get("identity") or {}).get("userAssignedIdentities") or ()
    for key, role, declared, running in (
        ("controlPlaneIdentity", "control-plane", security.control_plane_identity, next(iter(control_planes), "")),
        ("nodeIdentity", "nodes", security.node_identity, kubelet.get("resourceId") or ""),
    ):
        own = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{settings.cluster_name}-{role}"
        if running and running.lower() != (declared or own).lower():
            yield Problem(
                f"security.{key}",
                f"the running cluster has the identity {running}, and for another one jobs would end",
                f"{f'Take {key} out' if running.lower() == own.lower() else f'Write {key}: {running}'}; {_OTHERWISE}",
            )


def _other_autoscaler(settings: Settings, cluster: Mapping[str, Any], deployed: Deployed) -> Iterator[Problem]:
    """Azure has both on one cluster by a preview feature alone, and ends node auto-provisioning when no NodePool starts
    nodes and none is there: https://learn.microsoft.com/azure/aks/migrate-from-autoscaler-to-node-auto-provisioning,
    https://learn.microsoft.com/azure/aks/use-node-auto-provisioning#disable-node-auto-provisioning-nap-on-an-aks-cluster
    """
    provisions = (cluster.get("nodeProvisioningProfile") or {}).get("mode") == "Auto"
    profiles = [str(each["name"]) for each in cluster.get("agentPoolProfiles") or () if each.get("enableAutoScaling")]
    pools = deployed.names(_NODE_POOL) if provisions else deployed.names(_AGENT_POOL).union(profiles)
    if provisions == (settings.autoscaler == auto_provisioning.NAME) or not pools:
        return
    has = (
        f"{auto_provisioning.NAME}, which Azure ends only without NodePools" if provisions else "the cluster autoscaler"
    )
    without = "" if provisions else f", beside which Azure turns on no {auto_provisioning.NAME}"
    yield Problem(
        "autoscaling.autoscaler",
        f"the running cluster has {has}{without}",
        f"{f'Write autoscaler: {auto_provisioning.NAME}' if provisions else 'Leave it out'}; {_OTHERWISE}",
    )


def _other_version(settings: Settings, running: RunningPools) -> Iterator[Problem]:
    """A lower version; one that skips a minor version, but of a cluster with long-term support or out of support; and
    the end of long-term support while the cluster runs a version that has no other
    (https://learn.microsoft.com/azure/aks/long-term-support).
    """
    runs, written, ended = running.version, settings.kubernetes.version, catalog.of("aks").choices.ended
    long_term = running.long_term or settings.kubernetes.channel == "extended"
    if written is not None and _is_lower(written, runs):
        yield Problem(
            "kubernetes.version",
            f"cluster {settings.cluster_name} runs {runs}, and Azure does not go back",
            f"Write '{runs}', or '{runs.rpartition('.')[0]}' for whatever patch of it runs",
        )
    elif (step := step_problem(settings, runs)) is not None and not long_term and not ended(runs, settings.day):
        yield step
    if running.long_term and settings.kubernetes.channel != "extended" and ended(written or runs, settings.day):
        yield Problem(
            "kubernetes.channel",
            f"cluster {settings.cluster_name} runs {runs}, which has long-term support alone, and Azure does not end "
            "that for such a version",
            "Write channel: extended and a newer version; another channel in an update after that",
        )


def _is_lower(written: str, runs: str) -> bool:
    parts = [int(part) for part in written.split(".")]
    return parts < [int(part) for part in runs.split(".")][: len(parts)]


def _other_machines(settings: Settings, running: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/create-node-pools#limitations"""
    nodes = settings.admin_pool.nodes
    machine, disk = str(running.get("vmSize") or nodes.machine_type), int(running.get("osDiskSizeGB") or nodes.disk_gb)
    if machine.lower() != str(nodes.machine_type).lower():
        yield Problem(
            "adminPool.machineType",
            f"the running cluster has {machine}, and Azure cannot change it",
            f"Write machineType: {machine}; {_OTHERWISE}",
        )
    if disk != nodes.disk_gb:
        yield Problem(
            "adminPool.diskGb",
            f"the running cluster has {disk} GB, and Azure cannot change them",
            f"Write diskGb: {disk}; {_OTHERWISE}",
        )
    zones = sorted(running.get("availabilityZones") or ())
    if running and zones != sorted(zone_numbers(nodes.zones)):
        there = ", ".join(f"{settings.region}-{zone}" for zone in zones or ["0"])
        yield Problem(
            "zones",
            f"the admin nodes of the running cluster are in {there}, and Azure cannot move them",
            f"Write zones: [{there}], and other ones as zones of a GPU or CPU pool; {_OTHERWISE}",
        )
