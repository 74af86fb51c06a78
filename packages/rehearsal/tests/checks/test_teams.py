"""A team's pods get the GPUs of its quota and no more, and are no more urgent than it, at a real API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from components.settings.teams import Team
from components.teams import manifests, priority_classes
from packages.rehearsal.tests.simulated_cluster import eventually, tools
from rehearsal.checks.teams import team_checks
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane

pytestmark = pytest.mark.rehearsal

TEAMS = (
    Team(name="research", gpus=3, cpus=4, memory="16Gi"),
    Team(name="nightly", gpus=0, priority="low"),
    Team(name="serving", gpus=1, priority="high"),
)
MORE = Team(name="serving", gpus=2, priority="high")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools()) as plane:
        for manifest in priority_classes():
            plane.api.apply_manifest(manifest)
        for team in TEAMS:
            plane.api.apply_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team.name}})
            for manifest in manifests(team):
                plane.api.apply_manifest(manifest)
        yield plane.api


def once(holds: Callable[[], bool], _seconds: float) -> bool:
    return holds()


def failed(api: Api, *teams: Team) -> dict[str, str]:
    return {check.id: check.detail for check in team_checks(api, teams, once) if not check.passed}


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: team.name)
def test_each_team_gets_its_gpus_and_no_more(api: Api, team: Team) -> None:
    # A quota holds once its controller has counted; until then every pod is refused.
    eventually("the quota holds", lambda: not failed(api, team))


def test_a_quota_that_is_not_what_the_stack_file_says_fails(api: Api) -> None:
    eventually("the quota holds", lambda: not failed(api, TEAMS[2]))
    assert "a pod with 2 GPUs" in failed(api, MORE)["team:serving"]


def test_a_team_without_a_namespace_fails(api: Api) -> None:
    assert "not found" in failed(api, Team(name="nobody", gpus=1))["team:nobody"]
