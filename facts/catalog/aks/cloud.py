"""Azure Kubernetes Service in the catalogue. Where its tables in ``data`` come from:

- ``gpus.csv``: the names that Azure uses in its sizes; a size's name says which GPU it has, its series' page below
  https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ says how many (sources of 2024 to 2026). The
  PCIe card of NCads_H100_v5 and the SXM module of ND_H100_v5 differ in memory, so they differ in name. Azure counts
  quota by vCPUs of a family of sizes, not by GPU: https://learn.microsoft.com/azure/virtual-machines/quotas.
  Partitions (MIG) are of A100, H100 and H200: https://learn.microsoft.com/azure/aks/gpu-multi-instance.
- ``machines.csv``, sizes with GPUs: those pages and the list of AKS sizes that is made from Azure's API,
  https://aspire.dev/reference/api/csharp/aspire.hosting.azure.kubernetes/ (2026). Where they differ (ND96amsr_A100_v4:
  1900 and 1800 GiB) the API's figure, as others list it, stands. Which of them AKS installs a driver on,
  ``supported-gpus.yaml`` of https://github.com/Azure/karpenter-provider-azure (2026-07). The others: the same list of
  AKS sizes. Burstable sizes (B) lend their vCPUs, and AKS discourages them for system pods.
  The fractions of an A10 (NV6ads to NV18ads_A10_v5: a sixth to a half) are left out: Kubernetes would count each as one
  whole GPU. So are the sizes with a quarter or a half of an RTX PRO 6000, those that were its preview (NC128, NC256,
  NC320: https://github.com/Azure/karpenter-provider-azure/pull/1772), the GB200 and GB300 sizes, whose CPUs are Arm,
  sizes that differ only in their network (ND96is_H100_v5), and E96, which has not its family's ratio.
- ``zones.csv``, regions: https://learn.microsoft.com/azure/reliability/regions-list (its source of 2026-08). Those
  without zones, of which the restricted ones are left out, have ``<region>-0`` alone; their prices and GPUs are not
  known. A zone is written as the node label ``topology.kubernetes.io/zone`` has it, ``<region>-<number>``; the API
  itself wants the number alone (https://learn.microsoft.com/azure/aks/availability-zones).
- ``zones.csv``, GPUs: which zones have a size depends on the subscription (``az vm list-skus --zone``), and Azure
  publishes no list. So all zones of the regions count where Azure lists a price for one of the GPU's sizes: an upper
  bound, and a test holds it.
- ``machine_prices.csv``: Linux machines with GPUs and burstable ones; ``family_prices.csv``: one vCPU with its memory
  (within a family prices are in proportion to vCPUs). Azure's retail prices of 2026-06-18. Spot prices are not in them:
  Azure changes them by size and region, and no dated list was found that covers both. A spot node never costs more than
  the same node on demand (https://learn.microsoft.com/azure/aks/spot-node-pool). The source mixes Windows prices, 0.046
  a vCPU higher, into families of AMD machines. So a family's price is the lowest that its sizes agree on, and a family
  is left out in regions where it does not fit its Intel sibling's. The RTX PRO 6000 machines with more memory
  (NC144ds, NC288ds) cost the same there as those with less, and others note more (6.38 instead of 5.50 in eastus, in
  October 2026): here they have the dearer price, that of NC132ds and NC264ds in the same source.
- ``versions.csv``: https://learn.microsoft.com/azure/aks/supported-kubernetes-versions (read 2026-08-21), whose months
  count to their last day. The extended support is long-term support, in the channel ``extended``:
  https://learn.microsoft.com/azure/aks/long-term-support.
- ``disk_prices.csv``: premium SSD. Azure bills the next larger size:
  https://learn.microsoft.com/azure/virtual-machines/disks-understand-billing
"""

from __future__ import annotations

import re
from typing import Final

from facts.catalog.aks.changes import CHANGES
from facts.catalog.aks.nodes import SYSTEM_PODS, allocatable
from facts.catalog.aks.quotas import quotas
from facts.catalog.aks.raw import RAW
from facts.catalog.cloud import CloudCatalog, CredentialPlugin
from facts.catalog.machines import Machines
from facts.catalog.model import Price, WithdrawnGpu
from facts.catalog.prices import Prices, Source
from facts.catalog.tags import RegistryName, TagGrammar
from facts.concepts.kubernetes import Taint

