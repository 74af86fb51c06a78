"""What a GKE node leaves for pods, and what GKE's own pods ask for.

Reservations: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, its tiers as kept in
https://github.com/hatemosphere/gke-node-allocatable-memory-calculator and others (read 2026-11-20). From 1.37 on GKE is
reported to reserve less memory where few pods fit on a node; the tiers are then an upper bound.

The requests of system pods are not published, and GKE changes them between versions. They are no smaller than what
users show of their nodes: fluentbit-gke, gke-metadata-server, kube-dns, konnectivity-agent and both autoscalers on GKE
1.29 in https://github.com/cryptnono/cryptnono/issues/34 (May 2024); l7-default-backend and the CPU of kube-proxy,
gke-metrics-agent, netd, pdcsi-node and collector in other public listings. The memory of those five is an estimate, and
so are node-local-dns, event-exporter-gke, metrics-server and gmp-operator. The CPU of anetd, of dcgm-exporter, of the
device plugin and of filestore-node is what a cluster with all of them shows (https://github.com/mubarak4you/my-app, of
2025); their memory is an estimate.
"""

from __future__ import annotations

from typing import Final

from facts.catalog.model import Machine, Resources, SystemPod
from facts.concepts.pool import Image

# CPU: shares of successive cores. Memory: shares of successive GiB.
_CPU_TIERS: Final = ((1, 0.06), (1, 0.01), (2, 0.005), (float("inf"), 0.0025))
_MEMORY_TIERS: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (float("inf"), 0.02))
_SHARED_CORE_RESERVED_MILLI: Final = 1060
_SMALL_MACHINE_RESERVED_MIB: Final = 255
_EVICTION_MIB: Final = 100
_FILE_SYSTEM: Final = 98831908 / 1024**2 / 100
_DISK_FREE: Final = 0.9

SYSTEM_PODS: Final = (
    # Dataplane V2's; a cluster without it has kube-proxy instead, which asks for 100m CPU alone.
    SystemPod(name="anetd", request=Resources(milli_cpu=205, memory_mib=200), per_node=True),
    SystemPod(name="fluentbit-gke", request=Resources(milli_cpu=105, memory_mib=230), per_node=True),
    SystemPod(name="gke-metrics-agent", request=Resources(milli_cpu=21, memory_mib=120), per_node=True),
    SystemPod(name="gke-metadata-server", request=Resources(milli_cpu=100, memory_mib=100), per_node=True),
    SystemPod(name="netd", request=Resources(milli_cpu=8, memory_mib=30), per_node=True),
    SystemPod(name="node-local-dns", request=Resources(milli_cpu=30, memory_mib=35), per_node=True),
    SystemPod(name="konnectivity-agent", request=Resources(milli_cpu=15, memory_mib=60), per_node=True),
    SystemPod(name="pdcsi-node", request=Resources(milli_cpu=15, memory_mib=20), per_node=True),
    SystemPod(name="collector", request=Resources(milli_cpu=5, memory_mib=40), per_node=True),
    SystemPod(name="kube-dns", request=Resources(milli_cpu=270, memory_mib=120), per_node=False),
    SystemPod(name="kube-dns-autoscaler", request=Resources(milli_cpu=20, memory_mib=10), per_node=False),
    SystemPod(name="konnectivity-agent-autoscaler", request=Resources(milli_cpu=10, memory_mib=10), per_node=False),
    SystemPod(name="event-exporter-gke", request=Resources(milli_cpu=3, memory_mib=35), per_node=False),
    SystemPod(name="l7-default-backend", request=Resources(milli_cpu=10, memory_mib=20), per_node=False),
    SystemPod(name="metrics-server", request=Resources(milli_cpu=48, memory_mib=105), per_node=False),
    SystemPod(name="gmp-operator", request=Resources(milli_cpu=1, memory_mib=20), per_node=False),
)

GPU_NODE_PODS: Final = (
    SystemPod(name="nvidia-gpu-device-plugin", request=Resources(milli_cpu=55, memory_mib=100), per_node=True),
    SystemPod(name="dcgm-exporter", request=Resources(milli_cpu=100, memory_mib=128), per_node=True),
    # On every node, where the stack has a shared volume.
    SystemPod(name="filestore-node", request=Resources(milli_cpu=25, memory_mib=60), per_node=True),
)
"""Beside them on a node with GPUs, at most: its metrics and its volumes are the stack's to choose."""


def allocatable(machine: Machine) -> Resources:
    """Capacity less what GKE reserves for the system and for eviction."""
    shared_e2 = machine.shared_core and machine.family == "e2"
    cpu = _SHARED_CORE_RESERVED_MILLI if shared_e2 else 1000 * _tiered(machine.vcpus, _CPU_TIERS)
    small = machine.memory_gib < 1
    memory = _SMALL_MACHINE_RESERVED_MIB if small else 1024 * _tiered(machine.memory_gib, _MEMORY_TIERS)
    return Resources(
        milli_cpu=max(0, round(1000 * machine.vcpus - cpu)),
        memory_mib=max(0, int(1024 * machine.memory_gib - memory - _EVICTION_MIB)),
    )


def disk_mib(image: Image, size_gb: int) -> int:
    """Ephemeral storage for pods on a node whose boot disk has ``size_gb``, on any image.

    Half of the disk, or 6 GiB with 35 % of it, or 100 GiB, whichever is least, is GKE's; the kubelet keeps a tenth of
    the file system free. The example of the page above (100 GB, of which 98831908Ki are the file system's, leave
    47060071478 bytes) comes out to the MiB. Machines whose local SSDs become ephemeral storage have more.
    """
    reserved_gib = min(0.5 * size_gb, 6 + 0.35 * size_gb, 100)
    return int(1024 * (_FILE_SYSTEM * size_gb * _DISK_FREE - reserved_gib))


def _tiered(amount: float, tiers: tuple[tuple[float, float], ...]) -> float:
    reserved = 0.0
    for width, share in tiers:
        taken = min(amount, width)
        reserved += taken * share
        amount -= taken
    return reserved
