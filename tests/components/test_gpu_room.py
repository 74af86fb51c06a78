"""What a node of a pool leaves for pods, as the admission policies are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components.gpu_admission import rooms
from facts import catalog
from tests.components import specs


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_the_room_of_a_pool_is_that_of_its_largest_machine_and_unknown_machines_have_none(cloud: str) -> None:
    known = catalog.of(cloud)
    by_memory = sorted(known.machines.types, key=lambda type: _memory(cloud, type))
    small, large = by_memory[0], by_memory[-1]
    mixed = replace(specs.gpu_pool("l4-1", gpu="nvidia-l4"), machine_types=(small, large))
    odd = replace(specs.gpu_pool("l4-4", gpu="nvidia-l4", size=4), machine_types=(small, "no-such-machine"))
    by_pool = rooms(cloud, [mixed, odd])
    assert by_pool.keys() == {mixed.name}
    assert 0 < by_pool[mixed.name].memory_mib < _memory(cloud, large) * 1024
    smaller = rooms(cloud, [replace(mixed, machine_types=(small,))])
    assert by_pool[mixed.name].memory_mib > smaller[mixed.name].memory_mib


def _memory(cloud: str, type: str) -> float:
    machine = catalog.of(cloud).machines.get(type)
    assert machine is not None
    return machine.memory_gib
