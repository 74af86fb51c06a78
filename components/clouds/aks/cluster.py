"""An AKS cluster: private nodes, Azure CNI Overlay, Entra ID for people, workload identity for pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from components.clouds.aks import autoscaling, pools
from components.clouds.aks.encryption import Encryption
from components.clouds.aks.identity import ClusterIdentities, grant_deployer
from components.clouds.aks.keys import parse_key
from components.clouds.aks.kubeconfig import endpoint, kubeconfig
from components.clouds.aks.naming import dns_prefix
from components.clouds.aks.network import Network
from components.clouds.base import ClusterSpec
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.resources import ClusterObjects, CustomResource

# How far behind the newest version the cluster stays: https://learn.microsoft.com/azure/aks/auto-upgrade-cluster
_CHANNELS: Final = {"rapid": "rapid", "regular": "stable", "stable": "patch"}

# "Only the load balancer that AKS makes": https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges
_LOAD_BALANCER_ONLY: Final = "0.0.0.0/32"


class AksCluster:
    """The ``CloudCluster`` of Azure; all its resources are children of ``parent``.

    Azure creates no cluster without a system pool, so the admin pool is part of the cluster's own inputs. A pool apart,
    beside a first one that Azure insists on, would leave that one running for ever: it cannot be empty, and nothing in
    this API removes it as GKE removes its default pool. The price: Azure never changes the machines, the disks and the
    zones of a pool (https://learn.microsoft.com/azure/aks/create-node-pools#limitations), so those of the admin pool
    last as long as the cluster, and a stack file that changes them ends in Azure's error. Its size can change.
    """

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        if spec.admin_pool is None:
            raise ValueError("AKS creates no cluster without a system pool: ClusterSpec.admin_pool is missing")
        self.spec = spec
        self._admin = spec.admin_pool
        group = CustomResource(
            "azure-native:resources:ResourceGroup",
            f"{name}-group",
            {"resourceGroupName": spec.name, "location": spec.region, "tags": dict(spec.labels)},
            pulumi.ResourceOptions(parent=parent),
            outputs=["name"],
        )
        self.group: pulumi.Output[Any] = group.output("name")
        network = Network(name, spec, self.group, parent)
        self.subnet = network.subnet
        identities = ClusterIdentities(name, spec, self.group, network.subnet, parent)
        needs = [*identities.ready, grant_deployer(name, spec, group, parent)]
        encryption = None
        if spec.kms_key is not None:
            key = parse_key(spec.kms_key)
            if key is None:
                raise ValueError(f"'{spec.kms_key}' is not the resource id of a key of Key Vault")
            encryption = Encryption(name, spec, key, self.group, identities, parent)
            needs += encryption.ready
        self._resource = CustomResource(
            "azure-native:containerservice:ManagedCluster",
            f"{name}-control-plane",
            self._inputs(network, identities, encryption),
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=needs,
                protect=spec.deletion_protection,
                # The autoscaler owns the size of an admin pool that may grow.
                ignore_changes=["agentPoolProfiles[0].count"] if self._admin.max_nodes is not None else [],
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="45m"),
            ),
            outputs=["name"],
        )
        self._kubeconfig = self._make_kubeconfig(parent)

    @property
    def resource(self) -> pulumi.Resource:
        """The ``ManagedCluster`` resource."""
        return self._resource

    @property
    def name(self) -> pulumi.Output[str]:
        """The name, known once the cluster exists."""
        return self._resource.output("name")

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """Secret: it says where the control plane is, although it holds no credential."""
        return self._kubeconfig

    @property
    def cluster(self) -> CustomResource:
        """The cluster resource with its outputs, for the pools."""
        return self._resource

    def admin_pool(
        self, name: str, spec: AdminPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """The system pool that the cluster was created with.

        Raises:
            ValueError: it was created with another one.
        """
        if spec != self._admin:
            raise ValueError("the admin pool differs from ClusterSpec.admin_pool, with which AKS creates the cluster")
        return pools.admin_pool(self, name, spec, opts)

    def cpu_node_pool(
        self, name: str, spec: CpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool without GPUs."""
        return pools.cpu_node_pool(self, name, spec, opts)

    def gpu_node_pool(
        self, name: str, spec: GpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool of GPU nodes that starts empty."""
        return pools.gpu_node_pool(self, name, spec, opts)

    def autoscaler(
        self,
        name: str,
        pools: Sequence[GpuPoolSpec | CpuPoolSpec],
        objects: ClusterObjects,
        parent: pulumi.Resource,
        admin_pool: pulumi.Resource,
    ) -> None:
        """The order of the pools, for the ``priority`` expander; Azure runs the autoscaler itself."""
        if autoscaling.expander(self.spec) == "priority" and pools:
            objects.declare(f"{name}-order", autoscaling.order(pools), parent)

    def _make_kubeconfig(self, parent: pulumi.Resource) -> pulumi.Output[str]:
        answer = pulumi.runtime.invoke_output(
            "azure-native:containerservice:listManagedClusterUserCredentials",
            {"resourceGroupName": self.group, "resourceName": self._resource.output("name")},
            pulumi.InvokeOutputOptions(parent=parent, depends_on=[self._resource]),
        )
        return pulumi.Output.secret(
            answer.apply(lambda found: kubeconfig(self.spec.name, *endpoint(found["kubeconfigs"])))
        )

    def _inputs(self, network: Network, identities: ClusterIdentities, encryption: Encryption | None) -> dict[str, Any]:
        spec = self.spec
        inputs: dict[str, Any] = {
            "resourceGroupName": self.group,
            "resourceName": spec.name,
            "location": spec.region,
            # Free has no SLA and slows the API server down, in the middle of a scale-up too:
            # https://learn.microsoft.com/azure/aks/free-standard-pricing-tiers
            "sku": {"name": "Base", "tier": "Standard"},
            "dnsPrefix": dns_prefix(spec.name),
            "nodeResourceGroup": f"{spec.name}-nodes",
            "identity": {"type": "UserAssigned", "userAssignedIdentities": [identities.control_plane.id]},
            "identityProfile": {
                "kubeletidentity": {
                    "resourceId": identities.nodes.id,
                    "clientId": identities.nodes.client,
                    "objectId": identities.nodes.principal,
                }
            },
            "networkProfile": network.profile(),
            "apiServerAccessProfile": self._api_access(network),
            "enableRBAC": True,
            "disableLocalAccounts": True,
            "aadProfile": {"managed": True, "enableAzureRBAC": True},
            "oidcIssuerProfile": {"enabled": True},
            "securityProfile": {"workloadIdentity": {"enabled": True}},
            "autoScalerProfile": autoscaling.profile(spec),
            "autoUpgradeProfile": {
                "upgradeChannel": _CHANNELS[spec.channel],
                "nodeOSUpgradeChannel": "NodeImage",
            },
            "agentPoolProfiles": [pools.admin_profile(self._admin, network.subnet, dict(spec.labels))],
            "tags": dict(spec.labels),
        }
        if spec.version is not None:
            inputs["kubernetesVersion"] = spec.version
        if encryption is not None:
            inputs["securityProfile"]["azureKeyVaultKms"] = encryption.kms
            inputs["diskEncryptionSetID"] = encryption.disks
        return inputs

    def _api_access(self, network: Network) -> dict[str, Any]:
        # Commands by way of Azure's API would pass by the networks below.
        access: dict[str, Any] = {"disableRunCommand": True}
        if self.spec.private_endpoint:
            return {
                **access,
                "enablePrivateCluster": True,
                "privateDNSZone": "system",
                "enablePrivateClusterPublicFQDN": False,
            }
        # Never empty, which Azure takes for everybody. The nodes reach the control plane from the NAT's address.
        own = network.egress or [_LOAD_BALANCER_ONLY]
        return {**access, "authorizedIPRanges": [*(allowed.cidr for allowed in self.spec.authorized_networks), *own]}
