"""Settings of a cluster that somebody else made. What is refused: ``bad_stacks/existing-*.yaml``."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.settings import Settings, SettingsError
from components.settings.own.resolved import ExistingNodes
from components.settings.read import load
from facts.concepts.kubernetes import Taint
from tests.stacks import EXISTING

FILE = yaml.safe_load(EXISTING.read_text())["config"]
EXAMPLE = {key.removeprefix("gpucluster:"): value for key, value in FILE.items()}
SCALED = {"name": "a100", "gpu": "nvidia-a100-40gb", "capacity": "autoscaled", "maxNodes": 4, "hourlyUsd": 10}


def settings(**changed: Any) -> Settings:
    return load({**EXAMPLE, **changed}, stack="lab", project=None)


def pool(**changed: Any) -> dict[str, Any]:
    return {key: value for key, value in {**EXAMPLE["gpuPools"][0], **changed}.items() if value is not None}


def test_named_nodes_are_fixed_and_have_the_labels_and_taints_of_any_cloud() -> None:
    lab = settings()
    (t4,) = lab.gpu_pools
    assert (t4.min_nodes, t4.max_nodes, t4.autoscaled, t4.owned) == (2, 2, False, True)
    assert t4.taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"),)
    assert t4.labels["gpucluster.dev/pool"] == "t4-2"
    assert isinstance(lab.own, ExistingNodes)
    assert lab.own.machines == {"t4-2": ("gpu1", "gpu2")}
    assert lab.admin_pool.max_nodes == 0


def test_a_selector_tells_how_many_nodes_it_finds() -> None:
    lab = settings(gpuPools=[pool(machines=None, selector={"gpu": "t4"}, maxNodes=3)])
    assert (lab.gpu_pools[0].min_nodes, lab.gpu_pools[0].max_nodes) == (3, 3)
    assert isinstance(lab.own, ExistingNodes)
    assert (lab.own.machines, lab.own.selectors) == ({}, {"t4-2": {"gpu": "t4"}})


def test_nodes_of_somebody_elses_autoscaler_start_at_none_and_cost_nothing_idle() -> None:
    lab = settings(gpuPools=[SCALED, pool(hourlyUsd=1)], teams=[])
    scaled = lab.gpu_pools[0]
    assert (scaled.min_nodes, scaled.max_nodes, scaled.autoscaled, scaled.owned) == (0, 4, True, False)
    assert (lab.cost_idle_hourly, lab.cost_max_hourly) == (2.0, 42.0)
    assert settings(gpuPools=[SCALED, pool()], teams=[]).cost_max_hourly is None


def test_the_kubeconfig_is_a_secret_or_refused() -> None:
    assert load({**EXAMPLE, "kubeconfig": "x"}, stack="lab", project=None, secrets=["kubeconfig"]).own is not None
    with pytest.raises(SettingsError, match=r"kubeconfig: is in plain text.*--secret gpucluster:kubeconfig"):
        settings(kubeconfig="x")
    with pytest.raises(SettingsError, match="teams: is encrypted"):
        load(EXAMPLE, stack="lab", project=None, secrets=["teams"])


def test_defaults_that_the_engine_adds_for_others_are_no_problem() -> None:
    defaults = {"availability": "zonal", "zones": [], "tags": {}, "ssh": {}, "packages": {}, "context": ""}
    assert settings(**defaults).own == settings().own
