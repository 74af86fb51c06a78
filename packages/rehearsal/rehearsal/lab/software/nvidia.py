"""Simulated NVIDIA packages: the driver, its fabric manager and the container toolkit, under NVIDIA's names.

There is no kernel module and no library: ``nvidia-modprobe`` makes device nodes for the GPUs of /sys/bus/pci, and
``nvidia-smi`` answers from what that has loaded. As with a real driver, a new version counts from the next boot on, and
until then ``nvidia-smi`` reports a mismatch. ``/proc/driver/nvidia`` does not exist.
Names and pinning: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking.html.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

from rehearsal.lab.software.debs import Link, Package
from rehearsal.lab.software.kubernetes import FILES, script

DRIVERS: Final = ("580.95.05", "575.57.08")
"""One version per branch; the first is the newest."""
TOOLKIT: Final = "1.18.1"


def driver_packages(tools: Path) -> list[Package]:
    """All packages of all branches, from the program ``lab-image`` in ``tools``."""
    return [package for version in DRIVERS for package in _branch(version, tools)]


def _branch(version: str, tools: Path) -> list[Package]:
    branch, full = version.partition(".")[0], f"{version}-1"
    program = "/usr/lib/nvidia/simulated-driver"

    def meta(name: str, *needs: str) -> Package:
        depends = ", ".join(f"{each} (= {full})" for each in needs)
        return Package(name, full, "NVIDIA driver (simulated)", {}, {"Depends": depends} if needs else {})

    def kernel(name: str, other: str) -> Package:
        relations = {"Provides": f"nvidia-kernel (= {full})", "Conflicts": other}
        dkms = {f"/usr/src/nvidia-{version}/dkms.conf": f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\n'}
        return Package(name, full, "NVIDIA kernel module (simulated)", dkms, relations)

    return [
        kernel("nvidia-kernel-open-dkms", "nvidia-kernel-dkms"),
        kernel("nvidia-kernel-dkms", "nvidia-kernel-open-dkms"),
        Package(
            "nvidia-driver-cuda",
            full,
            "NVIDIA driver for computing (simulated)",
            {
                program: tools / "lab-image",
                "/usr/bin/nvidia-smi": Link(program),
                "/usr/bin/nvidia-modprobe": Link(program),
                "/usr/share/nvidia/version": f"{version}\n",
            },
            {"Depends": f"nvidia-kernel (= {full})"},
        ),
        _unit("nvidia-persistenced", full, "nvidia-persistenced.service", {}, f"nvidia-driver-cuda (= {full})"),
        meta("nvidia-open", "nvidia-kernel-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
        meta(f"nvidia-open-{branch}", "nvidia-open"),
        meta("cuda-drivers", "nvidia-kernel-dkms", "nvidia-driver-cuda", "nvidia-persistenced"),
        meta(f"cuda-drivers-{branch}", "cuda-drivers"),
        Package(
            f"nvidia-driver-pinning-{branch}",
            full,
            f"Keep NVIDIA's driver packages in branch {branch} (simulated)",
            {
                "/etc/apt/preferences.d/nvidia-driver-pinning": (
                    f"Package: *nvidia* cuda-drivers*\nPin: version {branch}.*\nPin-Priority: 1000\n"
                )
            },
            {"Provides": "nvidia-driver-pinning", "Conflicts": "nvidia-driver-pinning"},
        ),
        _unit(
            "nvidia-fabricmanager",
            full,
            "nvidia-fabricmanager.service",
            {"/usr/bin/nv-fabricmanager": (FILES / "nv-fabricmanager.sh").read_text()},
        ),
        meta(f"nvidia-fabricmanager-{branch}", "nvidia-fabricmanager"),
    ]


def _unit(name: str, version: str, unit: str, files: dict[str, str], depends: str = "") -> Package:
    """A package with a systemd unit; as NVIDIA's, the fabric manager's is not enabled by its package."""
    enabled = {"postinst": script("enable.postinst.sh", unit)} if depends else {}
    return Package(
        name,
        version,
        "NVIDIA service (simulated)",
        {f"/lib/systemd/system/{unit}": (FILES / unit).read_text(), **files},
        {"Depends": depends} if depends else {},
        {**enabled, "prerm": script("stop.prerm.sh", unit)},
    )


def kernel_headers() -> Package:
    """Simulated headers of the one kernel that all machines share, which a driver's installation asks for."""
    release = platform.release()
    note = "Simulated: there are no headers here, and no module is compiled.\n"
    return Package(
        f"linux-headers-{release}", "1", "Kernel headers (simulated)", {f"/lib/modules/{release}/build/README": note}
    )


def toolkit_packages(tools: Path) -> list[Package]:
    """The container toolkit; its runtime adds the GPUs that NVIDIA_VISIBLE_DEVICES names, then runs runc."""
    full = f"{TOOLKIT}-1"
    program = "/usr/lib/nvidia-container-toolkit/simulated-toolkit"
    return [
        Package(
            "nvidia-container-toolkit",
            full,
            "NVIDIA Container Toolkit (simulated)",
            {},
            {"Depends": f"nvidia-container-toolkit-base (= {full}), libnvidia-container-tools (= {full})"},
        ),
        Package(
            "nvidia-container-toolkit-base",
            full,
            "NVIDIA Container Toolkit's commands (simulated)",
            {
                program: tools / "lab-image",
                "/usr/bin/nvidia-ctk": Link(program),
                "/usr/bin/nvidia-container-runtime": Link(program),
            },
        ),
        Package(
            "libnvidia-container-tools",
            full,
            "NVIDIA container library's commands (simulated)",
            {},
            {"Depends": f"libnvidia-container1 (= {full})"},
        ),
        Package("libnvidia-container1", full, "NVIDIA container library (simulated)"),
    ]
