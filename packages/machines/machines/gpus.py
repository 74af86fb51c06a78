"""Which kernel modules of NVIDIA's driver a GPU takes, by its device number on PCI.

https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/610/kernel-modules.html; the numbers:
https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus, https://admin.pci-ids.ucw.cz/read/PC/10de; branches:
https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

OPEN: Final = "open"
PROPRIETARY: Final = "proprietary"
_MAXWELL: Final = 0x1340
_TURING: Final = 0x1E02
_GRACE_HOPPER: Final = range(0x2340, 0x2350)
_BLACKWELL: Final = 0x2900
_LAST_OF_OLD: Final = "580"
_FIRST_OF_SYSTEM: Final = {"debian 13": "595", "ubuntu 26.04": "595"}
"""Of NVIDIA's repository, which has not all branches for them: https://github.com/NVIDIA/cuda-repo-management/issues/38"""


def kernel_modules(declared: str, gpu_ids: str) -> str:
    """``open`` or ``proprietary``: as ``declared``, else the ones for the GPUs with the hexadecimal ``gpu_ids``."""
    return declared or (PROPRIETARY if _old(gpu_ids) else OPEN)


def refusals(declared: str, branch: str, gpu_ids: str, system: str = "") -> Iterator[str]:
    """Why these GPUs do not run with the driver's ``branch`` or modules, and what to write instead. ``system``: such as
    ``debian 13``, if the driver is to come from NVIDIA's repository for it."""
    old = _old(gpu_ids)
    new = [each for each in gpu_ids.split() if int(each, 16) >= _BLACKWELL or int(each, 16) in _GRACE_HOPPER]
    if oldest := [each for each in gpu_ids.split() if int(each, 16) < _MAXWELL]:
        yield (
            f"has GPUs (PCI device {', '.join(oldest)}) of Kepler or older, whose last branch was 470:"
            " write drivers: none and install their driver yourself, or take them out"
        )
        return
    if old and declared == OPEN:
        yield (
            f"has GPUs older than Turing (PCI device {', '.join(old)}), which need NVIDIA's proprietary kernel modules:"
            " leave out kernelModules"
        )
    first = _FIRST_OF_SYSTEM.get(system, "")
    if first and (old or int(branch) < int(first)):
        yield f"runs {system}, and of NVIDIA's driver branches the repository for it has none before {first}" + (
            f", and GPUs older than Turing (PCI device {', '.join(old)}) need {_LAST_OF_OLD}: install an older release"
            f" of the system, or set packages.driver to a mirror with {_LAST_OF_OLD}"
            if old
            else f": write driverVersion: '{first}'"
        )
    elif old and branch != _LAST_OF_OLD:
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
