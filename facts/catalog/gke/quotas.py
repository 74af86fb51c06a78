"""What a stack needs of a Google Cloud project's quotas.

Names: the enum ``Quota.metric`` of the Compute Engine API, and for newer families the metrics ``cpus_per_vm_family``,
``gpus_per_gpu_family`` and ``local_ssd_total_storage_per_vm_family`` with their dimension
(https://cloud.google.com/compute/resource-usage). Balanced persistent disks count as SSD:
https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/1795.

Spot and flex-start machines count against the preemptible quotas of a project that has some, else against the standard
ones (https://docs.cloud.google.com/compute/docs/instances/provisioning-models). General knowledge: which families share
``CPUS``, what the preemptible quotas of TPU7x and of GPUs newer than the H100 are called, and that the totals of all
regions count spot too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from facts.catalog import tables
from facts.catalog.gke.machines import LOCAL_SSD_GB, GkeMachines, boot_disk
from facts.catalog.gke.nodes import surge_nodes
from facts.catalog.limits import EVERYWHERE, Limit, at_maximum
from facts.catalog.model import Quota
from facts.concepts.kubernetes import GPU_RESOURCE, resource_of
from facts.concepts.pool import Pool

_CPUS_OF_FAMILY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("e2", "f1", "g1", "n1"), "CPUS"),
    **{family: f"{family.upper()}_CPUS" for family in ("a2", "c2", "c2d", "c3", "n2", "n2d", "t2a", "t2d")},
}
_DISKS: Final[Mapping[str, str]] = {"pd-balanced": "SSD_TOTAL_GB", "hyperdisk-balanced": "HDB_TOTAL_GB"}


def quotas(region: str, pools: Sequence[Pool], gateways: int) -> tuple[Quota, ...]:
    """All of them, with every pool at its maximum while it is upgraded.

    There is at most one gateway. It has one address at first, and gets more of Google when it runs out of ports:
    https://docs.cloud.google.com/nat/docs/ports-and-addresses.
    """
    addresses = [(Limit("STATIC_ADDRESSES", region, "addresses", at_least=True), 1)] if gateways else []
    return at_maximum(pools, lambda pool: _per_node(region, pool), *addresses, beyond=surge_nodes)


def _per_node(region: str, pool: Pool) -> Iterator[tuple[Limit, int]]:
    """What one node of the pool counts for."""
    machine = GkeMachines(cloud="gke").get(pool.nodes.machine_type)
    if machine is None:
        raise AssertionError(f"{pool.nodes.machine_type} was accepted")
    preemptible = pool.scaling.capacity_type in ("spot", "flex-start")
    if pool.role == "gpu":
        if pool.gpus.of_nvidia:
            yield Limit("GPUS_ALL_REGIONS", EVERYWHERE, "GPUs"), pool.gpus.per_node
        # A pool with a reservation needs no quota of TPUs: https://cloud.google.com/kubernetes-engine/docs/how-to/tpus
        if pool.gpus.of_nvidia or pool.scaling.reservation is None:
            yield _gpus(region, pool.gpus.type, preemptible), pool.gpus.per_node
    # For TPUs Google's page names no quota of CPUs.
    if pool.gpus.of_nvidia:
        cpus = _CPUS_OF_FAMILY.get(machine.family) or f"CPUS_PER_VM_FAMILY ({machine.family.upper()})"
        yield Limit("CPUS_ALL_REGIONS", EVERYWHERE, "vCPUs"), machine.vcpus
        cpu_limit = Limit("PREEMPTIBLE_CPUS", region, "vCPUs", cpus) if preemptible else Limit(cpus, region, "vCPUs")
        yield cpu_limit, machine.vcpus
    yield Limit(_DISKS[boot_disk(machine.type)], region, "GB"), pool.nodes.disk_gb
    if machine.local_ssds:
        yield _local_ssd(region, machine.family, preemptible), machine.local_ssds * LOCAL_SSD_GB
    yield Limit("INSTANCES", region, "machines"), 1


def _gpus(region: str, gpu: str, preemptible: bool) -> Limit:
    row = tables.by_key("gke", "gpus", "gpu")[gpu,]
    own, family = row["quota"], row["quota_family"]
    if resource_of(gpu) != GPU_RESOURCE:
        # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus#quota
        standard, version = f"TPUS_PER_TPU_FAMILY ({family})", gpu.rpartition("-")[2].upper()
        return (
            Limit(f"PREEMPTIBLE_TPU_{version}", region, "GPUs", standard)
            if preemptible
            else Limit(standard, region, "GPUs")
        )
    standard = own or f"GPUS_PER_GPU_FAMILY ({family})"
    if not preemptible:
        return Limit(standard, region, "GPUs")
    return Limit(f"PREEMPTIBLE_{own or family + '_GPUS'}", region, "GPUs", standard)


def _local_ssd(region: str, family: str, preemptible: bool) -> Limit:
    standard = "LOCAL_SSD_TOTAL_GB" if family == "a2" else f"LOCAL_SSD_TOTAL_STORAGE_PER_VM_FAMILY ({family.upper()})"
    return Limit("PREEMPTIBLE_LOCAL_SSD_GB", region, "GB", standard) if preemptible else Limit(standard, region, "GB")
