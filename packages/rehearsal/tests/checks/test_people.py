"""A person of each role tries what it may and may not, at a real API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from components.access import CLUSTER_RESOURCE_VIEWER, bindings
from components.clouds.base import Subject
from components.settings.access import Access
from packages.rehearsal.tests.simulated_cluster import eventually, tools
from rehearsal.checks.permissions import people_checks
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


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools()) as plane:
        plane.api.apply_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "red"}})
        plane.api.apply_manifest(CLUSTER_RESOURCE_VIEWER)
        for entry in ENTRIES:
            for binding in bindings(entry, Subject(kind="Group", name=entry.who)):
                plane.api.apply_manifest(binding)
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
