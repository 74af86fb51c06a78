"""Everybody whom a stack file names is let in by the cloud and has exactly its role in the cluster."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
import yaml

from components.access import bindings
from components.clouds.base import Subject
from components.clouds.eks.access import refuse_cluster_creator
from components.settings.sections.access import Access
from tests import one_stack
from tests.components.settings.test_clouds import load_stack
from tests.recorder import Recording
from tests.stacks import ROOT, run_program, run_with

RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
COMPANIES = {cloud: ROOT / "examples" / f"{cloud}-company.yaml" for cloud in one_stack.CLOUDS}
# How each cloud is told to let somebody in: the resource, and the input that names who.
LETS_IN = {
    "gke": ("gcp:projects/iAMMember:IAMMember", "member"),
    "eks": ("aws:eks/accessEntry:AccessEntry", "principalArn"),
    "aks": ("azure-native:authorization:RoleAssignment", "principalId"),
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
    access: list[dict[str, Any]] = yaml.safe_load(COMPANIES[cloud].read_text())["config"]["gpucluster:access"]
    return access


@each_cloud
def test_roles_are_bound_where_they_hold_and_nowhere_else(cloud: str) -> None:
    bindings = bound(program(cloud))
    by_role = {role: {namespace for _, its, namespace in bindings if its == role} for _, role, _ in bindings}
    viewer = "gpucluster:cluster-resource-viewer"
    cluster_wide = {role: {""} for role in ("cluster-admin", "view", "gpucluster:reader", viewer)}
    assert by_role == {"edit": {"default", "research"}, **cluster_wide}
    research = {subject for subject, role, _ in bindings if role == "edit"}
    assert len(research) == 1
    assert {role for subject, role, _ in bindings if subject in research} == {"edit", viewer}


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
    for role in map(recording.named, ("access-cluster-resource-viewer", "access-reader")):
        name = role.inputs["metadata"]["name"]
        bindings = [one for one in recording.resources if one.inputs.get("roleRef", {}).get("name") == name]
        assert bindings
        assert all(role.urn in one.depends_on for one in bindings)
        assert not any(one.delete_before_replace for one in (role, *bindings))


@pytest.mark.parametrize(
    "example", ["gke-company", "eks-company", "aks-company", "eks-karpenter", "aks-node-auto-provisioning"]
)
def test_users_read_why_karpenters_machines_do_not_start(example: str) -> None:
    config = yaml.safe_load((ROOT / "examples" / f"{example}.yaml").read_text())["config"]
    config.setdefault("gpucluster:access", _access(config["gpucluster:cloud"]))
    recording = run_with(config, example)
    rules = recording.named("access-cluster-resource-viewer").inputs["rules"]
    verbs = [rule["verbs"] for rule in rules if "nodeclaims" in rule["resources"]]
    pools = recording.of_type("kubernetes:karpenter.sh/v1:NodePool")
    assert verbs == ([["get", "list", "watch"]] if pools else [])
    assert bool(pools) is (example not in ("gke-company", "aks-company"))


def test_only_a_stack_with_a_reader_has_the_readers_role() -> None:
    config = yaml.safe_load(COMPANIES["gke"].read_text())["config"]
    config["gpucluster:access"] = [entry for entry in _access("gke") if entry["role"] != "reader"]
    names = {one.name for one in run_with(config, "gke-company").resources}
    assert "access-cluster-resource-viewer" in names
    assert "access-reader" not in names


@each_cloud
def test_a_namespace_that_is_no_longer_named_stays(cloud: str) -> None:
    made = program(cloud).of_type("kubernetes:core/v1:Namespace")
    namespaces = [one for one in made if one.name.startswith("access-")]
    assert "research" in {one.inputs["metadata"]["name"] for one in namespaces}
    assert all(one.retain_on_delete for one in namespaces)


@each_cloud
def test_a_budget_in_each_namespace_keeps_gpu_jobs_from_being_evicted(cloud: str) -> None:
    """No ``maxUnavailable: 0``: while there is one, AKS upgrades nothing."""
    recording = program(cloud)
    made = recording.of_type("kubernetes:policy/v1:PodDisruptionBudget")
    its = [one for one in made if one.inputs["metadata"]["name"] == "gpucluster-uninterrupted"]
    budgets = {one.inputs["metadata"]["namespace"]: one for one in its}
    assert {"default", "research"} <= budgets.keys()
    for budget in budgets.values():
        assert budget.inputs["spec"] == {
            "minAvailable": 2147483647,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {"gpucluster.dev/uninterrupted": "true"}},
        }
    (quota,) = budgets["research"].depends_on
    assert recording.named("access-namespace-research").urn in recording.named(quota.rpartition("::")[2]).depends_on


def test_groups_of_google_are_looked_up_in_their_domain() -> None:
    cluster = program("gke").only("gcp:container/cluster:Cluster")
    assert cluster.inputs["authenticatorGroupsConfig"] == {"securityGroup": "gke-security-groups@example.com"}
    assert "authenticatorGroupsConfig" not in run_program(ROOT / "Pulumi.dev.yaml").only(cluster.type).inputs


@pytest.mark.parametrize(
    ("who", "kind"),
    [
        ("principal://iam.googleapis.com/locations/global/workforcePools/bank/subject/ann@bank.example", "User"),
        ("principalSet://iam.googleapis.com/locations/global/workforcePools/bank/group/ops@bank.example", "Group"),
    ],
)
def test_people_of_a_workforce_pool_are_bound_by_their_whole_identifier(who: str, kind: str) -> None:
    config = yaml.safe_load(COMPANIES["gke"].read_text())["config"]
    config["gpucluster:access"] = [{"name": "ops", "who": who, "role": "admin"}]
    recording = run_with(config, "company")
    assert who in {one.inputs["member"] for one in recording.of_type(LETS_IN["gke"][0])}
    binding = recording.named("access-ops-cluster-admin").inputs
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [(kind, who)]
    assert "authenticatorGroupsConfig" not in recording.only("gcp:container/cluster:Cluster").inputs


def test_a_role_is_part_of_its_bindings_name() -> None:
    subject = Subject(kind="Group", name="g")
    roles = ("admin", "viewer", "reader")
    entries = [Access(name="a", who="g", role=role) for role in roles]
    names = [next(bindings(entry, subject))["metadata"]["name"] for entry in entries]
    assert names == ["gpucluster:a:cluster-admin", "gpucluster:a:view", "gpucluster:a:reader"]


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
    settings = load_stack("eks", access=[{"name": "ci", "who": "arn:aws:iam::123456789012:role/x/b", "role": "admin"}])
    if not refused:
        refuse_cluster_creator(settings, caller)
        return
    with pytest.raises(pulumi.RunError, match=r"access\[0\]\.who"):
        refuse_cluster_creator(settings, caller)
