"""Azure Kubernetes Service in the catalogue. Its tables in ``data`` say where they come from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from facts.catalog.account import CloudAccount, CredentialPlugin
from facts.catalog.aks.naming import pool_name
from facts.catalog.aks.nodes import allocatable, disk_mib, provisioned
from facts.catalog.aks.quotas import quotas
from facts.catalog.choices import Choices
from facts.catalog.cloud import CloudCatalog
from facts.catalog.labels import Labels
from facts.catalog.machines import Machines
from facts.catalog.model import Price
from facts.catalog.nodes import CloudNodes, system_pods
from facts.catalog.prices import Prices, fees
from facts.catalog.raw import raw_inputs
from facts.catalog.tags import RegistryName, TagGrammar
from facts.concepts.kubernetes import Taint

DRIVER_ON_UBUNTU_ONLY: Final = frozenset({"nvidia-rtx-pro-6000", "amd-mi300x"})
"""GPUs whose driver is for Ubuntu alone: ``supported-gpus.yaml`` of https://github.com/Azure/karpenter-provider-azure
(352646f5, 2026-08-21). The others of the catalogue work on Azure Linux, too, A100, H100 and H200 since AKS' release of
2026-03-05 (https://github.com/Azure/AKS/blob/master/CHANGELOG.md), whatever older pages say; that on GPUs
(https://learn.microsoft.com/azure/aks/use-nvidia-gpu) had an exception for them and has none since (2026-08-21)."""

REGISTRY: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.ContainerRegistry"
    r"/registries/(?P<registry>[a-z0-9]{5,50})",
    re.IGNORECASE,
)
"""The resource id of a registry:
https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerregistry"""

_FEES: Final = fees("aks")


def nat_price(nodes: int, gateways: int) -> Price:
    """The way out with one address, without traffic: a NAT gateway, or for several zones the one load balancer.

    The number of ``nodes`` does not matter.
    """
    way_out = _FEES["load balancer" if gateways > 1 else "nat gateway"]
    return replace(way_out, usd=way_out.usd + _FEES["address"].usd)


# A pool is one scale set of one size (https://learn.microsoft.com/azure/aks/create-node-pools), which takes a node in
# whichever of its zones has one: scarce GPUs need that more than even zones. AKS itself puts
# ``kubernetes.azure.com/accelerator`` on GPU nodes: https://learn.microsoft.com/azure/aks/use-labels
# https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations: 512 characters, of a
# storage account 128; 50 tags a resource. https://learn.microsoft.com/azure/aks/use-tags: clusters pass theirs on to
# what they make in their group of nodes, which has some of its own.
_TAGS: Final = TagGrammar(
    key=re.compile(r"[^<>%&\\?/\x00-\x1f]{1,128}"),
    value=re.compile(r"[^\x00-\x1f]{0,256}"),
    allowed=r"any text without < > % & \ ? /, at most 128 characters (a value: 256)",
    most=40,
    reserved=("microsoft", "azure", "windows", "aks-managed", "k8s-azure", "kubernetes.io"),
)

CATALOG: Final = CloudCatalog(
    name="aks",
    account=CloudAccount(
        key="azure-native:subscriptionId",
        example="00000000-0000-0000-0000-000000000000",
        form=re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
        placeholders=("00000000-0000-0000-0000-000000000000",),
        # AKS's own application in Entra, the audience of every token; one for another is refused: https://learn.microsoft.com/azure/aks/kubelogin-authentication
        credential_plugin=CredentialPlugin(
            command="kubelogin",
            arguments="get-token --login azurecli --server-id 6dae42f8-4368-4678-94ff-3960e28e3630",
            otherwise="the API server accepts no such token",
        ),
        people=("11111111-aaaa-4bbb-8ccc-000000000001",),
        registry_name=RegistryName(
            written=REGISTRY,
            example="/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.ContainerRegistry/registries/<name>",
        ),
        quotas=quotas,
        quota_page="https://portal.azure.com/#view/Microsoft_Azure_Capacity/QuotaMenuBlade",
    ),
    machines=Machines(
        cloud="aks",
        # 2 vCPUs with 16 GiB: the cheapest with the memory that system pods need (components/settings/check.py).
        default_admin="Standard_E2as_v5",
        default_cpu="Standard_D4s_v5",
        one_type=frozenset({"managed"}),
        # As many as on EKS: node auto-provisioning itself knows no limit.
        mixed_types=5,
    ),
    prices=Prices(
        cloud="aks",
        reference_region="westus2",
        control_plane=_FEES["control plane"],
        nat=nat_price,
        volume=_FEES["volume"],
        fees={
            "kubernetes.channel": _FEES["long-term support"],
            "workloads.registry": _FEES["registry"],
            # The private endpoint of the share.
            "workloads.sharedVolume": _FEES["private endpoint"],
            # The control plane's private endpoint and the zone of its name, which AKS makes among the nodes' resources:
            # https://learn.microsoft.com/azure/aks/private-clusters
            "network.privateEndpoint": Price(
                usd=_FEES["private endpoint"].usd + _FEES["dns zone"].usd,
                dated=_FEES["dns zone"].dated,
                source=f"{_FEES['private endpoint'].source}; {_FEES['dns zone'].source}",
            ),
            # The load balancer with an address that AKS makes where the subnet has no way out, which only Azure knows.
            "network.existing": nat_price(0, 2),
        },
        disk_sizes=tuple(32 << step for step in range(11)),
    ),
    nodes=CloudNodes(
        cloud="aks",
        images=("ubuntu", "azurelinux"),
        allocatable=allocatable,
        expected={"node-auto-provisioning": provisioned},
        disk_mib=disk_mib,
        # Azure CNI Overlay gives each node a /24: https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
        pod_addresses=256,
        system_pods=system_pods("aks", "node", "cluster"),
        group_name=pool_name,
        # Azure tells 30 s ahead (https://learn.microsoft.com/azure/virtual-machines/spot-vms), and AKS drains the node
        # then (https://learn.microsoft.com/azure/aks/node-auto-drain), which takes some of them: 5 is a guess.
        spot_notice_seconds=25,
    ),
    labels=Labels(
        cloud="aks",
        tags=_TAGS,
        # By it Azure's webhook knows the pods that it gives a token: https://learn.microsoft.com/azure/aks/workload-identity-overview
        account={"azure.workload.identity/use": "true"},
        # https://learn.microsoft.com/azure/aks/spot-node-pool
        spot_taints=(Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule"),),
        skypilot=frozenset({"managed", "node-auto-provisioning"}),
    ),
    choices=Choices(
        cloud="aks",
        autoscalers=("managed", "node-auto-provisioning"),
        channels=("rapid", "regular", "stable", "extended"),
        joins_clusters=("managed", "node-auto-provisioning"),
        unsupported_capacity={
            "capacity-block": "Azure reserves machines without an end: write reserved",
            "flex-start": "Azure keeps no queue for machines: write spot, or reserved",
        },
        # 10 is AKS's own default: https://learn.microsoft.com/azure/aks/cluster-autoscaler
        unneeded_minutes={"optimize-utilization": 5, "balanced": 10},
        # Azure's own ignores NetworkPolicies: https://learn.microsoft.com/azure/aks/azure-cni-powered-by-cilium
        dataplanes=("azure", "cilium"),
        default_ranges={"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"},
        # The network's own, the gateway's, two of Azure's DNS and the broadcast:
        # https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq
        reserved_addresses=5,
        existing_network="/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/virtualNetworks/<name>",
        # Of a cluster. Pool names, 11 characters in Azure, are shortened where they are sent (components/clouds/aks).
        # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerservice
        max_name_length=63,
        # Of a premium share: https://learn.microsoft.com/azure/storage/files/storage-files-scale-targets
        volume_gib=(100, 102400),
        raw=raw_inputs(
            "aks",
            cluster="azure-native:containerservice:ManagedCluster",
            pool="azure-native:containerservice:AgentPool",
            **{"node-auto-provisioning": "karpenter.azure.com/v1beta1:AKSNodeClass"},
        ),
    ),
    # https://learn.microsoft.com/azure/azure-government/ and https://learn.microsoft.com/azure/china/
    separate_regions=("usgov", "usdod", "china"),
    # https://learn.microsoft.com/azure/storage/common/storage-ref-azcopy-copy
    copy_command="azcopy login && azcopy copy {url} . --recursive",
    # Not a zone of Azure's: nodes whose pool names none. Their label says 0.
    outside="-0",
)
