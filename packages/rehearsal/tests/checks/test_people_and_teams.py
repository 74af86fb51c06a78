"""At a real API server: a person of each role tries what it may and may not; a team's pods get the GPUs of its quota
and no more, and are no more urgent than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from components.access import CLUSTER_RESOURCE_VIEWER, bindings
from components.clouds.base import Subject
from components.settings.access import Access
from components.settings.teams import Team
from components.teams import manifests, priority_classes
from packages.rehearsal.tests.simulated_cluster import eventually, tools
from rehearsal.checks.permissions import people_checks, team_checks
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.simulation import UserInfo

pytestmark = pytest.mark.rehearsal

ENTRIES = (
    Access(name="ops", who="ops", role="admin"),
    Access(name="red", who="red", role="developer", namespaces=("default", "red")),
    Access(name="audit", who="audit", role="viewer"),
    Access(name="guest", who="guest", role="viewer", namespaces=("red",)),
)
LET_IN = {entry.who: UserInfo(f"somebody-in-{entry.who}", (entry.who,)) for entry in ENTRIES}
TEAMS = (
    Team(name="research", gpus=3, cpus=4, memory="16Gi"),
    Team(name="nightly", gpus=0, priority="low"),
    Team(name="serving", gpus=1, priority="high"),
)
MORE = Team(name="serving", gpus=2, priority="high")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools()) as plane:
        for name in ("red", *(team.name for team in TEAMS)):
            plane.api.apply_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for manifest in (
            CLUSTER_RESOURCE_VIEWER,
            *(each for entry in ENTRIES for each in bindings(entry, Subject(kind="Group", name=entry.who))),
            *priority_classes(),
            *(each for team in TEAMS for each in manifests(team)),
        ):
            plane.api.apply_manifest(manifest)
        yield plane.api


def failed(api: Api, *entries: Access, identities: dict[str, UserInfo]) -> list[str]:
    return [check.detail for check in people_checks(api, entries, identities) if not check.passed]


def test_everybody_may_do_what_the_role_says_and_no_more(api: Api) -> None:
    # The API server's authorizer learns of each binding some time after it was made.
    eventually("bindings hold", lambda: not failed(api, *ENTRIES, identities=LET_IN))
    assert failed(api, *ENTRIES, identities=LET_IN) == []


def test_whom_the_cloud_does_not_let_in_fails(api: Api) -> None:
    assert failed(api, ENTRIES[0], identities={}) == ["the cloud does not grant ops access to the cluster"]


def test_somebody_without_the_bindings_of_the_role_fails(api: Api) -> None:
    [detail] = failed(api, ENTRIES[1], identities={"red": UserInfo("stranger")})
    assert "cannot create jobs in red" in detail


def test_somebody_with_more_than_the_role_fails(api: Api) -> None:
    eventually("bindings hold", lambda: not failed(api, ENTRIES[0], identities=LET_IN))
    [detail] = failed(api, ENTRIES[2], identities={"audit": UserInfo("ops-too", ("audit", "ops"))})
    assert "can delete nodes cluster-wide" in detail


def once(holds: Callable[[], bool], _seconds: float) -> bool:
    return holds()


def failed_teams(api: Api, *teams: Team) -> dict[str, str]:
    return {check.id: check.detail for check in team_checks(api, teams, once) if not check.passed}


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: team.name)
def test_each_team_gets_its_gpus_and_no_more(api: Api, team: Team) -> None:
    # A quota holds once its controller has counted; until then every pod is refused.
    eventually("the quota holds", lambda: not failed_teams(api, team))


def test_a_quota_that_is_not_what_the_stack_file_says_fails(api: Api) -> None:
    eventually("the quota holds", lambda: not failed_teams(api, TEAMS[2]))
    assert "a pod with 2 GPUs" in failed_teams(api, MORE)["team:serving"]


def test_a_team_without_a_namespace_fails(api: Api) -> None:
    assert "not found" in failed_teams(api, Team(name="nobody", gpus=1))["team:nobody"]
