"""Facts about Azure's machines that no resource carries: how many NVIDIA GPUs a size has.

Names: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
Sizes: https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
"""

from __future__ import annotations

import re
from typing import Final

CLOUD: Final = "aks"

# NC and NCC (compute), ND (deep learning), NV (visualisation) hold GPUs; NG is AMD's, NP holds FPGAs.
_GPU_FAMILY: Final = re.compile(r"^(?:standard|basic)_n(?:cc?|d|v)\d")
# MI25 (NVv4), MI300X (ND v5) and V710 (NV v5) are AMD's: no nvidia.com/gpu.
_AMD: Final = re.compile(r"^standard_nv\d+as_v4$|_mi\d+|_v710")
_SEVERAL: Final = {
    # K80, P100, P40, V100
    **{f"standard_nc12{suffix}": 2 for suffix in ("", "s_v2", "s_v3")},
    **{f"standard_nc24{suffix}": 4 for suffix in ("", "r", "s_v2", "rs_v2", "s_v3", "rs_v3")},
    "standard_nd12s": 2,
    "standard_nd24s": 4,
    "standard_nd24rs": 4,
    "standard_nd40rs_v2": 8,
    # M60
    **{f"standard_nv12{suffix}": 2 for suffix in ("", "s_v2")},
    **{f"standard_nv24{suffix}": 4 for suffix in ("", "s_v2")},
    "standard_nv24s_v3": 2,
    "standard_nv48s_v3": 4,
    # T4, A10
    "standard_nc64as_t4_v3": 4,
    "standard_nv72ads_a10_v5": 2,
    # RTX PRO 6000 (smaller sizes have one or a part of one)
    **{
        f"standard_nc{vcpus}{memory}ds_xl_rtxpro6000bse_v6": 2
        for vcpus in (256, 264, 288, 320, 324)
        for memory in ("", "l")
    },
    # A100, H100, H200, GB200, GB300
    "standard_nc48ads_a100_v4": 2,
    "standard_nc96ads_a100_v4": 4,
    "standard_nc80adis_h100_v5": 2,
    "standard_nd96asr_v4": 8,
    "standard_nd96amsr_a100_v4": 8,
    "standard_nd96is_h100_v5": 8,
    "standard_nd96isr_h100_v5": 8,
    "standard_nd96isr_h200_v5": 8,
    "standard_nd128isr_ndr_gb200_v6": 4,
    "standard_nd128isr_gb300_v6": 4,
}
"""Sizes with more than one GPU, in lower case."""


def gpus_of_size(size: str | None) -> int:
    """NVIDIA GPUs that a node of this size offers; 0 for sizes without. Azure ignores the case of sizes.

    A size of a GPU family that is not in the table counts as one GPU, so that it is never taken for a CPU machine; so
    does a size with a part of a GPU (``NV6ads_A10_v5``), which Kubernetes sees as one device.
    """
    name = (size or "").lower().removesuffix("_promo")
    if not _GPU_FAMILY.match(name) or _AMD.search(name):
        return 0
    return _SEVERAL.get(name, 1)
