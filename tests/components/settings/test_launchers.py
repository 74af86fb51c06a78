"""Launchers select GPU nodes by labels that a pool has while it is empty.

What SkyPilot selects: ``GKELabelFormatter``, ``KarpenterLabelFormatter`` and ``SkyPilotLabelFormatter`` in
https://github.com/skypilot-org/skypilot/blob/v0.14.1/sky/provision/kubernetes/utils.py
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from components.settings import Settings, SettingsError
from facts import catalog
from facts.catalog.eks import node_tags
from facts.concepts.kubernetes import resource_of
from facts.concepts.parts import Gpus
from facts.concepts.pool import SKYPILOT_LABEL, Pool
from tests.components.settings.test_clouds import load_stack
from tests.components.specs import changed

AUTOSCALERS = [
    (cloud, autoscaler) for cloud in catalog.clouds() for autoscaler in catalog.of(cloud).choices.autoscalers
]
LABELLED = [("eks", "cluster-autoscaler"), ("aks", "managed"), ("aks", "node-auto-provisioning")]

# As it names them on GKE: ``get_gke_accelerator_name``.
WITHOUT_TESLA = {"A100-80GB", "L4", "H100-80GB", "H100-MEGA-80GB", "B200"}

# GPUs whose nodes have another label than SkyPilot selects (docs/workloads.md).
MISSED = {
    "gke": {"nvidia-rtx-pro-6000"},
    "karpenter": {"nvidia-v100-32gb", "nvidia-a100-80gb", "nvidia-rtx-pro-4500", "nvidia-rtx-pro-6000"},
}


def settings(cloud: str, autoscaler: str, pool: Mapping[str, Any] = {}, labels: Mapping[str, str] = {}) -> Settings:
    changes: dict[str, Any] = {
        "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1, **pool}],
        "cpuPools": [{"name": "work", "maxNodes": 1}],
        "labels": dict(labels),
        "autoscaling": {} if len(catalog.of(cloud).choices.autoscalers) == 1 else {"autoscaler": autoscaler},
    }
    return load_stack(cloud, **changes)


def selected_as(cloud: str, autoscaler: str) -> str:
    """What ``kubernetes.autoscaler`` is in SkyPilot's configuration."""
    return "gke" if cloud == "gke" else "karpenter" if autoscaler == "karpenter" else "generic"


def selector(autoscaler: str, name: str) -> tuple[str, str]:
    """Label and value that SkyPilot selects for its GPU of that name."""
    if autoscaler == "karpenter":
        return "karpenter.k8s.aws/instance-gpu-name", name.lower()
    if autoscaler == "generic":
        return "skypilot.co/accelerator", name.lower()
    name = {"H100": "H100-80GB"}.get(name, name)
    value = (
        "nvidia-h200-141gb" if name == "H200" else f"nvidia-{'' if name in WITHOUT_TESLA else 'tesla-'}{name.lower()}"
    )
    return "cloud.google.com/gke-accelerator", value


@cache
def amazons_names() -> dict[str, str]:
    """Machine type → its GPU in Amazon's words, without types that have none."""
    listing = json.loads(gzip.decompress((files("moto.ec2") / "resources" / "instance_types.json.gz").read_bytes()))
    return {type_: info["GpuInfo"]["Gpus"][0]["Name"] for type_, info in listing.items() if "GpuInfo" in info}


def of_the_cloud(cloud: str, autoscaler: str, pool: Pool) -> dict[str, str]:
    """Labels of its nodes by which SkyPilot knows a cloud's GPUs."""
    if cloud == "gke":
        return {"cloud.google.com/gke-accelerator": pool.gpus.accelerator}
    if autoscaler == "karpenter":
        # ``lowerKabobCase``: https://github.com/aws/karpenter-provider-aws/blob/main/pkg/providers/instancetype/types.go
        name = amazons_names()[pool.nodes.machine_type].lower().replace(" ", "-")
        return {"karpenter.k8s.aws/instance-gpu-name": name}
    return {}


