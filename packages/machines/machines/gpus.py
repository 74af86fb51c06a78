"""Which kernel modules of NVIDIA's driver a GPU takes, by its device number on PCI.

https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/610/kernel-modules.html; the numbers:
https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus, https://admin.pci-ids.ucw.cz/read/PC/10de; branches:
https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

OPEN: Final = "open"
PROPRIETARY: Final = "proprietary"
_MAXWELL: Final = 0x1340
_TURING: Final = 0x1E02
_GRACE_HOPPER: Final = range(0x2340, 0x2350)
_BLACKWELL: Final = 0x2900
_LAST_OF_OLD: Final = "580"
_OLDER_SYSTEM: Final = f"install an older release of the system, or set packages.driver to a mirror with {_LAST_OF_OLD}"
_FIRST_REPORTED: Final = {"debian 13": "595", "ubuntu 26.04": "595"}
"""System → the first branch that NVIDIA's repository has for it, as its users report; NVIDIA publishes no list:
https://github.com/NVIDIA/cuda-repo-management/issues/38"""


def kernel_modules(declared: str, gpu_ids: str) -> str:
    """``open`` or ``proprietary``: as ``declared``, else the ones for the GPUs with the hexadecimal ``gpu_ids``."""
    return declared or (PROPRIETARY if _old(gpu_ids) else OPEN)


def refusals(declared: str, branch: str, gpu_ids: str, offered: str = "") -> Iterator[str]:
    """Why these GPUs do not run with the driver's ``branch`` or modules, and what to write instead.

    ``offered``: branches of the repository that the driver is to come from, empty if unknown or not needed.
    """
    old = _old(gpu_ids)
    new = [each for each in gpu_ids.split() if int(each, 16) >= _BLACKWELL or int(each, 16) in _GRACE_HOPPER]
    if oldest := [each for each in gpu_ids.split() if int(each, 16) < _MAXWELL]:
        yield (
            f"has GPUs (PCI device {', '.join(oldest)}) of Kepler or older, whose last branch was 470:"
            " write drivers: none and install their driver yourself, or take them out"
        )
        return
    last, before_turing = _LAST_OF_OLD, f"GPUs older than Turing (PCI device {', '.join(old)})"
    if old and declared == OPEN:
        yield f"has {before_turing}, which need NVIDIA's proprietary kernel modules: leave out kernelModules"
    offers = f"has package lists in which the driver's repository offers the branches {', '.join(offered.split())}"
    if offered and old and last not in offered.split():
        yield f"{offers}, but its {before_turing} need {last}: {_OLDER_SYSTEM}"
    elif old and branch != last:
        yield f"has {before_turing}, which the driver supports up to {last}: write driverVersion: '{last}'"
    elif offered and branch not in offered.split():
        yield f"{offers}, not {branch}: write one of them as driverVersion"
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


def missing_branch(branch: str, gpu_ids: str, system: str) -> str:
    """What to do if NVIDIA's repository for ``system`` (such as ``debian 13``) lacks the branch, as users report; else
    empty."""
    first = _FIRST_REPORTED.get(system, branch)
    if int(branch) >= int(first):
        return ""
    remedy = _OLDER_SYSTEM if _old(gpu_ids) else f"write driverVersion: '{first}'"
    return (
        f"users report that NVIDIA's repository for {system} has no driver branch before {first}. If the installation"
        f" of {branch} fails, {remedy}"
    )


def is_called(declared: str, name: str) -> bool:
    """Whether a GPU's ``name``, by its driver or the list of PCI devices, has the model of the ``declared`` one.

    The model is in the words with digits, but for sizes and forms: the 3090 of ``nvidia-rtx-3090``.
    """
    words = [word for word in declared.lower().split("-") if re.search(r"\d", word)]
    models = [word for word in words if not re.fullmatch(r"\d+gb?|sxm\d|hbm\d\w*", word)]
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return all(word in letters for word in models)


def _old(gpu_ids: str) -> list[str]:
    return [each for each in gpu_ids.split() if int(each, 16) < _TURING]
