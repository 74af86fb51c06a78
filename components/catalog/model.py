"""The words of the catalogue: GPUs, machines and prices, on any cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from policies.rules.model import Taint

Provisioning = Literal["any", "spot-only", "spot-or-reservation"]


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU under one name on every cloud. ``memory_gib`` is one GPU's own memory."""

    name: str
    memory_gib: int


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """What a cloud calls a GPU: in node pools (``name``) and in regional quotas (``quota``, ``None`` if not by GPU)."""

    gpu: str
    name: str
    quota: str | None = None


@dataclass(frozen=True, kw_only=True)
class WithdrawnGpu:
    """A GPU that a cloud no longer gives out, and what to use in its place."""

    name: str
    reason: str
    successor: str


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine type, before the node's own reservations.

    ``gpus`` of type ``gpu`` are part of the machine (0 and ``None``: none).
    ``shared_core`` machines get a fraction of a core. ``provisioning`` says how the cloud gives the machine out.
    """

    type: str
    family: str
    vcpus: int
    memory_gib: float
    gpu: str | None = None
    gpus: int = 0
    shared_core: bool = False
    provisioning: Provisioning = "any"

    @property
    def memory_per_vcpu_gib(self) -> float:
        """GiB of memory for each vCPU."""
        return self.memory_gib / self.vcpus


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars for one hour, list price without discounts and taxes, read on ``dated`` (ISO date) at ``source``."""

    usd: float
    dated: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Resources:
    """CPU in thousandths of a core and memory in MiB, as pods request them."""

    milli_cpu: int
    memory_mib: int


@dataclass(frozen=True, kw_only=True)
class SystemPod:
    """A pod that the cloud runs in every cluster: one on each node, or ``per_node=False`` one in the whole cluster."""

    name: str
    request: Resources
    per_node: bool


class CloudCatalog(Protocol):
    """What the catalogue knows about one cloud. ``None`` means not known, never a guess."""

    def accelerators(self) -> Mapping[str, Accelerator]:
        """GPU name → the cloud's accelerator."""
        ...

    def withdrawn_gpus(self) -> Mapping[str, WithdrawnGpu]:
        """GPUs that existed once, by the names people still write."""
        ...

    def regions(self) -> Mapping[str, tuple[str, ...]]:
        """Region → its zones."""
        ...

    def gpu_zones(self, gpu: str) -> tuple[str, ...] | None:
        """Zones known to have the GPU."""
        ...

    def machine(self, type: str) -> Machine | None:
        """A machine type by name, custom types included."""
        ...

    def machine_types(self) -> Sequence[str]:
        """Every machine type that has a fixed name."""
        ...

    def machines_for(self, gpu: str, count: int) -> tuple[Machine, ...]:
        """Machines with exactly ``count`` GPUs, the one to derive first."""
        ...

    def with_gpus(self, type: str, gpu: str, count: int) -> Machine | None:
        """The named machine with ``count`` GPUs of that type, or ``None`` if they don't go together."""
        ...

    def gpu_counts(self, gpu: str) -> tuple[int, ...]:
        """GPUs per machine that exist, ascending."""
        ...

    def machine_price(self, region: str, machine: Machine, *, spot: bool) -> Price | None:
        """The machine with its GPUs and its local SSD, without a boot disk."""
        ...

    def disk_price(self, region: str, gib: int) -> Price | None:
        """A node's boot disk."""
        ...

    def control_plane_price(self) -> Price | None:
        """One cluster's management fee."""
        ...

    def nat_price(self, nodes: int, *, gateways: int = 1) -> Price | None:
        """The ``gateways`` of ``nodes`` private nodes, without traffic."""
        ...

    def allocatable(self, machine: Machine) -> Resources:
        """What a node of this machine leaves for pods."""
        ...

    def system_pods(self) -> tuple[SystemPod, ...]:
        """The cloud's own pods in a new cluster."""
        ...

    def spot_machines(self, gpu: str, count: int) -> tuple[Machine, ...]:
        """The types that a spot pool mixes unless the stack file names some, the smallest first: what an autoscaler
        plans with. One where the cloud's pools have one type."""
        ...

    def mixes_machines(self) -> bool:
        """Whether a spot pool may consist of several machine types."""
        ...

    def images(self) -> tuple[str, ...]:
        """Operating systems of GPU nodes, the default first."""
        ...

    def autoscalers(self) -> tuple[str, ...]:
        """Who can decide the size of pools, the default first."""
        ...

    def addons(self) -> tuple[str, ...]:
        """Parts of the cloud that a stack file may ask for by name."""
        ...

    def gpu_labels(self, gpu: str) -> Mapping[str, str]:
        """Labels that the cloud's autoscaler needs on GPU nodes and that the pool itself must declare."""
        ...

    def spot_taints(self) -> tuple[Taint, ...]:
        """Taints that the cloud puts on every spot node by itself."""
        ...

    def pool_per_zone(self, *, gpu: bool, spot: bool, autoscaler: str) -> bool:
        """Whether such a pool has to be one pool for each zone."""
        ...

    def default_ranges(self) -> Mapping[str, str | None]:
        """``node_cidr``, ``pod_cidr`` and ``service_cidr`` unless the stack file gives them.

        A ``pod_cidr`` of ``None``: pods have addresses of the nodes' range.
        """
        ...

    def kubernetes_versions(self) -> Mapping[str, str]:
        """Release channel → the minor version (``1.34``) that it means; empty where the cloud's own channels decide."""
        ...

    def default_cpu_machine(self) -> str:
        """The machine type of a CPU pool unless the stack file names one: 4 vCPUs with 16 GiB."""
        ...

    def default_admin_machine(self) -> str:
        """The machine type of the admin pool unless the stack file names one."""
        ...

    def reference_region(self) -> str:
        """A region whose prices are representative, for tables."""
        ...

    def account_key(self) -> str:
        """The provider's own configuration key that names the account (``gcp:project``)."""
        ...

    def account_example(self) -> str:
        """A value of that key, for messages."""
        ...

    def max_name_length(self) -> int:
        """Characters that the name of a cluster or a pool may have."""
        ...

    def pod_addresses_per_node(self) -> int:
        """Addresses that each node takes out of the pod range (the nodes' range where pods have none)."""
        ...

    def kept_addresses(self) -> int:
        """Addresses of a subnetwork that the cloud keeps for itself."""
        ...
