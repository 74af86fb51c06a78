"""GPU pools on an AKS cluster that somebody else made: what Azure says of it, and its pools. Each is an agent pool, or
with node auto-provisioning a NodePool with an AKSNodeClass.

Nothing of the cluster is a resource of the stack. Where nodes are, and how many pods they have, is as in the pools that
are there.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import pulumi
import yaml

from components.clouds import node_pools
from components.clouds.aks import auto_provisioning, autoscaling, pools
from components.clouds.aks.cluster import kubeconfig
from components.clouds.aks.context import PoolsContext
from components.clouds.aks.running_pools import CLUSTER, NOT_THERE, JoinedPools
from components.clouds.base import (
    AdminObjects,
    ClusterLookup,
    JoinedCluster,
    Joining,
    Lists,
    NodePools,
    minor_of,
    too_old,
)
from components.clouds.deployed import Deployed
from components.clouds.device_plugin import has_software_of_others, second_plugin
from components.settings import Problem, Settings
from components.settings.limits.aks.pools import FIRST_FOR_AMD
from facts.catalog.aks.cloud import CATALOG
from facts.catalog.aks.naming import pool_name
from facts.catalog.aks.nodes import MAX_PODS
from facts.concepts import durations
from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.pool import POOL_LABEL, Pool

_CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterUserCredentials"
_AGENT_POOL: Final = "azure-native:containerservice:AgentPool"
_NODE_POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
_NODE_POOLS: Final = "/apis/karpenter.sh/v1/nodepools"
_NAME: Final = "existingCluster.name"
_AUTOSCALER: Final = "autoscaling.autoscaler"
# What users quote of answers without rights: https://github.com/Azure/azure-cli/issues/9585
_FORBIDDEN: Final = re.compile(r"Status=403 |AuthorizationFailed")
# https://learn.microsoft.com/azure/aks/faq: the group of the nodes
_NODES_GROUP: Final = "mc_"
# https://learn.microsoft.com/rest/api/aks/managed-clusters/get#managedcluster (provisioningState, powerState)
_NOT_USABLE: Final[Mapping[str, tuple[str, str]]] = {
    "Creating": ("is being made", "Try again when its provisioningState is Succeeded"),
    "Deleting": ("is being deleted", "Choose another cluster"),
    "Starting": ("is being started", "Try again when its provisioningState is Succeeded"),
    "Stopping": ("is being stopped", "Ask its owner to start it: az aks start"),
}
_STOPPED: Final = ("is stopped", "Ask its owner to start it: az aks start")
_QUIET: Final = ("Succeeded", "Failed", "Canceled")
# Azure's own, where the profile is silent: https://learn.microsoft.com/azure/aks/cluster-autoscaler
_PROFILE: Final[Mapping[str, str]] = {
    "expander": "random",
    "maxNodeProvisionTime": "15m",
    "scaleDownDelayAfterAdd": "10m",
    "scaleDownUnneededTime": "10m",
}
_UNDERSTOOD_MINUTES: Final = 10
"""How long an idle node may stay without a word: Azure's own, which the page names."""
_FEW_PODS: Final = 30
"""Azure's own where pods have addresses of the subnet, of which about ten are the cloud's on a GPU node."""
_PORTS: Final = 64_000
"""Outbound ports of one address."""

# What the gate reads of the cluster, in the provider's words, without what changes by itself and by this stack.
_PLAIN: Final = ("diskEncryptionSetID", "disableLocalAccounts", "location")
_BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "apiServerAccessProfile": ("authorizedIPRanges", "enablePrivateCluster"),
    "autoScalerProfile": ("scaleDownUnneededTime",),
    "networkProfile": ("networkDataplane", "networkPlugin", "networkPluginMode", "networkPolicy"),
    "nodeProvisioningProfile": ("defaultNodePools", "mode"),
    "sku": ("name",),
}
_OF_POOLS: Final = (
    "enableAutoScaling",
    "enableEncryptionAtHost",
    "enableNodePublicIP",
    "mode",
    "name",
    "nodeLabels",
    "nodeTaints",
    "osType",
    "scaleSetPriority",
    "vmSize",
)


