"""What holds of every cloud's machines and GPUs, and of the one table of GPUs per machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from facts import catalog
from facts.catalog import Machine, tables
from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.unknown import Maybe
from policies.readers.aks.facts import gpus_of_size
from policies.readers.eks.facts import gpus_of

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).machines.accelerators]


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_every_gpu_has_a_machine_for_each_of_its_counts(cloud: str, gpu: str) -> None:
    machines = catalog.of(cloud).machines
    counts = machines.gpu_counts(gpu)
    assert counts
    for count in counts:
        matching = catalog.of(cloud).machines.having(gpu, count)
        assert matching
        assert all((machine.gpu, machine.gpus) == (gpu, count) for machine in matching)
        assert all(machines.with_gpus(machine.type, gpu, count) == machine for machine in matching)
    assert catalog.of(cloud).machines.having(gpu, max(counts) + 1) == ()


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_every_gpu_is_one_that_all_clouds_share_a_name_for(cloud: str, gpu: str) -> None:
    assert catalog.GPUS[gpu].memory_gib > 0
    size = re.search(r"-(\d+)gb$", gpu)
    assert size is None or int(size[1]) == catalog.GPUS[gpu].memory_gib


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_machine_types_round_trip(cloud: str) -> None:
    for name in catalog.of(cloud).machines.types:
        machine = catalog.of(cloud).machines.get(name)
        assert machine is not None, name
        assert machine.type == name
        assert machine.vcpus > 0, name
        assert machine.memory_gib > 0, name
        assert (machine.gpus > 0) == (machine.gpu is not None), name
        assert machine.gpu is None or machine.gpu in catalog.of(cloud).machines.accelerators, name


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_the_default_cpu_machine_has_4_vcpus_and_16_gib(cloud: str) -> None:
    machine = catalog.of(cloud).machines.get(catalog.of(cloud).machines.default_cpu)
    assert machine is not None
    assert (machine.vcpus, machine.memory_gib, machine.gpus, machine.shared_core) == (4, 16, 0, False)


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_withdrawn_gpus_are_in_no_machine_and_have_a_successor(cloud: str) -> None:
    known = catalog.of(cloud)
    assert known.machines.withdrawn_gpus
    assert set(known.machines.withdrawn_gpus).isdisjoint(known.machines.accelerators)
    assert all(
        gpu.successor in known.machines.accelerators and "http" in gpu.reason
        for gpu in known.machines.withdrawn_gpus.values()
    )


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_zones_belong_to_their_regions_and_gpus_to_zones(cloud: str) -> None:
    known = catalog.of(cloud)
    zones = {zone: region for region, in_region in known.regions.items() for zone in in_region}
    assert len(zones) == sum(map(len, known.regions.values()))
    assert known.reference_region in known.regions
    for gpu in known.machines.accelerators:
        assert set(known.gpu_zones(gpu) or ()) <= set(zones)


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_row_of_the_system_pods_counts(cloud: str) -> None:
    known = catalog.of(cloud)
    counted = [pod.name for pod in (*known.nodes.system_pods, *known.nodes.gpu_node_pods, *known.nodes.volume_pods)]
    assert sorted(counted) == sorted(row["name"] for row in tables.rows(cloud, "system_pods"))
    assert {pod.addon for pod in known.nodes.addon_pods} <= {*known.choices.addons}
    assert any(pod.per_node for pod in known.nodes.system_pods)
    assert not all(pod.per_node for pod in known.nodes.system_pods)


@pytest.mark.parametrize(
    ("cloud", "name", "vcpus", "memory_gib", "gpus"),
    [
        ("gke", "e2-custom-2-10240", 2, 10, 0),
        ("gke", "e2-custom-32-131072", 32, 128, 0),
        ("gke", "custom-1-5120", 1, 5, 0),
        ("gke", "n1-custom-6-6144", 6, 6, 0),
        ("gke", "n2-custom-36-36864", 36, 36, 0),
        # Each series' page below https://learn.microsoft.com/azure/virtual-machines/sizes/.
        ("aks", "Standard_NC64as_T4_v3", 64, 440, 4),
        ("aks", "Standard_NC24ads_A100_v4", 24, 220, 1),
        ("aks", "Standard_NC80adis_H100_v5", 80, 640, 2),
        ("aks", "Standard_ND96isr_H200_v5", 96, 1850, 8),
        ("aks", "Standard_NC144lds_xl_RTXPRO6000BSE_v6", 144, 264, 1),
        ("aks", "Standard_NC288ds_xl_RTXPRO6000BSE_v6", 288, 1032, 2),
        ("aks", "Standard_D4s_v5", 4, 16, 0),
        ("aks", "Standard_D192s_v6", 192, 768, 0),
        ("aks", "Standard_E20as_v6", 20, 160, 0),
        ("aks", "Standard_E20s_v5", 20, 160, 0),
        ("aks", "Standard_F72s_v2", 72, 144, 0),
        ("aks", "Standard_B2ms", 2, 8, 0),
    ],
)
def test_known_machines(cloud: str, name: str, vcpus: int, memory_gib: float, gpus: int) -> None:
    machine = catalog.of(cloud).machines.get(name)
    assert machine is not None
    assert (machine.vcpus, machine.memory_gib, machine.gpus) == (vcpus, memory_gib, gpus)


@pytest.mark.parametrize(
    ("cloud", "name"),
    [
        ("gke", "e2-custom-1-4096"),  # E2 starts at two
        ("gke", "e2-custom-3-10240"),  # odd
        ("gke", "e2-custom-34-131072"),  # more than 32
        ("gke", "e2-custom-2-10241"),  # not a multiple of 256 MiB
        ("gke", "e2-custom-2-512"),  # under 0.5 GiB per vCPU
        ("gke", "e2-custom-2-16640"),  # over 8 GiB per vCPU
        ("gke", "n2-custom-34-34816"),  # above 32 in steps of 4
        ("gke", "e2-standard-3"),
        ("gke", "n3-standard-4"),
        ("gke", "e2-custom-2"),
        ("gke", ""),
        ("eks", "p6e-gb200.36xlarge"),  # of racks that are sold whole
        ("eks", "g6f.large"),  # a part of a GPU
        ("eks", "g4ad.xlarge"),  # AMD's
        ("eks", "p3.2xlarge"),  # withdrawn
        ("eks", "m6i.3xlarge"),
        ("eks", "m6i"),  # a family
        ("eks", ""),
        ("aks", "Standard_E96s_v5"),  # not its family's ratio
        ("aks", "Standard_NV12ads_A10_v5"),  # a third of a GPU
        ("aks", "Standard_NC72lds_xl_RTXPRO6000BSE_v6"),  # half of one
        ("aks", "Standard_NC128ds_xl_RTXPRO6000BSE_v6"),  # a preview's
        ("aks", "Standard_NC6s_v3"),  # retired
        ("aks", "Standard_D3s_v5"),
        ("aks", "Standard_D4s_v4"),
        ("aks", "D4s_v5"),
        ("aks", ""),
    ],
)
def test_machine_types_that_no_stack_file_may_name(cloud: str, name: str) -> None:
    assert catalog.of(cloud).machines.get(name) is None


@pytest.mark.parametrize(
    ("cloud", "reserved"),
    [
        # vCPUs → thousandths of one: 6 % of the first core, 1 % of the second, 0.5 % of two more, 0.25 % of the rest.
        ("gke", {2: 70, 4: 80, 8: 90}),
        ("eks", {1: 60, 2: 70, 4: 80, 6: 85, 8: 90, 36: 160, 48: 190, 96: 310}),
        # https://learn.microsoft.com/azure/aks/node-resource-reservations
        ("aks", {1: 60, 2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740}),
    ],
)
def test_reserved_cpu_is_what_the_cloud_documents(cloud: str, reserved: dict[int, int]) -> None:
    for vcpus, milli_cpu in reserved.items():
        machine = Machine(type="x", family="x", vcpus=vcpus, memory_gib=64)
        assert catalog.of(cloud).nodes.allocatable(machine).milli_cpu == 1000 * vcpus - milli_cpu


@pytest.mark.parametrize(
    ("cloud", "region", "gpu", "zones"),
    [
        ("gke", "us-east4", "nvidia-l4", ["us-east4-a", "us-east4-c"]),
        ("gke", "africa-south1", "nvidia-l4", []),
        ("gke", "us-east4", "nvidia-rtx-pro-6000", None),
        ("eks", "us-east-1", "nvidia-b200", ["us-east-1c"]),
        ("eks", "ca-west-1", "nvidia-t4", []),
        ("eks", "us-east-1", "nvidia-p4", None),
        ("aks", "eastus", "nvidia-t4", ["eastus-1", "eastus-2", "eastus-3"]),
        # No size with an H200 has a price in East US.
        ("aks", "eastus", "nvidia-h200-141gb", []),
    ],
)
def test_gpu_zones_of_a_region(cloud: str, region: str, gpu: str, zones: list[str] | None) -> None:
    assert catalog.gpu_zones(cloud, region, gpu) == (None if zones is None else tuple(zones))


def others(cloud: str) -> list[str]:
    return [row["type"] for row in tables.rows(cloud, "other_machines")]


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_machine_that_a_stack_file_may_name_is_there_with_its_gpus(cloud: str) -> None:
    known = catalog.of(cloud)
    for name in known.machines.types:
        machine = known.machines.get(name)
        assert machine is not None
        with_gpus = gpu_machines(cloud).get(name)
        assert (with_gpus.gpu, with_gpus.gpus) == (machine.gpu, machine.gpus) if with_gpus else machine.gpus == 0


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_the_other_machines_are_listed_once_and_no_stack_file_offers_them(cloud: str) -> None:
    assert [name for name, times in Counter(name.lower() for name in others(cloud)).items() if times > 1] == []
    assert [name for name in others(cloud) if catalog.of(cloud).machines.get(name)] == []
    rows = tables.rows(cloud, "other_machines")
    assert [row["type"] for row in rows if bool(row["gpu"]) != (row["gpus"] != "0")] == []


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_other_machine_whose_size_is_known_has_a_price(cloud: str) -> None:
    known = catalog.of(cloud)
    sized = [row for row in tables.rows(cloud, "other_machines") if row["vcpus"]]
    assert len(sized) > 90
    for row in sized:
        machine = known.machines.sized(row["type"].upper())
        assert machine is not None
        assert (machine.type, machine.arch, machine.gpus) == (row["type"], row["arch"], int(row["gpus"]))
        price = known.prices.machine(known.reference_region, machine, spot=False)
        assert price is not None, row["type"]
        assert 0 < price.usd < 50


@pytest.mark.parametrize(("cloud", "count"), [("eks", gpus_of), ("aks", gpus_of_size)])
def test_the_gate_counts_the_gpus_of_every_machine_there_is(cloud: str, count: Callable[[str], Maybe[int]]) -> None:
    machines = catalog.of(cloud).machines
    known = [machine for name in machines.types if (machine := machines.get(name))]
    assert len(known) == len(machines.types)
    assert [machine.type for machine in known if count(machine.type) != machine.gpus] == []


def test_kubernetes_sees_a_part_of_a_gpu_as_one() -> None:
    parts = [machine for machine in gpu_machines("eks").values() if machine.part]
    assert parts
    assert {machine.gpus for machine in parts} == {1}


def test_a_cloud_without_a_catalogue_is_an_error() -> None:
    with pytest.raises(KeyError):
        gpu_machines("nowhere")
