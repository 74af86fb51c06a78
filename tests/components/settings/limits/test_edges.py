"""Minimums, tags, node groups and ranges of addresses at the edge of what a cloud can do."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from components.settings import Settings, SettingsError, load
from components.settings.limits.common import settings_problems
from tests import one_stack
from tests.components.settings.test_stack_cases import FILES, check, problems, with_changes
from tests.components.specs import cluster_settings
from tests.tables import cases

ZONES = ["us-central1-a", "us-central1-b", "us-central1-c"]


def loaded(**changes: Any) -> Settings:
    config: dict[str, Any] = {
        "cloud": "gke",
        "region": "us-central1",
        "zones": ZONES,
        "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
        "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
        **changes,
    }
    return load(config, stack="dev", project="my-project", day=date(2026, 11, 25))


@cases
def test_a_minimum_is_one_that_as_many_nodes_in_every_zone_make(
    zones: int, minimum: int, maximum: int, accepted: bool
) -> None:
    pool = {"name": "web", "minNodes": minimum, "maxNodes": maximum, "zones": ZONES[:zones]}
    if accepted:
        assert loaded(cpuPools=[pool]).cpu_pools[0].min_nodes == minimum
        return
    with pytest.raises(SettingsError, match="the same number in every zone") as refused:
        loaded(cpuPools=[pool])
    # What it says instead is accepted.
    (problem,) = refused.value.problems
    fewer = problem.remedy.partition("[")[2].rstrip("]").split(", ")
    assert loaded(cpuPools=[{**pool, "zones": fewer}]).cpu_pools[0].min_nodes == minimum


@cases
def test_karpenter_has_no_tags_and_groups_that_could_be_too_many(
    autoscaler: str, labels: int, groups: int, refused: dict[str, str]
) -> None:
    case: dict[str, Any] = {
        "pool": {"labels": {f"label-{number}": "x" for number in range(labels)}},
        "keys": {
            "autoscaling": {"autoscaler": autoscaler},
            "cpuPools": [{"name": f"c{number}", "maxNodes": 1} for number in range(groups)],
        },
        "refused": refused,
    }
    check(problems(with_changes(FILES["eks"]["base"], case), "us-west-2"), case)


@pytest.mark.parametrize(("prefix", "refused"), [(20, False), (27, False), (28, True), (30, True)])
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_range_too_small_for_the_clusters_own_services_is_refused(cloud: str, prefix: int, refused: bool) -> None:
    settings = cluster_settings(cloud=cloud)
    changed = replace(settings, network=settings.network.model_copy(update={"service_cidr": f"10.8.0.0/{prefix}"}))
    of_range = [problem for problem in settings_problems(changed) if problem.path == "network.serviceCidr"]
    assert bool(of_range) is refused
