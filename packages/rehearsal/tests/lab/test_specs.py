"""Machines that a lab can have, and those it refuses, with all problems at once."""

from __future__ import annotations

import pytest

from rehearsal.lab.specs import MachineSpec, SpecError, lan


def test_the_lab_has_the_lowest_free_address_of_the_machines_network() -> None:
    assert str(lan([MachineSpec("a", "10.99.0.11"), MachineSpec("b", "10.99.0.12")])) == "10.99.0.1/24"
    assert str(lan([MachineSpec("a", "192.168.7.1"), MachineSpec("b", "192.168.7.2")])) == "192.168.7.3/24"


def test_all_problems_of_all_machines_are_in_one_message() -> None:
    machines = [
        MachineSpec("GPU_1", "10.99.0.11"),
        MachineSpec("b", "10.99.1.12"),
        MachineSpec("b", "10.99.0.11"),
        MachineSpec("c", "fe80::1"),
        MachineSpec("d", "10.99.0.255"),
        MachineSpec("e", "10.99.0.14", gpus=2, gpu_device_id="T4"),
        MachineSpec("f", "10.99.0.15", gpus=17, gpu_device_id="0x1eb8"),
    ]
    with pytest.raises(SpecError) as raised:
        lan(machines)
    assert str(raised.value).splitlines() == [
        "'GPU_1' is no host name: use lower-case letters, digits and hyphens, 63 at most",
        "c: 'fe80::1' is no IPv4 address: the lab's LAN has no other, and no DNS",
        "d: 10.99.0.255 is the address of a network, not of a machine",
        "e: 'T4' is no PCI device id: write one as 0x1eb8",
        "f: 17 GPUs: write 0 to 16",
        "the lab has one LAN, so all machines need addresses of one /24: GPU_1 in 10.99.0.0/24, b in 10.99.1.0/24",
        "2 machines have the name b",
        "2 machines have the address 10.99.0.11",
    ]


def test_a_lab_needs_a_machine() -> None:
    with pytest.raises(SpecError, match="at least one machine"):
        lan([])