async def look(settings: Settings, own: Collection[str], parent: pulumi.Resource) -> ClusterLookup:
    """What Azure says of ``existingCluster`` in its resource group, in the provider's subscription."""
    name, group = settings.cluster_name, _group(settings)
    place = {"resourceGroupName": group, "resourceName": name}
    try:
        answer = await _ask(CLUSTER, place, parent)
    except Exception as error:  # the SDK raises no type of its own
        missing = NOT_THERE in str(error)
        problem = _not_there(settings, name) if missing else _not_read(name, str(error))
        return ClusterLookup(
            name=name, location="", version="", kubeconfig="", authority="", problems=(problem,), missing=missing
        )
    problems = [*_problems(settings, name, answer)]
    kubeconfigs: list[str] = []
    authority = ""
    # A cluster that can have no pools refuses their objects, too, for no other reason.
    if not any(problem.path in (_NAME, "region") for problem in problems):
        try:
            credentials = await _ask(_CREDENTIALS, place, parent)
            authority, kubeconfigs = _kubeconfigs(name, answer, credentials)
        except Exception as error:  # the same, and an answer without a kubeconfig
            right = "Microsoft.ContainerService/managedClusters/listClusterUserCredential/action"
            text = f"Azure gives no kubeconfig of '{name}': {error}"
            problems.append(Problem(_NAME, text, f"Ask its owner for {right}, or what Azure says"))
    return _view(settings, name, answer, own, problems, authority, kubeconfigs)


def _group(settings: Settings) -> str:
    existing = settings.existing_cluster
    assert existing is not None
    assert existing.resource_group is not None, "settings refuse a cluster without one"
    return existing.resource_group


async def _ask(token: str, arguments: Mapping[str, Any], parent: pulumi.Resource) -> Mapping[str, Any]:
    answer = await pulumi.runtime.invoke_async(token, dict(arguments), pulumi.InvokeOptions(parent=parent))
    return cast("Mapping[str, Any]", answer)


def _not_there(settings: Settings, name: str) -> Problem:
    group, lists = _group(settings), f"az aks list --subscription {settings.project} -o table lists all"
    text = f"there is no cluster '{name}' in resource group '{group}' of subscription {settings.project}"
    if group.lower().startswith(_NODES_GROUP):
        return Problem(
            "existingCluster.resourceGroup", text, f"Write the cluster's group, not that of its nodes: {lists}"
        )
    return Problem(_NAME, text, f"Correct the name, resourceGroup or azure-native:subscriptionId: {lists}")


def _not_read(name: str, said: str) -> Problem:
    rights = "Microsoft.ContainerService/managedClusters/read"
    remedy = f"Ask its owner for {rights}" if _FORBIDDEN.search(said) else "Correct what Azure says, or your login"
    return Problem(_NAME, f"'{name}' cannot be looked up: {said}", remedy)


