"""What an update of a running stack declares of the rights to its keys. Mocks answer the state of the update before.

In one update with the upgrade from the released version: packages/rehearsal/tests/upgrade/test_keys.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import grpc
import pulumi
import pytest
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2

from components.clouds import deployed
from components.clouds.deployed import Deployed
from tests import aks_answers, eks_answers
from tests.recorder import Recording
from tests.stacks import run_with

POOLS: Final = [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}]
NETWORK: Final = {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]}
ZONES: Final = ["us-west-2a", "us-west-2b", "us-west-2c"]
SUBSCRIPTION: Final = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups"
CLOUDS: Final[Mapping[str, dict[str, Any]]] = {
    "gke": {"gcp:project": "my-project", "gpucluster:region": "us-central1"},
    "eks": {"aws:region": "us-west-2", "gpucluster:region": "us-west-2", "gpucluster:zones": ZONES},
    "aks": {"azure-native:subscriptionId": SUBSCRIPTION.split("/")[2], "gpucluster:region": "eastus"},
}
GRANT, KEY, POLICY = "aws:kms/grant:Grant", "aws:kms/key:Key", "aws:iam/rolePolicy:RolePolicy"
ASSIGNMENT = "azure-native:authorization:RoleAssignment"
DATA_RIGHT = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
A, B, C = (f"arn:aws:kms:us-west-2:123456789012:key/{letter * 8}" for letter in "abc")
GOOGLES: Final = [f"projects/p/locations/us-central1/keyRings/r/cryptoKeys/{letter}" for letter in "ab"]
AZURES: Final = [f"{SUBSCRIPTION}/keys/providers/Microsoft.KeyVault/vaults/my-keys/keys/{each}" for each in "ab"]
SET: Final = f"{SUBSCRIPTION}/disks/providers/Microsoft.Compute/diskEncryptionSets/disks"
VERSION: Final = "0" * 32

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")


def run(cloud: str, deployed: Recording | None = None, **config: Any) -> Recording:
    """The program for a small stack, as the update after ``deployed``."""
    keys = {"cloud": cloud, "network": NETWORK, "gpuPools": POOLS, **config}
    written = {**CLOUDS[cloud], **{f"gpucluster:{key}": value for key, value in keys.items()}}
    return run_with(written, "one", deployed=deployed)


def by_name(recording: Recording, type: str, input: str) -> dict[str, str]:
    return {each.name: each.inputs[input] for each in recording.of_type(type)}


@pytest.fixture
def eks_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account has the cluster; no node groups."""
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getClusters:getClusters", {"names": ["gpu-one"]})
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getNodeGroups:getNodeGroups", {"names": []})


def test_a_key_that_comes_back_has_the_right_that_it_had() -> None:
    first = run("eks", security={"diskKey": A})
    second = run("eks", first, security={"diskKey": B})
    assert sorted(by_name(second, GRANT, "keyId").values()) == sorted([A, A, B, B])
    third = run("eks", second, security={"diskKey": A})
    assert by_name(third, GRANT, "keyId") == by_name(second, GRANT, "keyId")
    fourth = run("eks", third, security={"diskKey": C})
    assert len({*by_name(fourth, GRANT, "keyId")}) == 6
    assert {*by_name(fourth, GRANT, "keyId").values()} == {A, B, C}
    names = {"cluster-disk-key", "cluster-disk-key-of-spot"}
    assert {name for name, key in by_name(fourth, GRANT, "keyId").items() if key == A} == names


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_controllers_may_use_the_keys_of_all_disks(autoscaler: str) -> None:
    def used(recording: Recording) -> dict[str, list[Any]]:
        """Name of a policy → the keys in it."""
        documents = {name: json.loads(text) for name, text in by_name(recording, POLICY, "policy").items()}
        statements = {name: document["Statement"] for name, document in documents.items()}
        return {
            name: [each["Resource"] for each in listed if "Disk" in each.get("Sid", "")]
            for name, listed in statements.items()
            if any("Disk" in each.get("Sid", "") for each in listed)
        }

    autoscaling = {"autoscaler": autoscaler}
    first = run("eks", security={"diskKey": A}, autoscaling=autoscaling)
    names = {
        "admin-pool-aws-ebs-csi-driver-role-policy",
        *(["autoscaler-role-policy"] if autoscaler == "karpenter" else []),
    }
    assert used(first) == {name: [A, A] for name in names}
    second = run("eks", first, security={"diskKey": B}, autoscaling=autoscaling)
    assert used(second) == {name: [[A, B], [A, B]] for name in names}
    assert used(run("eks", second, autoscaling=autoscaling)) == used(second)


