"""Bottlerocket's settings: as how many GPUs a node advertises each of its own."""

from __future__ import annotations

import base64

import pytest

from components.clouds.eks.node_template import divided_gpus
from facts.catalog import of
from facts.concepts.parts import Gpus, SharedGpu
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.machines.gpu_parts import parts

SLICED = Gpus(type="nvidia-t4", accelerator="", per_node=1, time_sharing=SharedGpu(clients_per_gpu=6))
PARTITIONED = [
    Gpus(type=gpu, accelerator="", per_node=8, mig=mig)
    for gpu, known in of("eks").machines.accelerators.items()
    for mig in known.partitions
]


def advertised(gpu: str, settings: str) -> int:
    return parts(gpu, base64.b64encode(settings.encode()).decode())


@cases
def test_settings_divide_gpus(gpu: str, plugin: str, further: str, expected: int) -> None:
    lines = [f"[settings.kubelet-device-plugins.nvidia]\n{plugin}"]
    lines += [f"[settings.kubelet-device-plugins.nvidia.{further}"] if further else []
    assert advertised(gpu, "\n".join(lines)) == expected


@pytest.mark.parametrize("gpus", [SLICED, *PARTITIONED], ids=lambda gpus: f"{gpus.type} {gpus.mig}")
def test_the_program_divides_every_gpu_as_it_says(gpus: Gpus) -> None:
    assert advertised(gpus.type, divided_gpus(gpus)) == gpus.shares
