# ruff: noqa: D102 - CloudCatalog says what each method is for
"""AKS's side of the catalogue: its tables behind the words that all clouds share."""

from __future__ import annotations

from collections.abc import Mapping

from components.catalog.aks import gpus, machines, nodes, prices, zones
from components.catalog.tables import TableCatalog
from policies.rules.model import Taint


class AksCatalog(TableCatalog):
    """See ``CloudCatalog``.

    A pool is one scale set of one size (https://learn.microsoft.com/azure/aks/create-node-pools), which takes a node in
    whichever of its zones has one: scarce GPUs need that more than even zones. AKS itself puts
    ``kubernetes.azure.com/accelerator`` on GPU nodes: https://learn.microsoft.com/azure/aks/use-labels
    """

    def __init__(self) -> None:
        super().__init__(gpus=gpus, machines=machines, nodes=nodes, prices=prices, zones=zones)

    def images(self) -> tuple[str, ...]:
        return ("ubuntu", "azurelinux")

    def spot_taints(self) -> tuple[Taint, ...]:
        # https://learn.microsoft.com/azure/aks/spot-node-pool
        return (Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule"),)

    def default_ranges(self) -> Mapping[str, str | None]:
        return {"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"}

    def default_cpu_machine(self) -> str:
        return "Standard_D4s_v5"

    def default_admin_machine(self) -> str:
        # 2 vCPUs with 16 GiB: the cheapest with the memory that system pods need (components/settings/admin_pool.py).
        return "Standard_E2as_v5"

    def reference_region(self) -> str:
        return "westus2"

    def account_key(self) -> str:
        return "azure-native:subscriptionId"

    def account_example(self) -> str:
        return "00000000-0000-0000-0000-000000000000"

    def max_name_length(self) -> int:
        # Of a cluster. Pool names, 11 characters in Azure, are shortened where they are sent (components/clouds/aks).
        # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerservice
        return 63

    def pod_addresses_per_node(self) -> int:
        # Azure CNI Overlay gives each node a /24: https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
        return 256

    def kept_addresses(self) -> int:
        # The network's own, the gateway's, two of Azure's DNS and the broadcast:
        # https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq
        return 5
