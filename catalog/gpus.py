"""GPUs by their cloud-independent names.

Memory: https://cloud.google.com/compute/docs/gpus for L4 and H100 (stored copy read 2026-11-20), NVIDIA's specification
of 8 × B200 = 1,440 GB, Google's SKU "RTX 6000 96GB"; H200 and A100 carry theirs in their names. V100 with 32 GB, A10G,
L40S, B300 and RTX PRO 4500: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, nominal where Amazon
subtracts what error correction takes. A10 and H100 NVL:
https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/nv-family and nc-family. P4, P100, V100 and T4
are general knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from catalog.model import Gpu

_GPUS: Final = (
    Gpu(name="nvidia-p4", memory_gib=8),
    Gpu(name="nvidia-p100", memory_gib=16),
    Gpu(name="nvidia-v100", memory_gib=16),
    Gpu(name="nvidia-v100-32gb", memory_gib=32),
    Gpu(name="nvidia-t4", memory_gib=16),
    Gpu(name="nvidia-a10", memory_gib=24),
    Gpu(name="nvidia-a10g", memory_gib=24),
    Gpu(name="nvidia-l4", memory_gib=24),
    Gpu(name="nvidia-l40s", memory_gib=48),
    Gpu(name="nvidia-a100-40gb", memory_gib=40),
    Gpu(name="nvidia-a100-80gb", memory_gib=80),
    Gpu(name="nvidia-h100-80gb", memory_gib=80),
    Gpu(name="nvidia-h100-mega-80gb", memory_gib=80),
    Gpu(name="nvidia-h100-nvl-94gb", memory_gib=94),
    Gpu(name="nvidia-h200-141gb", memory_gib=141),
    Gpu(name="nvidia-b200", memory_gib=180),
    Gpu(name="nvidia-b300", memory_gib=268),
    Gpu(name="nvidia-rtx-pro-4500", memory_gib=32),
    Gpu(name="nvidia-rtx-pro-6000", memory_gib=96),
)

GPUS: Final[Mapping[str, Gpu]] = {gpu.name: gpu for gpu in _GPUS}
