"""Nodes may pull from the registries of others that the stack file names, and from no more than before without."""

from __future__ import annotations

from typing import Any

import pytest

from components.clouds.aks import roles
from tests import one_stack
from tests.components.settings.test_clouds import problems
from tests.recorder import Recording, remembered
from tests.stacks import run_program, run_with

OTHERS = {
    "gke": "projects/images/locations/europe-west4/repositories/base",
    "aks": "/subscriptions/s2/resourceGroups/g/providers/Microsoft.ContainerRegistry/registries/company",
}
GRANTS = {
    "gke": "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
    "aks": "azure-native:authorization:RoleAssignment",
}
ISSUERS = {"gke": "container.googleapis.com/v1/projects/", "eks": "oidc", "aks": "issuer"}

each_cloud = pytest.mark.parametrize("cloud", one_stack.CLOUDS)
each_that_grants = pytest.mark.parametrize("cloud", OTHERS)


@remembered
def program(cloud: str, *registries: str) -> Recording:
    return run_with(one_stack.config(cloud, workloads={"pullFrom": list(registries)}), f"one-{cloud}")


def grants(recording: Recording, cloud: str) -> list[dict[str, Any]]:
    return [one.inputs for one in recording.of_type(GRANTS[cloud]) if one.name.startswith("pulls-")]


@each_that_grants
def test_the_nodes_identity_reads_what_is_named(cloud: str) -> None:
    second = OTHERS[cloud] + "2"
    members = grants(program(cloud, OTHERS[cloud], second), cloud)
    if cloud == "gke":
        places = {(one["project"], one["location"], one["repository"], one["role"]) for one in members}
        reader = "roles/artifactregistry.reader"
        assert places == {("images", "europe-west4", name, reader) for name in ("base", "base2")}
        assert all(one["member"].startswith("serviceAccount:") for one in members)
    else:
        assert {one["scope"] for one in members} == {OTHERS[cloud], second}
        assert all("/subscriptions/s2/" in one["roleDefinitionId"] for one in members)
        assert len({one["roleAssignmentName"] for one in members}) == len(members) == 4
        # A registry honours the one or the other, and which is not for this program to say.
        both = {roles.ACR_PULL, roles.REPOSITORY_READER}
        for registry in (OTHERS[cloud], second):
            on_it = {one["roleDefinitionId"].rpartition("/")[2] for one in members if one["scope"] == registry}
            assert on_it == both


@each_that_grants
def test_without_registries_nothing_is_granted(cloud: str) -> None:
    assert grants(run_program(one_stack.file(cloud)), cloud) == []


@each_that_grants
def test_what_is_no_registry_there_is_refused(cloud: str) -> None:
    for wrong in (["docker.io/library"], [OTHERS[cloud], OTHERS[cloud]]):
        refused = problems(cloud, workloads={"pullFrom": wrong})
        assert refused.keys() == {"workloads.pullFrom"}


def test_where_the_owner_lets_others_pull_it_is_said() -> None:
    refused = problems("eks", workloads={"pullFrom": ["123456789012.dkr.ecr.us-west-2.amazonaws.com/base"]})
    assert "let the nodes' roles pull" in refused["workloads.pullFrom"]


@each_cloud
def test_others_can_trust_the_issuer_of_pods_identities(cloud: str) -> None:
    network = run_program(one_stack.file(cloud)).stack_outputs["network"]
    assert ISSUERS[cloud] in str(network["oidcIssuerUrl"])


@pytest.mark.parametrize("security", [{}, {"rolePath": "/ml/"}])
@pytest.mark.parametrize("autoscaler", ["karpenter", "cluster-autoscaler"])
def test_every_role_of_nodes_is_told_to_who_lets_them_pull(autoscaler: str, security: dict[str, Any]) -> None:
    recording = run_with(one_stack.config("eks", autoscaling={"autoscaler": autoscaler}, security=security), "dev")
    groups = {each.inputs["nodeRoleArn"] for each in recording.of_type("aws:eks/nodeGroup:NodeGroup")}
    entries = recording.of_type("aws:eks/accessEntry:AccessEntry")
    joining = {each.inputs["principalArn"] for each in entries if each.inputs.get("type") == "EC2_LINUX"}
    assert bool(joining) is (autoscaler == "karpenter")
    assert set(recording.stack_outputs["network"]["nodeRoleArns"]) == groups | joining