def _kubeconfigs(name: str, answer: Mapping[str, Any], credentials: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The CA, and the kubeconfigs by each address, the first to try first.

    A cluster without Entra ID gives its users a client certificate: https://learn.microsoft.com/azure/aks/control-kubeconfig-access.
    A private one may have a public name for the same private address: https://learn.microsoft.com/azure/aks/private-clusters
    """
    given = yaml.safe_load(base64.b64decode(credentials["kubeconfigs"][0]["value"]))
    cluster, user = given["clusters"][0]["cluster"], given["users"][0]["user"]
    authority, servers = str(cluster["certificate-authority-data"]), [str(cluster["server"])]
    access = answer.get("apiServerAccessProfile") or {}
    if access.get("enablePrivateCluster") and access.get("enablePrivateClusterPublicFQDN") and answer.get("fqdn"):
        servers.append(f"https://{answer['fqdn']}:443")
    certificate = {key: user[key] for key in ("client-certificate-data", "client-key-data") if user.get(key)}
    return authority, [
        kubeconfig(name, server, authority)
        if "exec" in user
        else document(name, {"server": server, "certificate-authority-data": authority}, certificate)
        for server in dict.fromkeys(servers)
    ]


def _view(
    settings: Settings,
    name: str,
    answer: Mapping[str, Any],
    own: Collection[str],
    problems: Sequence[Problem],
    authority: str,
    kubeconfigs: Sequence[str],
) -> ClusterLookup:
    group, there = _group(settings), {str(pool["name"]): pool for pool in _pools(answer)}
    ours = {pool.name: there[short] for pool in settings.gpu_pools if (short := pool_name(pool.name)) in there}
    others = _others(answer, own)
    issuer = answer.get("oidcIssuerProfile") or {}
    network = {
        "resourceGroup": group,
        "nodeResourceGroup": answer.get("nodeResourceGroup"),
        "oidcIssuerUrl": issuer.get("issuerURL"),
    }
    kubelet = ((answer.get("identityProfile") or {}).get("kubeletidentity") or {}).get("resourceId")
    return ClusterLookup(
        name=name,
        location=f"resourceGroups/{group.lower()}",
        version=_version(answer),
        kubeconfig=next(iter(kubeconfigs), ""),
        other_kubeconfigs=tuple(kubeconfigs[1:]),
        authority=authority,
        node_identity=str(kubelet or ""),
        network={key: str(value) for key, value in network.items() if value},
        pools=tuple(ours),
        leftovers={
            name_here: f"az aks nodepool delete --resource-group {group} --cluster-name {name} --name {pool['name']}"
            for name_here, pool in ours.items()
            if (pool.get("nodeLabels") or {}).get(POOL_LABEL) == name_here
        },
        nodes={**_taken_over(others), "cilium": _has_cilium(answer)},
        properties=_properties(name, answer, others),
        problems=tuple(problems),
        notes=tuple(_notes(settings, name, answer, others)),
    )


def _pools(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return answer.get("agentPoolProfiles") or ()


def _others(answer: Mapping[str, Any], own: Collection[str]) -> list[Mapping[str, Any]]:
    names = {*own, *map(pool_name, own)}
    return [pool for pool in _pools(answer) if pool["name"] not in names]


def _version(answer: Mapping[str, Any]) -> str:
    return str(answer.get("currentKubernetesVersion") or answer.get("kubernetesVersion") or "")


def _has_cilium(answer: Mapping[str, Any]) -> bool:
    return (answer.get("networkProfile") or {}).get("networkDataplane") == "cilium"


def _provisions(answer: Mapping[str, Any]) -> bool:
    return (answer.get("nodeProvisioningProfile") or {}).get("mode") == "Auto"


def _has_both(answer: Mapping[str, Any]) -> bool:
    """Whether it has node auto-provisioning and a pool with the cluster autoscaler, so Azure takes more of these.

    It needs a feature of the subscription, and is meant for migrations:
    https://learn.microsoft.com/azure/aks/migrate-from-autoscaler-to-node-auto-provisioning
    """
    return _provisions(answer) and any(pool.get("enableAutoScaling") for pool in _pools(answer))


def _taken_over(others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What new pools have as those that are there, without what these do not have.

    All or none of the pools have a subnet: https://learn.microsoft.com/azure/aks/node-pool-unique-subnet. Where pods
    have addresses of it, each node takes as many as it may have pods. Encryption at host works in the subscription if a
    pool has it: https://learn.microsoft.com/azure/aks/enable-host-encryption
    """
    first = next(iter(_alike(others)), {})
    most = min((int(pool["maxPods"]) for pool in others if pool.get("maxPods")), default=MAX_PODS)
    network = {key: first[key] for key in ("podIPAllocationMode", "podSubnetID", "vnetSubnetID") if first.get(key)}
    return {
        **network,
        "maxPods": min(most, MAX_PODS),
        "enableEncryptionAtHost": any(pool.get("enableEncryptionAtHost") for pool in others),
    }


def _alike(others: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The pools that are most like GPU pools: of Linux, for pods of users if there is one, and no gateway.

    https://learn.microsoft.com/azure/aks/configure-static-egress-gateway
    """
    linux = [pool for pool in others if pool.get("osType") != "Windows" and pool.get("mode") != "Gateway"]
    return [pool for pool in linux if pool.get("mode") != "System"] or linux


def _problems(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[Problem]:
    state = str(answer.get("provisioningState"))
    if refusal := _NOT_USABLE.get(state, _STOPPED if _power(answer) == "Stopped" else None):
        yield Problem(_NAME, f"'{name}' {refusal[0]}", refusal[1])
        return
    if (answer.get("sku") or {}).get("name") == "Automatic":
        text = f"'{name}' is an AKS Automatic cluster: Azure makes its nodes for pods, and nobody else adds pools"
        plugin = "a device plugin (https://learn.microsoft.com/azure/aks/use-nvidia-gpu)"
        yield Problem(_NAME, text, f"Apply {plugin} and these objects instead\n{_manifests(settings, answer)}")
        return
    version = _version(answer)
    if text := too_old(name, version):
        yield Problem(_NAME, text, "Ask its owner to upgrade it")
    region = str(answer.get("location") or "").replace(" ", "").lower()
    if region != settings.region:
        yield Problem("region", f"'{name}' is in {region}, not in {settings.region}", f"Write region: {region}")
    for pool in settings.gpu_pools:
        if not pool.gpus.of_nvidia and minor_of(version) < (1, FIRST_FOR_AMD):
            text = f"'{name}' has Kubernetes {version}, and {pool.gpus.type} needs 1.{FIRST_FOR_AMD} or newer"
            yield Problem(f"{pool.declared_at}.gpu", text, "Ask its owner to upgrade it, or leave the pool out")
    provisioned = settings.autoscaler == auto_provisioning.NAME
    if _provisions(answer) and not provisioned and not _has_both(answer):
        text = f"'{name}' has node auto-provisioning, beside which pools with the cluster autoscaler are a preview"
        remedy = f"Write autoscaling: {{autoscaler: {auto_provisioning.NAME}}}; or ask its owner for the feature "
        yield Problem(_AUTOSCALER, text, f"{remedy}AllowClusterAutoscalerAndNAP and a pool with the cluster autoscaler")
    elif provisioned and not _provisions(answer):
        yield Problem(
            _AUTOSCALER, f"'{name}' has no node auto-provisioning", "Leave it out, for the cluster autoscaler"
        )
    if not provisioned:
        yield from _of_agent_pools(settings, name, answer)


def _power(answer: Mapping[str, Any]) -> str:
    return str((answer.get("powerState") or {}).get("code"))


def _of_agent_pools(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/create-node-pools#limitations,
    https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups"""
    balancer = str((answer.get("networkProfile") or {}).get("loadBalancerSku") or "standard")
    if balancer.lower() == "basic" or any(pool.get("type") == "AvailabilitySet" for pool in _pools(answer)):
        text = f"'{name}' has availability sets or a Basic load balancer, with which Azure adds no pool"
        yield Problem(_NAME, text, "Ask its owner to migrate it, or make a cluster of the stack's own beside it")
    identity = str((answer.get("identity") or {}).get("type"))
    for pool in settings.gpu_pools:
        if pool.scaling.reservation is not None and identity != "UserAssigned":
            text = f"'{name}' has an identity of Azure's, which may use no capacity reservation"
            remedy = (
                "Leave it out, or ask its owner for a user-assigned identity that is Contributor of the reservation"
            )
            yield Problem(f"{pool.declared_at}.reservation", text, remedy)


def _manifests(settings: Settings, answer: Mapping[str, Any]) -> str:
    """https://learn.microsoft.com/azure/aks/node-auto-provisioning-node-pools"""
    made, weights = [], node_pools.weights(settings.gpu_pools)
    encrypted = _taken_over(_pools(answer))["enableEncryptionAtHost"]
    for declared in settings.gpu_pools:
        pool = replace(declared, raw={})  # inputs of agent pools
        made.append(
            auto_provisioning.node_class(pool, subnet=None, tags=dict(settings.labels), encryption_at_host=encrypted)
        )
        minutes = pool.scaling.unneeded_minutes or min(settings.known.choices.unneeded_minutes.values())
        made.append(
            auto_provisioning.node_pool(
                settings, pool, weights[pool.name], cilium=_has_cilium(answer), unneeded_minutes=minutes
            )
        )
    return "\n---\n".join(map(json.dumps, made))


def _properties(name: str, answer: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer in the words of ``azure-native:containerservice:ManagedCluster``, as far as rules use it.

    Without sizes of autoscaled pools: no preview shows a change that nobody made.
    """
    blocks = {
        block: {key: answer[block][key] for key in keys if answer[block].get(key) is not None}
        for block, keys in _BLOCKS.items()
        if answer.get(block)
    }
    kms = (answer.get("securityProfile") or {}).get("azureKeyVaultKms")
    return {
        "resourceName": name,
        **{key: answer[key] for key in _PLAIN if answer.get(key) is not None},
        **blocks,
        **({} if kms is None else {"securityProfile": {"azureKeyVaultKms": dict(kms)}}),
        "agentPoolProfiles": [_pool_properties(pool) for pool in others],
    }


def _pool_properties(pool: Mapping[str, Any]) -> dict[str, Any]:
    size = ("minCount", "maxCount") if pool.get("enableAutoScaling") else ("count",)
    return {key: pool[key] for key in (*_OF_POOLS, *size) if pool.get(key) is not None}


def _notes(
    settings: Settings, name: str, answer: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    subnets = dict.fromkeys(str(pool["vnetSubnetID"]) for pool in _alike(others) if pool.get("vnetSubnetID"))
    if len({each.lower() for each in subnets}) > 1:
        yield (
            f"node pools of '{name}' are in several subnets; the new ones are in {next(iter(subnets))}. "
            + (
                "With node auto-provisioning that is the only choice"
                if settings.autoscaler == auto_provisioning.NAME
                else "For another one write raw: {vnetSubnetID: …} of the pool"
            )
        )
    if (state := str(answer.get("provisioningState") or "Succeeded")) not in _QUIET:
        yield f"'{name}' is {state}: until it is done, Azure refuses pools, and the update fails"
    security, issuer = answer.get("securityProfile") or {}, answer.get("oidcIssuerProfile") or {}
    if not ((security.get("workloadIdentity") or {}).get("enabled") and issuer.get("enabled")):
        yield (
            f"'{name}' has no workload identity, so pods get no identity of their own, only that of the nodes: "
            "https://learn.microsoft.com/azure/aks/workload-identity-overview"
        )
    if (answer.get("aiToolchainOperatorProfile") or {}).get("enabled"):
        yield f"the AI toolchain operator of '{name}' makes GPU nodes past the limits and prices of this stack"
    if settings.autoscaler == auto_provisioning.NAME:
        yield from _unsupported(name, answer, others)
        return
    if _has_both(answer):
        yield (
            f"a GPU pod that selects no pool: both autoscalers of '{name}' may start a node for it, the cluster "
            "autoscaler and node auto-provisioning. gpu submit selects one"
        )
    if reserved := [pool.name for pool in settings.gpu_pools if pool.scaling.reservation is not None]:
        yield f"for {', '.join(reserved)} the identity of '{name}' must be Contributor of the reservation's group"
    yield from _shared(settings, name, answer, others)
    yield from _upgrades(name, answer)
    yield from _of_profile(settings, name, {**_PROFILE, **_known(answer.get("autoScalerProfile"))})


def _unsupported(name: str, answer: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """https://learn.microsoft.com/azure/aks/node-auto-provisioning-networking#supported-networking-configurations-for-nap"""
    network = answer.get("networkProfile") or {}
    has = {
        "Calico": network.get("networkPolicy") == "calico",
        "kubenet": network.get("networkPlugin") == "kubenet",
        "pods in a subnet of their own": any(pool.get("podSubnetID") for pool in others),
    }
    for what in (each for each, there in has.items() if there):
        yield (
            f"'{name}' has {what}, which Azure does not support with node auto-provisioning: new nodes may never be "
            "ready, and cost until Karpenter gives them up. Try one pool with maxNodes: 1 first"
        )


def _shared(
    settings: Settings, name: str, answer: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Addresses and outbound ports that new nodes take from the others', and pods per node.

    https://learn.microsoft.com/azure/aks/concepts-network-legacy-cni#azure-cni-node-subnet,
    https://learn.microsoft.com/azure/aks/configure-load-balancer-standard#configure-the-allocated-outbound-ports
    """
    network, taken = answer.get("networkProfile") or {}, _taken_over(others)
    here = [pool for pool in settings.gpu_pools if "vnetSubnetID" not in pool.raw]
    flat = network.get("networkPlugin") == "azure" and network.get("networkPluginMode") != "overlay"
    if flat and here and "vnetSubnetID" in taken and "podSubnetID" not in taken:
        most = sum(pool.scaling.max_nodes * (pool.raw.get("maxPods", taken["maxPods"]) + 1) for pool in here)
        yield (
            f"pods of '{name}' have addresses of the nodes' subnet, of which the new pools take up to {most}; without "
            "a free one no node of the cluster starts. To take fewer, write raw: {maxPods: 30}, or another vnetSubnetID"
        )
    if small := [pool.name for pool in settings.gpu_pools if pool.raw.get("maxPods", taken["maxPods"]) < _FEW_PODS]:
        yield (
            f"nodes of {', '.join(small)} take at most {taken['maxPods']} pods, as those of another pool; the cloud's "
            f"own are among them, so jobs may have no place. Write raw: {{maxPods: {_FEW_PODS}}}"
        )
    balancer = network.get("loadBalancerProfile") or {}
    ports, addresses = int(balancer.get("allocatedOutboundPorts") or 0), balancer.get("effectiveOutboundIPs") or ()
    if ports and addresses and network.get("outboundType", "loadBalancer") == "loadBalancer":
        room = _PORTS * len(addresses) // ports
        nodes = sum(int(pool.get("maxCount") or pool.get("count") or 0) for pool in others)
        if nodes + sum(pool.scaling.max_nodes for pool in settings.gpu_pools) > room:
            yield (
                f"'{name}' gives each node {ports} outbound ports, so it can have {room} nodes, fewer than its pools "
                "and these have together: Azure refuses the next. Ask its owner for more outbound addresses"
            )


def _known(block: Mapping[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (block or {}).items() if value is not None}


def _upgrades(name: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """https://learn.microsoft.com/azure/aks/auto-upgrade-cluster, https://learn.microsoft.com/azure/aks/auto-upgrade-node-os-image"""
    profile = _known(answer.get("autoUpgradeProfile"))
    versions, images = profile.get("upgradeChannel", "none"), profile.get("nodeOSUpgradeChannel", "NodeImage")
    by_itself = [
        *([f"versions ({versions})"] if versions != "none" else []),
        *([f"node images ({images})"] if images in ("NodeImage", "SecurityPatch") else []),
    ]
    if by_itself:
        yield (
            f"'{name}' upgrades {' and '.join(by_itself)} of all pools by itself: a job that runs then gets 30 "
            "minutes, or goes on on a cordoned node if a PodDisruptionBudget protects it. Ask its owner for the window"
        )


def _of_profile(settings: Settings, name: str, profile: Mapping[str, str]) -> Iterator[str]:
    """What the owner's autoscaler does to nodes of these pools: https://learn.microsoft.com/azure/aks/cluster-autoscaler"""
    idle, pause = profile["scaleDownUnneededTime"], profile["scaleDownDelayAfterAdd"]
    if max(_minutes(idle), _minutes(pause)) > _UNDERSTOOD_MINUTES:
        yield (
            f"idle nodes stay for {idle}, and for {pause} after any node was added (scale-down-unneeded-time and "
            f"scale-down-delay-after-add of '{name}'): they cost as long"
        )
    if _minutes(rest := profile.get("scaleDownDelayAfterDelete", "")) > _UNDERSTOOD_MINUTES:
        yield (
            f"idle nodes stay for {rest} after any node was removed (scale-down-delay-after-delete of '{name}'): "
            "they cost as long"
        )
    if _minutes(wait := profile.get("newPodScaleUpDelay", "")) > 0:
        yield (
            f"the autoscaler of '{name}' starts no node for a pod in its first {wait} (new-pod-scale-up-delay): each "
            "job that needs one waits as long"
        )
    needed = autoscaling.provision_minutes(settings)
    if _minutes(profile["maxNodeProvisionTime"]) < needed:
        yield (
            f"the autoscaler of '{name}' gives a node up after {profile['maxNodeProvisionTime']} "
            f"(max-node-provision-time), and GPU machines may take {needed}m: it would start others instead"
        )
    if profile["expander"] != "priority" and len(settings.gpu_pools) > 1:
        yield (
            f"the autoscaler of '{name}' has the expander {profile['expander']}: for a pod that selects no pool it may "
            "start any that has room, also a larger one. gpu submit selects one"
        )


def _minutes(text: str) -> float:
    return (durations.seconds(text) or 0.0) / 60


class AgentPools(JoinedCluster, NodePools):
    """Agent pools, with place and settings of what was looked up. Each waits for the one before: AKS refuses an
    operation on a pool while another of the cluster runs (https://github.com/Azure/AKS/issues/4522)."""

    def __init__(
        self,
        settings: Settings,
        found: pulumi.Output[ClusterLookup],
        view: pulumi.Output[ClusterLookup],
        deployed: Deployed,
    ) -> None:
        self._settings, self._found, self._view = settings, found, view
        self._context: PoolsContext | None = None
        self._last: list[pulumi.Resource] = []

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Azure runs it."""
        self._context = PoolsContext(
            settings=self._settings,
            name=self._view.apply(lambda known: known.name),
            group=self._view.apply(lambda known: known.network["resourceGroup"]),
            running_pools=JoinedPools(self._found, objects.parent),
            theirs=self._view.apply(lambda known: known.nodes),
        )
        return self

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """One GPU pool."""
        assert self._context is not None
        declared = pools.agent_pool(self._context, name, pool, self._last, opts)
        self._last = [declared]
        return declared


class Provisioned(node_pools.JoinedNodePools):
    """NodePools with an AKSNodeClass each; Azure runs Karpenter.

    What the owner changes of other pools later changes no class of ours: its nodes would drift, and be replaced
    (``areStaticFieldsDrifted`` of https://github.com/Azure/karpenter-provider-azure/blob/main/pkg/cloudprovider/drift.go,
    2026-08). Azure supports no change of a subnet, after which, by its page, Karpenter makes no node:
    https://learn.microsoft.com/azure/aks/node-auto-provisioning-networking#subnet-drift-behavior
    """

    class_as_made = ("spec.vnetSubnetID", "spec.maxPods", "spec.security.encryptionAtHost")

    def class_manifest(self, pool: Pool) -> Mapping[str, Any]:
        """An AKSNodeClass."""
        made = auto_provisioning.node_class(pool, subnet=None, tags={})
        return {**made, "spec": self.found.apply(partial(self._class_spec, pool))}

    def pool_manifest(self, pool: Pool, weight: int) -> Mapping[str, Any]:
        """A NodePool; whether it waits for Cilium is known with the cluster."""
        made = auto_provisioning.node_pool(self.settings, pool, weight, cilium=False)
        return {**made, "spec": self.found.apply(partial(self._pool_spec, pool, weight))}

    def _class_spec(self, pool: Pool, known: ClusterLookup) -> Any:
        nodes = known.nodes
        if not nodes:  # the cluster refuses the pools
            return {}
        return auto_provisioning.node_class(
            pool,
            subnet=nodes.get("vnetSubnetID"),
            tags=dict(self.settings.labels),
            max_pods=nodes["maxPods"],
            encryption_at_host=nodes["enableEncryptionAtHost"],
        )["spec"]

    def _pool_spec(self, pool: Pool, weight: int, known: ClusterLookup) -> Any:
        cilium = bool(known.nodes.get("cilium"))
        return auto_provisioning.node_pool(self.settings, pool, weight, cilium=cilium)["spec"]


def _has_pool(view: ClusterLookup, pool: Pool, state: Mapping[str, Any]) -> bool:
    """The provider keeps the place of an agent pool among its inputs."""
    return state.get("name") == pool_name(pool.name)


def _node_labels(pool: Pool) -> dict[str, str | None]:
    """Labels that nodes have by themselves: https://learn.microsoft.com/azure/aks/use-labels. Those of node
    auto-provisioning are in no agent pool, so that those of others are not theirs either."""
    labels: dict[str, str | None] = {
        "agentpool": pool_name(pool.name),
        "kubernetes.azure.com/agentpool": pool_name(pool.name),
        "kubernetes.azure.com/mode": "user",
        "kubernetes.azure.com/role": "agent",
        "kubernetes.io/arch": pool.arch,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": pool.nodes.machine_type,
    }
    if pool.gpus.of_nvidia:
        labels |= dict.fromkeys(("accelerator", "kubernetes.azure.com/accelerator"), "nvidia")
    priority = "spot" if pool.scaling.spot else "regular"
    labels |= dict.fromkeys(("kubernetes.azure.com/scalesetpriority", "kubernetes.azure.com/priority"), priority)
    return {**labels, **pools.without_operator(pool)}


def _listed_notes(lists: Lists) -> Iterator[str]:
    """NodePools of others that may start GPU machines, for GPU pods that select no pool."""
    others = [each for each in lists.get(_NODE_POOLS, ()) if _may_have_gpus(each)]
    if others:
        listed = ", ".join(f"{each['metadata']['name']} (weight {each['spec'].get('weight') or 0})" for each in others)
        yield (
            f"NodePools of others may start GPU machines for GPU pods that select no pool: {listed}. Karpenter tries "
            "the largest weight first, and theirs have their own limits and idle times"
        )


def _may_have_gpus(node_pool: Mapping[str, Any]) -> bool:
    """Whether it is of others, and no requirement leaves GPU machines out.

    https://learn.microsoft.com/azure/aks/node-auto-provisioning-node-pools#sku-selectors-with-well-known-labels
    """
    template = node_pool["spec"]["template"]
    if POOL_LABEL in ((template.get("metadata") or {}).get("labels") or {}):
        return False
    for each in (template.get("spec") or {}).get("requirements") or ():
        key, operator, values = str(each["key"]), each.get("operator"), [str(one) for one in each.get("values") or ()]
        if operator != "In":
            continue
        if key.endswith("/sku-family") and not any(one.upper().startswith("N") for one in values):
            return False
        if key == "node.kubernetes.io/instance-type" and not any("_n" in one.lower() for one in values):
            return False
        if key.endswith("/sku-gpu-count") and values == ["0"]:
            return False
    return True


_AGENT_POOLS: Final = Joining(
    look=look,
    cluster=AgentPools,
    pool_token=_AGENT_POOL,
    has_pool=_has_pool,
    own_daemon=CATALOG.nodes.runs,
    node_labels=_node_labels,
    label_domains=("azure.com", "storageprofile", "storagetier"),
    other_plugin=second_plugin,
    needs_plugin=has_software_of_others,
    # https://learn.microsoft.com/azure/aks/use-nvidia-gpu
    needs_driver=has_software_of_others,
)
_PROVISIONED: Final = replace(
    _AGENT_POOLS, cluster=Provisioned, pool_token=_NODE_POOL, lists=(_NODE_POOLS,), listed_notes=_listed_notes
)
JOINING: Final[Mapping[str, Joining]] = {"managed": _AGENT_POOLS, auto_provisioning.NAME: _PROVISIONED}
"""By autoscaler."""