@pytest.mark.usefixtures("eks_runs")
def test_the_stacks_own_key_stays_if_the_stack_file_names_it() -> None:
    first = run("eks")
    own = first.states[first.only(KEY).urn]["arn"]
    named = run("eks", first, security={"kmsKey": own})
    assert [each.urn for each in named.of_type(KEY)] == [first.only(KEY).urn]
    with pytest.raises(pulumi.RunError, match=r"security\.kmsKey: .*encrypts its Secrets with .*Take kmsKey out"):
        run("eks", first, security={"kmsKey": A})


@pytest.mark.usefixtures("eks_runs")
def test_a_cluster_without_a_key_of_its_own_may_get_one() -> None:
    first = run("eks")
    cluster = first.only("aws:eks/cluster:Cluster")
    del first.states[cluster.urn]["encryptionConfig"]
    assert run("eks", first, security={"kmsKey": A}).only(cluster.type).inputs["encryptionConfig"]["provider"] == {
        "keyArn": A
    }


def test_another_cluster_may_have_another_key() -> None:
    """Its name is another, so that AWS has none of it."""
    first = run("eks")
    another = run("eks", first, clusterName="other", security={"kmsKey": A})
    assert another.only("aws:eks/cluster:Cluster").inputs["encryptionConfig"]["provider"]["keyArn"] == A


@pytest.mark.parametrize("on_destroy", ["keep", "delete"])
def test_rights_of_googles_agents_outlive_the_stack(on_destroy: str) -> None:
    """They are the project's: another stack with the same key has the same right."""
    workloads = {key: {"onDestroy": on_destroy} for key in ("registry", "checkpoints")}
    security = {"dataKey": GOOGLES[0], "kmsKey": GOOGLES[1], "diskKey": GOOGLES[1]}
    recording = run("gke", workloads=workloads, security=security)
    rights = {each.name: each.retain_on_delete for each in recording.of_type(DATA_RIGHT)}
    names = ("registry-key", "checkpoints-key", "cluster-secrets-key", "cluster-disk-key")
    assert rights == dict.fromkeys(names, True)


def test_the_right_of_spot_instances_stays_while_the_last_ones_may_run() -> None:
    spot = run("eks", security={"diskKey": A})
    name = "cluster-disk-key-of-spot"
    assert name in by_name(spot, GRANT, "keyId")
    on_demand = [{**POOLS[0], "capacity": "on-demand"}]
    assert by_name(run("eks", spot, security={"diskKey": A}, gpuPools=on_demand), GRANT, "keyId")[name] == A
    assert name not in by_name(run("eks", security={"diskKey": A}, gpuPools=on_demand), GRANT, "keyId")


def test_data_that_the_stack_file_has_no_longer_can_still_be_read() -> None:
    security = {"dataKey": GOOGLES[0]}
    first = run("gke", workloads={"registry": {}, "checkpoints": {}}, security=security)
    second = run("gke", first)
    rights = {each.urn: each.retain_on_delete for each in second.of_type(DATA_RIGHT)}
    assert rights == {each.urn: True for each in first.of_type(DATA_RIGHT)}
    assert len(rights) == 2
    assert second.of_type("gcp:storage/bucket:Bucket") == []
    assert second.of_type("gcp:artifactregistry/repository:Repository") == []
    without = run("gke", run("gke", workloads={"checkpoints": {}}))
    assert without.of_type(DATA_RIGHT) == []
    assert not [each for each in without.components if each.name == "checkpoints"]


def test_azures_names_of_rights_are_those_of_the_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the key was changed with Azure's CLI: two rights with two names in Azure."""

    def running(key: str) -> dict[str, Any]:
        url = f"https://my-keys.vault.azure.net/keys/{key}/{VERSION}"
        kms = {"securityProfile": {"azureKeyVaultKms": {"enabled": True, "keyId": url}}}
        return {"name": "gpu-one", "agentPoolProfiles": [], **kms}

    def rights(recording: Recording) -> dict[str, str]:
        return {
            each.inputs["roleAssignmentName"]: each.inputs["scope"]
            for each in recording.of_type(ASSIGNMENT)
            if each.name.startswith("cluster-secrets-key")
        }

    def security(key: str) -> dict[str, str]:
        return {"kmsKey": f"{key}/versions/{VERSION}", "diskKey": SET}

    answer = "azure-native:containerservice:getManagedCluster"
    first = run("aks", security=security(AZURES[0]))
    monkeypatch.setitem(aks_answers.CALLS, answer, running("b"))
    second = run("aks", first, security=security(AZURES[1]))
    assert sorted(rights(second).values()) == AZURES
    assert rights(first).items() <= rights(second).items()
    # As Azure may answer it: nothing is replaced for that.
    written = run("aks", second, security=security(AZURES[1].replace("/keys/providers", "/KEYS/providers")))
    assert [each.ignore_changes for each in written.of_type(ASSIGNMENT) if "secrets-key" in each.name] == [
        ("scope",),
        ("scope",),
    ]
    monkeypatch.setitem(aks_answers.CALLS, answer, running("a"))
    with pytest.raises(pulumi.RunError, match=r"security\.kmsKey: .*needs that key until .*az aks update"):
        run("aks", second, security=security(AZURES[1]))


