"""Karpenter on EKS: pools as objects, what machines are made from, what it may do, and what it hears of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components import catalog
from components.clouds.eks import interruptions
from components.pools import CpuPoolSpec, GpuPoolSpec
from policies.rules.model import Taint
from tests import recorder
from tests.components import eks_specs

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
RELEASE = "kubernetes:helm.sh/v3:Release"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
SPOT = eks_specs.gpu_pool("t4-1-spot", zones=eks_specs.THREE_ZONES, machine_types=("g4dn.xlarge", "g4dn.2xlarge"))
FALLBACK = eks_specs.gpu_pool("t4-1-ondemand", spot=False, preference=1)
BIG = eks_specs.gpu_pool("t4-4-spot", size=4, machine_type="g4dn.12xlarge", max_nodes=3)
RESERVED = eks_specs.gpu_pool("t4-1-mine", spot=False, reservation="cr-0123456789abcdef0")
CPU = eks_specs.cpu_pool()


def run(*pools: CpuPoolSpec | GpuPoolSpec, nodes: int = 1, **cluster: Any) -> recorder.Recording:
    settings = {"autoscaler": "karpenter", "zones": eks_specs.THREE_ZONES, "version": "1.34", **cluster}
    return eks_specs.recorded(*(pools or (SPOT,)), admin=eks_specs.admin_pool(nodes=nodes), cluster=settings)


def pool_spec(pool: CpuPoolSpec | GpuPoolSpec, **cluster: Any) -> dict[str, Any]:
    found: dict[str, Any] = run(pool, **cluster).only(NODE_POOL).inputs["spec"]
    return found


def requirements(pool: CpuPoolSpec | GpuPoolSpec) -> dict[str, list[str]]:
    written = pool_spec(pool)["template"]["spec"]["requirements"]
    assert {one["operator"] for one in written} == {"In"}
    return {one["key"]: one["values"] for one in written}


@pytest.mark.parametrize(
    "pool",
    [
        SPOT,
        BIG,
        eks_specs.gpu_pool(extra_taints=(Taint("example.com/team", None, "NoExecute"),), extra_labels={"a": "b"}),
        eks_specs.cpu_pool(taints=(Taint("batch", "yes", "PreferNoSchedule"),)),
    ],
    ids=["spot", "big", "own", "cpu"],
)
def test_labels_and_taints_are_exactly_those_of_the_spec(pool: CpuPoolSpec | GpuPoolSpec) -> None:
    template = pool_spec(pool)["template"]
    assert template["metadata"]["labels"] == pool.labels
    assert [(one["key"], one.get("value"), one["effect"]) for one in template["spec"]["taints"]] == [
        (taint.key, taint.value, taint.effect) for taint in pool.taints
    ]


@pytest.mark.parametrize(
    ("pool", "capacity"), [(SPOT, "spot"), (FALLBACK, "on-demand"), (RESERVED, "reserved"), (CPU, "on-demand")]
)
def test_machines_are_those_of_the_spec(pool: CpuPoolSpec | GpuPoolSpec, capacity: str) -> None:
    wanted = requirements(pool)
    assert wanted["node.kubernetes.io/instance-type"] == list(pool.machine_types or [pool.machine_type])
    assert wanted["topology.kubernetes.io/zone"] == list(pool.zones)
    assert wanted["karpenter.sh/capacity-type"] == [capacity]


def test_no_pool_mixes_machines_with_different_numbers_of_gpus() -> None:
    known = catalog.of("eks")
    for pool in (SPOT, BIG):
        types = requirements(pool)["node.kubernetes.io/instance-type"]
        assert {machine.gpus for type in types if (machine := known.machine(type))} == {pool.gpus_per_node}


@pytest.mark.parametrize(("pool", "gpus"), [(SPOT, "2"), (BIG, "12")])
def test_a_pool_never_has_more_gpus_than_its_nodes_would(pool: GpuPoolSpec, gpus: str) -> None:
    assert pool_spec(pool)["limits"] == {"nvidia.com/gpu": gpus, "nodes": str(pool.max_nodes)}


def test_a_cpu_pool_is_limited_by_its_cpus() -> None:
    assert pool_spec(CPU)["limits"] == {"cpu": str(CPU.max_nodes * 4), "nodes": str(CPU.max_nodes)}


@pytest.mark.parametrize(
    ("pool", "cluster", "after"),
    [
        (SPOT, {"autoscaling_profile": "balanced"}, "10m"),
        (SPOT, {"unneeded_minutes": 3}, "3m"),
        (eks_specs.gpu_pool(unneeded_minutes=9), {"unneeded_minutes": 3}, "9m"),
    ],
)
def test_idle_nodes_go_all_at_once_and_working_ones_stay(
    pool: GpuPoolSpec, cluster: dict[str, Any], after: str
) -> None:
    spec = pool_spec(pool, **cluster)
    assert spec["disruption"]["consolidationPolicy"] == "WhenEmpty"
    assert spec["disruption"]["consolidateAfter"] == after
    most = {reason: one["nodes"] for one in spec["disruption"]["budgets"] for reason in one["reasons"]}
    assert most == {"Empty": "100%", "Drifted": "0", "Underutilized": "0"}
    assert spec["template"]["spec"]["expireAfter"] == "Never"


def test_pools_are_tried_in_the_order_of_every_autoscaler() -> None:
    found = {
        one.inputs["metadata"]["name"]: one.inputs["spec"]["weight"]
        for one in run(FALLBACK, BIG, SPOT).of_type(NODE_POOL)
    }
    assert sorted(found, key=found.__getitem__, reverse=True) == ["t4-1-spot", "t4-4-spot", "t4-1-ondemand"]
    assert all(1 <= weight <= 100 for weight in found.values())


def test_pools_are_drained_before_what_drains_them() -> None:
    recording = run(SPOT, CPU)
    release = recording.only(RELEASE)
    classes = {one.inputs["metadata"]["name"]: one for one in recording.of_type(NODE_CLASS)}
    for pool in recording.of_type(NODE_POOL):
        named = pool.inputs["spec"]["template"]["spec"]["nodeClassRef"]["name"]
        assert {release.urn, classes[named].urn} <= set(pool.depends_on)
        assert pool.deleted_with == ""
    assert all(one.deleted_with == "" for one in classes.values())
    assert release.deleted_with != ""


def test_pools_with_the_same_needs_are_made_from_the_same() -> None:
    other = eks_specs.gpu_pool("b-1", image="bottlerocket")
    names = {one.inputs["metadata"]["name"] for one in run(SPOT, FALLBACK, CPU, other, RESERVED).of_type(NODE_CLASS)}
    assert names == {"al2023-100gb", "al2023-50gb", "bottlerocket-100gb", "al2023-100gb-cr-0123456789abcdef0"}


@pytest.mark.parametrize("pool", [SPOT, CPU, RESERVED, eks_specs.gpu_pool("b-1", image="bottlerocket")])
def test_every_node_has_encrypted_disks_and_no_open_door(pool: CpuPoolSpec | GpuPoolSpec) -> None:
    spec = run(pool).only(NODE_CLASS).inputs["spec"]
    disks = [one["ebs"] for one in spec["blockDeviceMappings"]]
    assert {(disk["encrypted"], disk["deleteOnTermination"]) for disk in disks} == {(True, True)}
    assert f"{pool.disk_gb}Gi" in [disk["volumeSize"] for disk in disks]
    assert spec["metadataOptions"]["httpTokens"] == "required"
    assert spec["metadataOptions"]["httpPutResponseHopLimit"] == 1
    assert spec["associatePublicIPAddress"] is False
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-of-the-cluster"}]
    assert {term["id"] for term in spec["subnetSelectorTerms"]} == {
        f"cluster-private-{zone}-id" for zone in eks_specs.THREE_ZONES
    }


def test_a_reservation_is_selected() -> None:
    spec = run(RESERVED).only(NODE_CLASS).inputs["spec"]
    assert spec["capacityReservationSelectorTerms"] == [{"id": "cr-0123456789abcdef0"}]
    assert "capacityReservationSelectorTerms" not in run(SPOT).only(NODE_CLASS).inputs["spec"]


def test_there_is_no_other_autoscaler_and_no_group_but_the_admin_pool() -> None:
    recording = run(SPOT, CPU)
    assert recording.of_type("kubernetes:apps/v1:Deployment") == []
    assert recording.of_type("aws:autoscaling/tag:Tag") == []
    (admin,) = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert admin.inputs["nodeGroupName"] == "admin"


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (3, 2)])
def test_there_are_no_more_replicas_than_nodes_for_them(nodes: int, replicas: int) -> None:
    release = run(nodes=nodes).only(RELEASE).inputs
    assert release["values"]["replicas"] == replicas
    assert release["values"]["nodeSelector"]["gpucluster.dev/role"] == "admin"


@pytest.mark.parametrize(("version", "chart"), [("1.34", "1.8."), ("1.35", "1.9.")])
def test_the_chart_goes_with_the_clusters_version(version: str, chart: str) -> None:
    release = run(version=version).only(RELEASE).inputs
    assert release["chart"] == "oci://public.ecr.aws/karpenter/karpenter"
    assert release["version"].startswith(chart)


def test_it_hears_of_every_interruption() -> None:
    recording = run()
    queue = recording.only("aws:sqs/queue:Queue")
    assert recording.only(RELEASE).inputs["values"]["settings"]["interruptionQueue"] == queue.inputs["name"]
    rules = {
        one.inputs["name"]: json.loads(one.inputs["eventPattern"])
        for one in recording.of_type("aws:cloudwatch/eventRule:EventRule")
    }
    heard = {(rule["source"][0], rule["detail-type"][0]) for rule in rules.values()}
    assert heard == set(interruptions.EVENTS.values())
    targets = [one.inputs for one in recording.of_type("aws:cloudwatch/eventTarget:EventTarget")]
    assert {target["rule"] for target in targets} == set(rules)
    (policy,) = recording.of_type("aws:sqs/queuePolicy:QueuePolicy")
    allowed, denied = json.loads(policy.inputs["policy"])["Statement"]
    assert {target["arn"] for target in targets} == {allowed["Resource"]} == {denied["Resource"]}
    assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def statements(recording: recorder.Recording) -> list[dict[str, Any]]:
    account = recording.only(RELEASE).inputs["values"]["serviceAccount"]["name"]
    (association,) = [one.inputs for one in recording.of_type(ASSOCIATION) if one.inputs["serviceAccount"] == account]
    assert association["namespace"] == recording.only(RELEASE).inputs["namespace"]
    role = association["roleArn"].rpartition("/")[2]
    own = recording.of_type("aws:iam/rolePolicy:RolePolicy")
    (policy,) = [one.inputs["policy"] for one in own if one.inputs["role"] == role]
    found: list[dict[str, Any]] = json.loads(policy)["Statement"]
    return found


def test_it_changes_machines_of_its_own_cluster_alone() -> None:
    own_tag = "kubernetes.io/cluster/gpu-test"
    for statement in statements(run()):
        reads = all(
            action.partition(":")[2].startswith(("Describe", "Get", "List", "Receive"))
            for action in statement["Action"]
        )
        condition = json.dumps(statement.get("Condition", {}))
        uses_what_others_made = statement["Sid"] == "UseForInstances"
        named = statement["Resource"] != "*" and not any(one.endswith("/*") for one in _listed(statement["Resource"]))
        assert reads or own_tag in condition or named or uses_what_others_made, statement


def test_what_it_hears_from_is_the_queue_that_there_is() -> None:
    recording = run()
    (hears,) = [statement for statement in statements(recording) if "sqs:ReceiveMessage" in statement["Action"]]
    targets = {one.inputs["arn"] for one in recording.of_type("aws:cloudwatch/eventTarget:EventTarget")}
    assert targets == {hears["Resource"]}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_it_makes_machines_only_with_the_clusters_tag() -> None:
    for statement in statements(run()):
        makes = any(
            one.partition(":")[2].split(":")[-1].startswith("instance/") for one in _listed(statement["Resource"])
        )
        if makes and "ec2:RunInstances" in statement["Action"]:
            assert statement["Condition"]["StringEquals"]["aws:RequestTag/kubernetes.io/cluster/gpu-test"] == "owned"


def test_it_gives_nodes_one_role_and_manages_no_profile() -> None:
    recording = run()
    actions = {action for statement in statements(recording) for action in statement["Action"]}
    assert {action for action in actions if action.startswith("iam:")} == {
        "iam:PassRole",
        "iam:GetInstanceProfile",
        "iam:ListInstanceProfiles",
    }
    (passed,) = [statement for statement in statements(recording) if "iam:PassRole" in statement["Action"]]
    profile = recording.only("aws:iam/instanceProfile:InstanceProfile").inputs
    assert passed["Resource"] == recording.only("aws:eks/accessEntry:AccessEntry").inputs["principalArn"]
    assert passed["Resource"].endswith(f"role/{profile['role']}")
    assert recording.only(NODE_CLASS).inputs["spec"]["instanceProfile"] == profile["name"]


def test_its_nodes_are_let_in_by_an_access_entry_of_their_own_role() -> None:
    recording = run()
    entry = recording.only("aws:eks/accessEntry:AccessEntry").inputs
    profile = recording.only("aws:iam/instanceProfile:InstanceProfile").inputs
    assert (entry["type"], entry["principalArn"].rpartition("/")[2]) == ("EC2_LINUX", profile["role"])
    # EKS makes the entry of a managed group's role itself, and refuses a second one.
    (admin,) = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert admin.inputs["nodeRoleArn"] != entry["principalArn"]


def test_the_release_waits_for_its_rights_and_for_its_home() -> None:
    recording = run()
    needs = set(recording.only(RELEASE).depends_on)
    assert recording.named("admin-pool").urn in needs
    for type_token in ("aws:eks/accessEntry:AccessEntry", "aws:sqs/queuePolicy:QueuePolicy"):
        assert recording.only(type_token).urn in needs
    (identity,) = [one for one in recording.of_type(ASSOCIATION) if one.inputs["serviceAccount"] == "karpenter"]
    assert identity.urn in needs
