"""At a real API server: a person of each role tries what it may and may not; a reader tries every verb on everything
that the server lists; a team's pods get the GPUs of its quota and no more, and are no more urgent than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from components.access import CLUSTER_RESOURCE_VIEWER, READER, bindings
from components.clouds.base import Subject
from components.settings.sections.access import Access
from components.settings.sections.teams import Team
from components.teams import manifests, priority_classes
from components.user_admission import user_policies
from facts.concepts.kubernetes import role_binding
from packages.rehearsal.tests.simulated_cluster import eventually, tools
from rehearsal.checks.permissions import people_checks, team_checks
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.simulation import UserInfo
from tests.components.specs import cluster_settings

pytestmark = pytest.mark.rehearsal

ENTRIES = (
    Access(name="ops", who="ops", role="admin"),
    Access(name="red", who="red", role="developer", namespaces=("default", "red")),
    Access(name="audit", who="audit", role="viewer"),
    Access(name="guest", who="guest", role="viewer", namespaces=("red",)),
    Access(name="ci", who="ci", role="reader"),
)
LET_IN = {entry.who: UserInfo(f"somebody-in-{entry.who}", (entry.who,)) for entry in ENTRIES}
TEAMS = (
    Team(name="research", gpus=3, cpus=4, memory="16Gi"),
    Team(name="nightly", gpus=0, priority="low"),
    Team(name="serving", gpus=1, priority="high"),
)
MORE = Team(name="serving", gpus=2, priority="high")
# ``kubectl create clusterrole --verb=get --resource='*.*'``: what looks like reading.
EVERYTHING: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "everything"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}],
}
READS = ("get", "list", "watch")
WRITES = ("create", "update", "patch", "delete", "deletecollection", "impersonate", "escalate", "bind", "approve")
# What the server authorizes and does not list: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
# and https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
UNLISTED = {
    *(("", f"nodes/{part}") for part in ("checkpoint", "configz", "healthz", "log", "metrics", "pods", "stats")),
    *(("", name) for name in ("users", "groups")),
    *(("authentication.k8s.io", name) for name in ("uids", "userextras/scopes")),
    ("certificates.k8s.io", "signers"),
}
# https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles
EVERYBODY = {
    *(("create", "authorization.k8s.io", name) for name in ("selfsubjectaccessreviews", "selfsubjectrulesreviews")),
    ("create", "authentication.k8s.io", "selfsubjectreviews"),
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools()) as plane:
        for name in ("red", *(team.name for team in TEAMS)):
            plane.api.apply_manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for manifest in (
            CLUSTER_RESOURCE_VIEWER,
            READER,
            EVERYTHING,
            role_binding(
                "everything", {"kind": "ClusterRole", "name": "everything"}, [{"kind": "User", "name": "any"}]
            ),
            *(each for entry in ENTRIES for each in bindings(entry, Subject(kind="Group", name=entry.who))),
            *priority_classes(default=True),
            *(each for team in TEAMS for each in manifests(team)),
            *user_policies(cluster_settings(teams=TEAMS)),
        ):
            plane.api.apply_manifest(dict(manifest))
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
    eventually("bindings hold", lambda: not failed(api, ENTRIES[0], ENTRIES[2], identities=LET_IN))
    [detail] = failed(api, ENTRIES[2], identities={"audit": UserInfo("ops-too", ("audit", "ops"))})
    assert "can delete nodes cluster-wide" in detail


def listed(api: Api) -> set[tuple[str, str]]:
    """Group and resource, or resource/subresource, of all that the server's discovery lists."""
    groups = {"": "/api/v1"}
    for group in api.get("/apis")["groups"]:
        for version in group["versions"]:
            groups[version["groupVersion"]] = f"/apis/{version['groupVersion']}"
    return {
        (version.rpartition("/")[0], resource["name"])
        for version, path in groups.items()
        for resource in api.get(path)["resources"]
    }


def permitted(
    api: Api, login: UserInfo, verbs: tuple[str, ...], resources: set[tuple[str, str]]
) -> set[tuple[str, str, str]]:
    """Verb, group and resource of what the server permits in the whole cluster."""

    def asks(verb: str, group: str, resource: str) -> bool:
        name, _, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": name, "subresource": subresource}
        return api.permits(login.user, login.groups, asked)

    return {(verb, *each) for verb in verbs for each in resources if asks(verb, *each)}


