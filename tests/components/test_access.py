"""Everybody whom a stack file names is let in by the cloud and has exactly its role in the cluster."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from components.access import bindings
from components.clouds.base import Subject
from components.clouds.eks.access import refuse_cluster_creator
from components.settings.access import Access
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, problems
from tests.recorder import Recording
from tests.stacks import ROOT, run_program

RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
COMPANIES = {cloud: ROOT / "examples" / f"{cloud}-company.yaml" for cloud in one_stack.CLOUDS}
# How each cloud is told to let somebody in: the resource, and the input that names who.
LETS_IN = {
    "gke": ("gcp:projects/iAMMember:IAMMember", "member"),
    "eks": ("aws:eks/accessEntry:AccessEntry", "principalArn"),
    "aks": ("azure-native:authorization:RoleAssignment", "principalId"),
}
PEOPLE = {
    "gke": ("group:a@example.com", "user:b@example.com", "serviceAccount:c@p.iam.gserviceaccount.com"),
    "eks": (
        "arn:aws:iam::123456789012:role/a",
        "arn:aws:iam::123456789012:role/x/b",
        "arn:aws-cn:iam::123456789012:user/c",
    ),
    "aks": ("11111111-aaaa-4bbb-8ccc-000000000001",),
}
NOBODY = {
    "gke": ("a@example.com", "group:a", "domain:example.com", "allUsers"),
    "eks": ("arn:aws:sts::123456789012:assumed-role/a/me", "arn:aws:iam::123456789012:group/a", "a"),
    "aks": ("research", "user@example.com"),
}

each_cloud = pytest.mark.parametrize("cloud", one_stack.CLOUDS)


def program(cloud: str) -> Recording:
    return run_program(COMPANIES[cloud])


def bound(recording: Recording) -> set[tuple[str, str, str]]:
    """(subject, role, namespace or ``""``) of every binding that is the access component's."""
    return {
        (one.inputs["subjects"][0]["name"], one.inputs["roleRef"]["name"], one.inputs["metadata"].get("namespace", ""))
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for one in recording.of_type(f"{RBAC}:{kind}")
        if one.name.startswith("access-") and one.inputs["roleRef"]["name"] != "gpu-notifier"
    }


@each_cloud
def test_each_entry_is_let_in_by_the_cloud(cloud: str) -> None:
    token, key = LETS_IN[cloud]
    let_in = {resource.inputs[key] for resource in program(cloud).of_type(token)}
    settings = load_stack(cloud, access=_access(cloud))
    assert {entry.who for entry in settings.access} <= let_in


def _access(cloud: str) -> list[dict[str, Any]]:
    import yaml

    access: list[dict[str, Any]] = yaml.safe_load(COMPANIES[cloud].read_text())["config"]["gpucluster:access"]
    return access


@each_cloud
def test_roles_are_bound_where_they_hold_and_nowhere_else(cloud: str) -> None:
    bindings = bound(program(cloud))
    by_role = {role: {namespace for _, its, namespace in bindings if its == role} for _, role, _ in bindings}
    assert by_role == {
        "cluster-admin": {""},
        "edit": {"default", "research"},
        "view": {""},
        "gpucluster:cluster-resource-viewer": {""},
    }
    research = {subject for subject, role, _ in bindings if role == "edit"}
    assert len(research) == 1
    assert {role for subject, role, _ in bindings if subject in research} == {
        "edit",
        "gpucluster:cluster-resource-viewer",
    }


@each_cloud
def test_each_namespace_of_users_has_an_account_that_sees_how_a_job_ends_and_no_more(cloud: str) -> None:
    recording = program(cloud)
    objects = [one for one in recording.resources if one.inputs.get("metadata", {}).get("name") == "gpu-notifier"]
    by_kind: dict[str, dict[str, dict[str, Any]]] = {"ServiceAccount": {}, "Role": {}, "RoleBinding": {}}
    for one in objects:
        by_kind[one.type.rpartition(":")[2]][one.inputs["metadata"]["namespace"]] = dict(one.inputs)
    budgets = recording.of_type("kubernetes:policy/v1:PodDisruptionBudget")
    namespaces = {one.inputs["metadata"]["namespace"] for one in budgets if one.name.startswith("access-")}
    assert {"default", "research"} <= namespaces
    assert all({*each} == namespaces for each in by_kind.values())
    assert by_kind["Role"]["default"]["rules"] == [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    for namespace, binding in by_kind["RoleBinding"].items():
        account = {"kind": "ServiceAccount", "name": "gpu-notifier", "namespace": namespace}
        assert binding["subjects"] == [account], "of its own namespace"


@each_cloud
def test_objects_renamed_since_earlier_versions_keep_their_place_in_the_state(cloud: str) -> None:
    viewer = "cluster-resource-viewer"
    renamed = [one for one in program(cloud).resources if one.name.startswith("access-") and one.name.endswith(viewer)]
    assert "access-cluster-resource-viewer" in {one.name for one in renamed}
    assert len(renamed) == 1 + len([entry for entry in _access(cloud) if entry["role"] != "admin"])
    for one in renamed:
        former = one.name.removesuffix(viewer) + "surroundings"
        assert [f'name: "{former}"' in alias for alias in one.aliases] == [True], one.name


@each_cloud
def test_new_bindings_wait_for_the_role_that_they_bind(cloud: str) -> None:
    """Replaced objects have other names, so they are created before the former ones go: access never lapses."""
    recording = program(cloud)
    role = recording.named("access-cluster-resource-viewer")
    bindings = [
        one
        for one in recording.resources
        if one.inputs.get("roleRef", {}).get("name") == role.inputs["metadata"]["name"]
    ]
    assert bindings
    assert all(role.urn in one.depends_on for one in bindings)
    assert not any(one.delete_before_replace for one in (role, *bindings))


@each_cloud
def test_a_namespace_that_is_no_longer_named_stays(cloud: str) -> None:
    namespaces = [
        one for one in program(cloud).of_type("kubernetes:core/v1:Namespace") if one.name.startswith("access-")
    ]
    assert "research" in {one.inputs["metadata"]["name"] for one in namespaces}
    assert all(one.retain_on_delete for one in namespaces)


@each_cloud
def test_a_budget_in_each_namespace_keeps_gpu_jobs_from_being_evicted(cloud: str) -> None:
    """No ``maxUnavailable: 0``: while there is one, AKS upgrades nothing."""
    recording = program(cloud)
    budgets = {
        one.inputs["metadata"]["namespace"]: one
        for one in recording.of_type("kubernetes:policy/v1:PodDisruptionBudget")
        if one.inputs["metadata"]["name"] == "gpucluster-uninterrupted"
    }
    assert {"default", "research"} <= budgets.keys()
    for budget in budgets.values():
        assert budget.inputs["spec"] == {
            "minAvailable": 2147483647,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {"gpucluster.dev/uninterrupted": "true"}},
        }
    assert recording.named("access-namespace-research").urn in budgets["research"].depends_on


