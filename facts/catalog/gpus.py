"""GPUs by their cloud-independent names.

Memory: https://cloud.google.com/compute/docs/gpus for L4 and H100 (stored copy read 2026-11-20), NVIDIA's specification
of 8 × B200 = 1,440 GB, Google's SKU "RTX 6000 96GB"; H200 and A100 carry theirs in their names. V100 with 32 GB, A10G,
L40S, B300 and RTX PRO 4500: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, nominal where Amazon
subtracts what error correction takes. A10 and H100 NVL:
https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/nv-family and nc-family. P4, P100, V100 and T4
are general knowledge.

SkyPilot's names: https://github.com/skypilot-org/skypilot/blob/v0.14.1/sky/utils/gpu_names.py; H100 NVL is its ``H100``
(``sky/catalog/data_fetchers/fetch_azure.py``), H100 MEGA has the name of its nodes (``GKELabelFormatter`` in
``sky/provision/kubernetes/utils.py``), RTX PRO are named as in ``fetch_aws.py`` and ``fetch_runpod.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts.catalog.model import Gpu

_GPUS: Final = (
    Gpu(name="nvidia-p4", memory_gib=8, skypilot="P4"),
    Gpu(name="nvidia-p100", memory_gib=16, skypilot="P100"),
    Gpu(name="nvidia-v100", memory_gib=16, skypilot="V100"),
    Gpu(name="nvidia-v100-32gb", memory_gib=32, skypilot="V100-32GB"),
    Gpu(name="nvidia-t4", memory_gib=16, skypilot="T4"),
    Gpu(name="nvidia-a10", memory_gib=24, skypilot="A10"),
    Gpu(name="nvidia-a10g", memory_gib=24, skypilot="A10G"),
    Gpu(name="nvidia-l4", memory_gib=24, skypilot="L4"),
    Gpu(name="nvidia-l40s", memory_gib=48, skypilot="L40S"),
    Gpu(name="nvidia-a100-40gb", memory_gib=40, skypilot="A100"),
    Gpu(name="nvidia-a100-80gb", memory_gib=80, skypilot="A100-80GB"),
    Gpu(name="nvidia-h100-80gb", memory_gib=80, skypilot="H100"),
    Gpu(name="nvidia-h100-mega-80gb", memory_gib=80, skypilot="H100-MEGA-80GB"),
    Gpu(name="nvidia-h100-nvl-94gb", memory_gib=94, skypilot="H100"),
    Gpu(name="nvidia-h200-141gb", memory_gib=141, skypilot="H200"),
    Gpu(name="nvidia-b200", memory_gib=180, skypilot="B200"),
    Gpu(name="nvidia-b300", memory_gib=268, skypilot="B300"),
    Gpu(name="nvidia-rtx-pro-4500", memory_gib=32, skypilot="RTXPRO4500"),
    Gpu(name="nvidia-rtx-pro-6000", memory_gib=96, skypilot="RTXPRO6000"),
)

GPUS: Final[Mapping[str, Gpu]] = {gpu.name: gpu for gpu in _GPUS}
