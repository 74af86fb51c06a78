"""A lab of two machines, played from the outside; prints what it observed as JSON. ``hang``: wait to be killed.

``python -m packages.rehearsal.tests.lab.lab_run FOLDER [hang]``, in namespaces of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rehearsal.lab import isolation
from rehearsal.lab.lab import Lab, base_root
from rehearsal.lab.machine import LabMachine, MachineError, MachineSpec, new_key
from rehearsal.lab.software import Software

MACHINES = (MachineSpec("cp1", "10.99.0.11"), MachineSpec("gpu1", "10.99.0.12", gpus=2, gpu_device_id="0x1eb8"))
_SECONDS = 600


_FACTS = """
boot=$(cat /proc/sys/kernel/random/boot_id); name=$(hostname); id=$(cat /etc/machine-id)
address=$(ip -o -4 address show eth0 | awk '{print $4}'); routes=$(ip route | grep -c 10.244)
overcommit=$(sysctl -n vm.overcommit_memory)
devices=$(cd /sys/bus/pci/devices && cat */vendor */device 2>/dev/null | tr '\\n' ' ')
file=$(cat /root/file 2>/dev/null)
for each in boot name id address routes overcommit devices file; do eval "echo \\"$each=\\$$each\\""; done
"""


def observe(lab: Lab, folder: Path) -> dict[str, Any]:
    cp1, gpu1 = lab.machine("cp1"), lab.machine("gpu1")
    observations: dict[str, Any] = {"first boot": _facts(cp1), "gpu machine": _facts(gpu1)}
    observations["lab"] = _lab_id(folder)
    observations["pids"] = sorted(isolation.pids(observations["lab"]))
    observations["user"] = _ssh(lab, cp1, cp1.host_key, folder, "id -un; sudo -n id -un")
    observations["wrong host key"] = _ssh(lab, cp1, new_key()[1], folder, "id -un")
    observations["other machine"] = gpu1.run(["ping", "-c1", "-W5", "-q", "cp1"], check=False)
    cp1.run(["sh", "-c", "echo written > /root/file; sync; ip route add 10.244.0.0/16 via 10.99.0.12"])
    cp1.run(["sysctl", "-qw", "vm.overcommit_memory=1", "kernel.panic=10"])
    observations["changed"] = _facts(cp1)
    cp1.power_cut()
    observations["powered after the cut"] = cp1.powered
    cp1.power_on()
    cp1.wait_for_ssh()
    observations["after the power cut"] = _facts(cp1)
    observations["user after the power cut"] = _ssh(lab, cp1, cp1.host_key, folder, "id -un")
    cp1.run(["systemctl", "reboot"], check=False)
    _wait(lambda: _boot(cp1) not in ("", observations["after the power cut"]["boot"]))
    cp1.wait_for_ssh()
    observations["after the reboot"] = _facts(cp1)
    cp1.run(["systemctl", "poweroff"], check=False)
    _wait(lambda: not cp1.powered)
    observations["console"] = cp1.console()
    return observations


def _lab_id(folder: Path) -> str:
    (entry,) = (file for file in isolation.REGISTRY.iterdir() if file.read_text() == str(folder / "lab"))
    return entry.name


def _facts(machine: LabMachine) -> dict[str, str]:
    machine.run(["systemctl", "is-system-running", "--wait"])
    return dict(line.split("=", 1) for line in machine.run(["sh", "-c", _FACTS]).splitlines())


def _boot(machine: LabMachine) -> str:
    try:
        return machine.run(["cat", "/proc/sys/kernel/random/boot_id"]).strip()
    except MachineError:
        return ""


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.2)


def _ssh(lab: Lab, machine: LabMachine, host_key: str, folder: Path, command: str) -> str:
    known = folder / "known_hosts"
    known.write_text(f"{machine.spec.address} {host_key}\n")
    options = {"BatchMode": "yes", "StrictHostKeyChecking": "yes"}
    options |= {"UserKnownHostsFile": str(known), "GlobalKnownHostsFile": "/dev/null"}
    line = ["ssh", "-F", "none", "-i", str(lab.private_key), *(f"-o{name}={value}" for name, value in options.items())]
    line += [f"ubuntu@{machine.spec.address}", command]
    return subprocess.run(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def main() -> None:
    folder = Path(sys.argv[1])
    software = folder / "repository"
    software.mkdir(parents=True, exist_ok=True)
    (software / "key.asc").touch()
    lab = Lab(folder / "lab", base_root(lambda _: None), MACHINES, Software((), software))
    try:
        isolation.enter()
        with lab:
            if "hang" in sys.argv:
                sys.stdout.write(f"{_lab_id(folder)}\n")
                sys.stdout.flush()
                time.sleep(600)
            observations = observe(lab, folder)
    except isolation.LabUnavailable as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(isolation.EXIT_UNAVAILABLE)
    sys.stdout.write(json.dumps(observations))


if __name__ == "__main__":
    main()