def test_groups_of_google_are_looked_up_in_their_domain() -> None:
    cluster = program("gke").only("gcp:container/cluster:Cluster")
    assert cluster.inputs["authenticatorGroupsConfig"] == {"securityGroup": "gke-security-groups@example.com"}
    assert "authenticatorGroupsConfig" not in run_program(ROOT / "Pulumi.dev.yaml").only(cluster.type).inputs


def test_a_role_is_part_of_its_bindings_name() -> None:
    subject = Subject(kind="Group", name="g")
    roles = ("admin", "viewer")
    names = [
        {one["metadata"]["name"] for one in bindings(Access(name="a", who="g", role=role), subject)} for role in roles
    ]
    assert names[0].isdisjoint(names[1])


@pytest.mark.parametrize(("cloud", "who"), [(cloud, who) for cloud, all_of in PEOPLE.items() for who in all_of])
def test_people_as_the_cloud_writes_them_are_taken(cloud: str, who: str) -> None:
    [entry] = load_stack(cloud, access=[{"name": "a", "who": who, "role": "admin"}]).access
    assert entry.who == who


@pytest.mark.parametrize(("cloud", "who"), [(cloud, who) for cloud, all_of in NOBODY.items() for who in all_of])
def test_a_principal_that_the_cloud_cannot_have_is_refused(cloud: str, who: str) -> None:
    refused = problems(cloud, access=[{"name": "a", "who": who, "role": "admin"}])
    assert refused.keys() == {"access[0].who"}
    assert "Write" in refused["access[0].who"]


def test_groups_of_two_domains_are_refused_at_the_second() -> None:
    people = ("group:a@example.com", "user:b@elsewhere.org", "group:c@elsewhere.org")
    access = [{"name": f"n{index}", "who": who, "role": "admin"} for index, who in enumerate(people)]
    assert problems("gke", access=access).keys() == {"access[2].who"}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"role": "developer"}, "access[0].namespaces"),
        ({"role": "admin", "namespaces": ["a"]}, "access[0].namespaces"),
        ({"role": "developer", "namespaces": ["kube-system"]}, "access[0].namespaces[0]"),
        ({"role": "developer", "namespaces": ["a", "a"]}, "access[0].namespaces"),
        ({"role": "owner"}, "access[0].role"),
    ],
)
def test_roles_that_make_no_sense_are_refused(entry: dict[str, Any], path: str) -> None:
    who = PEOPLE["gke"][0]
    assert problems("gke", access=[{"name": "a", "who": who, **entry}]).keys() == {path}


@pytest.mark.parametrize("twice", ["name", "who"])
def test_nobody_has_two_entries(twice: str) -> None:
    one = {"name": "a", "who": PEOPLE["gke"][0], "role": "viewer"}
    other = {"name": "b", "who": PEOPLE["gke"][1], "role": "viewer", twice: one[twice]}
    assert f"the {twice} " in problems("gke", access=[one, other])["access"]


@pytest.mark.parametrize(
    ("caller", "refused"),
    [
        ("arn:aws:sts::123456789012:assumed-role/b/session", True),
        ("arn:aws:iam::123456789012:role/b", True),
        ("arn:aws:sts::123456789012:assumed-role/a/session", False),
        ("arn:aws:sts::210987654321:assumed-role/b/session", False),
        ("arn:aws:iam::123456789012:user/b", False),
    ],
)
def test_the_principal_that_creates_a_cluster_is_no_access_entry(caller: str, refused: bool) -> None:
    settings = load_stack("eks", access=[{"name": "ci", "who": PEOPLE["eks"][1], "role": "admin"}])
    if not refused:
        refuse_cluster_creator(settings, caller)
        return
    with pytest.raises(pulumi.RunError, match=r"access\[0\]\.who"):
        refuse_cluster_creator(settings, caller)