def with_gpus(pool: Pool, cloud: str, gpu: str) -> Pool:
    known = catalog.of(cloud)
    machine = next(one for count in range(1, 17) for one in known.machines.having(gpu, count))
    gpus = Gpus(
        type=gpu, accelerator=known.machines.accelerators[gpu].name, per_node=machine.gpus, resource=resource_of(gpu)
    )
    return changed(pool, gpus=gpus, machine_types=(machine.type,))


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_each_gpu_of_an_empty_pool_is_what_skypilot_selects(cloud: str, autoscaler: str) -> None:
    known, launcher = catalog.of(cloud), selected_as(cloud, autoscaler)
    of_t4 = settings(cloud, autoscaler).gpu_pools[0]
    missed: set[str] = set()
    for gpu in (
        each for each in known.machines.accelerators if each.startswith("nvidia-")
    ):  # SkyPilot selects no others
        pool = with_gpus(of_t4, cloud, gpu)
        labels = {**known.labels.of_launchers(pool, autoscaler, {}), **of_the_cloud(cloud, autoscaler, pool)}
        key, value = selector(launcher, catalog.GPUS[gpu].skypilot)
        assert list(labels) == [key]
        if labels[key] != value:
            missed.add(gpu)
    assert missed == MISSED.get(launcher, set())


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_only_pools_that_skypilot_would_not_find_carry_its_label(cloud: str, autoscaler: str) -> None:
    """Of others it would be a change for nothing, which with Karpenter replaces nodes."""
    loaded = settings(cloud, autoscaler)
    labels = {pool.nodes.labels.get(SKYPILOT_LABEL) for pool in loaded.gpu_pools}
    assert labels == ({"t4"} if (cloud, autoscaler) in LABELLED else {None})
    assert not [pool for pool in (*loaded.cpu_pools, loaded.admin_pool) if SKYPILOT_LABEL in pool.nodes.labels]


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_a_label_of_the_user_stays(cloud: str, autoscaler: str) -> None:
    loaded = settings(cloud, autoscaler, pool={"labels": {SKYPILOT_LABEL: "mine"}})
    assert {pool.nodes.labels[SKYPILOT_LABEL] for pool in loaded.gpu_pools} == {"mine"}


@pytest.mark.parametrize(
    ("cloud", "autoscaler", "parts"),
    [
        pytest.param("eks", "cluster-autoscaler", {"timeSharing": {"clientsPerGpu": 2}}, id="time-sharing"),
        pytest.param("aks", "managed", {"gpu": "nvidia-a100-80gb", "mig": "1g"}, id="slices"),
        pytest.param("aks", "managed", {"gpu": "nvidia-a100-80gb", "mig": "7g"}, id="one-slice"),
    ],
)
def test_parts_of_a_gpu_are_not_taken_for_whole_ones(cloud: str, autoscaler: str, parts: dict[str, Any]) -> None:
    for pool in settings(cloud, autoscaler, pool=parts).gpu_pools:
        assert SKYPILOT_LABEL not in pool.nodes.labels
        whole = changed(pool, time_sharing=None, mig=None)
        assert SKYPILOT_LABEL in catalog.of(cloud).labels.of_launchers(whole, autoscaler, {})


@pytest.mark.parametrize("of_stack", [0, 2])
def test_it_gives_way_to_what_the_user_wrote_where_a_group_has_no_room_for_both(of_stack: int) -> None:
    stack_labels = {f"stack-{n}": "x" for n in range(of_stack)}

    def pool_with(labels: int) -> Pool:
        own = {"labels": {f"own-{n}": "x" for n in range(labels)}}
        return settings("eks", "cluster-autoscaler", pool=own, labels=stack_labels).gpu_pools[0]

    room = node_tags.room(pool_with(0), stack_labels)
    assert SKYPILOT_LABEL in pool_with(room).nodes.labels
    full = pool_with(room + 1)
    assert SKYPILOT_LABEL not in full.nodes.labels
    assert node_tags.room(full, stack_labels) == 0
    with pytest.raises(SettingsError, match="Remove 1 labels or taints"):
        pool_with(room + 2)
