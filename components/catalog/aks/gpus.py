"""GPUs on AKS: the names that Azure uses in its sizes, and those it no longer gives out.

Azure counts quota by vCPUs of a family of sizes, not by GPU: https://learn.microsoft.com/azure/virtual-machines/quotas.
A size's name says which GPU it has; its series' page below
https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ says how many (sources of 2024 to 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.catalog.model import Accelerator, WithdrawnGpu

_SERIES: Final = "https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated"

ACCELERATORS: Final[Mapping[str, Accelerator]] = {
    accelerator.gpu: accelerator
    for accelerator in (
        Accelerator(gpu="nvidia-t4", name="T4"),
        Accelerator(gpu="nvidia-a10", name="A10"),
        Accelerator(gpu="nvidia-a100-40gb", name="A100-40GB"),
        Accelerator(gpu="nvidia-a100-80gb", name="A100-80GB"),
        # The PCIe card of NCads_H100_v5 and the SXM module of ND_H100_v5 differ in memory, so they differ in name.
        Accelerator(gpu="nvidia-h100-nvl-94gb", name="H100-NVL"),
        Accelerator(gpu="nvidia-h100-80gb", name="H100-SXM"),
        Accelerator(gpu="nvidia-h200-141gb", name="H200"),
    )
}

WITHDRAWN: Final[Mapping[str, WithdrawnGpu]] = {
    gone.name: gone
    for gone in (
        WithdrawnGpu(
            name="nvidia-v100",
            reason=f"Azure retired the NCv3 series on 30 September 2025 ({_SERIES}/ncv3-series)",
            successor="nvidia-a100-80gb",
        ),
        WithdrawnGpu(
            name="nvidia-m60",
            reason=f"Azure retired the NVv3 series on 30 September 2026 ({_SERIES}/nvv3-series-retirement)",
            successor="nvidia-a10",
        ),
        WithdrawnGpu(
            name="nvidia-k80",
            reason="Azure retired the NC series (https://learn.microsoft.com/azure/virtual-machines/nc-series-retirement)",
            successor="nvidia-t4",
        ),
        WithdrawnGpu(
            name="nvidia-p100",
            reason="Azure retired the NCv2 series "
            "(https://learn.microsoft.com/azure/virtual-machines/ncv2-series-retirement)",
            successor="nvidia-t4",
        ),
    )
}

MIG_GPUS: Final = frozenset(
    {"nvidia-a100-40gb", "nvidia-a100-80gb", "nvidia-h100-nvl-94gb", "nvidia-h100-80gb", "nvidia-h200-141gb"}
)
"""GPUs that AKS partitions: A100, H100 and H200. https://learn.microsoft.com/azure/aks/gpu-multi-instance"""
