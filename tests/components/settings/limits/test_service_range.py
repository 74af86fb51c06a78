"""A range of services has room for those that a cluster has by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components.settings.limits.common import settings_problems
from tests import one_stack
from tests.components.specs import cluster_settings


@pytest.mark.parametrize(("prefix", "refused"), [(20, False), (27, False), (28, True), (30, True)])
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_range_too_small_for_the_clusters_own_services_is_refused(cloud: str, prefix: int, refused: bool) -> None:
    settings = cluster_settings(cloud=cloud)
    changed = replace(settings, network=settings.network.model_copy(update={"service_cidr": f"10.8.0.0/{prefix}"}))
    of_range = [problem for problem in settings_problems(changed) if problem.path == "network.serviceCidr"]
    assert bool(of_range) is refused
