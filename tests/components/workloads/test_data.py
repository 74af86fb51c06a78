"""Registry and bucket: private and encrypted on every cloud, and what becomes of them when their stack goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.clouds.aks import roles
from tests.components.workloads.stacks import BUCKETS, CLOUDS, REGISTRIES, accounts, config, only, run
from tests.stacks import run_with

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


@every_cloud
def test_a_stack_that_asks_for_nothing_gets_nothing(cloud: str) -> None:
    recording = run(cloud, workloads=None, identities=None)
    data = {BUCKETS[cloud], REGISTRIES[cloud], "kubernetes:core/v1:Namespace"}
    made = [each for each in recording.resources if each.type in data]
    assert [each.inputs["metadata"]["name"] for each in made] == ["gpucluster-ledger"]
    assert accounts(recording) == []
    assert not {"registry", "checkpoints"} & set(recording.stack_outputs)


@every_cloud
def test_what_is_asked_for_is_all_that_comes_beside_the_cluster(cloud: str) -> None:
    before = {each.urn: each.inputs for each in run(cloud, workloads=None, identities=None).resources}
    after = {each.urn: each.inputs for each in run(cloud).resources}
    changed = {urn for urn in before if after[urn] != before[urn]}
    names = {urn.rpartition("::")[2]: urn for urn in changed}
    if cloud == "gke":
        # The driver of the shared volume is a part of the cluster.
        cluster = names.pop("cluster-control-plane")
        assert after[cluster] == {**before[cluster], "addonsConfig": after[cluster]["addonsConfig"]}
    # The namespaces of service accounts and volumes are people's, too.
    policies = {name for name in names if name.startswith(("access-deny.", "access-warn."))}
    # Where a shared volume is open to the network, pods of people may not mount it by its address.
    volume = set[str]() if cloud == "eks" else {"access-user-pods"}
    # What pods of people do there is theirs: they act as the namespaces' service accounts.
    acts = {"access-user-finalizers", "access-user-forced-deletion"}
    assert {*names} - policies == {"offer-pools"} | acts | volume
    offers = [json.loads(all_[names["offer-pools"]]["data"]["offer.json"]) for all_ in (before, after)]
    if cloud == "gke":
        # The volume's driver has a pod on each node.
        for pool in offers[0]["pools"]:
            pool |= {"milli_cpu": pool["milli_cpu"] - 25, "memory_mib": pool["memory_mib"] - 60}
    beside = ("registry", "accounts", "account_labels", "checkpoints", "volume_namespace")
    assert offers[0] == {key: value for key, value in offers[1].items() if key not in beside} | {"registry": None}
    assert len(after) > len(before)


@every_cloud
@pytest.mark.parametrize(
    ("written", "retained"), [({}, True), ({"onDestroy": "keep"}, True), ({"onDestroy": "delete"}, False)]
)
def test_data_is_kept_unless_the_stack_file_says_otherwise(cloud: str, written: dict[str, Any], retained: bool) -> None:
    recording = only(cloud, registry=written, checkpoints=written)
    for token in (BUCKETS[cloud], REGISTRIES[cloud]):
        assert {each.retain_on_delete for each in recording.of_type(token)} == {retained}
    # Nothing that is kept stands in something that goes.
    by_name = {each.inputs.get("resourceGroupName"): each for each in recording.of_type(GROUP)}
    for each in recording.resources:
        if each.retain_on_delete and each.type.startswith("azure-native:storage:BlobService"):
            continue
        group = by_name.get(each.inputs.get("resourceGroupName"))
        assert not each.retain_on_delete or group is None or group.retain_on_delete


@every_cloud
def test_what_is_set_on_a_kept_bucket_is_kept_with_it(cloud: str) -> None:
    recording = only(cloud, checkpoints={})
    stored = [each for each in recording.resources if "s3/" in each.type or ":storage:" in each.type]
    about = {each.type: each.retain_on_delete for each in stored}
    assert all(about.values())


@every_cloud
@pytest.mark.parametrize("written", [{}, {"adopt": True}])
def test_what_an_earlier_stack_kept_is_adopted_if_asked_for(cloud: str, written: dict[str, Any]) -> None:
    recording = only(cloud, registry=written, checkpoints=written)
    for token in (BUCKETS[cloud], REGISTRIES[cloud]):
        for each in recording.of_type(token):
            assert bool(each.imported) == bool(written)
            assert not written or each.imported.endswith(str(_name(each.inputs)))


@every_cloud
def test_names_that_all_the_world_shares_differ_between_accounts_and_regions(cloud: str) -> None:
    names = set()
    buckets = len(run(cloud, identities=None).of_type(BUCKETS[cloud]))
    for changes in ({}, {"region": OTHER_REGION[cloud]}):
        stack = {**config(cloud, identities=None), **{f"gpucluster:{key}": each for key, each in changes.items()}}
        if cloud == "eks" and changes:
            stack["aws:region"] = changes["region"]
        stack.pop("gpucluster:zones", None)
        names |= {str(_name(each.inputs)) for each in run_with(stack, "research").of_type(BUCKETS[cloud])}
    assert len(names) == 2 * buckets


@every_cloud
@pytest.mark.parametrize("cluster_name", ["g", "a-very-long-name-of-a-cluster-for-research"[:40]])
def test_names_are_what_the_cloud_takes(cloud: str, cluster_name: str) -> None:
    recording = run(cloud, clusterName=cluster_name, identities=None)
    names = [str(_name(bucket.inputs)) for bucket in recording.of_type(BUCKETS[cloud])]
    for name in names:
        assert 3 <= len(name) <= (24 if cloud == "aks" else 63)
        assert name.replace("-", "").isalnum()
    assert len(set(names)) == len(names) > 0
    if cloud == "aks":
        registry = recording.only(REGISTRIES[cloud]).inputs["registryName"]
        assert registry.isalnum()
        assert 5 <= len(registry) <= 50


@every_cloud
def test_outputs_say_where_images_go_and_checkpoints_are(cloud: str) -> None:
    outputs = run(cloud).stack_outputs
    assert outputs["checkpoints"].startswith({"gke": "gs://", "eks": "s3://", "aks": "https://"}[cloud])
    assert "://" not in outputs["registry"]
    assert not outputs["registry"].endswith("/")


def test_a_key_of_data_on_google_is_set_and_granted_first() -> None:
    key = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    changes = {"identities": None, "security": {"dataKey": key}, "workloads": {"registry": {}, "checkpoints": {}}}
    recording = run("gke", **changes)
    bucket, registry = recording.only(BUCKETS["gke"]), recording.only(REGISTRIES["gke"])
    assert (bucket.inputs["encryption"], registry.inputs["kmsKeyName"]) == ({"defaultKmsKeyName": key}, key)
    grants = recording.of_type("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    members = {each.urn: each.inputs["member"] for each in grants}
    agents = [[members[urn] for urn in each.depends_on if urn in members] for each in (bucket, registry)]
    account = "serviceAccount:service-123456789@{}.iam.gserviceaccount.com"
    assert agents == [[account.format("gs-project-accounts")], [account.format("gcp-sa-artifactregistry")]]


def test_a_bucket_on_google_is_never_public() -> None:
    bucket = only("gke", checkpoints={"undeleteDays": 9}).only(BUCKETS["gke"]).inputs
    assert bucket["publicAccessPrevention"] == "enforced"
    assert bucket["uniformBucketLevelAccess"] is True
    assert bucket["softDeletePolicy"] == {"retentionDurationSeconds": 9 * 86400}
    assert bucket["forceDestroy"] is False


def test_a_bucket_on_amazon_is_never_public_and_takes_tls_alone() -> None:
    recording = only("eks", checkpoints={"undeleteDays": 9})
    block = recording.only("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock").inputs
    assert all(value is True for key, value in block.items() if key != "bucket")
    (statement,) = json.loads(recording.only("aws:s3/bucketPolicy:BucketPolicy").inputs["policy"])["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2
    (rule,) = recording.only("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
    assert rule["noncurrentVersionExpiration"] == {"noncurrentDays": 9}
    assert "expiration" not in rule


def test_what_is_set_on_a_bucket_of_amazon_comes_one_by_one() -> None:
    recording = only("eks", checkpoints={})
    buckets = [each for each in recording.resources if each.type.startswith("aws:s3/bucket")]
    settings = [each for each in buckets if "bucket:" not in each.type]
    urns = {each.urn for each in settings}
    before = {each.urn: urns & {*each.depends_on} for each in settings}
    assert sorted(len(each) for each in before.values()) == [0, 1, 1, 1]
    assert len(set.union(*before.values())) == 3


def test_a_bucket_on_azure_is_never_public_and_has_no_key() -> None:
    recording = only("aks", checkpoints={"undeleteDays": 9})
    account = recording.only(BUCKETS["aks"]).inputs
    assert account["allowBlobPublicAccess"] is False
    assert account["allowSharedKeyAccess"] is False
    assert account["enableHttpsTrafficOnly"] is True
    assert account["minimumTlsVersion"] == "TLS1_2"
    blobs = recording.only("azure-native:storage:BlobServiceProperties").inputs
    assert blobs["deleteRetentionPolicy"] == {"enabled": True, "days": 9}


@pytest.mark.parametrize(("written", "immutable"), [({}, True), ({"mutableTags": True}, False)])
def test_a_tag_is_pushed_once_unless_written(written: dict[str, Any], immutable: bool) -> None:
    google = only("gke", registry=written).only(REGISTRIES["gke"]).inputs
    assert google["dockerConfig"] == {"immutableTags": immutable}
    for each in only("eks", registry=written).of_type(REGISTRIES["eks"]):
        assert each.inputs["imageTagMutability"] == ("IMMUTABLE" if immutable else "MUTABLE")


def test_untagged_images_go_and_tagged_ones_stay() -> None:
    (policy,) = only("gke", registry={"untaggedDays": 3}).only(REGISTRIES["gke"]).inputs["cleanupPolicies"]
    assert policy["condition"] == {"tagState": "UNTAGGED", "olderThan": "259200s"}
    policies = only("eks", registry={"untaggedDays": 3}).of_type("aws:ecr/lifecyclePolicy:LifecyclePolicy")
    (rule,) = json.loads(policies[0].inputs["policy"])["rules"]
    assert (rule["selection"]["tagStatus"], rule["selection"]["countNumber"]) == ("untagged", 3)


def test_azure_nodes_may_pull_and_no_more() -> None:
    recording = only("aks", registry={})
    registry = recording.only(REGISTRIES["aks"])
    assert registry.inputs["adminUserEnabled"] is False
    granted = [each.inputs for each in recording.of_type(ASSIGNMENT) if each.inputs["scope"] == f"{registry.name}-id"]
    # A registry honours the one or the other, and which is not for this program to say.
    both = {roles.ACR_PULL, roles.REPOSITORY_READER}
    assert {each["roleDefinitionId"].rpartition("/")[2] for each in granted} == both
    assert {each["principalId"] for each in granted} == {"cluster-nodes-identity-principal"}


GROUP = "azure-native:resources:ResourceGroup"
ASSIGNMENT = "azure-native:authorization:RoleAssignment"
OTHER_REGION = {"gke": "europe-west4", "eks": "eu-west-1", "aks": "eastus"}


def _name(inputs: dict[str, Any]) -> Any:
    keys = ("repositoryId", "registryName", "accountName", "bucket", "name")
    return next(inputs[key] for key in keys if key in inputs)
