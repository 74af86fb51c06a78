"""NVIDIA's kernel modules and NVSwitches: what the GPUs of a machine take, and what is installed for them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from machines.differences import drift
from machines.preflight import Candidate, problems
from machines.software import driver_variables
from packages.machines.tests.simulated import FACTS, SimulatedMachine, worker
from packages.machines.tests.test_packages import machine, program
from packages.machines.tests.test_scripts import run_common

__all__ = ["machine"]

CP1, GPU1 = SimulatedMachine("cp1"), SimulatedMachine("gpu1")
V100, T4, H100, GH200, B200 = "0x1db4", "0x1eb8", "0x2330", "0x2342", "0x2901"
SWITCH, MANAGER, NIC = ("0x10de", "0x068000", ""), ("0x15b3", "0x020700", "SMDL=SW_MNG"), ("0x15b3", "0x020700", "CX7")


@pytest.mark.parametrize(
    ("ids", "modules", "branch", "texts"),
    [
        (V100, "", "580", []),
        (V100, "proprietary", "580", []),
        (V100, "open", "580", ["older than Turing (PCI device 0x1db4), which need NVIDIA's proprietary"]),
        (V100, "", "595", ["older than Turing (PCI device 0x1db4), which the driver supports up to 580"]),
        (T4, "proprietary", "595", []),
        (H100, "proprietary", "580", []),
        (GH200, "proprietary", "580", ["(PCI device 0x2342) of Grace Hopper, Blackwell or newer"]),
        (B200, "proprietary", "580", ["(PCI device 0x2901) of Grace Hopper, Blackwell or newer"]),
        (B200, "open", "595", []),
        (f"{B200} {V100}", "", "580", ["no kernel modules support together: PCI device 0x1db4"]),
    ],
)
def test_kernel_modules_that_the_gpus_do_not_take_are_refused(
    ids: str, modules: str, branch: str, texts: list[str]
) -> None:
    facts = {**FACTS, "time": time.time(), "gpus": 1, "gpuIds": ids}
    refused = problems([Candidate("gpu1", "worker", 1, facts, branch, modules)], {}, {})
    assert len(refused) == len(texts)
    assert all(text in each.text for text, each in zip(texts, refused, strict=True))


@pytest.mark.parametrize(
    ("ids", "modules", "package"),
    [
        (V100, None, "cuda-drivers"),
        (T4, None, "nvidia-open"),
        (T4, "proprietary", "cuda-drivers"),
        (B200, None, "nvidia-open"),
    ],
)
def test_the_gpus_choose_the_drivers_package_unless_the_stack_file_does(
    ids: str, modules: str | None, package: str
) -> None:
    inputs = worker(GPU1, CP1, nvidia={"driver": "580", **({"kernelModules": modules} if modules else {})})
    assert driver_variables(inputs, {**FACTS, "gpuIds": ids}, False)["DRIVER_PACKAGE"] == package


@pytest.mark.parametrize(
    ("modules", "runs", "text"),
    [
        ("", "proprietary", ""),
        ("open", "open", ""),
        ("open", "", ""),
        ("open", "proprietary", "580.95.05 with proprietary kernel modules, which was not installed from here, and"),
    ],
)
def test_a_driver_with_other_modules_than_declared_is_never_replaced(modules: str, runs: str, text: str) -> None:
    facts = {**FACTS, "time": time.time(), "gpus": 1, "gpuIds": T4, "foreignDriver": "580.95.05", "kernelModules": runs}
    refused = problems([Candidate("gpu1", "worker", 1, facts, "580", modules)], {}, {})
    assert [text in each.text for each in refused] == ([True] if text else [])


@pytest.mark.parametrize(
    ("nvidia", "facts", "text"),
    [
        ({}, {"kernelModules": "proprietary", "fabricManager": "enabled/active"}, ""),
        ({"kernelModules": "open"}, {"kernelModules": "proprietary"}, "has proprietary kernel modules, not open"),
        ({"kernelModules": "open"}, {"kernelModules": "proprietary", "foreignDriver": "580.95.05"}, ""),
        ({}, {"fabricManager": "enabled/failed"}, "nvidia-fabricmanager is enabled and failed, not enabled and active"),
        ({}, {"fabricManager": "not-found/inactive", "foreignDriver": "580.95.05"}, ""),
    ],
)
def test_a_driver_that_runs_otherwise_is_drift(nvidia: dict[str, str], facts: dict[str, str], text: str) -> None:
    inputs = worker(GPU1, CP1, nvidia={"driver": "580", **nvidia}, labels={}, taints=[])
    now = {**FACTS, "driverVersion": "580.95.05", "joined": "x", **facts}
    texts = drift(inputs, {}, now, {"metadata": {}, "spec": {}})
    assert len(texts) == bool(text)
    assert all(text in each for each in texts)


def on_pci(folder: Path, *devices: tuple[str, str, str]) -> None:
    for number, (vendor, kind, product) in enumerate(devices):
        device = folder / f"sys/bus/pci/devices/{number}"
        device.mkdir(parents=True)
        for name, text in (("vendor", f"{vendor}\n"), ("class", f"{kind}\n"), ("vpd", f"\0{product}\0")):
            (device / name).write_text(text)


@pytest.mark.parametrize(
    ("devices", "switches", "managers"),
    [((), 0, 0), ((SWITCH, SWITCH, NIC), 2, 0), ((MANAGER, MANAGER, NIC), 0, 2), ((NIC,), 0, 0)],
)
def test_switches_of_nvlink_5_differ_from_network_cards(
    machine: Path, devices: tuple[tuple[str, str, str], ...], switches: int, managers: int
) -> None:
    on_pci(machine, *devices)
    body = "PATH=$PATH:/usr/bin:/bin; nvswitches; echo; nvlink5_managers"
    assert run_common(body, machine).split() == [str(switches), str(managers)]


FABRIC = ["nvidia-fabricmanager-595"]
SUBNET = ["infiniband-diags", "nvlsm"]


@pytest.mark.parametrize(
    ("devices", "fabric", "modules", "packages"),
    [
        ((NIC,), "", True, []),
        ((SWITCH,), "580.95.05-1", True, FABRIC),
        ((SWITCH,), "595.71.05-1", True, []),
        ((MANAGER, NIC), "580.95.05-1", True, [*SUBNET, *FABRIC]),
        ((MANAGER,), "595.71.05-1", True, SUBNET),
        ((MANAGER,), "595.71.05-1", False, ["linux-modules-extra-6.1"]),
    ],
)
def test_the_fabric_managers_packages_follow_the_switches_and_the_driver(
    machine: Path, devices: tuple[tuple[str, str, str], ...], fabric: str, modules: bool, packages: list[str]
) -> None:
    """``fabric``: the installed fabric manager's version; the driver's is 595.71.05."""
    on_pci(machine, *devices)
    program(machine, "modprobe", "exit 0" if modules else "exit 1")
    program(machine, "uname", "echo 6.1")
    stubs = f"package_version() {{ case $1 in nvidia-open) echo 595.71.05-1 ;; *) echo {fabric} ;; esac; }}"
    stubs += "; candidate() { echo 595.71.05-1; }; has() { return 1; }; install_packages() { echo $*; }; say() { :; }"
    values = "DRIVER_PACKAGE=nvidia-open DRIVER_BRANCH=595 NVIDIA_URL=x"
    body = f"PATH=$PATH:/usr/bin:/bin; lock; touch $state/files; {stubs}; {values}; fabric_manager"
    lines = run_common(body, machine, "driver").splitlines()
    assert lines[: len(packages)] == packages
    assert [line for line in lines if "error" in line] == lines[len(packages) :]
    assert len(lines) - len(packages) == (not modules)
    loads = machine / "etc/modules-load.d/gpucluster-nvlink.conf"
    assert loads.exists() == (MANAGER in devices)
