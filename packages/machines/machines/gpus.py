"""Which kernel modules of NVIDIA's driver a GPU takes, by its device number on PCI.

https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/610/kernel-modules.html; the numbers:
https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

OPEN: Final = "open"
PROPRIETARY: Final = "proprietary"
_TURING: Final = 0x1E02
_GRACE_HOPPER: Final = range(0x2340, 0x2350)
_BLACKWELL: Final = 0x2900
_LAST_OF_OLD: Final = "580"


def kernel_modules(declared: str, gpu_ids: str) -> str:
    """``open`` or ``proprietary``: as ``declared``, else the ones for the GPUs with the hexadecimal ``gpu_ids``."""
    return declared or (PROPRIETARY if _old(gpu_ids) else OPEN)


def refusals(declared: str, branch: str, gpu_ids: str) -> Iterator[str]:
    """Why these GPUs do not run with the driver's ``branch`` or modules, and what to write instead."""
    old = _old(gpu_ids)
    new = [each for each in gpu_ids.split() if int(each, 16) >= _BLACKWELL or int(each, 16) in _GRACE_HOPPER]
    if old and declared == OPEN:
        yield (
            f"has GPUs older than Turing (PCI device {', '.join(old)}), which need NVIDIA's proprietary kernel modules:"
            " leave out kernelModules"
        )
    if old and branch != _LAST_OF_OLD:
        yield (
            f"has GPUs older than Turing (PCI device {', '.join(old)}), which the driver supports up to"
            f" {_LAST_OF_OLD}: write driverVersion: '{_LAST_OF_OLD}'"
        )
    if new and declared == PROPRIETARY:
        yield (
            f"has GPUs (PCI device {', '.join(new)}) of Grace Hopper, Blackwell or newer, which run with NVIDIA's open"
            " kernel modules only: leave out kernelModules"
        )
    if new and old:
        yield (
            f"has GPUs that no kernel modules support together: PCI device {', '.join(old)} (older than Turing) and"
            f" {', '.join(new)} (open modules only); move some to another machine"
        )


def _old(gpu_ids: str) -> list[str]:
    return [each for each in gpu_ids.split() if int(each, 16) < _TURING]
