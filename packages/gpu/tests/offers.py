"""Pools and clusters as they are published, small; what a test is about it says itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from facts.concepts.kubernetes import Taint
from facts.concepts.offer import Offer, PoolOffer, read_pool
from facts.concepts.pool import GPU_TAINT, gpu_pool_labels, size_taint


def pool(name: str = "t4-1", *, gpu: str = "nvidia-t4", size: int = 1, smallest: int = 1, **changes: Any) -> PoolOffer:
    """A pool on demand with 4 CPUs and 16 GiB for each GPU, at a dollar each."""
    taints: tuple[Taint, ...] = (GPU_TAINT, *((size_taint(size),) if size > smallest else ()))
    usual: dict[str, Any] = {
        "name": name,
        "gpu": gpu,
        "gpus_per_node": size,
        "allocatable_gpus": size,
        "gpus_per_pod": size,
        "machine_types": ("machine",),
        "zones": ("zone-a",),
        "max_nodes": 3,
        "milli_cpu": 4000 * size,
        "memory_mib": 16 * 1024 * size,
        "disk_mib": 50 * 1024,
        "hourly_usd": float(size),
        "idle_minutes": 10,
        "labels": gpu_pool_labels(name, gpu, size, {}),
        "taints": taints,
    }
    written = {**usual, **changes}
    written["taints"] = [asdict(taint) for taint in written["taints"]]
    written["fabric"] = asdict(fabric) if (fabric := written.get("fabric")) else None
    return read_pool(written)


def offer(*pools: PoolOffer) -> Offer:
    return Offer(stack="dev", cloud="cloud", region="region", cluster="gpu-dev", pools=pools)