DRIVER_ON_UBUNTU_ONLY: Final = frozenset({"nvidia-rtx-pro-6000"})
"""GPUs for which AKS has a driver on Ubuntu alone: ``supported-gpus.yaml`` of
https://github.com/Azure/karpenter-provider-azure (2026-08). The others of the catalogue work on Azure Linux, too."""

REGISTRY: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.ContainerRegistry"
    r"/registries/(?P<registry>[a-z0-9]{5,50})",
    re.IGNORECASE,
)
"""The resource id of a registry:
https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerregistry"""

_FEES_DATED: Final = "2026-10-03"
_CONTROL_PLANE: Final = Source(url="https://azure.microsoft.com/pricing/details/kubernetes-service/", dated=_FEES_DATED)
_NAT: Final = Source(url="https://azure.microsoft.com/pricing/details/azure-nat-gateway/", dated=_FEES_DATED)
_LOAD_BALANCER: Final = Source(url="https://azure.microsoft.com/pricing/details/load-balancer/", dated=_FEES_DATED)
_REGISTRY: Final = Source(
    url="https://learn.microsoft.com/azure/container-registry/container-registry-skus", dated=_FEES_DATED
)
_ENDPOINT: Final = Source(url="https://azure.microsoft.com/pricing/details/private-link/", dated=_FEES_DATED)
_DNS_ZONE: Final = Source(url="https://azure.microsoft.com/pricing/details/dns/", dated=_FEES_DATED)
# A GiB of a premium share, as https://github.com/jenkins-infra/azure/pull/628 read it there in 2024, with copies in
# several zones: an upper bound for ours, which is in one.
_VOLUME: Final = Source(url="https://azure.microsoft.com/pricing/details/storage/files/", dated="2024-02-23")
_VOLUME_USD_PER_MONTH: Final = 0.20
_REGISTRY_USD_PER_DAY: Final = 0.167
_ENDPOINT_USD: Final = 0.01
_DNS_ZONE_USD_PER_MONTH: Final = 0.50
_NAT_GATEWAY_USD: Final = 0.045
_LOAD_BALANCER_USD: Final = 0.025
_NAT_ADDRESS_USD: Final = 0.005

_SERIES: Final = "https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated"
_WITHDRAWN: Final = (
    WithdrawnGpu(
        name="nvidia-v100",
        reason=f"Azure retired the NCv3 series on 30 September 2025 ({_SERIES}/ncv3-series)",
        successor="nvidia-a100-80gb",
    ),
    WithdrawnGpu(
        name="nvidia-m60",
        reason=f"Azure retired the NVv3 series on 30 September 2026 ({_SERIES}/nvv3-series-retirement)",
        successor="nvidia-a10",
    ),
    WithdrawnGpu(
        name="nvidia-k80",
        reason="Azure retired the NC series (https://learn.microsoft.com/azure/virtual-machines/nc-series-retirement)",
        successor="nvidia-t4",
    ),
    WithdrawnGpu(
        name="nvidia-p100",
        reason="Azure retired the NCv2 series "
        "(https://learn.microsoft.com/azure/virtual-machines/ncv2-series-retirement)",
        successor="nvidia-t4",
    ),
)


