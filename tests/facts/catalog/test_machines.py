"""What holds of every cloud's machines and GPUs, whatever they are called."""

from __future__ import annotations

import re

import pytest

from facts import catalog
from facts.catalog import tables

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).accelerators]
TYPES = [(cloud, name) for cloud in catalog.clouds() for name in catalog.of(cloud).machines.types]


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_every_gpu_has_a_machine_for_each_of_its_counts(cloud: str, gpu: str) -> None:
    machines = catalog.of(cloud).machines
    counts = machines.gpu_counts(gpu)
    assert counts
    for count in counts:
        matching = catalog.machines_for(cloud, gpu, count)
        assert matching
        assert all((machine.gpu, machine.gpus) == (gpu, count) for machine in matching)
        assert all(machines.with_gpus(machine.type, gpu, count) == machine for machine in matching)
    assert catalog.machines_for(cloud, gpu, max(counts) + 1) == ()


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_every_gpu_is_one_that_all_clouds_share_a_name_for(cloud: str, gpu: str) -> None:
    assert catalog.GPUS[gpu].memory_gib > 0
    size = re.search(r"-(\d+)gb$", gpu)
    assert size is None or int(size[1]) == catalog.GPUS[gpu].memory_gib


@pytest.mark.parametrize(("cloud", "name"), TYPES)
def test_machine_types_round_trip(cloud: str, name: str) -> None:
    machine = catalog.machine(cloud, name)
    assert machine is not None
    assert machine.type == name
    assert machine.vcpus > 0
    assert machine.memory_gib > 0
    assert (machine.gpus > 0) == (machine.gpu is not None)
    assert machine.gpu is None or machine.gpu in catalog.of(cloud).accelerators


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_the_default_cpu_machine_has_4_vcpus_and_16_gib(cloud: str) -> None:
    machine = catalog.machine(cloud, catalog.of(cloud).default_cpu_machine)
    assert machine is not None
    assert (machine.vcpus, machine.memory_gib, machine.gpus, machine.shared_core) == (4, 16, 0, False)


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_withdrawn_gpus_are_in_no_machine_and_have_a_successor(cloud: str) -> None:
    known = catalog.of(cloud)
    assert known.withdrawn_gpus
    assert set(known.withdrawn_gpus).isdisjoint(known.accelerators)
    assert all(gpu.successor in known.accelerators and "http" in gpu.reason for gpu in known.withdrawn_gpus.values())


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_zones_belong_to_their_regions_and_gpus_to_zones(cloud: str) -> None:
    known = catalog.of(cloud)
    zones = {zone: region for region, in_region in known.regions.items() for zone in in_region}
    assert len(zones) == sum(map(len, known.regions.values()))
    assert all(catalog.region_of(cloud, zone) == region for zone, region in zones.items())
    assert known.reference_region in known.regions
    for gpu in known.accelerators:
        assert set(known.gpu_zones(gpu) or ()) <= set(zones)


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_row_of_the_system_pods_counts(cloud: str) -> None:
    known = catalog.of(cloud)
    counted = [pod.name for pod in (*known.system_pods, *known.gpu_node_pods, *known.volume_pods)]
    assert sorted(counted) == sorted(row["name"] for row in tables.rows(cloud, "system_pods"))
    assert {pod.addon for pod in known.addon_pods} <= {*known.addons}
    assert any(pod.per_node for pod in known.system_pods)
    assert not all(pod.per_node for pod in known.system_pods)
