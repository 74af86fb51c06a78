"""GPUs by their cloud-independent names.

Memory: https://cloud.google.com/compute/docs/gpus for L4 and H100 (stored copy read 2026-11-20), NVIDIA's specification
of 8 × B200 = 1,440 GB, Google's SKU "RTX 6000 96GB"; H200 and A100 carry theirs in their names. P4, P100, V100, T4 and
the architectures are general knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.catalog.model import Gpu

_GPUS: Final = (
    Gpu(name="nvidia-p4", memory_gib=8, architecture="Pascal"),
    Gpu(name="nvidia-p100", memory_gib=16, architecture="Pascal"),
    Gpu(name="nvidia-v100", memory_gib=16, architecture="Volta"),
    Gpu(name="nvidia-t4", memory_gib=16, architecture="Turing"),
    Gpu(name="nvidia-l4", memory_gib=24, architecture="Ada Lovelace"),
    Gpu(name="nvidia-a100-40gb", memory_gib=40, architecture="Ampere"),
    Gpu(name="nvidia-a100-80gb", memory_gib=80, architecture="Ampere"),
    Gpu(name="nvidia-h100-80gb", memory_gib=80, architecture="Hopper"),
    Gpu(name="nvidia-h100-mega-80gb", memory_gib=80, architecture="Hopper"),
    Gpu(name="nvidia-h200-141gb", memory_gib=141, architecture="Hopper"),
    Gpu(name="nvidia-b200", memory_gib=180, architecture="Blackwell"),
    Gpu(name="nvidia-rtx-pro-6000", memory_gib=96, architecture="Blackwell"),
)

GPUS: Final[Mapping[str, Gpu]] = {gpu.name: gpu for gpu in _GPUS}