def nat_price(nodes: int, gateways: int) -> Price:
    """The way out with one address, without traffic: a NAT gateway, or for several zones the one load balancer.

    The number of ``nodes`` does not matter.
    """
    if gateways > 1:
        return _LOAD_BALANCER.price(_LOAD_BALANCER_USD + _NAT_ADDRESS_USD)
    return _NAT.price(_NAT_GATEWAY_USD + _NAT_ADDRESS_USD)


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
    account_key="azure-native:subscriptionId",
    account_example="00000000-0000-0000-0000-000000000000",
    # A token for any other application is refused: https://learn.microsoft.com/azure/aks/kubelogin-authentication
    credential_plugin=CredentialPlugin(
        command="kubelogin",
        arguments="get-token --login azurecli --server-id 6dae42f8-4368-4678-94ff-3960e28e3630",
        otherwise="the API server accepts no such token",
    ),
    images=("ubuntu", "azurelinux"),
    autoscalers=("managed",),
    channels=("rapid", "regular", "stable", "extended"),
    unsupported_capacity={
        "capacity-block": "Azure reserves machines without an end: write reserved",
        "flex-start": "Azure keeps no queue for machines: write spot, or reserved",
    },
    people=("11111111-aaaa-4bbb-8ccc-000000000001",),
    # 2 vCPUs with 16 GiB: the cheapest with the memory that system pods need (components/settings/check.py).
    default_admin_machine="Standard_E2as_v5",
    default_cpu_machine="Standard_D4s_v5",
    default_ranges={"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"},
    existing_network="/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/virtualNetworks/<name>",
    # Of a cluster. Pool names, 11 characters in Azure, are shortened where they are sent (components/clouds/aks).
    # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerservice
    tags=_TAGS,
    # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
    raw=RAW,
    registry_name=RegistryName(
        written=REGISTRY,
        example="/subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.ContainerRegistry/registries/<name>",
    ),
    max_name_length=63,
    # Azure CNI Overlay gives each node a /24: https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
    pod_addresses_per_node=256,
    # The network's own, the gateway's, two of Azure's DNS and the broadcast:
    # https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq
    reserved_addresses=5,
    reference_region="westus2",
    withdrawn_gpus={gpu.name: gpu for gpu in _WITHDRAWN},
    machines=Machines(cloud="aks"),
    prices=Prices(
        cloud="aks",
        machines=Source(
            url="https://prices.azure.com/api/retail/prices (as of "
            "https://github.com/Azure/karpenter-provider-azure/commit/2b431da153a6a92b705c18046512c60b1631b682)",
            dated="2026-06-18",
        ),
        disks=Source(
            url="https://azure.microsoft.com/pricing/details/managed-disks/ (retail prices as of "
            "https://github.com/xbill9/zombiescan-azure/commit/e0740cda403f9ec73a381483ca0135771023800a)",
            dated="2026-09-23",
        ),
        # The Standard tier, which every cluster of this program has (components/clouds/aks/cluster.py).
        control_plane=_CONTROL_PLANE.price(0.10),
        nat=nat_price,
        volume=_VOLUME.price(_VOLUME_USD_PER_MONTH / 730),
        fees={
            # The Premium tier, in which long-term support is, costs 0.60.
            "kubernetes.channel": _CONTROL_PLANE.price(0.50),
            # A registry of the Basic tier.
            "workloads.registry": _REGISTRY.price(_REGISTRY_USD_PER_DAY / 24),
            # The private endpoint of the share.
            "workloads.sharedVolume": _ENDPOINT.price(_ENDPOINT_USD),
            # The control plane's private endpoint and the zone of its name, which AKS makes among the nodes' resources:
            # https://learn.microsoft.com/azure/aks/private-clusters
            "network.privateEndpoint": Price(
                usd=_ENDPOINT_USD + _DNS_ZONE_USD_PER_MONTH / 730,
                dated=_FEES_DATED,
                source=f"{_ENDPOINT.url}; {_DNS_ZONE.url}",
            ),
            # The load balancer with an address that AKS makes where the subnet has no way out, which only Azure knows.
            "network.existing": nat_price(0, 2),
        },
        disk_sizes=tuple(32 << step for step in range(11)),
    ),
    allocatable=allocatable,
    changes={"managed": CHANGES},
    system_pods=SYSTEM_PODS,
    # 10 is AKS's own default: https://learn.microsoft.com/azure/aks/cluster-autoscaler
    unneeded_minutes={"optimize-utilization": 5, "balanced": 10},
    # Azure's own ignores NetworkPolicies: https://learn.microsoft.com/azure/aks/azure-cni-powered-by-cilium
    dataplanes=("azure", "cilium"),
    # Not a zone of Azure's: nodes whose pool names none. Their label says 0.
    outside="-0",
    # https://learn.microsoft.com/azure/aks/spot-node-pool
    # Azure tells 30 s ahead (https://learn.microsoft.com/azure/virtual-machines/spot-vms), and AKS drains the node then
    # (https://learn.microsoft.com/azure/aks/node-auto-drain), which takes some of them: 5 is a guess.
    spot_notice_seconds=25,
    # Of a premium share: https://learn.microsoft.com/azure/storage/files/storage-files-scale-targets
    volume_gib=(100, 102400),
    # By it Azure's webhook knows the pods that it gives a token: https://learn.microsoft.com/azure/aks/workload-identity-overview
    account_labels={"azure.workload.identity/use": "true"},
    spot_taints=(Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule"),),
    skypilot_label=frozenset({"managed"}),
    quotas=quotas,
    quota_page="https://portal.azure.com/#view/Microsoft_Azure_Capacity/QuotaMenuBlade",
)
