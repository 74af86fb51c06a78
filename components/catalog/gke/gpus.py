"""GPUs on GKE: what they are called there, and which can be attached to which N1 machine.

Sources, stored copies read 2026-11-20: names, https://cloud.google.com/compute/docs/gpus and the API's listing of
2026-08-10 (https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator, ``tools/acceleratortypes.csv``); quotas,
the enum ``Quota.metric`` of the Compute Engine API; K80, https://github.com/GoogleCloudPlatform/magic-modules/pull/10309.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from components.catalog.model import Accelerator, WithdrawnGpu

ACCELERATORS: Final[Mapping[str, Accelerator]] = {
    accelerator.gpu: accelerator
    for accelerator in (
        Accelerator(gpu="nvidia-p4", name="nvidia-tesla-p4", quota="NVIDIA_P4_GPUS"),
        Accelerator(gpu="nvidia-p100", name="nvidia-tesla-p100", quota="NVIDIA_P100_GPUS"),
        Accelerator(gpu="nvidia-v100", name="nvidia-tesla-v100", quota="NVIDIA_V100_GPUS"),
        Accelerator(gpu="nvidia-t4", name="nvidia-tesla-t4", quota="NVIDIA_T4_GPUS"),
        Accelerator(gpu="nvidia-l4", name="nvidia-l4", quota="NVIDIA_L4_GPUS"),
        Accelerator(gpu="nvidia-a100-40gb", name="nvidia-tesla-a100", quota="NVIDIA_A100_GPUS"),
        Accelerator(gpu="nvidia-a100-80gb", name="nvidia-a100-80gb", quota="NVIDIA_A100_80GB_GPUS"),
        Accelerator(gpu="nvidia-h100-80gb", name="nvidia-h100-80gb"),
        Accelerator(gpu="nvidia-h100-mega-80gb", name="nvidia-h100-mega-80gb"),
        Accelerator(gpu="nvidia-h200-141gb", name="nvidia-h200-141gb"),
        Accelerator(gpu="nvidia-b200", name="nvidia-b200"),
        Accelerator(gpu="nvidia-rtx-pro-6000", name="nvidia-rtx-pro-6000"),
    )
}

WITHDRAWN: Final[Mapping[str, WithdrawnGpu]] = {
    "nvidia-k80": WithdrawnGpu(
        name="nvidia-k80",
        reason="Google withdrew the K80 on 1 May 2024 (https://cloud.google.com/compute/docs/eol/k80-eol)",
        successor="nvidia-t4",
    ),
}


@dataclass(frozen=True)
class AttachLimit:
    """The largest N1 machine that takes ``gpus`` GPUs of a type; every smaller one takes them too."""

    gpus: int
    max_vcpus: int
    max_memory_gib: int


# Google's table as kept in https://github.com/skypilot-org/skypilot/blob/master/sky/catalog/gcp_catalog.py (read
# 2026-11-20). There 4 P100 take 96 vCPUs, but fewer in us-east1-c, europe-west1-b and europe-west1-d: by general
# knowledge 64, and 208 GiB. This table has the lower limit, so it holds everywhere.
N1_LIMITS: Final[Mapping[str, tuple[AttachLimit, ...]]] = {
    "nvidia-t4": (AttachLimit(1, 48, 312), AttachLimit(2, 48, 312), AttachLimit(4, 96, 624)),
    "nvidia-p4": (AttachLimit(1, 24, 156), AttachLimit(2, 48, 312), AttachLimit(4, 96, 624)),
    "nvidia-p100": (AttachLimit(1, 16, 104), AttachLimit(2, 32, 208), AttachLimit(4, 64, 208)),
    "nvidia-v100": (
        AttachLimit(1, 12, 78),
        AttachLimit(2, 24, 156),
        AttachLimit(4, 48, 312),
        AttachLimit(8, 96, 624),
    ),
}
