"""An AKS cluster: private nodes, Azure CNI Overlay, Entra ID for users, workload identity for pods."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pulumi
import yaml

from components.clouds.aks import access, auto_provisioning, autoscaling, maintenance, pools, roles
from components.clouds.aks.context import Context
from components.clouds.aks.encryption import Encryption, refuse_other_keys, require_usable_key
from components.clouds.aks.existing_network import ExistingNetwork
from components.clouds.aks.fixed import refuse_other_fixed
from components.clouds.aks.identity import ClusterIdentities, grant_deployer
from components.clouds.aks.network import Network, profile, way_out
from components.clouds.aks.running_pools import LONG_TERM, RunningPools, count
from components.clouds.aks.workloads.bucket import bucket
from components.clouds.aks.workloads.pod_identity import pod_identity
from components.clouds.aks.workloads.registry import grant_pull, registry
from components.clouds.aks.workloads.share import share
from components.clouds.base import AdminObjects, CloudCluster, NodePools, WorkloadResources
from components.clouds.declare import aks as declare
from components.clouds.deployed import Deployed
from components.clouds.raw import beside, changing
from components.settings import Settings
from facts.catalog import of
from facts.catalog.aks.naming import dns_prefix
from facts.catalog.aks.resource_ids import NO_DNS_ZONE
from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.kubeconfig import plugin_user
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks

_CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
_COMMUNITY: Final = "KubernetesOfficial"
_ENDING: Final = ("supportPlan", "nodeProvisioningProfile")
"""What stays on a cluster that is not told that it has ended."""

# Azure's slowest channel, ``patch``, keeps one minor version until that is out of support, so without long-term support
# ``stable`` is the slowest usable one: https://learn.microsoft.com/azure/aks/auto-upgrade-cluster
_CHANNELS: Final = {"rapid": "rapid", "regular": "stable", "stable": "stable", "extended": "patch"}
_PINNED: Final = "none"
"""The upgrade channel for a pinned version. Any other channel upgrades past it, and the next update would request a
downgrade, which Azure refuses (https://github.com/rancher/rancher/issues/24071). Azure also does not upgrade a control
plane separately from its pools while automatic upgrades are on."""

# Inputs of ``raw`` for which Azure reimages the nodes of all pools, jobs and all, while the provider says update:
# https://learn.microsoft.com/azure/aks/node-disruption-policy
_REIMAGING: Final = (
    "bootstrapProfile",
    "httpProxyConfig",
    "networkProfile.ipFamilies",
    "securityProfile.customCATrustCertificates",
)
_WAITS: Final = (
    "{input}: Azure reimages the nodes of all pools for it, and GPU pools have nodes, {busy}: run `up` again when they "
    "have none"
)

# https://learn.microsoft.com/azure/aks/private-clusters: its name is in a private zone, linked to this network alone.
_UNREACHABLE: Final = (
    "network.privateEndpoint: a private control plane is reachable only from inside its network, and this stack would "
    "create that network. Write network.existing with a network that you can reach, or privateEndpoint: false with "
    "your address in authorizedNetworks."
)

# "Only the load balancer that AKS makes", whose address AKS adds to any other ranges itself and refuses beside them:
# https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges, https://github.com/Azure/terraform-azurerm-aks/issues/378
_LOAD_BALANCER_ONLY: Final = "0.0.0.0/32"


class AksCluster(CloudCluster):
    """The ``CloudCluster`` of Azure; all its resources are children of ``parent``.

    Azure creates no cluster without a system pool, so the admin pool is part of the cluster's own inputs. A separate
    admin pool would leave that first pool running forever: it cannot be empty, and this API cannot remove it as GKE
    removes its default pool. The price: Azure never changes machine type, disk and zones of a pool
    (https://learn.microsoft.com/azure/aks/create-node-pools#limitations), so those of the admin pool are fixed, and
    the program refuses a stack file that changes them. Its size can change.

    It needs no StorageClass: Azure encrypts every disk. https://learn.microsoft.com/azure/virtual-machines/disk-encryption
    """

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        running_pools = RunningPools(settings, parent)
        new = not running_pools.cluster_exists
        existing = ExistingNetwork(settings, parent, new=new) if settings.network.existing else None
        if settings.network.private_endpoint and existing is None and new:
            raise pulumi.RunError(_UNREACHABLE)
        deployed = Deployed(caseless=True)
        require_usable_key(settings, parent)
        if not new:
            refuse_other_keys(name, settings, running_pools.secrets_key, deployed)
            outbound = existing.outbound if existing else way_out(settings)
            refuse_other_fixed(name, settings, outbound, deployed, running_pools)
        group = declare(
            "azure-native:resources:ResourceGroup",
            f"{name}-group",
            {"resourceGroupName": settings.cluster_name, "location": settings.region, "tags": dict(settings.labels)},
            pulumi.ResourceOptions(parent=parent),
            outputs=["name"],
        )
        group_name: pulumi.Output[str] = group.outputs["name"]
        network = existing or Network(name, settings, group_name, parent)
        identities = ClusterIdentities(name, settings, group_name, network.subnet, network.changed, deployed, parent)
        deployer = grant_deployer(name, settings, group, parent)
        encryption = Encryption(name, settings, group_name, identities, deployed, parent)
        rights = [*identities.ready, *encryption.ready]
        identity = roles.holding(identities.control_plane.id, rights)
        admin_nodes = count(settings.admin_pool, running_pools.find(settings.admin_pool, rights))
        running = deployed.outputs(_CLUSTER, f"{name}-control-plane")
        own = _inputs(settings, group_name, network, identities, encryption, identity, admin_nodes)
        own["autoUpgradeProfile"] = _upgrades(settings, running_pools)
        inputs = beside(own, {**_ended(settings, running), **settings.raw}, "raw")
        # An update that no longer says what has ended would be one more.
        ignored = [key for key in _ENDING if key in running and key not in inputs]
        ignored += _waiting(settings, running, running_pools)
        if settings.network.existing is not None:
            # Another way out would cut the connections of running jobs: a cluster keeps the one that the existing
            # subnet had when it was made.
            ignored.append("networkProfile.outboundType")
        self.resource = declare(
            _CLUSTER,
            f"{name}-control-plane",
            inputs,
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=[*rights, deployer],
                protect=settings.security.deletion_protection,
                ignore_changes=ignored,
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="45m"),
            ),
            outputs=["name"],
        )
        self._context = Context(
            settings=settings,
            control_plane=self.resource,
            made=(self.resource,),
            name=self.resource.outputs["name"],
            group=group_name,
            subnet=network.subnet,
            nodes=identities.nodes,
            running_pools=running_pools,
        )
        endpoint_and_authority = _endpoint_and_authority(self._context, parent)
        self.authority = endpoint_and_authority.apply(lambda answer: answer[1])
        self.kubeconfig = pulumi.Output.secret(
            endpoint_and_authority.apply(lambda answer: kubeconfig(settings.cluster_name, *answer))
        )
        access.grant(name, settings, self.resource, parent)
        self._last: Sequence[pulumi.Resource] = maintenance.windows(self._context, name, parent)[-1:]

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """IDs for databases, file shares, peerings and grants of the network."""
        issuer = self.resource.outputs["oidcIssuerProfile"]
        return {
            "resourceGroup": self._context.group,
            "subnetId": self._context.subnet,
            "nodeIdentity": self._context.nodes.id,
            "oidcIssuerUrl": issuer.apply(lambda profile: profile.get("issuerURL")),
        }

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """One pool of any role; the admin pool is the system pool that the cluster was created with.

        Each waits for the one before: AKS refuses an operation on a pool while another of the cluster runs
        (https://github.com/Azure/AKS/issues/4522).

        Raises:
            ValueError: it was created with another one.
        """
        if pool.role == "admin":
            if pool != self._context.settings.admin_pool:
                raise ValueError("the admin pool differs from Settings.admin_pool, with which AKS creates the cluster")
            declared = pools.admin_pool(self._context, name, pool, opts)
            self._last = [*self._last, declared]
        else:
            declared = pools.agent_pool(self._context, name, pool, self._last, opts)
            self._last = [declared]
        return declared

    @property
    def workloads(self) -> WorkloadResources:
        """Resources for jobs outside the cluster. The shared volume waits for the pools declared so far."""
        context = self._context
        return WorkloadResources(
            registry=partial(registry, context),
            bucket=partial(bucket, context),
            share=partial(share, context, after=self._last),
            pod_identity=partial(pod_identity, context),
            grant_pull=partial(grant_pull, context),
        )

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """The order of the pools, for the ``priority`` expander, or node auto-provisioning; Azure runs both itself."""
        if self._context.settings.autoscaler == auto_provisioning.NAME:
            return auto_provisioning.NodeAutoProvisioning(self._context, pools, objects)
        if pools:
            objects.declare("order", autoscaling.order(pools))
        return self


def _endpoint_and_authority(context: Context, parent: pulumi.Resource) -> pulumi.Output[tuple[str, str]]:
    """The control plane's URL and CA."""
    answer = pulumi.runtime.invoke_output(
        "azure-native:containerservice:listManagedClusterUserCredentials",
        {"resourceGroupName": context.group, "resourceName": context.control_plane.outputs["name"]},
        pulumi.InvokeOutputOptions(parent=parent, depends_on=[context.control_plane]),
    )
    return answer.apply(lambda answer: endpoint(answer["kubeconfigs"]))


def _inputs(
    settings: Settings,
    group: pulumi.Input[str],
    network: Network | ExistingNetwork,
    identities: ClusterIdentities,
    encryption: Encryption,
    identity: pulumi.Input[str],
    admin_nodes: pulumi.Input[int],
) -> aks.ManagedCluster:
    """``identity`` is the id of the control plane's identity, known once it has its rights."""
    security: aks.ManagedClusterSecurityProfile = {"workloadIdentity": {"enabled": True}}
    inputs: aks.ManagedCluster = {
        "resourceGroupName": group,
        "resourceName": settings.cluster_name,
        "location": settings.region,
        # Free has no SLA and slows the API server down, in the middle of a scale-up too:
        # https://learn.microsoft.com/azure/aks/free-standard-pricing-tiers
        "sku": {"name": "Base", "tier": "Standard"},
        "dnsPrefix": dns_prefix(settings.cluster_name),
        "nodeResourceGroup": f"{settings.cluster_name}-nodes",
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [identity]},
        "identityProfile": {
            "kubeletidentity": {
                "resourceId": identities.nodes.id,
                "clientId": identities.nodes.client,
                "objectId": identities.nodes.principal,
            }
        },
        "networkProfile": profile(settings, network.outbound),
        "apiServerAccessProfile": _api_access(settings, network),
        "enableRBAC": True,
        "disableLocalAccounts": True,
        "aadProfile": {"managed": True, "enableAzureRBAC": True},
        "oidcIssuerProfile": {"enabled": True},
        "securityProfile": security,
        "agentPoolProfiles": [
            pools.admin_profile(settings.admin_pool, network.subnet, dict(settings.labels), admin_nodes)
        ],
        "tags": dict(settings.labels),
    }
    if settings.autoscaler == auto_provisioning.NAME:
        inputs["nodeProvisioningProfile"] = auto_provisioning.PROFILE
    else:
        inputs["autoScalerProfile"] = autoscaling.profile(settings)
    if settings.kubernetes.channel == "extended":
        # Both or neither: https://learn.microsoft.com/azure/aks/long-term-support
        sku: aks.ManagedClusterSKU = {"name": "Base", "tier": "Premium"}
        inputs["sku"] = sku
        inputs["supportPlan"] = LONG_TERM
    if settings.kubernetes.version is not None:
        inputs["kubernetesVersion"] = settings.kubernetes.version
    if encryption.kms is not None:
        security["azureKeyVaultKms"] = encryption.kms
    if encryption.disks is not None:
        inputs["diskEncryptionSetID"] = encryption.disks
    return inputs


def _waiting(settings: Settings, running: Mapping[str, Any], pools: RunningPools) -> list[str]:
    """Inputs of ``raw`` that stay as they were while a GPU pool has nodes."""
    paths = changing(settings.raw, running, _REIMAGING) if pools.busy else []
    for path in paths:
        pulumi.info(_WAITS.format(input=f"raw.{path}", busy=", ".join(pools.busy)))
    return paths


def _upgrades(settings: Settings, pools: RunningPools) -> aks.ManagedClusterAutoUpgradeProfile:
    """Azure reimages nodes that shall no longer patch themselves: a cluster that ``az`` changed so stays while a GPU
    pool has nodes."""
    patches_itself = bool(pools.busy) and pools.node_os_channel == "Unmanaged"
    if patches_itself:
        pulumi.info(_WAITS.format(input="nodeOSUpgradeChannel", busy=", ".join(pools.busy)))
    return {
        "upgradeChannel": _CHANNELS[settings.kubernetes.channel] if settings.kubernetes.version is None else _PINNED,
        "nodeOSUpgradeChannel": "Unmanaged" if patches_itself else "NodeImage",
    }


def _ended(settings: Settings, running: Mapping[str, Any]) -> dict[str, Any]:
    """What the running cluster has and the stack file no longer says, named as ended: left out, it would stay.

    https://learn.microsoft.com/azure/aks/long-term-support#disable-long-term-support-on-an-existing-cluster,
    https://learn.microsoft.com/azure/aks/use-node-auto-provisioning#disable-node-auto-provisioning-nap-on-an-aks-cluster
    """
    ended: dict[str, Any] = {}
    if settings.kubernetes.channel != "extended" and running.get("supportPlan") == LONG_TERM:
        ended["supportPlan"] = _COMMUNITY
    provisioning = running.get("nodeProvisioningProfile") or {}
    if settings.autoscaler != auto_provisioning.NAME and provisioning.get("mode") == "Auto":
        ended["nodeProvisioningProfile"] = {"mode": "Manual"}
    return ended


def _api_access(settings: Settings, network: Network | ExistingNetwork) -> aks.ManagedClusterAPIServerAccessProfile:
    # Commands by way of Azure's API would pass by the networks below.
    access: aks.ManagedClusterAPIServerAccessProfile = {"disableRunCommand": True}
    if settings.network.private_endpoint:
        zone = settings.network.private_dns_zone or "system"
        return {
            **access,
            "enablePrivateCluster": True,
            "privateDNSZone": zone,
            # Without a zone its name is public, and leads to the private address.
            "enablePrivateClusterPublicFQDN": zone == NO_DNS_ZONE,
        }
    # Nodes connect from the NAT's address. Azure treats an empty list as open to everyone.
    ranges = [*(allowed.cidr for allowed in settings.network.authorized_networks), *network.egress]
    return {**access, "authorizedIPRanges": ranges or [_LOAD_BALANCER_ONLY]}


def endpoint(kubeconfigs: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """The control plane's URL and CA (PEM, base64) from what ``listManagedClusterUserCredentials`` answers.

    Raises:
        ValueError: there is no kubeconfig in the answer.
    """
    if not kubeconfigs:
        raise ValueError("Azure has no kubeconfig for this cluster")
    cluster = yaml.safe_load(base64.b64decode(kubeconfigs[0]["value"]))["clusters"][0]["cluster"]
    return cluster["server"], cluster["certificate-authority-data"]


def kubeconfig(context: str, server: str, ca_pem_base64: str) -> str:
    """A kubeconfig, as JSON (which is YAML), that uses the login of ``az login``.

    Azure's own kubeconfig needs a code from a browser, which a program cannot enter.
    """
    plugin = of("aks").account.credential_plugin
    cluster = {"server": server, "certificate-authority-data": ca_pem_base64}
    hint = "Install it: az aks install-cli"
    user = plugin_user(plugin.command, plugin.arguments.split(), hint, provideClusterInfo=False)
    return document(context, cluster, user)
