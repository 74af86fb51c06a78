"""What an account does not have, or may not use, is refused in its cloud's words; its neighbour is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from components.settings import from_stack_file
from components.settings.quotas import quotas
from facts import catalog
from facts.concepts.parts import Nodes, Scaling
from packages.rehearsal.tests.noting_fleet import NotingFleet
from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.driver import Account
from packages.rehearsal.tests.providers.eks import account as amazon
from packages.rehearsal.tests.providers.gke import account as google
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.account_limits import AccountFileError, AccountLimits, LimitedFleet, read
from rehearsal.providers.base import ProviderError
from rehearsal.providers.gke.cloud import project_number
from rehearsal.simulation import Fleet, NodeShape, SimulatedNodeGroup
from tests.components.specs import changed
from tests.components.workloads.stacks import BUCKETS, REGISTRIES, run
from tests.stacks import ROOT
from tests.yaml_file import read_yaml


@dataclass(frozen=True)
class Case:
    """A cloud, its account, a machine with one T4, and the quotas that it counts against on demand and as spot."""

    cloud: str
    account: type[Account]
    machine: str
    zone: str
    gpu: str
    on_demand: str
    spot: str
    per_node: int
    words: str
    creates: tuple[str, dict[str, Any]]
    """A resource that needs no other, with its inputs."""
    right: str
    """What making it takes."""
    forbidden: str

    def group(self, **changes: Any) -> SimulatedNodeGroup:
        machine = NodeShape(4, 15, gpus=1, gpu_name=self.gpu)
        nodes: Nodes = Nodes(machine_types=(self.machine,), zones=(self.zone,), labels={})
        scaling = Scaling(max_nodes=4, capacity_type="spot")
        return changed(SimulatedNodeGroup("t4", "gpu", machine, nodes, scaling), **changes)

    def limited(self, group: SimulatedNodeGroup, **allowed: Any) -> SimulatedNodeGroup:
        refusals = import_module(f"rehearsal.providers.{self.cloud}").REFUSALS
        fleet = NotingFleet()
        limited = LimitedFleet(cast("Fleet", fleet), AccountLimits(**allowed), catalog.of(self.cloud), refusals)
        limited.apply_group(group)
        return fleet.groups[group.name]


ACCOUNTS: dict[str, type[Account]] = {"gke": google.Google, "eks": amazon.Amazon, "aks": azure.Microsoft}
CASES = [
    Case(account=ACCOUNTS[row["cloud"]], **row) for row in read_yaml(Path(__file__).with_name("account_limits.yaml"))
]
every_cloud = pytest.mark.parametrize("case", CASES, ids=lambda case: case.cloud)


@every_cloud
@pytest.mark.parametrize("spot", [False, True])
def test_a_pool_gets_no_node_without_quota_and_as_many_as_the_quota_allows(case: Case, spot: bool) -> None:
    name, other = (case.spot, case.on_demand) if spot else (case.on_demand, case.spot)
    group = case.group(capacity_type="spot" if spot else "on-demand")
    none = case.limited(group, quotas={name: case.per_node - 1})
    assert case.words.format(name=name, limit=case.per_node - 1) in none.not_scaled_because
    assert not none.scaling.autoscaled
    two = case.limited(group, quotas={name: 2 * case.per_node})
    assert (two.scaling.max_nodes, two.scaling.autoscaled, two.not_scaled_because) == (2, True, "")
    # There is enough of it, or it counts for the other kind of machine alone.
    assert case.limited(group, quotas={name: 4 * case.per_node}) == group
    if case.cloud != "gke":  # where spot counts against the standard quota unless the project has the other
        assert case.limited(group, quotas={other: 0}) == group


def test_flex_start_on_gke_counts_against_the_preemptible_quota(tmp_path: Path) -> None:
    gke = google.Google(tmp_path)
    gke.cluster()
    flex = {"spot": False, "flexStart": True, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
    gke.create(google.POOL, google.gpu_pool(nodeConfig=flex, management={"autoRepair": False}))
    quotas = {"NVIDIA_T4_GPUS": 4, "PREEMPTIBLE_NVIDIA_T4_GPUS": 0}
    limited = CASES[0].limited(gke.fleet.groups["t4-1"], quotas=quotas)
    assert "Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded" in limited.not_scaled_because


@every_cloud
def test_nodes_that_a_pool_starts_with_need_quota_at_once(case: Case) -> None:
    group = case.group(capacity_type="on-demand", min_nodes=1, autoscaled=False)
    with pytest.raises(ProviderError, match=r"[Qq]uota|vCPU limit"):
        case.limited(group, quotas={case.on_demand: 0})
    assert case.limited(group, quotas={case.on_demand: case.per_node}) == group


@every_cloud
def test_two_pools_share_a_quota(case: Case) -> None:
    refusals = import_module(f"rehearsal.providers.{case.cloud}").REFUSALS
    fleet, account_limits = NotingFleet(), AccountLimits(quotas={case.on_demand: 3 * case.per_node})
    limited = LimitedFleet(cast("Fleet", fleet), account_limits, catalog.of(case.cloud), refusals)
    always = case.group(capacity_type="on-demand", min_nodes=2, autoscaled=False)
    limited.apply_group(always)
    second = replace(case.group(capacity_type="on-demand"), name="second")
    limited.apply_group(second)
    assert fleet.groups["second"].scaling.max_nodes == 1
    limited.delete_group("gpu", "t4")
    limited.apply_group(second)
    assert fleet.groups["second"].scaling.max_nodes == 3


@every_cloud
@cases
def test_a_reservation_exists_and_gives_what_it_holds(case: Case, held: Mapping[str, int], most: int, why: str) -> None:
    limited = case.limited(case.group(reservation="mine"), reservations=held)
    assert (limited.scaling.max_nodes if limited.scaling.autoscaled else 0) == most
    assert bool(limited.not_scaled_because) is bool(why)
    assert case.limited(case.group(), reservations=held) == case.group()


@every_cloud
def test_a_missing_right_is_named_and_nothing_is_made(case: Case, tmp_path: Path) -> None:
    type, inputs = case.creates
    account = case.account(tmp_path)
    account.provider.limit(AccountLimits(missing_rights=(case.right.upper(),)))
    with pytest.raises(ProviderError) as refusal:
        account.create(type, inputs)
    assert case.forbidden in str(refusal.value)
    account.preview(type, inputs)
    account.provider.limit(AccountLimits(missing_rights=("something.else",)))
    assert account.create(type, inputs).id
    account.stop()


@every_cloud
def test_every_resource_takes_a_right_to_make(case: Case, tmp_path: Path) -> None:
    account = case.account(tmp_path)
    for row in account.provider.rows.values():
        assert account.provider.permission(row, "create"), row.token
    account.stop()


@pytest.mark.parametrize(
    ("account", "type", "doing", "right"),
    [
        (google.Google, google.CLUSTER, "delete", "container.clusters.delete"),
        (google.Google, google.POOL, "create", "container.clusters.update"),
        (azure.Microsoft, azure.POOL, "create", "Microsoft.ContainerService/managedClusters/agentPools/write"),
        (azure.Microsoft, azure.POOL, "delete", "Microsoft.ContainerService/managedClusters/agentPools/delete"),
        (amazon.Amazon, amazon.CLUSTER, "create", "eks:CreateCluster"),
    ],
)
def test_rights_have_clouds_names(account: type[Account], type: str, doing: Any, right: str, tmp_path: Path) -> None:
    provider = account(tmp_path).provider
    assert provider.permission(provider.row(type), doing) == right


KEY = f"https://vault.vault.azure.net/keys/disks/{'0123456789abcdef' * 2}"
GOOGLE_KEY = f"projects/{google.PROJECT}/locations/us-central1/keyRings/r/cryptoKeys/k"


@pytest.mark.parametrize(
    ("keys", "there"), [((), False), (("https://vault.vault.azure.net/keys/disks",), True), ((KEY,), True)]
)
def test_azure_encrypts_with_a_key_that_exists(keys: tuple[str, ...], there: bool, tmp_path: Path) -> None:
    here = azure.Microsoft(tmp_path)
    here.group()
    here.provider.limit(AccountLimits(keys=keys))
    asked = {"resourceGroupName": "gpu-dev", "vaultName": "vault", "keyName": "disks"}
    if there:
        assert here.provider.invoke("azure-native:keyvault:getKey", asked)["kty"] == "RSA"
        assert here.create(azure.ENCRYPTION_SET, azure.encryption_set()).id
    else:
        with pytest.raises(ProviderError, match="was not found in this key vault"):
            here.provider.invoke("azure-native:keyvault:getKey", asked)
        here.refuses(azure.ENCRYPTION_SET, azure.encryption_set(), "was not found in this key vault")


@pytest.mark.parametrize("there", [False, True])
def test_google_grants_on_a_key_that_exists(there: bool, tmp_path: Path) -> None:
    here = google.Google(tmp_path)
    here.provider.limit(AccountLimits(keys=(GOOGLE_KEY,) if there else ()))
    grant = {"cryptoKeyId": GOOGLE_KEY, "role": "roles/viewer", "member": "user:me@example.com"}
    here.takes(google.KEY_MEMBER, grant, None if there else f"Error 404: CryptoKey {GOOGLE_KEY} not found")


@pytest.mark.parametrize("there", [True, False])
def test_what_google_encrypted_with_a_key_is_unreadable_without_it(tmp_path: Path, there: bool) -> None:
    here = google.Google(tmp_path)
    agent = f"service-{project_number(google.PROJECT)}@container-engine-robot.iam.gserviceaccount.com"
    role = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
    here.create(google.KEY_MEMBER, {"cryptoKeyId": GOOGLE_KEY, "role": role, "member": f"serviceAccount:{agent}"})
    here.cluster(databaseEncryption={"state": "ENCRYPTED", "keyName": GOOGLE_KEY})
    here.provider.limit(AccountLimits(keys=(GOOGLE_KEY,) if there else ()))
    lost = f"{google.CLUSTER_ID} has data under {GOOGLE_KEY}, which is not among the account's keys any more"
    assert here.provider.problems() == ([] if there else [lost])


@cases
def test_a_mistake_in_the_file_is_reported_with_what_to_write(written: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "account.yaml"
    file.write_text(written)
    known = [quota.name for quota in quotas(from_stack_file(ROOT / "examples" / "gke-tips.yaml"))]
    with pytest.raises(AccountFileError, match=words):
        read(file, known)
    file.write_text(
        "quotas: {SSD_TOTAL_GB: 500}\nreservations: {mine: 2}\nkeys: []\nmissingRights: ['container.*']\n"
        "policies: [private-dns-zones]\n"
    )
    denied = ("private-dns-zones",)
    assert read(file, known) == AccountLimits({"SSD_TOTAL_GB": 500}, {"mine": 2}, (), ("container.*",), denied)


def test_gpus_start_only_in_zones_that_have_them(tmp_path: Path) -> None:
    gke = google.Google(tmp_path / "gke")
    gke.cluster()
    p100 = {"machineType": "n1-standard-4", "guestAccelerators": [google.gpu("nvidia-tesla-p100", 1, "DEFAULT")]}
    known = catalog.of("gke").gpu_zones("nvidia-p100") or ()
    zones = catalog.of("gke").regions["us-central1"]
    having, lacking = ([zone for zone in zones if (zone in known) is there] for there in (True, False))
    with pytest.raises(ProviderError, match="acceleratorTypes/nvidia-tesla-p100' was not found"):
        gke.create(google.POOL, google.gpu_pool(nodeConfig=p100, nodeLocations=lacking[:1]))
    assert gke.create(google.POOL, google.gpu_pool(nodeConfig=p100, nodeLocations=having[:1])).id
    aks = azure.Microsoft(tmp_path / "aks")
    aks.cluster()
    assert "eastus-1" not in (catalog.of("aks").gpu_zones("nvidia-h200-141gb") or ("eastus-1",))
    with pytest.raises(ProviderError, match="is currently not available in location 'eastus' zones '1'"):
        aks.create(azure.POOL, azure.gpu_pool(vmSize="Standard_ND96isr_H200_v5", availabilityZones=["1"]))
    assert aks.create(azure.POOL, azure.gpu_pool(vmSize="Standard_NC4as_T4_v3", availabilityZones=["1"])).id


@pytest.mark.parametrize("own", [False, True])
def test_a_policy_denies_stored_data_without_a_customers_key(own: bool, tmp_path: Path) -> None:
    gke, key = google.Google(tmp_path), "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    gke.provider.limit(AccountLimits(policies=("non-cmek-services",)))
    written = {"security": {"dataKey": key}} if own else {}
    workloads = {"registry": {}, "checkpoints": {}}
    program = run("gke", identities=None, workloads=workloads, **written)
    grants = program.of_type("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    number = project_number(google.PROJECT)
    for each in grants:
        gke.create(each.type, {**each.inputs, "member": each.inputs["member"].replace("123456789", number)})
    for token in (BUCKETS["gke"], REGISTRIES["gke"]):
        inputs = {**program.only(token).inputs, "project": google.PROJECT}
        gke.takes(token, inputs, None if own else "restrictNonCmekServices")
    gke.stop()


GOOGLES = "projects/keys/locations/us-central1/keyRings/r/cryptoKeys/d"
AGENT = f"serviceAccount:service-{project_number(google.PROJECT)}@compute-system.iam.gserviceaccount.com"
AUTO_SCALING = "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
OPERATIONS = ["CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptTo"]


def test_google_wants_its_agent_to_have_the_key_and_the_key_in_its_region(tmp_path: Path) -> None:
    gke = google.Google(tmp_path)
    pool = google.cpu_pool(cluster=gke.cluster().id)
    encrypted = {**pool, "nodeConfig": {**pool["nodeConfig"], "bootDiskKmsKey": GOOGLES}}
    gke.refuses(google.POOL, encrypted, r"useToEncrypt.*compute-system")
    member = {"cryptoKeyId": GOOGLES, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": AGENT}
    gke.create(google.KEY_MEMBER, member)
    elsewhere = GOOGLES.replace("us-central1", "europe-west4")
    with pytest.raises(ProviderError, match="not a key in 'us-central1'"):
        gke.create(google.POOL, {**encrypted, "nodeConfig": {**pool["nodeConfig"], "bootDiskKmsKey": elsewhere}})
    assert gke.create(google.POOL, encrypted).state["nodeConfig"]["bootDiskKmsKey"] == GOOGLES
    gke.stop()


def test_auto_scaling_starts_nothing_with_a_key_that_it_may_not_use(tmp_path: Path) -> None:
    eks = amazon.Amazon(tmp_path)
    try:
        eks.cluster()
        key = eks.create(amazon.KEY, {}).state["arn"]
        disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 50, "encrypted": "true", "kmsKeyId": key}}
        template = eks.create(amazon.TEMPLATE, {"name": "own-key", "blockDeviceMappings": [disk]})
        of_it = {"launchTemplate": {"id": template.id, "version": "1"}}
        nodes = {"scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2}}
        with pytest.raises(ProviderError, match="AsgInstanceLaunchFailures"):
            eks.node_group(**of_it, **nodes)
        grant = {"keyId": key, "granteePrincipal": AUTO_SCALING}
        eks.create(amazon.GRANT, {**grant, "operations": OPERATIONS[1:]})
        with pytest.raises(ProviderError, match="AsgInstanceLaunchFailures"):
            eks.node_group(**of_it, **nodes)
        eks.create(amazon.GRANT, {**grant, "operations": OPERATIONS, "name": "whole"})
        assert eks.node_group(**of_it, **nodes).id
    finally:
        eks.stop()
