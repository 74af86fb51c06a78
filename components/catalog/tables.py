# ruff: noqa: D102 - CloudCatalog says what each method is for
"""The part of a cloud's catalogue that comes straight from its tables, the same on every cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from components.catalog.model import Accelerator, Machine, Price, Resources, SystemPod, WithdrawnGpu
from policies.rules.model import Taint


@dataclass(frozen=True)
class TableCatalog:
    """``CloudCatalog`` over five modules of a cloud's package; the cloud's own class adds what is in no table.

    Its defaults are those of a cloud whose pools have one machine type and whose autoscaler is its own.
    """

    gpus: ModuleType
    machines: ModuleType
    nodes: ModuleType
    prices: ModuleType
    zones: ModuleType

    def accelerators(self) -> Mapping[str, Accelerator]:
        return self.gpus.ACCELERATORS

    def withdrawn_gpus(self) -> Mapping[str, WithdrawnGpu]:
        return self.gpus.WITHDRAWN

    def regions(self) -> Mapping[str, tuple[str, ...]]:
        return self.zones.REGIONS

    def gpu_zones(self, gpu: str) -> tuple[str, ...] | None:
        return self.zones.gpu_zones(gpu)

    def machine(self, type: str) -> Machine | None:
        return self.machines.machine(type)

    def machine_types(self) -> Sequence[str]:
        return self.machines.machine_types()

    def machines_for(self, gpu: str, count: int) -> tuple[Machine, ...]:
        return self.machines.machines_for(gpu, count)

    def with_gpus(self, type: str, gpu: str, count: int) -> Machine | None:
        return self.machines.with_gpus(type, gpu, count)

    def gpu_counts(self, gpu: str) -> tuple[int, ...]:
        return self.machines.gpu_counts(gpu)

    def machine_price(self, region: str, machine: Machine, *, spot: bool) -> Price | None:
        return self.prices.machine_price(region, machine, spot=spot)

    def disk_price(self, region: str, gib: int) -> Price | None:
        return self.prices.disk_price(region, gib)

    def control_plane_price(self) -> Price:
        prices = self.prices
        return Price(usd=prices.CONTROL_PLANE_USD, dated=prices.CONTROL_PLANE_DATED, source=prices.CONTROL_PLANE_SOURCE)

    def nat_price(self, nodes: int, *, gateways: int = 1) -> Price:
        return self.prices.nat_price(gateways)

    def allocatable(self, machine: Machine) -> Resources:
        return self.nodes.allocatable(machine)

    def system_pods(self) -> tuple[SystemPod, ...]:
        return self.nodes.SYSTEM_PODS

    def spot_machines(self, gpu: str, count: int) -> tuple[Machine, ...]:
        return self.machines_for(gpu, count)[:1]

    def mixes_machines(self) -> bool:
        return False

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

    def kubernetes_versions(self) -> Mapping[str, str]:
        return {}
