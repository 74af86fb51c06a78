"""Two machines that are real: SSH with pinned keys, power cut, reboot, and nothing left on the host."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.lab import REAL
from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually
from rehearsal.lab import isolation
from rehearsal.lab.lab import base_root
from rehearsal.sandbox.client import processes

pytestmark = [pytest.mark.rehearsal, REAL]
KINDS = ("cgroups", "processes", "mounts", "entries", "disks")
ROOT = Path(__file__).parents[4]
SYSCTLS = ("kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys")
SYSCTLS += ("vm/overcommit_memory", "net/ipv4/ip_forward")


def host() -> dict[str, Any]:
    """What machines might change on the host."""
    return {
        "sysctls": [Path("/proc/sys", name).read_text() for name in SYSCTLS],
        "links": sorted(path.name for path in Path("/sys/class/net").iterdir()),
    }


def traces(lab: str, folder: Path) -> dict[str, int]:
    """How much there is of a lab on the host, by kind."""
    return {
        "cgroups": len({lab} & isolation.labs()),
        "processes": len(isolation.pids(lab)) + len(processes(folder)),
        "mounts": sum(str(folder) in text for text in _mounts()),
        "entries": int((isolation.REGISTRY / lab).exists()),
        "disks": int((folder / "lab" / "machines").exists()),
    }


def _mounts() -> Iterator[str]:
    """The mounts of every process: those of a lab are in namespaces of its own."""
    for file in Path("/proc").glob("[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):
            yield file.read_text()


@contextlib.contextmanager
def _start(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    base_root(lambda _: None)  # isolated it could not be downloaded
    module = "packages.rehearsal.tests.lab.lab_run"
    path = os.pathsep.join(str(ROOT / each) for each in ("", "packages/gpu", "packages/rehearsal"))
    with subprocess.Popen(
        isolation.command([sys.executable, "-m", module, str(folder), *arguments]),
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return host()


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory, before: dict[str, Any]) -> dict[str, Any]:
    """What ``lab_run.py`` observed, and what there is after its end."""
    folder = tmp_path_factory.mktemp("lab")
    with _start(folder) as process:
        output, _ = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0
    observations = json.loads(output)
    return observations | {
        "host": host(),
        "traces": traces(observations["lab"], folder),
        "files": sorted(path.name for path in (folder / "lab").iterdir()),
    }


def test_the_pinned_key_is_accepted_and_another_is_not(observed: dict[str, Any]) -> None:
    assert observed["user"].split() == ["ubuntu", "root"]
    assert "Host key verification failed" in observed["wrong host key"]
    assert "ubuntu" not in observed["wrong host key"].split()


def test_each_machine_has_its_own_identity_and_hardware(observed: dict[str, Any]) -> None:
    first, other = observed["first boot"], observed["gpu machine"]
    assert (first["name"], first["address"], first["devices"]) == ("cp1", "10.99.0.11/24", "")
    assert (other["name"], other["address"]) == ("gpu1", "10.99.0.12/24")
    assert other["devices"].split() == ["0x10de", "0x10de", "0x1eb8", "0x1eb8"]
    assert first["id"] != other["id"]
    assert "1 received" in observed["other machine"]


def test_a_power_cut_takes_routes_and_settings_but_not_the_disk(observed: dict[str, Any]) -> None:
    changed, after = observed["changed"], observed["after the power cut"]
    assert (changed["file"], changed["routes"], changed["overcommit"]) == ("written", "1", "1")
    assert observed["powered after the cut"] is False
    assert (after["file"], after["routes"], after["overcommit"]) == ("written", "0", "0")
    assert (after["address"], after["id"]) == ("10.99.0.11/24", changed["id"])
    assert after["boot"] != changed["boot"]
    assert observed["user after the power cut"].split() == ["ubuntu"]


def test_a_reboot_comes_back_by_itself(observed: dict[str, Any]) -> None:
    before_it, after = observed["after the power cut"], observed["after the reboot"]
    assert after["boot"] != before_it["boot"]
    assert {**after, "boot": ""} == {**before_it, "boot": ""}
    assert "Reached target reboot.target" in observed["console"]
    assert "Reached target poweroff.target" in observed["console"]


def test_nothing_is_left_on_the_host(observed: dict[str, Any], before: dict[str, Any]) -> None:
    assert len(observed["pids"]) > 10
    assert set(observed["traces"].items()) == {(kind, 0) for kind in KINDS}
    assert observed["files"] == ["logs", "ssh"]
    assert observed["host"] == before


@pytest.mark.usefixtures("observed")
def test_a_killed_lab_dies_whole_and_the_next_start_sweeps_it(tmp_path: Path, before: dict[str, Any]) -> None:
    with _start(tmp_path, "hang") as process:
        assert process.stdout is not None
        lab = process.stdout.readline().strip()
        assert lab not in isolation.sweep()
        assert len(isolation.pids(lab)) > 10
        assert all(traces(lab, tmp_path)[kind] for kind in KINDS)
        process.send_signal(signal.SIGKILL)
    eventually("its machines have ended", lambda: not isolation.pids(lab))
    # Nothing runs any more; cgroups and disks wait for the next start.
    eventually("so has the rest", lambda: not traces(lab, tmp_path)["processes"])
    assert traces(lab, tmp_path) == {"cgroups": 1, "processes": 0, "mounts": 0, "entries": 1, "disks": 1}
    assert lab in isolation.sweep()
    assert set(traces(lab, tmp_path).items()) == {(kind, 0) for kind in KINDS}
    assert host() == before
