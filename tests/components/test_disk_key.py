"""A customer-managed key encrypts every disk of nodes and claims; only the services that create disks may use it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from rehearsal.providers.eks.iam import GRANT, TO_START
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, problems
from tests.recorder import Recording, remembered
from tests.stacks import run_program, run_with

SET = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/keys"
    "/providers/Microsoft.Compute/diskEncryptionSets"
)
KEYS = {
    "gke": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/d",
    "eks": "arn:aws:kms:us-west-2:111122223333:key/2234abcd-12ab-34cd-56ef-1234567890ab",
    "aks": f"{SET}/company",
}
OTHERS = {
    "gke": ("projects/p/locations/europe-west4/keyRings/r/cryptoKeys/d", "d"),
    "eks": ("arn:aws:kms:us-east-1:111122223333:key/2234abcd-12ab-34cd-56ef-1234567890ab", "alias/d"),
    "aks": (
        f"{SET.replace('0000/resourceGroups', '0001/resourceGroups')}/company",
        "https://v.vault.azure.net/keys/k/1",
    ),
}
AZURE_KEY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/v/keys/k/versions/" + "0" * 32


@remembered
def program(cloud: str, **changes: Any) -> Recording:
    return run_with(one_stack.config(cloud, **changes), f"one-{cloud}")


def with_key(cloud: str, **changes: Any) -> Recording:
    return program(cloud, security={"diskKey": KEYS[cloud]}, **changes)


def classes(recording: Recording) -> list[Mapping[str, Any]]:
    declared = [one.inputs for one in recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass")]
    return [one for one in declared if one["metadata"]["annotations"]]


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_without_a_key_nothing_names_one(cloud: str) -> None:
    recording = run_program(one_stack.file(cloud))
    named = ("bootDiskKmsKey", "diskEncryptionSetID", "kmsKeyId", "kmsKeyID", "disk-encryption-kms-key")
    assert [one.name for one in recording.resources if any(f"'{word}'" in str(one.inputs) for word in named)] == []


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
@pytest.mark.parametrize("which", [0, 1])
def test_a_key_of_another_place_or_form_is_refused(cloud: str, which: int) -> None:
    assert problems(cloud, security={"diskKey": OTHERS[cloud][which]}).keys() == {"security.diskKey"}
    assert load_stack(cloud, security={"diskKey": KEYS[cloud]}).security.disk_key == KEYS[cloud]


def test_gke_encrypts_boot_disks_of_all_nodes_and_volumes_of_claims() -> None:
    recording = with_key("gke")
    pools = recording.of_type("gcp:container/nodePool:NodePool")
    cluster = recording.only("gcp:container/cluster:Cluster")
    assert {one.inputs["nodeConfig"].get("bootDiskKmsKey") for one in (*pools, cluster)} == {KEYS["gke"]}
    [default] = classes(recording)
    assert default["parameters"]["disk-encryption-kms-key"] == KEYS["gke"]
    [grant] = recording.of_type("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    assert grant.inputs["cryptoKeyId"] == KEYS["gke"]
    assert grant.inputs["member"].endswith("@compute-system.iam.gserviceaccount.com")


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_eks_encrypts_the_disks_of_all_nodes_and_volumes_of_claims(autoscaler: str) -> None:
    recording = with_key("eks", autoscaling={"autoscaler": autoscaler})
    templates = recording.of_type("aws:ec2/launchTemplate:LaunchTemplate")
    mappings = [each["ebs"]["kmsKeyId"] for one in templates for each in one.inputs["blockDeviceMappings"]]
    made_of = recording.of_type("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    mappings += [each["ebs"]["kmsKeyID"] for one in made_of for each in one.inputs["spec"]["blockDeviceMappings"]]
    assert bool(made_of) is (autoscaler == "karpenter")
    [default] = classes(recording)
    assert {*mappings, default["parameters"]["kmsKeyId"]} == {KEYS["eks"]}


@pytest.mark.parametrize(("autoscaler", "controllers"), [("cluster-autoscaler", 1), ("karpenter", 2)])
def test_on_eks_every_controller_that_creates_disks_may_use_the_key(autoscaler: str, controllers: int) -> None:
    recording = with_key("eks", autoscaling={"autoscaler": autoscaler})
    grants = {one.inputs["granteePrincipal"].rpartition("/")[2]: one for one in recording.of_type(GRANT)}
    assert set(grants) == {"AWSServiceRoleForAutoScaling", "AWSServiceRoleForEC2Spot"}
    assert all(set(one.inputs["operations"]) >= TO_START for one in grants.values())
    groups = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert [one.name for one in groups if not {grant.urn for grant in grants.values()} <= recording.before(one)] == []
    documents = [json.loads(one.inputs["policy"]) for one in recording.of_type("aws:iam/rolePolicy:RolePolicy")]
    every = [statement for document in documents for statement in document["Statement"]]
    allowed = [statement for statement in every if statement["Resource"] == KEYS["eks"]]
    for_disks = [one for one in allowed if "kms:CreateGrant" in one["Action"]]
    assert len(for_disks) == controllers
    assert {one["Condition"]["Bool"]["kms:GrantIsForAWSResource"] for one in for_disks} == {"true"}


def test_on_eks_the_role_of_spot_is_granted_the_key_only_where_there_are_spot_machines() -> None:
    """An account without any may not have that role."""
    recording = with_key("eks", gpuPools=[{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1}], cpuPools=[])
    assert recording.only(GRANT).inputs["granteePrincipal"].endswith("/AWSServiceRoleForAutoScaling")


def test_another_key_is_another_class_of_volumes() -> None:
    from components.clouds.eks import addons as eks

    assert eks.default_class("a")["metadata"]["name"] != eks.default_class("b")["metadata"]["name"]
    other = program("gke", security={"diskKey": KEYS["gke"].replace("Keys/d", "Keys/e")})
    assert len({one["metadata"]["name"] for one in (*classes(with_key("gke")), *classes(other))}) == 2
    assert eks.default_class()["metadata"]["name"] == "gp3-encrypted"


@pytest.mark.parametrize("secrets", [None, AZURE_KEY])
def test_aks_takes_a_set_as_it_is(secrets: str | None) -> None:
    keys = {"diskKey": KEYS["aks"], **({"kmsKey": secrets} if secrets else {})}
    recording = program("aks", security=keys)
    cluster = recording.only("azure-native:containerservice:ManagedCluster").inputs
    assert cluster["diskEncryptionSetID"] == KEYS["aks"]
    assert ("azureKeyVaultKms" in cluster["securityProfile"]) is (secrets is not None)
    assert recording.of_type("azure-native:compute:DiskEncryptionSet") == []
    scopes = [one.inputs["scope"] for one in recording.of_type("azure-native:authorization:RoleAssignment")]
    assert KEYS["aks"] in scopes, "the control plane has to see the set"


# Of AKS the admin pool is part of the cluster, and Azure encrypts every disk without a class.
@pytest.mark.parametrize(("cloud", "machine"), [("gke", "e2-standard-4"), ("eks", "m6i.xlarge")])
def test_charts_come_after_the_class_of_their_volumes_and_after_their_nodes(cloud: str, machine: str) -> None:
    tools: dict[str, Any] = {"monitoring": {}, "queue": {}, "notebook": {}, "dashboard": {}}
    scaled = {"autoscaling": {"autoscaler": "cluster-autoscaler"}} if cloud == "eks" else {}
    recording = with_key(cloud, workloads=tools, adminPool={"machineType": machine}, **scaled)
    first = {one.urn for one in recording.resources if one.custom and one.parent.endswith(":AdminPool::admin")}
    (default,) = [one.urn for one in recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass") if one.urn in first]
    assert len(first - {default}) >= 1
    charts = [one for one in recording.of_type("kubernetes:helm.sh/v3:Release") if "autoscaler" not in one.name]
    assert len(charts) == len(tools)
    assert [one.name for one in charts if not first <= set(one.depends_on)] == []