def test_the_stacks_own_disk_encryption_set_is_no_disk_key() -> None:
    """With it the stack would no longer declare the set that encrypts its disks."""
    key = {"kmsKey": f"{AZURES[0]}/versions/{VERSION}"}
    own = f"{SUBSCRIPTION}/gpu-one/providers/Microsoft.Compute/diskEncryptionSets/gpu-one-disks"
    first = run("aks", security=key)
    with pytest.raises(pulumi.RunError, match=r"security\.diskKey: .*Take diskKey out"):
        run("aks", first, security={**key, "diskKey": own.upper().replace("/SUBSCRIPTIONS", "/subscriptions")})
    with pytest.raises(pulumi.RunError, match=r"security\.diskKey: .*Take diskKey out"):
        run("aks", first, security={**key, "diskKey": own})


def test_a_right_to_reservations_has_one_name_whatever_else_is_reserved() -> None:
    """Otherwise Azure's assignment of the second group would be made under the first one's name, and then deleted."""
    groups = [f"{SUBSCRIPTION}/{name}" for name in ("june", "july", "august")]

    def reserved(*groups: str) -> dict[str, Any]:
        pools = [
            {
                "name": f"t4-{group.rpartition('/')[2]}",
                "gpu": "nvidia-t4",
                "maxNodes": 1,
                "capacity": "reserved",
                "reservation": f"{group}/providers/Microsoft.Compute/capacityReservationGroups/g",
            }
            for group in groups
        ]
        return {"gpuPools": pools}

    def rights(recording: Recording) -> dict[str, str]:
        named = by_name(recording, ASSIGNMENT, "scope")
        return {name.rpartition("-")[2]: scope for name, scope in named.items() if "-reservations-" in name}

    first = run("aks", **reserved(*groups[:2]))
    assert rights(first) == {"1": groups[0], "2": groups[1]}
    second = run("aks", first, **reserved(groups[1]))
    assert rights(second) == {"2": groups[1]}
    third = run("aks", second, **reserved(groups[2], groups[1]))
    assert rights(third) == {"1": groups[2], "2": groups[1]}


class Engine:
    """Answers about a stack without resources, or as an engine that lacks the function."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[Any] = []
        self._error = error

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
        self.asked.append((request.tok, dict(request.args)))
        if self._error is not None:
            raise self._error
        answer = resource_pb2.ResourceInvokeResponse()
        getattr(answer, "return")["outputs"] = {}
        return answer


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    asked = Engine()
    monkeypatch.setattr(settings, "get_monitor", lambda: asked)
    for name, value in (("stack", "dev"), ("project", "gpucluster"), ("organization", "organization")):
        monkeypatch.setattr(pulumi, f"get_{name}", lambda value=value: value)
    return asked


def test_the_engine_is_asked_for_the_stack_by_the_name_of_its_backend(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Deployed().key_rights(GRANT, "cluster-disk-key", "keyId", None) == []
    monkeypatch.setattr(pulumi, "get_organization", lambda: "company")
    Deployed()
    token = "pulumi:pulumi:readStackResourceOutputs"
    assert engine.asked == [(token, {"stackName": "dev"}), (token, {"stackName": "company/gpucluster/dev"})]


def test_an_engine_that_does_not_answer_ends_the_program(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    monkeypatch.setattr(settings, "get_monitor", lambda: Engine(grpc.RpcError("unrecognized function name")))
    with pytest.raises(pulumi.RunError, match=r"state of the stack .*unrecognized function name"):
        Deployed()


class Writing(Engine):
    """Fails so often, as while it writes the state."""

    def __init__(self, fails: int) -> None:
        super().__init__()
        self._fails = fails

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
        self._fails -= 1
        if self._fails >= 0:
            raise grpc.RpcError("returned an error: failed to load checkpoint: EOF")
        return super().Invoke(request)


def test_the_engine_is_asked_again_while_it_writes_the_state(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    """Seen once with a state in a folder, in the first second of an update."""
    monkeypatch.setattr(deployed, "_PAUSE_SECONDS", 0.0)
    writing = Writing(9)
    monkeypatch.setattr(settings, "get_monitor", lambda: writing)
    assert Deployed().names(GRANT) == frozenset()
    assert len(writing.asked) == 1
    monkeypatch.setattr(settings, "get_monitor", lambda: Writing(10))
    with pytest.raises(pulumi.RunError, match="failed to load checkpoint"):
        Deployed()
