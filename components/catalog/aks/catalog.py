# ruff: noqa: D102 - CloudCatalog says what each method is for
"""AKS's side of the catalogue: its tables behind the words that all clouds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.catalog.aks import gpus, machines, nodes, prices, zones
from components.catalog.model import Accelerator, Machine, Price, Resources, SystemPod, WithdrawnGpu
from policies.rules.model import Taint


class AksCatalog:
    """See ``CloudCatalog``."""

    def accelerators(self) -> Mapping[str, Accelerator]:
        return gpus.ACCELERATORS

    def withdrawn_gpus(self) -> Mapping[str, WithdrawnGpu]:
        return gpus.WITHDRAWN

    def regions(self) -> Mapping[str, tuple[str, ...]]:
        return zones.REGIONS

    def gpu_zones(self, gpu: str) -> tuple[str, ...] | None:
        return zones.gpu_zones(gpu)

    def machine(self, type: str) -> Machine | None:
        return machines.machine(type)

    def machine_types(self) -> Sequence[str]:
        return machines.machine_types()

    def machines_for(self, gpu: str, count: int) -> tuple[Machine, ...]:
        return machines.machines_for(gpu, count)

    def with_gpus(self, type: str, gpu: str, count: int) -> Machine | None:
        return machines.with_gpus(type, gpu, count)

    def gpu_counts(self, gpu: str) -> tuple[int, ...]:
        return machines.gpu_counts(gpu)

    def machine_price(self, region: str, machine: Machine, *, spot: bool) -> Price | None:
        return prices.machine_price(region, machine, spot=spot)

    def disk_price(self, region: str, gib: int) -> Price | None:
        return prices.disk_price(region, gib)

    def control_plane_price(self) -> Price:
        return Price(usd=prices.CONTROL_PLANE_USD, dated=prices.FEES_DATED, source=prices.CONTROL_PLANE_SOURCE)

    def nat_price(self, nodes: int, *, gateways: int = 1) -> Price:
        return prices.nat_price(gateways)

    def allocatable(self, machine: Machine) -> Resources:
        return nodes.allocatable(machine)

    def system_pods(self) -> tuple[SystemPod, ...]:
        return nodes.SYSTEM_PODS

    def spot_machines(self, gpu: str, count: int) -> tuple[Machine, ...]:
        # A pool is one scale set of one size: https://learn.microsoft.com/azure/aks/create-node-pools
        return machines.machines_for(gpu, count)[:1]

    def mixes_machines(self) -> bool:
        return False

    def images(self) -> tuple[str, ...]:
        return ("ubuntu", "azurelinux")

    def autoscalers(self) -> tuple[str, ...]:
        return ("managed",)

    def addons(self) -> tuple[str, ...]:
        return ()

    def gpu_labels(self, gpu: str) -> Mapping[str, str]:
        # AKS itself puts kubernetes.azure.com/accelerator on GPU nodes: https://learn.microsoft.com/azure/aks/use-labels
        return {}

    def spot_taints(self) -> tuple[Taint, ...]:
        # https://learn.microsoft.com/azure/aks/spot-node-pool
        return (Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule"),)

    def pool_per_zone(self, *, gpu: bool, spot: bool, autoscaler: str) -> bool:
        # One scale set takes a node in whichever of its zones has one, which scarce GPUs need more than even zones do.
        # A pool for each zone helps pods with a zone's volumes and an even balance, neither of which is asked for here:
        # https://learn.microsoft.com/azure/aks/cluster-autoscaler-overview
        return False

    def default_ranges(self) -> Mapping[str, str | None]:
        return {"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"}

    def kubernetes_versions(self) -> Mapping[str, str]:
        return {}

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
