"""NVIDIA's kernel modules and NVSwitches: what the GPUs of a machine take, and what is installed for them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from machines.differences import drift
from machines.preflight import Candidate, problems, warnings
from machines.software import driver_variables
from packages.machines.tests.simulated import FACTS, SimulatedMachine, worker
from packages.machines.tests.test_packages import machine, program
from packages.machines.tests.test_scripts import run_common

__all__ = ["machine"]

CP1, GPU1 = SimulatedMachine("cp1"), SimulatedMachine("gpu1")
T4 = "0x1eb8"
SWITCH, MANAGER, NIC = ("0x10de", "0x068000", ""), ("0x15b3", "0x020700", "SMDL=SW_MNG"), ("0x15b3", "0x020700", "CX7")


# PCI devices: 0x102d K80, 0x17fd M40, 0x1db4 V100, 0x1eb8 T4, 0x2330 H100, 0x2342 GH200, 0x2901 B200.
@pytest.mark.parametrize(
    ("ids", "modules", "branch", "texts"),
    [
        (
            "0x102d",
            "",
            "580",
            ["(PCI device 0x102d) of Kepler or older, whose last branch was 470: write drivers: none"],
        ),
        ("0x102d 0x1eb8", "", "595", ["(PCI device 0x102d) of Kepler or older"]),
        ("0x17fd", "", "580", []),
        ("0x1db4", "", "580", []),
        ("0x1db4", "proprietary", "580", []),
        ("0x1db4", "open", "580", ["older than Turing (PCI device 0x1db4), which need NVIDIA's proprietary"]),
        ("0x1db4", "", "595", ["older than Turing (PCI device 0x1db4), which the driver supports up to 580"]),
        ("0x1eb8", "proprietary", "595", []),
        ("0x2330", "proprietary", "580", []),
        ("0x2342", "proprietary", "580", ["(PCI device 0x2342) of Grace Hopper, Blackwell or newer"]),
        ("0x2901", "proprietary", "580", ["(PCI device 0x2901) of Grace Hopper, Blackwell or newer"]),
        ("0x2901", "open", "595", []),
        ("0x2901 0x1db4", "", "580", ["no kernel modules support together: PCI device 0x1db4"]),
    ],
)
def test_kernel_modules_gpus_do_not_take_are_refused(ids: str, modules: str, branch: str, texts: list[str]) -> None:
    facts = {**FACTS, "time": time.time(), "gpus": 1, "gpuIds": ids}
    refused = problems([Candidate("gpu1", "worker", 1, facts, branch, modules)], {}, {})
    assert len(refused) == len(texts)
    assert all(text in each.text for text, each in zip(texts, refused, strict=True))


SOURCE = {"software": {"nvidia": {"url": "https://developer.download.nvidia.com/compute/cuda/repos/x/"}}}
MIRROR = {"software": {"nvidia": {"url": "https://mirror.example/"}}}


def of_branch(branch: str, ids: str, inputs: dict[str, Any], **facts: str) -> tuple[list[str], list[str]]:
    """Refusals and warnings for a machine whose driver is to come from the repository of ``inputs``."""
    now = {**FACTS, "time": time.time(), "gpus": 1, "gpuIds": ids, **facts}
    wants = [Candidate("gpu1", "worker", 1, now, branch)]
    return [each.text for each in problems(wants, inputs, {})], warnings(wants, inputs)


@pytest.mark.parametrize(
    ("offered", "ids", "branch", "text"),
    [
        ("595 620", "0x1eb8", "580", "offers the branches 595, 620, not 580: write one of them as driverVersion"),
        ("595 620", "0x1eb8", "595", ""),
        ("580 595", "0x1db4", "580", ""),
        (
            "595",
            "0x1db4",
            "580",
            "offers the branches 595, but its GPUs older than Turing (PCI device 0x1db4) need 580",
        ),
        (
            "595",
            "0x1db4",
            "595",
            "offers the branches 595, but its GPUs older than Turing (PCI device 0x1db4) need 580",
        ),
        ("580 595", "0x1db4", "595", "write driverVersion: '580'"),
    ],
)
def test_a_branch_that_package_lists_lack_is_refused(offered: str, ids: str, branch: str, text: str) -> None:
    for inputs in (SOURCE, MIRROR):
        refused, warned = of_branch(branch, ids, inputs, os="debian 13", driverBranches=offered)
        assert [text in each for each in refused] == [True] * bool(text)
        assert warned == []
    for driver in ("driverVersion", "foreignDriver"):
        refused, _ = of_branch(branch, ids, SOURCE, driverBranches=offered, **{driver: f"{branch}.1.1"})
        assert [each for each in refused if "offers" in each] == [], "nothing of the repository is needed"


@pytest.mark.parametrize(
    ("system", "ids", "branch", "remedy"),
    [
        ("debian 13", "0x1eb8", "580", "write driverVersion: '595'"),
        ("ubuntu 26.04", "0x1eb8", "580", "write driverVersion: '595'"),
        ("debian 13", "0x1db4", "580", "set packages.driver to a mirror with 580"),
        ("debian 13", "0x1eb8", "595", ""),
        ("debian 12", "0x1eb8", "580", ""),
    ],
)
def test_without_a_package_list_a_missing_branch_is_a_warning(system: str, ids: str, branch: str, remedy: str) -> None:
    refused, warned = of_branch(branch, ids, SOURCE, os=system)
    assert refused == []
    assert [remedy in each for each in warned] == [True] * bool(remedy)
    assert of_branch(branch, ids, MIRROR, os=system) == ([], [])
    assert of_branch(branch, ids, SOURCE, os=system, driverVersion=f"{branch}.1.1") == ([], [])


def test_branches_are_read_from_the_lists_of_the_declared_repository(machine: Path) -> None:
    lines = [
        " nvidia-open | 595.71.05-1 | https://nvidia.example/debian13/x86_64  Packages",
        "cuda-drivers | 595.58.03-1 | https://nvidia.example/debian13/x86_64  Packages",
        "cuda-drivers | 620.10.01-1 | https://nvidia.example/debian13/x86_64  Packages",
        " nvidia-open | 580.95.05-1 | https://mirror.example/other  Packages",
    ]
    program(machine, "apt-cache", f"cat <<'E'\n{chr(10).join(lines)}\nE")
    body = "PATH=$PATH:/usr/bin:/bin; driver_branches https://nvidia.example/debian13/{architecture}/"
    assert run_common(body, machine, "facts") == "595 620"
    program(machine, "apt-cache", "exit 0")
    assert run_common(body, machine, "facts") == ""


@pytest.mark.parametrize(
    ("ids", "modules", "package"),
    [
        ("0x1db4", None, "cuda-drivers"),
        ("0x1eb8", None, "nvidia-open"),
        ("0x1eb8", "proprietary", "cuda-drivers"),
        ("0x2901", None, "nvidia-open"),
    ],
)
def test_the_gpus_choose_the_package_unless_the_stack_file_does(ids: str, modules: str | None, package: str) -> None:
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


FABRIC = ["nvidia-fabricmanager=595.71.05-1"]
SUBNET = ["infiniband-diags", "nvlsm"]


def fabric_manager(machine: Path, installed: str, *offered: str) -> list[str]:
    """The packages that are installed, then errors. ``installed``: the fabric manager's version; the driver's is
    595.71.05. ``offered``: packages with their versions, the newest first."""
    lines = "".join(f" {' | '.join(each.split())} | https://x Packages\\n" for each in offered)
    program(machine, "apt-cache", f"printf '{lines}' | grep \"^ $2 \"")
    program(machine, "apt-get", "case $* in *0ubuntu0*) echo 'Remv nvidia-open [595.71.05-1]' ;; esac")
    stubs = f"package_version() {{ case $1 in nvidia-open) echo 595.71.05-1 ;; *) echo {installed} ;; esac; }}"
    stubs += "; candidate() { echo 1; }; has() { return 1; }; install_packages() { echo $*; }; say() { :; }"
    values = "DRIVER_PACKAGE=nvidia-open DRIVER_BRANCH=595"
    body = f"PATH=$PATH:/usr/bin:/bin; lock; touch $state/files; {stubs}; {values}; fabric_manager"
    return run_common(body, machine, "driver").splitlines()


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
    lines = fabric_manager(machine, fabric, "nvidia-fabricmanager 595.71.05-1")
    assert lines[: len(packages)] == packages
    assert [line for line in lines if "error" in line] == lines[len(packages) :]
    assert len(lines) - len(packages) == (not modules)
    loads = machine / "etc/modules-load.d/gpucluster-nvlink.conf"
    assert loads.exists() == (MANAGER in devices)


@pytest.mark.parametrize(
    ("offered", "installed"),
    [
        pytest.param(
            ["nvidia-fabricmanager 620.10.01-1", "nvidia-fabricmanager 595.71.05-1"], FABRIC, id="a newer branch"
        ),
        pytest.param(
            ["nvidia-fabricmanager-595 595.80.01-1", "nvidia-fabricmanager-595 595.71.05-1"],
            ["nvidia-fabricmanager-595=595.71.05-1"],
            id="a newer patch",
        ),
        pytest.param(
            ["nvidia-fabricmanager-595 595.58.03-0ubuntu3", "nvidia-fabricmanager 595.71.05-1"],
            FABRIC,
            id="Canonical's",
        ),
        pytest.param(["nvidia-fabricmanager-595 595.58.03-0ubuntu3"], [], id="only Canonical's"),
        pytest.param(["nvidia-fabricmanager-595 595.71.05-0ubuntu0.24.04.1"], [], id="one that removes the driver"),
    ],
)
def test_the_fabric_manager_has_the_drivers_version(machine: Path, offered: list[str], installed: list[str]) -> None:
    on_pci(machine, SWITCH)
    lines = fabric_manager(machine, "", *offered)
    assert lines[: len(installed)] == installed
    assert ["offers an nvidia-fabricmanager 595.71.05," in line for line in lines[len(installed) :]] == [True] * (
        not installed
    )
