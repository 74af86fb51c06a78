"""Who pods are in the cloud and what nodes may pull: what the stack file says, nothing more, and no key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.clouds.aks import roles
from tests import one_stack, recorder
from tests.components.settings.test_clouds import problems
from tests.components.workloads.stacks import CLOUDS, accounts, run
from tests.eks_answers import ACCOUNT
from tests.recorder import Recording, remembered
from tests.stacks import run_program, run_with

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)

_STORE = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/data/providers/Microsoft.Storage"
NAMES = {
    "gke": {"read": "papers", "write": "results", "secrets": "token"},
    "eks": {"read": "papers", "write": "results", "secrets": "token"},
    "aks": {
        "read": f"{_STORE}/storageAccounts/group/blobServices/default/containers/papers",
        "write": f"{_STORE}/storageAccounts/group/blobServices/default/containers/results",
        "secrets": _STORE.replace("Storage", "KeyVault") + "/vaults/group/secrets/token",
    },
}


def with_identity(cloud: str, *keys: str, account: str = "serving/model") -> recorder.Recording:
    """A stack whose ``account`` has what ``keys`` name of ``NAMES``."""
    reach = {key: [NAMES[cloud][key]] for key in keys}
    return run(cloud, workloads=None, identities=[{"serviceAccount": account, **reach}])


def granted(cloud: str, recording: recorder.Recording) -> set[tuple[str, str]]:
    """What pods got: (where, what) in the cloud's words."""
    if cloud == "gke":
        members = [one.inputs for one in recording.resources if one.inputs.get("member", "").startswith("principal://")]
        return {(each.get("bucket") or each["secretId"], each["role"]) for each in members}
    if cloud == "eks":
        return {
            (resource, action)
            for statement in statements(recording)
            # A key may be used for what its context names.
            for resource in statement.get("Condition", {}).get("StringLike", {"": statement["Resource"]}).popitem()[1]
            for action in statement["Action"]
        }
    made = recording.of_type("azure-native:managedidentity:UserAssignedIdentity")
    pods = {each.name for each in made if "-pods-" in each.name}
    return {
        (each.inputs["scope"], each.inputs["roleDefinitionId"].rpartition("/")[2])
        for each in recording.of_type("azure-native:authorization:RoleAssignment")
        if each.inputs["principalId"].removesuffix("-principal") in pods
    }


def statements(recording: recorder.Recording) -> list[dict[str, Any]]:
    """Of the policies of pods on EKS."""
    policies = [each.inputs for each in recording.of_type("aws:iam/rolePolicy:RolePolicy")]
    mine = [json.loads(each["policy"]) for each in policies if each["name"].startswith("pods-")]
    return [statement for policy in mine for statement in policy["Statement"]]


@every_cloud
@pytest.mark.parametrize("key", ["read", "write", "secrets"])
def test_a_service_account_reaches_what_is_written_and_nothing_else(cloud: str, key: str) -> None:
    rights = granted(cloud, with_identity(cloud, key))
    assert rights
    name = NAMES[cloud][key]
    for where, _ in rights:
        assert where == name or where.removeprefix("arn:aws:s3:::").split("/")[0] == name or f":secret:{name}-" in where


@every_cloud
def test_reading_is_not_writing(cloud: str) -> None:
    read, write = (granted(cloud, with_identity(cloud, key)) for key in ("read", "write"))
    assert {what for _, what in read} != {what for _, what in write}
    writing = ("PutObject", "DeleteObject", "objectUser", "ba92f5b4-2d11-453d-a403-e96b0029c9fe")
    assert not [what for _, what in read if what.endswith(writing)]
    assert [what for _, what in write if what.endswith(writing)]


def test_pods_on_amazon_cannot_delete_old_versions_or_change_the_bucket() -> None:
    actions = {what for _, what in granted("eks", with_identity("eks", "write"))}
    assert not [each for each in actions if "Version" in each or ("Bucket" in each and each not in LISTING)]


