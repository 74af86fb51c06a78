"""The shared volume: encrypted, private, kept, one claim; and jobs of its namespace see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facts.concepts.offer import SHARED_CLAIM
from tests import recorder
from tests.components.workloads.stacks import CLOUDS, config, only
from tests.stacks import run_with

DATA = {
    "gke": "gcp:filestore/instance:Instance",
    "eks": "aws:efs/fileSystem:FileSystem",
    "aks": "azure-native:storage:FileShare",
}
CLAIM, VOLUME = "kubernetes:core/v1:PersistentVolumeClaim", "kubernetes:core/v1:PersistentVolume"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def with_volume(cloud: str, **written: Any) -> recorder.Recording:
    return only(cloud, sharedVolume=written)


@every_cloud
@pytest.mark.parametrize("written", [{}, {"onDestroy": "delete"}])
def test_what_is_in_it_is_kept_unless_the_stack_file_says_otherwise(cloud: str, written: dict[str, Any]) -> None:
    recording = with_volume(cloud, **written)
    assert recording.only(DATA[cloud]).retain_on_delete is (not written)
    # The ways in are in the cluster's network, which goes; but Google's networks stay with what they are peered to.
    ways_in = ("aws:efs/mountTarget:MountTarget", "azure-native:network:PrivateEndpoint")
    assert not [each for token in ways_in for each in recording.of_type(token) if each.retain_on_delete]
    if cloud == "gke":
        assert recording.only("gcp:compute/network:Network").retain_on_delete is (not written)


@every_cloud
def test_a_later_stack_takes_it_over(cloud: str) -> None:
    assert with_volume(cloud, adopt=True).only(DATA[cloud]).imported
    assert not with_volume(cloud).only(DATA[cloud]).imported


@every_cloud
def test_the_claim_gets_this_volume_and_no_other_claim_does(cloud: str) -> None:
    recording = with_volume(cloud, namespace="ml")
    volume, claim = recording.only(VOLUME).inputs, recording.only(CLAIM).inputs
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"] == {"namespace": "ml", "name": SHARED_CLAIM} == claim["metadata"]
    # Without a class on both sides the default class would make another volume for the claim.
    assert volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"] == ""
    assert volume["spec"]["accessModes"] == claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    quotas = recording.of_type("kubernetes:core/v1:ResourceQuota")
    (quota,) = [each for each in quotas if each.inputs["metadata"]["namespace"] == "ml"]
    assert quota.urn in recording.only(CLAIM).depends_on, "until it has counted, the API server refuses a claim"
    assert claim["spec"]["resources"] == {"requests": {"storage": "1Gi"}}, "the quota counts it whatever its size"
    namespaces = recording.of_type("kubernetes:core/v1:Namespace")
    (namespace,) = [each for each in namespaces if each.inputs["metadata"]["name"] == "ml"]
    assert namespace.urn in quota.depends_on
    assert recording.stack_outputs["sharedVolume"] == f"ml/{SHARED_CLAIM}"


@every_cloud
def test_it_is_mounted_only_when_it_can_be(cloud: str) -> None:
    recording = with_volume(cloud)
    after = {urn.rpartition("::")[2] for urn in recording.only(VOLUME).depends_on}
    needed = {
        "gke": {"shared-volume"},
        "eks": {"shared-volume-tls-only", "shared-volume-us-west-2a"},
        "aks": {"shared-volume-share", "shared-volume-endpoint"},
    }
    assert needed[cloud] <= after


@every_cloud
def test_jobs_of_its_namespace_find_it_in_the_offer(cloud: str) -> None:
    maps = with_volume(cloud, namespace="ml").of_type("kubernetes:core/v1:ConfigMap")
    (offer,) = [json.loads(text) for each in maps if (text := each.inputs.get("data", {}).get("offer.json"))]
    assert offer["volume_namespace"] == "ml"


def test_amazons_lets_in_the_driver_by_tls_where_nodes_are() -> None:
    recording = with_volume("eks")
    (rule,) = recording.named("shared-volume-security-group").inputs["ingress"]
    assert (rule["fromPort"], rule["toPort"], rule["securityGroups"]) == (2049, 2049, ["sg-of-the-cluster"])
    allow, deny = json.loads(recording.only("aws:efs/fileSystemPolicy:FileSystemPolicy").inputs["policy"])["Statement"]
    assert allow["Condition"] == {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}}
    # A pod with an NFS client of its own is nobody, or at most another role.
    [driver] = [each for each in recording.of_type(ASSOCIATION) if each.inputs["serviceAccount"] == "efs-csi-node-sa"]
    assert allow["Principal"] == {"AWS": driver.inputs["roleArn"]}
    assert driver.inputs["namespace"] == "kube-system"
    assert recording.only(VOLUME).inputs["spec"]["mountOptions"] == ["iam"]
    # It has no effect on pods that are there already.
    groups = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert groups
    assert [each.name for each in groups if driver.urn not in each.depends_on] == []
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    subnets = [each.inputs["subnetId"] for each in recording.of_type("aws:efs/mountTarget:MountTarget")]
    assert len(set(subnets)) == len(subnets) == 4


def test_amazons_driver_is_there_once_with_the_addon_and_without() -> None:
    keys = {"workloads": {"sharedVolume": {}}, "identities": None}
    for changes in (keys, {**keys, "addons": ["efs"]}):
        addons = run_with(config("eks", **changes), "research").of_type("aws:eks/addon:Addon")
        assert [each.inputs["addonName"] for each in addons].count("aws-efs-csi-driver") == 1


def test_azures_has_no_key_and_no_public_address() -> None:
    recording = with_volume("aks")
    account = recording.only("azure-native:storage:StorageAccount").inputs
    assert (account["publicNetworkAccess"], account["allowSharedKeyAccess"]) == ("Disabled", False)
    attributes = recording.only(VOLUME).inputs["spec"]["csi"]["volumeAttributes"]
    assert attributes["server"] == "10.0.0.77"
    assert not [each for each in recording.resources if each.type.endswith(":Secret")]


def test_azures_endpoint_waits_for_the_pools_in_its_subnet() -> None:
    """AKS and the endpoint change that subnet, and each fails while the other does."""
    recording = with_volume("aks")
    endpoint = recording.only("azure-native:network:PrivateEndpoint")
    last = {each.urn for each in recording.of_type("azure-native:containerservice:AgentPool")}
    for each in recording.of_type("azure-native:containerservice:AgentPool"):
        last -= set(each.depends_on)
    assert len(last) == 1
    assert last <= set(endpoint.depends_on)


def test_googles_driver_is_there_only_for_a_volume() -> None:
    cluster = "gcp:container/cluster:Cluster"
    assert with_volume("gke").only(cluster).inputs["addonsConfig"]["gcpFilestoreCsiDriverConfig"] == {"enabled": True}
    assert "addonsConfig" not in only("gke").only(cluster).inputs
