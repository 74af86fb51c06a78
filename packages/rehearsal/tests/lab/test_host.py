"""What the lab asks of the host: cgroups of both versions, lab, a source of packages; each lack is one sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from packages.rehearsal.tests.simulated_cluster import PATIENCE
from packages.rehearsal.tests.tables import cases
from rehearsal.lab import isolation, lab
from rehearsal.lab.isolation import Hierarchy, LabUnavailable
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import MachineSpec
from rehearsal.lab.software import Software

V1 = """\
24 1 0:21 / / rw - ext4 /dev/sda1 rw
30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
31 24 0:27 / /sys/fs/cgroup/systemd rw shared:7 - cgroup cgroup rw,xattr,name=systemd
32 24 0:27 / /mnt/again rw - cgroup cgroup rw,xattr,name=systemd
33 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate
"""
V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"


def test_every_hierarchy_of_the_host_is_mounted_once_in_a_machine() -> None:
    assert isolation.hierarchies(V1) == (
        Hierarchy(Path("/sys/fs/cgroup/cpu,cpuacct"), "cpu,cpuacct"),
        Hierarchy(Path("/sys/fs/cgroup/systemd"), "none,name=systemd"),
        Hierarchy(Path("/sys/fs/cgroup/unified"), "cgroup2"),
    )
    assert isolation.hierarchies(V2) == (Hierarchy(Path("/sys/fs/cgroup"), "cgroup2"),)
    assert isolation.hierarchies("24 1 0:21 / / rw - ext4 /dev/sda1 rw\n") == ()


def test_a_host_without_a_controller_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu memory\n")
    monkeypatch.setattr(isolation, "hierarchies", lambda: (Hierarchy(tmp_path, "cgroup2"),))
    assert isolation.missing_controllers() == ["pids"]
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    assert isolation.missing_controllers() == []


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabUnavailable, match="need root"):
        isolation.require()


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabUnavailable, match="unshare, nsenter, ip, mount, pivot_root, hostname"):
        isolation.require()


@pytest.mark.parametrize(("free", "enough"), [(21 << 30, True), (20 << 30, False)])
def test_a_disk_on_which_kubelets_would_delete_images_is_refused(
    free: int, enough: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=100 << 30, free=free))
    with nullcontext() if enough else pytest.raises(LabUnavailable, match="has 20 GiB free, the machines need 21 GiB"):
        isolation.require_room(tmp_path)


def test_this_process_is_not_isolated_by_a_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own = " ".join(str(Path("/proc/self/ns", each).readlink()) for each in ("net", "mnt"))
    assert not isolation.isolated()
    monkeypatch.setenv("GPUCLUSTER_LAB_OUTSIDE", own)
    assert not isolation.isolated()


def test_the_cached_root_changes_with_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = lab.definition()
    assert len(before) == 16
    monkeypatch.setattr(lab, "PACKAGES", (*lab.PACKAGES, "vim"))
    with_a_package = lab.definition()
    hook = tmp_path / "root.sh"
    hook.write_text("true\n")
    monkeypatch.setattr(lab, "_HOOK", hook)
    assert len({before, with_a_package, lab.definition()}) == 3


def test_the_base_root_has_nothing_that_the_program_installs() -> None:
    assert not {"containerd", "runc", "conntrack", "kubelet", "socat", "python3"} & set(lab.PACKAGES)
    assert {"systemd-sysv", "openssh-server", "sudo"} <= set(lab.PACKAGES)


@cases
def test_packages_come_from_the_hosts_own_sources_of_debian_12(
    printed: str, lines: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=printed))
    if lines is not None:
        assert lab.package_sources() == tuple(lines)
        return
    with pytest.raises(LabUnavailable, match="apt-get update"):
        lab.package_sources()


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_no_lab_starts_in_the_hosts_own_network(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lab", tmp_path / "root", [MachineSpec("cp1", "10.99.0.11")], Software((), tmp_path))
    with pytest.raises(LabUnavailable, match="namespaces of its own"), lab:
        pass
    assert not (tmp_path / "lab").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_an_isolated_command_has_a_network_with_loopback_only() -> None:
    program = "import os, socket; from rehearsal.lab import isolation; "
    program += "print(os.getpid(), isolation.isolated(), len(socket.if_nameindex()))"
    process = subprocess.Popen(isolation.command([sys.executable, "-c", program]), stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=PATIENCE)
    assert output.split()[:2] == [str(process.pid), "True"]
    assert int(output.split()[2]) == len(_links_of_a_new_namespace())


def _links_of_a_new_namespace() -> list[str]:
    listed = subprocess.run(["unshare", "--net", "ip", "-brief", "link"], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()
