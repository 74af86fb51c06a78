"""Whom each simulated cloud lets into its cluster: those of its API that do, as the API server would know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.eks import account as amazon
from packages.rehearsal.tests.providers.gke import account as google
from rehearsal.providers.base import ProviderError
from rehearsal.simulation import UserInfo

GUID = "11111111-aaaa-4bbb-8ccc-000000000001"
USER_ROLE = f"{azure.ROLES}/4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
ENTRY = "aws:eks/accessEntry:AccessEntry"


def grant(cloud: google.Google, member: str, role: str = "roles/container.clusterViewer") -> None:
    cloud.create(google.PROJECT_MEMBER, {"project": google.PROJECT, "role": role, "member": member}, member)


def test_google_lets_in_who_may_look_at_clusters_by_the_address(tmp_path: Path) -> None:
    cloud = google.Google(tmp_path)
    cloud.cluster()
    grant(cloud, "user:ann@example.com")
    grant(cloud, "user:bob@example.com", "roles/artifactregistry.reader")
    assert cloud.provider.principals() == {"user:ann@example.com": UserInfo("ann@example.com")}


@pytest.mark.parametrize(("domain", "in_"), [("example.com", True), ("elsewhere.org", False)])
def test_google_looks_groups_up_in_the_cluster_s_domain(tmp_path: Path, domain: str, in_: bool) -> None:
    cloud = google.Google(tmp_path)
    cloud.cluster(authenticatorGroupsConfig={"securityGroup": f"gke-security-groups@{domain}"})
    grant(cloud, "group:research@example.com")
    groups = [login.groups for login in cloud.provider.principals().values()]
    assert groups == ([("research@example.com",)] if in_ else [])


def test_google_knows_users_and_groups_of_a_workforce_pool_by_their_identifiers(tmp_path: Path) -> None:
    cloud, pool = google.Google(tmp_path), "iam.googleapis.com/locations/global/workforcePools/bank"
    cloud.cluster()
    grant(cloud, f"principal://{pool}/subject/ann@bank.example")
    grant(cloud, f"principalSet://{pool}/group/ops")
    grant(cloud, f"principalSet://{pool}/attribute.team/ops")
    ann, ops, *others = cloud.provider.principals().values()
    assert ann == UserInfo(f"principal://{pool}/subject/ann@bank.example")
    assert ops.groups == (f"principalSet://{pool}/group/ops",)
    assert not any(other.groups for other in others)


def test_google_wants_the_security_group_called_so(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="gke-security-groups@"):
        google.Google(tmp_path).cluster(authenticatorGroupsConfig={"securityGroup": "ops@example.com"})


def test_on_eks_an_access_entry_grants_its_groups(tmp_path: Path) -> None:
    cloud = amazon.Amazon(tmp_path)
    cluster = cloud.cluster()
    role = f"arn:aws:iam::{cloud.account.id}:role/research"
    entry = {"clusterName": cluster.state["name"], "principalArn": role, "kubernetesGroups": ["research"]}
    cloud.create(ENTRY, entry, "entry")
    nodes = {"clusterName": cluster.state["name"], "principalArn": f"{role}-nodes", "type": "EC2_LINUX"}
    cloud.create(ENTRY, nodes, "nodes")
    assert cloud.provider.principals() == {role: UserInfo(role, ("research",))}


@pytest.mark.parametrize(
    ("maker_is_admin", "refused"),
    [
        ({"bootstrapClusterCreatorAdminPermissions": True}, True),
        ({"bootstrapClusterCreatorAdminPermissions": False}, False),
        # The provider sends false for what a declared block leaves out: pulumi/pulumi-aws issue 3997.
        ({}, False),
    ],
)
def test_amazon_has_an_entry_of_the_cluster_s_maker(
    tmp_path: Path, maker_is_admin: dict[str, bool], refused: bool
) -> None:
    cloud = amazon.Amazon(tmp_path)
    access = {"authenticationMode": "API", **maker_is_admin}
    cluster = cloud.cluster(accessConfig=access)
    me = f"arn:aws:iam::{cloud.account.id}:user/simulated"
    entry = {"clusterName": cluster.state["name"], "principalArn": me}
    if not refused:
        cloud.create(ENTRY, entry, "entry")
        return
    with pytest.raises(ProviderError, match="ResourceInUseException"):
        cloud.create(ENTRY, entry, "entry")


@pytest.mark.parametrize(("role", "in_"), [(USER_ROLE, True), (azure.NETWORK_CONTRIBUTOR, False)])
def test_azure_lets_in_groups_that_may_ask_where_the_cluster_is(tmp_path: Path, role: str, in_: bool) -> None:
    cloud = azure.Microsoft(tmp_path)
    cloud.cluster()
    inputs = {"scope": azure.CLUSTER_ID, "roleDefinitionId": role, "principalType": "Group", "principalId": GUID}
    cloud.create(azure.ROLE_ASSIGNMENT, {**inputs, "roleAssignmentName": GUID}, "assignment")
    groups = [login.groups for login in cloud.provider.principals().values()]
    assert groups == ([(GUID,)] if in_ else [])
