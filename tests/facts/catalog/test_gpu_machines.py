"""One table of GPUs per machine: what stack files may name, and beside it what only other programs do."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from importlib.resources import files

import pytest

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.unknown import Maybe
from policies.readers.aks.facts import gpus_of_size
from policies.readers.eks.facts import gpus_of

WITH_OTHERS = ("eks", "aks")


def others(cloud: str) -> list[str]:
    table = files(f"facts.catalog.{cloud}") / "data" / "other_gpu_machines.csv"
    return [row["type"] for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())]


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_machine_that_a_stack_file_may_name_is_there_with_its_gpus(cloud: str) -> None:
    known = catalog.of(cloud)
    for name in known.machines.types:
        machine = known.machines.get(name)
        assert machine is not None
        with_gpus = gpu_machines(cloud).get(name)
        assert (with_gpus.gpu, with_gpus.gpus) == (machine.gpu, machine.gpus) if with_gpus else machine.gpus == 0


@pytest.mark.parametrize("cloud", WITH_OTHERS)
def test_the_other_machines_are_listed_once_and_no_stack_file_offers_them(cloud: str) -> None:
    assert [name for name, times in Counter(name.lower() for name in others(cloud)).items() if times > 1] == []
    assert [name for name in others(cloud) if catalog.of(cloud).machines.get(name)] == []
    assert all(gpu_machines(cloud)[name].gpus > 0 for name in others(cloud))


@pytest.mark.parametrize(("cloud", "count"), [("eks", gpus_of), ("aks", gpus_of_size)])
def test_the_gate_counts_the_gpus_of_every_machine_that_a_stack_file_may_name(
    cloud: str, count: Callable[[str], Maybe[int]]
) -> None:
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
