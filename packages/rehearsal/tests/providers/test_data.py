"""What clouds refuse about registries, buckets and who pods are, and the neighbours that they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.driver import Account
from packages.rehearsal.tests.providers.eks import account as data
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke import account as google
from packages.rehearsal.tests.tables import cases
from rehearsal.checks import leftover_checks
from rehearsal.providers.base import ProviderError
from rehearsal.providers.gke.cloud import project_number
from tests.components.workloads.stacks import only
from tests.yaml_file import read_yaml

GKE, EKS, AKS = google.Google, Amazon, azure.Microsoft
STORAGE = {"resourceGroupName": "gpu-dev", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}


def expiring(**selection: Any) -> str:
    policy = json.loads(data.expiring(3))
    policy["rules"][0]["selection"] |= selection
    return json.dumps(policy)


CLOUDS: dict[str, type[Account]] = {"gke": GKE, "eks": EKS, "aks": AKS}
CASES = read_yaml(Path(__file__).with_name("data_refused.yaml"))


def account(cloud: type[Account], directory: Path) -> Account:
    made = cloud(directory)
    if cloud is AKS:
        made.create(azure.GROUP, {"resourceGroupName": "gpu-dev"})
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['type'].rpartition(':')[2]}-{case['words']}")
def test_what_a_cloud_refuses(case: dict[str, Any], tmp_path: Path) -> None:
    made = account(CLOUDS[case["cloud"]], tmp_path)
    made.refuses(case["type"], {**case["inputs"], **case["changes"]}, case["words"])
    assert made.create(case["type"], case["inputs"]).id
    made.stop()


@pytest.mark.parametrize(
    ("type", "inputs", "words"),
    [
        (
            data.IMAGES_EXPIRE,
            {"policy": json.dumps({"rules": [{"rulePriority": 1}], "comment": "x" * 100})},
            "LifecyclePolicyText",
        ),
        (data.IMAGES_EXPIRE, {"policy": expiring(countUnit="hours")}, "countUnit"),
        (data.IMAGES_EXPIRE, {"policy": expiring(tagStatus="old")}, "tagStatus"),
        (data.IMAGES_EXPIRE, {"policy": expiring(tagStatus="tagged")}, "tagStatus tagged with no list of tags"),
        (data.IMAGES_EXPIRE, {"policy": expiring(tagPrefixList=["v"])}, "tagStatus untagged with tagPrefixList"),
        (data.BUCKET_POLICY, {"policy": "{}"}, "MalformedPolicy"),
        (data.BUCKET_LIFECYCLE, {"rules": []}, "MalformedXML"),
        (data.BUCKET_LIFECYCLE, {"rules": [{"id": "x", "status": "Enabled"}]}, "At least one action"),
    ],
)
def test_what_amazon_refuses_about_what_is_there(type: str, inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    amazon = EKS(tmp_path)
    amazon.create(data.REPOSITORY, {"name": "gpu-dev/jobs"})
    amazon.create(data.BUCKET, {"bucket": "gpu-dev-data"})
    where = {"repository": "gpu-dev/jobs"} if "ecr/" in type else {"bucket": "gpu-dev-data"}
    amazon.refuses(type, {**where, **inputs}, words)


@pytest.mark.parametrize("forced", [False, True])
def test_amazon_keeps_what_is_not_empty_unless_it_is_forced(forced: bool, tmp_path: Path) -> None:
    amazon = EKS(tmp_path)
    amazon.account.call("ec2", "DescribeVpcs")
    bucket = amazon.create(data.BUCKET, {"bucket": "gpu-dev-data", "forceDestroy": forced})
    amazon.create(data.VERSIONING, {"bucket": bucket.id, "versioningConfiguration": {"status": "Enabled"}})
    for body in (b"1", b"2"):
        amazon.account.call("s3", "PutObject", Bucket=bucket.id, Key="step", Body=body)
    if forced:
        amazon.delete(data.BUCKET, bucket)
    else:
        with pytest.raises(ProviderError, match="BucketNotEmpty"):
            amazon.delete(data.BUCKET, bucket)
    assert ("S3 bucket gpu-dev-data" in amazon.provider.inventory()) is not forced


@pytest.mark.parametrize(("cloud", "account"), [("gke", GKE), ("eks", EKS), ("aks", AKS)])
def test_inputs_that_only_a_creation_sets_never_replace_retained_data(cloud: str, account: type[Account]) -> None:
    retained = [each for each in only(cloud, registry={}, checkpoints={}).resources if each.retain_on_delete]
    assert retained
    for each in retained:
        row = account.provider_type.rows[each.type]
        answered = {key for key, value in row.imported(dict(each.inputs)).items() if value != each.inputs.get(key)}
        assert answered & {*row.replaces} <= {*each.ignore_changes}, each.urn


@pytest.mark.parametrize(
    ("tier", "before", "after", "words"),
    [
        ("ZONAL", 2048, 1024, ""),
        ("ZONAL", 9984, 10240, "other range"),
        ("BASIC_HDD", 2048, 1024, "reducing the capacity"),
    ],
)
def test_which_sizes_google_s_file_shares_change_to(
    tier: str, before: int, after: int, words: str, tmp_path: Path
) -> None:
    here = GKE(tmp_path)
    here.network()
    inputs = {"tier": tier, "fileShares": {"name": "all", "capacityGb": before}}
    made = here.create(google.FILES, google.EXAMPLES.inputs("files")(**inputs))
    share = google.EXAMPLES.inputs("files")(**{**inputs, "fileShares": {"name": "all", "capacityGb": after}})
    if words:
        with pytest.raises(ProviderError, match=words):
            here.update(google.FILES, made, share)
    else:
        assert here.update(google.FILES, made, share)["fileShares"]["capacityGb"] == after


def test_an_import_finds_what_azure_answers_by_itself(tmp_path: Path) -> None:
    here = AKS(tmp_path)
    here.group()
    made = here.create(azure.STORAGE, {**STORAGE, "accountName": "gpudev", "minimumTlsVersion": "TLS1_2"})
    refreshed = here.read(azure.STORAGE, made.id).inputs or {}
    assert (refreshed["isHnsEnabled"], refreshed["minimumTlsVersion"]) == (False, "TLS1_2")
    assert "isHnsEnabled" not in (here.read(azure.STORAGE, made.id, made.inputs).inputs or {})


@pytest.mark.parametrize("enabled", [False, True])
def test_pods_are_somebody_to_google_only_where_a_cluster_made_the_pool(enabled: bool, tmp_path: Path) -> None:
    here = GKE(tmp_path)
    pool = {"workloadIdentityConfig": {"workloadPool": f"{google.PROJECT}.svc.id.goog"}} if enabled else {}
    here.cluster(**pool)
    grant = {"bucket": "b", "role": "roles/storage.objectUser", "member": google_pod(project_number(google.PROJECT))}
    if enabled:
        assert here.create(google.BUCKET_MEMBER, grant).id
        here.refuses(google.BUCKET_MEMBER, {**grant, "member": google_pod("123")}, "Identity Pool does not exist")
    else:
        here.refuses(google.BUCKET_MEMBER, grant, "Identity Pool does not exist")


def google_pod(number: str) -> str:
    pools = f"projects/{number}/locations/global/workloadIdentityPools"
    return f"principal://iam.googleapis.com/{pools}/{google.PROJECT}.svc.id.goog/subject/ns/default/sa/trainer"


@cases
def test_what_azure_refuses_about_trust(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    here = AKS(tmp_path)
    here.group()
    here.identity(joins=False)
    here.create(azure.FEDERATED, azure.federated())
    other = {"federatedIdentityCredentialResourceName": "other", "subject": "system:serviceaccount:default:other"}
    inputs = azure.federated(**(changes if "another" in str(changes) else {**other, **changes}))
    here.refuses(azure.FEDERATED, inputs, words)


def test_azure_has_no_public_container_in_a_private_account(tmp_path: Path) -> None:
    here = AKS(tmp_path)
    here.group()
    here.create(azure.STORAGE, {**STORAGE, "accountName": "gpudev", "allowBlobPublicAccess": False})
    nested = {"resourceGroupName": "gpu-dev", "accountName": "gpudev", "containerName": "checkpoints"}
    here.refuses(azure.CONTAINER, {**nested, "publicAccess": "Blob"}, "PublicAccessNotPermitted")
    assert here.create(azure.CONTAINER, {**nested, "publicAccess": "None"}).id


@pytest.mark.parametrize("days", [0, 366])
def test_azure_undeletes_for_a_year_at_most(days: int, tmp_path: Path) -> None:
    here = AKS(tmp_path)
    here.group()
    here.create(azure.STORAGE, {**STORAGE, "accountName": "gpudev"})
    blobs = {"resourceGroupName": "gpu-dev", "accountName": "gpudev", "blobServicesName": "default"}
    here.refuses(azure.BLOBS, {**blobs, "deleteRetentionPolicy": {"enabled": True, "days": days}}, "1 to 365")
    here.refuses(azure.BLOBS, {**blobs, "blobServicesName": "other"}, "'default'")


@cases
def test_only_retained_resources_may_remain(leftovers: list[str], retained: list[str], passed: dict[str, bool]) -> None:
    checks = leftover_checks(leftovers, frozenset(retained))
    assert {check.id: check.passed for check in checks} == passed
