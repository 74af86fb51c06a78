"""The words of the catalogue: GPUs, machines and prices, on any cloud."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from facts.concepts.pool import Arch

Provisioning = Literal["any", "spot-only", "spot-or-reservation"]


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU under one name on every cloud. ``memory_gib`` is one GPU's own memory, ``skypilot`` its name there."""

    name: str
    memory_gib: int
    skypilot: str


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """What a cloud calls a GPU.

    ``name`` is the one in node pools, ``quota`` that of a quota for this GPU alone, ``quota_family`` its name in a
    quota that all new GPUs share; both are ``None`` where the cloud counts something else. ``partitions`` maps a MIG
    compute slice (``1g``) to the cloud's name for a partition of that size; empty if the cloud cannot partition it.
    """

    gpu: str
    name: str
    quota: str | None = None
    quota_family: str | None = None
    partitions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What a stack with every pool at its maximum needs of one of the account's limits, called ``name`` by the cloud.

    ``place`` is the region that it holds in, or ``global``. ``needed`` counts ``unit`` (``GPUs``, ``vCPUs``, ``GB``,
    ``machines``, ``addresses``) of the ``pools``; without any it is the cluster's own. ``instead`` is what counts where
    the account has never been given this one: limits, with commas between them; empty if none. ``at_least``: under load
    it may be more.
    """

    name: str
    place: str
    needed: int
    unit: str
    pools: tuple[str, ...]
    instead: str = ""
    at_least: bool = False


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
    ``local_ssds`` is the number of local SSDs that come with it, and ``local_gb`` what they hold together (10^9 bytes),
    where the catalogue knows it.
    ``trusted_launch`` is whether it verifies what it boots, with a virtual TPM. ``rdma_devices`` is the number of
    network devices by which it reads the GPU memory of others of its type; of whole machines only. ``arch`` is that of
    its CPUs. ``blocks``: it is sold in capacity blocks.
    """

    type: str
    family: str
    vcpus: int
    memory_gib: float
    gpu: str | None = None
    gpus: int = 0
    shared_core: bool = False
    provisioning: Provisioning = "any"
    local_ssds: int = 0
    local_gb: int = 0
    trusted_launch: bool = True
    rdma_devices: int = 0
    arch: Arch = "amd64"
    blocks: bool = False

    @property
    def memory_per_vcpu_gib(self) -> float:
        """GiB of memory for each vCPU."""
        return self.memory_gib / self.vcpus


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars for one hour, list price without discounts and taxes, read on ``dated`` (ISO date) at ``source``.

    ``at_most``: an upper limit, because the price itself is not known there.
    """

    usd: float
    dated: str
    source: str
    at_most: bool = False


@dataclass(frozen=True, kw_only=True)
class Resources:
    """CPU in thousandths of a core and memory in MiB, as pods request them."""

    milli_cpu: int
    memory_mib: int


def tiered(amount: float, tiers: Iterable[tuple[float, float]]) -> float:
    """What is reserved of an amount, by the share of each successive part of it: ``tiers`` are (width, share)."""
    reserved = 0.0
    for width, share in tiers:
        part = min(amount, width)
        reserved += part * share
        amount -= part
    return reserved


@dataclass(frozen=True, kw_only=True)
class SystemPod:
    """A pod that the cloud runs in every cluster, or in those with an ``addon`` of a stack file.

    One on each node, of those with GPUs alone if ``gpu_node``; or, ``per_node=False``, a few in the whole cluster.
    ``uncertain_milli_cpu`` is the part of ``request`` that not every cluster was seen to have.
    """

    name: str
    request: Resources
    per_node: bool
    gpu_node: bool = False
    addon: str = ""
    uncertain_milli_cpu: int = 0

    @property
    def certain(self) -> SystemPod:
        """The pod with the part of its request that every cluster has."""
        cpu = self.request.milli_cpu - self.uncertain_milli_cpu
        return replace(self, request=replace(self.request, milli_cpu=cpu), uncertain_milli_cpu=0)


@dataclass(frozen=True, kw_only=True)
class Support:
    """How long a cloud supports a minor version of Kubernetes: from ``extended`` on at a higher price, and no longer
    than ``until`` (its last day)."""

    extended: date
    until: date

    def ended(self, day: date, *, extended: bool = False) -> bool:
        """Whether the standard support is over on that day or, ``extended``, all of it."""
        return day > self.until if extended else day >= self.extended
