# ruff: noqa: D102 - CloudCatalog says what each method is for
"""GKE's side of the catalogue: its tables behind the words that all clouds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.catalog.gke import gpus, machines, nodes, prices, zones
from components.catalog.model import Accelerator, Machine, Price, Resources, SystemPod, WithdrawnGpu
from policies.rules.model import Taint


class GkeCatalog:
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
        # One gateway serves all zones, and is billed by the nodes behind it.
        return prices.nat_price(nodes)

    def allocatable(self, machine: Machine) -> Resources:
        return nodes.allocatable(machine)

    def system_pods(self) -> tuple[SystemPod, ...]:
        return nodes.SYSTEM_PODS

    def spot_machines(self, gpu: str, count: int) -> tuple[Machine, ...]:
        return machines.machines_for(gpu, count)[:1]

    def mixes_machines(self) -> bool:
        return False

    def images(self) -> tuple[str, ...]:
        return ("cos", "ubuntu")

    def autoscalers(self) -> tuple[str, ...]:
        return ("managed",)

    def addons(self) -> tuple[str, ...]:
        return ()

    def gpu_labels(self, gpu: str) -> Mapping[str, str]:
        return {}

    def spot_taints(self) -> tuple[Taint, ...]:
        return ()

    def pool_per_zone(self, *, gpu: bool, spot: bool, autoscaler: str) -> bool:
        return False

    def default_ranges(self) -> Mapping[str, str | None]:
        return {"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"}

    def kubernetes_versions(self) -> Mapping[str, str]:
        return {}

    def default_cpu_machine(self) -> str:
        return "e2-standard-4"

    def default_admin_machine(self) -> str:
        return "e2-custom-2-10240"

    def reference_region(self) -> str:
        return "us-central1"

    def account_key(self) -> str:
        return "gcp:project"

    def account_example(self) -> str:
        return "my-project"

    def max_name_length(self) -> int:
        # GKE's own error says so: https://github.com/pulumi/pulumi-gcp/issues/1510
        return 40

    def pod_addresses_per_node(self) -> int:
        # A /24 at the default of 110 pods per node: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr
        return 256

    def kept_addresses(self) -> int:
        # Network, gateway, second-to-last and broadcast:
        # https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
        return 4
