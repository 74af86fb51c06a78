"""A replacement for NVIDIA's DCGM exporter on one simulated node: whole GPUs, and the pods that have them.

Names: https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv
Labels: https://github.com/NVIDIA/dcgm-exporter/blob/main/internal/pkg/rendermetrics/render_metrics.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from facts.concepts.kubernetes import quantity
from packages.rehearsal.tests.monitoring.exposition import Sample
from rehearsal.cluster.api import Object

GPU: Final = "nvidia.com/gpu"
MEMORY_MIB: Final = 15000.0
BUSY_WATTS: Final = 60.0
IDLE_WATTS: Final = 10.0


def samples(node: Object, pods: Sequence[Object], use: Callable[[str], float]) -> Iterator[Sample]:
    """What is told of the GPUs of ``node``, on which ``pods`` are; ``use`` is in percent, by a pod's name."""
    holders = [pod for pod in pods if pod["status"].get("phase") == "Running" for _ in range(_gpus(pod))]
    for number in range(int(quantity(node["status"]["capacity"].get(GPU, "0")))):
        labels = {
            "gpu": str(number),
            "UUID": f"GPU-{node['metadata']['uid']}-{number}",
            "pci_bus_id": f"00000000:00:{4 + number:02X}.0",
            "device": f"nvidia{number}",
            "modelName": "Tesla T4",
            "hostname": node["metadata"]["name"],
        }
        busy = 0.0
        if number < len(holders):
            metadata = holders[number]["metadata"]
            (container, *_) = holders[number]["spec"]["containers"]
            labels |= {"namespace": metadata["namespace"], "pod": metadata["name"], "container": container["name"]}
            busy = use(metadata["name"])
        for name, value in _counters(busy).items():
            yield Sample(name, labels, value)


def _counters(busy: float) -> dict[str, float]:
    used = MEMORY_MIB * busy / 100
    return {
        "DCGM_FI_DEV_GPU_UTIL": busy,
        "DCGM_FI_DEV_MEM_COPY_UTIL": busy / 2,
        "DCGM_FI_DEV_FB_USED": used,
        "DCGM_FI_DEV_FB_FREE": MEMORY_MIB - used,
        "DCGM_FI_DEV_POWER_USAGE": BUSY_WATTS if busy else IDLE_WATTS,
        "DCGM_FI_DEV_GPU_TEMP": 40.0,
        "DCGM_FI_DEV_XID_ERRORS": 0.0,
    }


def _gpus(pod: Object) -> int:
    asked = (each.get("resources", {}).get("requests", {}).get(GPU, "0") for each in pod["spec"]["containers"])
    return sum(int(quantity(each)) for each in asked)
