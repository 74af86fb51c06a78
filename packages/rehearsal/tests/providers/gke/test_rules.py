"""Each server-side rule: the happy path passes it, one changed field breaks exactly it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from facts.catalog import of
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.gke.account import POOL, PROJECT, Google, cluster, gpu, gpu_pool, subnetwork
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import Rules
from rehearsal.providers.gke.cluster_rules import CLUSTER_RULES
from rehearsal.providers.gke.iam import ACCOUNT_RULES, MEMBER_RULES, SERVICE_RULES
from rehearsal.providers.gke.machine_rules import MACHINE_RULES
from rehearsal.providers.gke.network import SUBNETWORK_RULES
from rehearsal.providers.gke.pool_rules import POOL_RULES
from rehearsal.providers.rules import broken as first_broken
from rehearsal.providers.store import Store

HAPPY: dict[int, Properties] = {
    id(POOL_RULES): gpu_pool(project=PROJECT),
    id(MACHINE_RULES): gpu_pool(project=PROJECT),
    id(CLUSTER_RULES): cluster(project=PROJECT),
    id(SUBNETWORK_RULES): subnetwork(),
    id(ACCOUNT_RULES): {"accountId": "gpu-dev-nodes"},
    id(MEMBER_RULES): {"member": "serviceAccount:a@b.iam.gserviceaccount.com", "role": "roles/container.viewer"},
    id(SERVICE_RULES): {"service": "container.googleapis.com"},
}

SURGE_OFF = {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 0}
QUEUED = {"enabled": True}
NO_RESERVATION = {"consumeReservationType": "NO_RESERVATION"}
NAMED = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name"}
TAINT = {"key": "dedicated", "value": "ml", "effect": "NO_SCHEDULE"}

FLEX: Properties = {
    "nodeConfig.flexStart": True,
    "nodeConfig.spot": False,
    "nodeConfig.reservationAffinity": NO_RESERVATION,
}
G4: Properties = {"nodeConfig.machineType": "g4-standard-48"}
L4: Properties = {"nodeConfig.machineType": "g2-standard-4"}
COMPACT = {"type": "COMPACT"}
TWO_ZONES = ["us-central1-a", "us-central1-b"]
KEY = "projects/p/locations/{}/keyRings/r/cryptoKeys/k"
PRIVATE: Properties = {"privateClusterConfig.enablePrivateEndpoint": True}


def allowing(block: str) -> Properties:
    return {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": block}]}}


def excluding(**end: Any) -> Properties:
    return {"maintenanceExclusions": [{"exclusionName": "training", "startTime": "2026-11-01T00:00:00Z", **end}]}


EXCLUSIONS = "maintenanceExclusions"


def weekly(end: str, days: str) -> Properties:
    """A window that opens at two."""
    recurrence = f"FREQ=WEEKLY;BYDAY={days}"
    return {"startTime": "2026-11-01T02:00:00Z", "endTime": f"2026-11-01T{end}", "recurrence": recurrence}


BROKEN: list[tuple[Rules, str, Properties]] = [
    (POOL_RULES, "pool-name", {"name": "a" * 41}),
    (POOL_RULES, "pool-name", {"name": "T4"}),
    (POOL_RULES, "pool-counts-exclusive", {"nodeCount": 1, "initialNodeCount": 1}),
    (POOL_RULES, "autoscaling-limits-exclusive", {"autoscaling": {"maxNodeCount": 2, "totalMaxNodeCount": 4}}),
    (POOL_RULES, "autoscaling-limits-ordered", {"autoscaling": {"totalMinNodeCount": 5, "totalMaxNodeCount": 4}}),
    (POOL_RULES, "autoscaling-limits-ordered", {"autoscaling": {"minNodeCount": 0, "maxNodeCount": 0}}),
    (POOL_RULES, "spot-preemptible-exclusive", {"nodeConfig.preemptible": True}),
    (POOL_RULES, "spot-reservation-exclusive", {"nodeConfig.reservationAffinity": {**NAMED, "values": ["r"]}}),
    (POOL_RULES, "reservation-named", {"nodeConfig.spot": False, "nodeConfig.reservationAffinity": NAMED}),
    (POOL_RULES, "machine-exists", {"nodeConfig.machineType": "n1-gigantic-4", "nodeConfig.guestAccelerators": []}),
    (
        POOL_RULES,
        "machine-on-demand",
        {"nodeConfig.machineType": "a3-highgpu-1g", "nodeConfig.guestAccelerators": [], "nodeConfig.spot": False},
    ),
    (POOL_RULES, "accelerator-exists", {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-k80", 1)]}),
    (POOL_RULES, "accelerator-fits-machine", {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-t4", 3)]}),
    (POOL_RULES, "accelerator-fits-machine", {"nodeConfig.machineType": "e2-standard-4"}),
    (POOL_RULES, "accelerator-fits-machine", {"nodeConfig.machineType": "g2-standard-4"}),
    (POOL_RULES, "accelerators-of-one-type", {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-t4", 1)] * 2}),
    (
        POOL_RULES,
        "driver-latest-on-cos",
        {
            "nodeConfig.imageType": "UBUNTU_CONTAINERD",
            "nodeConfig.guestAccelerators": [gpu("nvidia-tesla-t4", 1, "LATEST")],
        },
    ),
    (
        POOL_RULES,
        "time-sharing-clients",
        {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-t4", 1, gpuSharingConfig={"maxSharedClientsPerGpu": 49})]},
    ),
    (POOL_RULES, "image-exists", {"nodeConfig.imageType": "DEBIAN"}),
    (POOL_RULES, "disk-size", {"nodeConfig.diskSizeGb": 11}),
    (POOL_RULES, "max-pods", {"maxPodsPerNode": 7}),
    (POOL_RULES, "surge-not-both-zero", {"upgradeSettings": SURGE_OFF}),
    (POOL_RULES, "surge-not-both-zero", {"upgradeSettings": {**SURGE_OFF, "maxSurge": 21}}),
    (POOL_RULES, "labels-valid", {"nodeConfig.labels": {"a b": "c"}}),
    (POOL_RULES, "labels-valid", {"nodeConfig.labels": {"a": "x" * 64}}),
    (POOL_RULES, "labels-allowed", {"nodeConfig.labels": {"node-role.kubernetes.io/gpu": "true"}}),
    (POOL_RULES, "taints-valid", {"nodeConfig.taints": [TAINT, TAINT]}),
    (POOL_RULES, "taints-valid", {"nodeConfig.taints": [{**TAINT, "effect": "EFFECT_UNSPECIFIED"}]}),
    (
        POOL_RULES,
        "queued-provisioning",
        {"queuedProvisioning": QUEUED, "nodeConfig.reservationAffinity": NO_RESERVATION},
    ),
    (POOL_RULES, "queued-provisioning", {"queuedProvisioning": QUEUED, "nodeConfig.spot": False}),
    (POOL_RULES, "flex-start", {"nodeConfig.flexStart": True}),
    (POOL_RULES, "flex-start", {**FLEX, "nodeConfig.reservationAffinity": {**NAMED, "values": ["r"]}}),
    (POOL_RULES, "flex-start", {**FLEX, "nodeCount": 1}),
    (POOL_RULES, "flex-start", {**FLEX, "autoscaling.locationPolicy": "BALANCED"}),
    (POOL_RULES, "compact-in-one-zone", {"placementPolicy": {"type": "COMPACT"}, "nodeLocations": TWO_ZONES}),
    (POOL_RULES, "compact-goes-with", {"placementPolicy": COMPACT}),
    (POOL_RULES, "compact-goes-with", {**FLEX, "placementPolicy": COMPACT, "nodeConfig.machineType": "a3-highgpu-8g"}),
    (POOL_RULES, "compact-goes-with", {**L4, "placementPolicy": COMPACT, "queuedProvisioning": QUEUED}),
    (POOL_RULES, "compact-goes-with", {**L4, "placementPolicy": COMPACT, "upgradeSettings.strategy": "BLUE_GREEN"}),
    (POOL_RULES, "disk-size", {"nodeConfig.diskSizeGb": 100_000}),
    (POOL_RULES, "labels-length", {"nodeConfig.labels": {f"key-{n}": "x" * 60 for n in range(16)}}),
    (MACHINE_RULES, "disk-type-exists", {"nodeConfig.diskType": "floppy"}),
    (MACHINE_RULES, "disk-fits-machine", {"nodeConfig.diskType": "hyperdisk-balanced"}),
    (MACHINE_RULES, "disk-fits-machine", {"nodeConfig.machineType": "a4-highgpu-8g"}),
    (MACHINE_RULES, "disk-fits-machine", {**G4, "nodeConfig.diskType": "pd-balanced"}),
    (MACHINE_RULES, "local-ssd-on-machine", {"nodeConfig.machineType": "e2-standard-4", "nodeConfig.localSsdCount": 1}),
    (
        MACHINE_RULES,
        "local-ssd-on-machine",
        {"nodeConfig.machineType": "a2-ultragpu-1g", "nodeConfig.ephemeralStorageLocalSsdConfig": {"localSsdCount": 2}},
    ),
    (
        MACHINE_RULES,
        "partition-size",
        {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-t4", 1, gpuPartitionSize="1g.5gb")]},
    ),
    (
        MACHINE_RULES,
        "partition-size",
        {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-a100", 1, gpuPartitionSize="9g.99gb")]},
    ),
    (
        MACHINE_RULES,
        "image-streaming-on-cos",
        {"nodeConfig.gcfsConfig": {"enabled": True}, "nodeConfig.imageType": "UBUNTU_CONTAINERD"},
    ),
    (MACHINE_RULES, "node-resource-labels", {"nodeConfig.resourceLabels": {"Team": "ml"}}),
    (MACHINE_RULES, "node-resource-labels", {"nodeConfig.resourceLabels": {"team": "ML"}}),
    (POOL_RULES, "max-run-duration", {"nodeConfig.maxRunDuration": "700000s"}),
    (CLUSTER_RULES, "cluster-name", {"name": "Prod"}),
    (CLUSTER_RULES, "cluster-location", {"location": "us-central9-a"}),
    (CLUSTER_RULES, "cluster-location", {"location": "us-central1-z"}),
    (CLUSTER_RULES, "node-locations-in-region", {"nodeLocations": ["europe-west4-a"]}),
    (CLUSTER_RULES, "node-locations-exclude-primary", {"nodeLocations": ["us-central1-a"]}),
    (CLUSTER_RULES, "initial-node-count", {"initialNodeCount": 0}),
    (CLUSTER_RULES, "version-offered", {"minMasterVersion": "1.99"}),
    (CLUSTER_RULES, "version-offered", {"minMasterVersion": "1.31"}),
    (CLUSTER_RULES, "version-in-channel", {"minMasterVersion": "1.33", "releaseChannel": {"channel": "REGULAR"}}),
    (CLUSTER_RULES, "private-nodes-need-alias-ips", {"networkingMode": "ROUTES"}),
    (CLUSTER_RULES, "private-endpoint-needs-private-nodes", {"privateClusterConfig": {"enablePrivateEndpoint": True}}),
    (CLUSTER_RULES, "control-plane-range", {"privateClusterConfig.masterIpv4CidrBlock": "172.16.0.0/27"}),
    (CLUSTER_RULES, "control-plane-range", {"privateClusterConfig.masterIpv4CidrBlock": "172.16.0.1/28"}),
    (CLUSTER_RULES, "range-names-or-blocks", {"ipAllocationPolicy.clusterIpv4CidrBlock": "10.4.0.0/14"}),
    (CLUSTER_RULES, "ip-allocation-or-cluster-range", {"clusterIpv4Cidr": "10.4.0.0/14", "privateClusterConfig": None}),
    (CLUSTER_RULES, "cluster-ranges-valid", {"ipAllocationPolicy": {"clusterIpv4CidrBlock": "172.16.0.0/14"}}),
    (
        CLUSTER_RULES,
        "authorized-networks",
        {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "office"}]}},
    ),
    (CLUSTER_RULES, "workload-pool", {"workloadIdentityConfig": {"workloadPool": "other.svc.id.goog"}}),
    (
        CLUSTER_RULES,
        "encryption-key",
        {"databaseEncryption": {"state": "ENCRYPTED", "keyName": KEY.format("europe-west4")}},
    ),
    (CLUSTER_RULES, "private-endpoint-reserved-networks", {**PRIVATE, **allowing("73.89.231.174/32")}),
    (CLUSTER_RULES, "private-endpoint-reserved-networks", {**PRIVATE, **allowing("0.0.0.0/0")}),
    (
        CLUSTER_RULES,
        "dataplane-v2-has-network-policy",
        {"datapathProvider": "ADVANCED_DATAPATH", "networkPolicy": {"enabled": True}},
    ),
    (CLUSTER_RULES, "multi-networking-needs-dataplane-v2", {"enableMultiNetworking": True}),
    (CLUSTER_RULES, "maintenance-window", {"maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "25:00"}}}),
    *(
        (CLUSTER_RULES, "maintenance-availability", {"maintenancePolicy": {"recurringWindow": weekly(*window)}})
        for window in (("13:00:00Z", "SA"), ("05:00:00Z", "MO,TU,WE,TH"), ("02:00:00Z", "SA"))
    ),
    (CLUSTER_RULES, "maintenance-exclusions-limited", {"maintenancePolicy": excluding(endTime="2026-12-02T00:00:00Z")}),
    (
        CLUSTER_RULES,
        "maintenance-exclusions-limited",
        {"maintenancePolicy": {"maintenanceExclusions": 4 * excluding(endTime="2026-11-02T00:00:00Z")[EXCLUSIONS]}},
    ),
    (CLUSTER_RULES, "security-group-name", {"authenticatorGroupsConfig": {"securityGroup": "ops@example.com"}}),
    (CLUSTER_RULES, "maintenance-exclusion-ends-once", {"maintenancePolicy": excluding()}),
    (
        CLUSTER_RULES,
        "maintenance-exclusion-ends-once",
        {
            "maintenancePolicy": excluding(
                endTime="2027-01-01T00:00:00Z", exclusionOptions={"endTimeBehavior": "UNTIL_END_OF_SUPPORT"}
            )
        },
    ),
    (
        CLUSTER_RULES,
        "gpu-metrics-need-prometheus",
        {"monitoringConfig": {"enableComponents": ["DCGM"], "managedPrometheus": {"enabled": False}}},
    ),
    (CLUSTER_RULES, "cluster-resource-labels", {"resourceLabels": {"Team": "ml"}}),
    (CLUSTER_RULES, "encryption-key", {"databaseEncryption": {"state": "ENCRYPTED", "keyName": "my-key"}}),
    (SUBNETWORK_RULES, "subnet-range-valid", {"ipCidrRange": "10.0.0.1/20"}),
    (SUBNETWORK_RULES, "subnet-range-valid", {"ipCidrRange": "10.0.0.0/30"}),
    (SUBNETWORK_RULES, "subnet-ranges-disjoint", {"ipCidrRange": "10.4.0.0/20"}),
    (ACCOUNT_RULES, "account-id", {"accountId": "short"}),
    (ACCOUNT_RULES, "account-id", {"accountId": "a" * 31}),
    (MEMBER_RULES, "member-form", {"member": "nodes@demo.iam.gserviceaccount.com"}),
    (MEMBER_RULES, "role-form", {"role": "container.viewer"}),
    (SERVICE_RULES, "service-name", {"service": "container"}),
]

BOOKS = (POOL_RULES, MACHINE_RULES, CLUSTER_RULES, SUBNETWORK_RULES, ACCOUNT_RULES, MEMBER_RULES, SERVICE_RULES)


@pytest.fixture
def cloud(tmp_path: Path) -> SimulatedCloud:
    return SimulatedCloud(
        Store(tmp_path, "gcp"), None, lambda: of("gke"), {"project": PROJECT, "region": "us-central1"}
    )


def changed(inputs: Properties, changes: Properties) -> Properties:
    """A copy of ``inputs`` with values at dotted paths replaced."""
    result: Properties = {**inputs}
    for path, value in changes.items():
        key, dot, rest = path.partition(".")
        result[key] = changed(result.get(key) or {}, {rest: value}) if dot else value
    return result


def broken(book: Rules, inputs: Properties, cloud: SimulatedCloud) -> list[str]:
    return [rule.id for rule in book.rules if rule.check(inputs, cloud)]


@pytest.mark.parametrize("book", BOOKS)
def test_the_happy_path_breaks_nothing(book: Rules, cloud: SimulatedCloud) -> None:
    assert broken(book, HAPPY[id(book)], cloud) == []


@pytest.mark.parametrize(("book", "rule", "changes"), BROKEN, ids=lambda value: value if isinstance(value, str) else "")
def test_one_change_breaks_the_rule(book: Rules, rule: str, changes: dict[str, Any], cloud: SimulatedCloud) -> None:
    assert rule in broken(book, changed(HAPPY[id(book)], changes), cloud)


@pytest.mark.parametrize(("book", "rule", "changes"), BROKEN, ids=lambda value: value if isinstance(value, str) else "")
def test_a_rule_waits_for_unknown_values(
    book: Rules, rule: str, changes: dict[str, Any], cloud: SimulatedCloud
) -> None:
    """With everything that the change touched unknown, that rule must neither fail nor crash."""
    [matching] = [known for known in book.rules if known.id == rule]
    unknown = changed(HAPPY[id(book)], {**changes, **dict.fromkeys(matching.reads[:1], UNKNOWN)})
    assert first_broken([matching], unknown, cloud) is None


def test_every_rule_is_broken_once() -> None:
    ids = [rule.id for book in BOOKS for rule in book.rules]
    assert len(ids) == len(set(ids))
    assert set(ids) == {rule for _, rule, _ in BROKEN}


def test_a_broken_rule_reads_like_googles_answer(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"^googleapi: Error 400: .*no longer than 40 characters\), badRequest$"):
        Google(tmp_path).preview(POOL, gpu_pool(name="x" * 41))


@pytest.mark.parametrize(
    ("machine", "accelerators"),
    [
        ("g2-standard-24", [gpu("nvidia-l4", 2)]),
        ("a2-highgpu-1g", []),
        ("n1-standard-16", [gpu("nvidia-tesla-t4", 4)]),
        ("e2-custom-2-10240", []),
    ],
)
def test_machines_and_their_accelerators(machine: str, accelerators: list[Properties], cloud: SimulatedCloud) -> None:
    pool = gpu_pool(nodeConfig={"machineType": machine, "guestAccelerators": accelerators})
    assert broken(POOL_RULES, pool, cloud) == []


def test_the_range_names_rule_is_about_one_pair(cloud: SimulatedCloud) -> None:
    mixed = {"clusterSecondaryRangeName": "pods", "servicesIpv4CidrBlock": "10.8.0.0/20"}
    assert broken(CLUSTER_RULES, cluster(project=PROJECT, ipAllocationPolicy=mixed), cloud) == []


def test_queued_provisioning_as_documented_passes(cloud: SimulatedCloud) -> None:
    config = {"spot": False, "reservationAffinity": NO_RESERVATION}
    assert broken(POOL_RULES, gpu_pool(queuedProvisioning=QUEUED, nodeConfig=config), cloud) == []


def test_flex_start_as_documented_passes(cloud: SimulatedCloud) -> None:
    pool = changed(gpu_pool(management={"autoRepair": False}), FLEX)
    assert broken(POOL_RULES, pool, cloud) == []


@pytest.mark.parametrize("block", ["10.1.0.0/16", "192.168.7.0/24", "100.64.0.0/10", "192.0.2.0/24"])
def test_private_endpoints_take_private_networks(block: str, cloud: SimulatedCloud) -> None:
    assert broken(CLUSTER_RULES, changed(HAPPY[id(CLUSTER_RULES)], {**PRIVATE, **allowing(block)}), cloud) == []


def test_public_endpoints_take_any_network(cloud: SimulatedCloud) -> None:
    assert broken(CLUSTER_RULES, changed(HAPPY[id(CLUSTER_RULES)], allowing("0.0.0.0/0")), cloud) == []


@pytest.mark.parametrize(
    "right",
    [
        {"nodeConfig.machineType": "a4-highgpu-8g", "nodeConfig.diskType": "hyperdisk-balanced"},
        {"nodeConfig.machineType": "a2-ultragpu-1g", "nodeConfig.ephemeralStorageLocalSsdConfig": {"localSsdCount": 1}},
        {"nodeConfig.guestAccelerators": [gpu("nvidia-tesla-a100", 1, gpuPartitionSize="1g.5gb")]},
        {"nodeConfig.gcfsConfig": {"enabled": True}},
        {"nodeConfig.resourceLabels": {"team": "ml-1", "cost_centre": ""}},
    ],
)
def test_what_goes_together_on_a_machine(right: Properties, cloud: SimulatedCloud) -> None:
    assert broken(MACHINE_RULES, changed(gpu_pool(), right), cloud) == []


@pytest.mark.parametrize("version", ["1.34", "1.35.2", "1.36.1-gke.77", "latest"])
def test_a_stack_may_be_pinned_to_any_plausible_version(version: str, cloud: SimulatedCloud) -> None:
    assert broken(CLUSTER_RULES, cluster(project=PROJECT, minMasterVersion=version), cloud) == []


@pytest.mark.parametrize("version", ["1.32", "1.33", "1.36"])
def test_the_extended_channel_has_older_versions_too(version: str, cloud: SimulatedCloud) -> None:
    channel = {"channel": "EXTENDED"}
    assert (
        broken(CLUSTER_RULES, cluster(project=PROJECT, minMasterVersion=version, releaseChannel=channel), cloud) == []
    )


@pytest.mark.parametrize("goes", [L4, {**FLEX, "nodeConfig.machineType": "a3-ultragpu-8g"}])
def test_what_compact_placement_goes_with(goes: Properties, cloud: SimulatedCloud) -> None:
    pool = changed(gpu_pool(placementPolicy=COMPACT), goes)
    assert "compact-goes-with" not in broken(POOL_RULES, pool, cloud)