@pytest.mark.parametrize(
    ("key", "service", "context", "actions"),
    [
        ("read", "s3", "aws:s3:arn", ["kms:Decrypt"]),
        ("write", "s3", "aws:s3:arn", ["kms:Decrypt", "kms:GenerateDataKey"]),
        ("secrets", "secretsmanager", "SecretARN", ["kms:Decrypt"]),
    ],
)
def test_pods_on_amazon_use_keys_through_the_store(key: str, service: str, context: str, actions: list[str]) -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html,
    https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html."""
    of_keys = [each for each in statements(with_identity("eks", key)) if ":kms:" in str(each["Resource"])]
    assert {action for each in of_keys for action in each["Action"]} == set(actions)
    for each in of_keys:
        assert each["Resource"] == f"arn:aws:kms:us-west-2:{ACCOUNT}:key/*"
        assert each["Condition"]["StringEquals"] == {"kms:ViaService": f"{service}.us-west-2.amazonaws.com"}
        (values,) = [each["Condition"]["StringLike"][f"kms:EncryptionContext:{context}"]]
        assert all(NAMES["eks"][key] in value for value in values)


def test_a_bucket_is_in_one_statement_on_keys_because_a_policy_is_limited_to_10240_characters() -> None:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
    buckets = [f"{number:02}-{'b' * 37}" for number in range(40)]
    identities = [{"serviceAccount": "default/trainer", "write": buckets}]
    written = statements(run("eks", identities=identities))
    assert len(json.dumps(written, separators=(",", ":"))) < 10240


LISTING = ("s3:ListBucket", "s3:GetBucketLocation")


@every_cloud
def test_the_account_of_the_checkpoints_may_write_them(cloud: str) -> None:
    reach = {"read": [NAMES[cloud]["read"]]}
    identities = [{"serviceAccount": "default/trainer", **reach}]
    recording = run(cloud, workloads={"checkpoints": {}}, identities=identities)
    assert len(accounts(recording)) == 1
    alone = granted(cloud, run(cloud, workloads={"checkpoints": {}}, identities=None))
    assert granted(cloud, recording) > alone
    assert alone


@every_cloud
def test_the_account_exists_in_its_namespace(cloud: str) -> None:
    for account, made in (("default/trainer", []), ("serving/model", ["serving"])):
        recording = with_identity(cloud, "read", account=account)
        metadata = accounts(recording)[0].inputs["metadata"]
        assert f"{metadata['namespace']}/{metadata['name']}" == account
        every = recording.of_type("kubernetes:core/v1:Namespace")
        namespaces = [each for each in every if each.inputs["metadata"]["name"] != "gpucluster-ledger"]
        assert [each.inputs["metadata"]["name"] for each in namespaces] == made
        assert {each.urn for each in namespaces} <= recording.before(accounts(recording)[0])


@every_cloud
def test_only_that_account_is_trusted(cloud: str) -> None:
    recording = with_identity(cloud, "read")
    if cloud == "gke":
        members = {each.inputs["member"] for each in recording.of_type("gcp:storage/bucketIAMMember:BucketIAMMember")}
        (member,) = members
        assert member.endswith("/workloadIdentityPools/my-gcp-project.svc.id.goog/subject/ns/serving/sa/model")
    elif cloud == "eks":
        associations = [
            each.inputs for each in recording.of_type("aws:eks/podIdentityAssociation:PodIdentityAssociation")
        ]
        assert [each["serviceAccount"] for each in associations if each["namespace"] == "serving"] == ["model"]
    else:
        trust = recording.only("azure-native:managedidentity:FederatedIdentityCredential").inputs
        assert trust["subject"] == "system:serviceaccount:serving:model"
        assert trust["issuer"] == "https://issuer.example/"
        (client,) = accounts(recording)[0].inputs["metadata"]["annotations"].values()
        assert client.endswith("-client")


@every_cloud
def test_names_that_look_alike_are_two_identities(cloud: str) -> None:
    both = [{"serviceAccount": account, "read": [NAMES[cloud]["read"]]} for account in ("a-b/c", "a/b-c")]
    recording = run(cloud, workloads=None, identities=both)
    assert len(accounts(recording)) == 2
    urns = [each.urn for each in recording.resources]
    assert len(set(urns)) == len(urns)
    roles = [each.inputs["name"] for each in recording.of_type("aws:iam/role:Role")]
    assert len(set(roles)) == len(roles)


@every_cloud
def test_no_key_is_made(cloud: str) -> None:
    types = {each.type for each in run(cloud).resources}
    assert not [each for each in types if "key" in each.rpartition(":")[2].lower() and "kms" not in each]


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