def granted(role: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_a_reader_reads_the_kinds_of_its_role_and_no_secret_log_or_other_subresource(api: Api) -> None:
    role = granted(READER) | granted(CLUSTER_RESOURCE_VIEWER)
    kinds = {each[1:] for each in role}
    eventually("bindings hold", lambda: role <= permitted(api, LET_IN["ci"], READS, kinds))
    resources = listed(api)
    assert {("", "pods/exec"), ("", "nodes/proxy"), ("", "serviceaccounts/token"), ("", "secrets")} <= resources
    may = permitted(api, LET_IN["ci"], (*READS, *WRITES), resources | UNLISTED | kinds)
    assert may == role | EVERYBODY
    assert {verb for verb, _, _ in may - EVERYBODY} == {*READS}
    assert not [each for each in may if "/" in each[2] or each[2] == "secrets"]


def test_reading_everything_includes_secrets_and_running_commands(api: Api) -> None:
    """Why the reader's kinds are listed, and that the test above would notice."""
    eventually("the binding holds", lambda: permitted(api, UserInfo("any"), ("get",), {("", "pods")}))
    core = {each for each in listed(api) if each[0] == ""}
    more = permitted(api, UserInfo("any"), ("get",), core) - granted(READER) - granted(CLUSTER_RESOURCE_VIEWER)
    names = {name for _, _, name in more}
    runs = {"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"}
    assert {"secrets", "pods/log", *runs} <= names


def _gpu_pod(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    limits = {"resources": {"limits": {"example.com/gpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "main", "image": "main", **limits}], **spec},
    }


def _reasons(api: Api, namespace: str, name: str) -> set[str]:
    events = api.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return {each["reason"] for each in events if each["involvedObject"]["name"] == name}


def test_an_ordinary_pod_waits_for_the_gpu_of_a_low_team(api: Api) -> None:
    """A real scheduler: no pod of people ends a running one, whatever their priorities."""
    resources = dict.fromkeys(("cpu", "pods"), "8") | {"memory": "8Gi", "example.com/gpu": "1"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}}
    api.create("/api/v1/nodes", {**node, "status": {"capacity": resources, "allocatable": resources}})
    namespaces = {"low": "nightly", "none": "red", "high": "serving"}
    for namespace in namespaces.values():
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        eventually(f"{namespace} has its account", lambda path=account: api.find(path) is not None)
    low = _gpu_pod("low", "nightly", priorityClassName="gpucluster-low")
    api.create("/api/v1/namespaces/nightly/pods", low)
    path = "/api/v1/namespaces/nightly/pods/low"
    eventually("it has the GPU", lambda: bool(api.get(path)["spec"].get("nodeName")))
    api.create("/api/v1/namespaces/red/pods", _gpu_pod("none", "red"))
    api.create("/api/v1/namespaces/serving/pods", _gpu_pod("high", "serving", priorityClassName="gpucluster-high"))
    for name in ("none", "high"):
        where = namespaces[name]
        eventually(f"{name} was tried", lambda w=where, n=name: "FailedScheduling" in _reasons(api, w, n))
    # The scheduler names a node in the pod for which it ends others: the whole decision, in one step.
    pods = {name: api.get(f"/api/v1/namespaces/{where}/pods/{name}") for name, where in namespaces.items()}
    assert [name for name, pod in pods.items() if pod["status"].get("nominatedNodeName")] == []
    assert [name for name, pod in pods.items() if pod["metadata"].get("deletionTimestamp")] == []
    assert pods["high"]["spec"]["priority"] > pods["none"]["spec"]["priority"] > pods["low"]["spec"]["priority"]


def once(holds: Callable[[], bool], _seconds: float) -> bool:
    return holds()


def failed_teams(api: Api, *teams: Team) -> dict[str, str]:
    return {check.id: check.detail for check in team_checks(api, teams, once) if not check.passed}


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: team.name)
def test_each_team_gets_its_gpus_and_no_more(api: Api, team: Team) -> None:
    # A quota holds once its controller has counted (until then every pod is refused), a policy soon after it is made.
    eventually("the quota holds", lambda: not failed_teams(api, team))


def test_a_quota_that_is_not_what_the_stack_file_says_fails(api: Api) -> None:
    eventually("the quota holds", lambda: not failed_teams(api, TEAMS[2]))
    assert "a pod with 2 GPUs" in failed_teams(api, MORE)["team:serving"]


def test_a_team_without_a_namespace_fails(api: Api) -> None:
    assert "not found" in failed_teams(api, Team(name="nobody", gpus=1))["team:nobody"]
