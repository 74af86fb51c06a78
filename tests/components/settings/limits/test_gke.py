"""What GKE can do and what not, at the edge."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from components.settings import Settings, SettingsError, load

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


@pytest.mark.parametrize(
    ("zones", "minimum", "maximum", "accepted"),
    [
        (3, 0, 1, True),
        (3, 1, 2, False),
        (3, 1, 3, True),
        (3, 3, 3, True),
        (3, 4, 5, False),
        (3, 4, 6, True),
        (1, 2, 2, True),
    ],
)
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
