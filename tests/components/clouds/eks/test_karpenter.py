"""Karpenter on EKS: pools as objects, what machines are made from, what it may do, and what it hears of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from tests import recorder
from tests.components import eks_specs
from tests.components.specs import changed

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
RELEASE = "kubernetes:helm.sh/v3:Release"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
SPOT = eks_specs.gpu_pool("t4-1-spot", zones=eks_specs.THREE_ZONES, machine_types=("g4dn.xlarge", "g4dn.2xlarge"))
FALLBACK = eks_specs.gpu_pool("t4-1-ondemand", capacity_type="on-demand", preference=1)
BIG = eks_specs.gpu_pool("t4-4-spot", size=4, machine_types=("g4dn.12xlarge",), max_nodes=3)
RESERVED = eks_specs.gpu_pool("t4-1-mine", reservation="cr-0123456789abcdef0")
CPU = eks_specs.cpu_pool()


def run(*pools: Pool, nodes: int = 1, **cluster: Any) -> recorder.Recording:
    settings = {"autoscaler": "karpenter", "zones": eks_specs.THREE_ZONES, "version": "1.34", **cluster}
    return eks_specs.recorded(*(pools or (SPOT,)), admin=eks_specs.admin_pool(nodes=nodes), cluster=settings)


def controller(recording: recorder.Recording) -> recorder.Registration:
    """The release that brings the controller; the other brings what its objects are."""
    (release,) = [one for one in recording.of_type(RELEASE) if one.inputs["name"] == "karpenter"]
    return release


def pool_spec(pool: Pool, **cluster: Any) -> dict[str, Any]:
    spec: dict[str, Any] = run(pool, **cluster).only(NODE_POOL).inputs["spec"]
    return spec


def requirements(pool: Pool) -> dict[str, list[str]]:
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
def test_labels_and_taints_are_exactly_those_of_the_spec(pool: Pool) -> None:
    template = pool_spec(pool)["template"]
    assert template["metadata"]["labels"] == pool.nodes.labels
    expected = [(taint.key, taint.value, taint.effect) for taint in pool.nodes.taints]
    assert [(one["key"], one.get("value"), one["effect"]) for one in template["spec"]["taints"]] == expected


@pytest.mark.parametrize(
    ("pool", "capacity"), [(SPOT, "spot"), (FALLBACK, "on-demand"), (RESERVED, "reserved"), (CPU, "on-demand")]
)
def test_machines_are_those_of_the_spec(pool: Pool, capacity: str) -> None:
    required = requirements(pool)
    assert required["node.kubernetes.io/instance-type"] == list(pool.nodes.machine_types)
    assert required["topology.kubernetes.io/zone"] == list(pool.nodes.zones)
    assert required["karpenter.sh/capacity-type"] == [capacity]


@pytest.mark.parametrize(
    ("pool", "limits"),
    [
        (SPOT, {"nvidia.com/gpu": "2", "nodes": "2"}),
        (BIG, {"nvidia.com/gpu": "12", "nodes": "3"}),
        (CPU, {"cpu": "12", "nodes": "3"}),
        # As many nodes of the largest type.
        (
            eks_specs.cpu_pool(machine_types=("m6i.xlarge", "m6i.2xlarge"), capacity_type="spot"),
            {"cpu": "24", "nodes": "3"},
        ),
    ],
)
def test_a_pool_never_has_more_than_its_nodes_would(pool: Pool, limits: dict[str, str]) -> None:
    assert pool_spec(pool)["limits"] == limits


@pytest.mark.parametrize(
    ("pool", "cluster", "after", "renewed"),
    [
        (SPOT, {"autoscaling_profile": "balanced"}, "10m", "0"),
        (SPOT, {"unneeded_minutes": 3}, "3m", "0"),
        (eks_specs.gpu_pool(unneeded_minutes=9), {"unneeded_minutes": 3}, "9m", "0"),
        # Nodes without GPUs get newer images one after the other.
        (CPU, {"unneeded_minutes": 3}, "3m", "1"),
    ],
)
def test_idle_nodes_go_and_working_ones_stay(pool: Pool, cluster: dict[str, Any], after: str, renewed: str) -> None:
    spec = pool_spec(pool, **cluster)
    assert spec["disruption"]["consolidationPolicy"] == "WhenEmpty"
    assert spec["disruption"]["consolidateAfter"] == after
    always = [one for one in spec["disruption"]["budgets"] if "schedule" not in one]
    most = {reason: one["nodes"] for one in always for reason in one["reasons"]}
    assert most == {"Empty": "100%", "Drifted": renewed, "Underutilized": "0"}
    assert spec["template"]["spec"]["expireAfter"] == "Never"
    assert "terminationGracePeriod" not in spec["template"]["spec"]


def test_pools_are_tried_in_the_order_of_every_autoscaler() -> None:
    weights = {
        one.inputs["metadata"]["name"]: one.inputs["spec"]["weight"]
        for one in run(FALLBACK, BIG, SPOT).of_type(NODE_POOL)
    }
    assert sorted(weights, key=weights.__getitem__, reverse=True) == ["t4-1-spot", "t4-4-spot", "t4-1-ondemand"]
    assert all(1 <= weight <= 100 for weight in weights.values())


def test_pools_are_drained_before_what_drains_them() -> None:
    recording = run(SPOT, CPU)
    classes = {one.inputs["metadata"]["name"]: one for one in recording.of_type(NODE_CLASS)}
    for pool in recording.of_type(NODE_POOL):
        named = pool.inputs["spec"]["template"]["spec"]["nodeClassRef"]["name"]
        assert classes[named].urn in recording.before(pool)
        assert (pool.deleted_with, pool.delete_timeout) == ("", "60m")
    assert all(one.deleted_with == "" for one in classes.values())


@pytest.mark.parametrize(
    "changed",
    [
        SPOT,
        changed(SPOT, disk_gb=SPOT.nodes.disk_gb + 1),
        changed(SPOT, image="bottlerocket"),
        changed(SPOT, capacity_type="reserved", zones=SPOT.nodes.zones[:1], reservation="cr-0123456789abcdef0"),
    ],
    ids=["unchanged", "disk", "image", "reservation"],
)
def test_a_pool_keeps_its_class_whatever_its_nodes_are_made_from(changed: Pool) -> None:
    # Another class would have the old one deleted, which waits for the last node, and so for a running job.
    recording = run(changed, FALLBACK, CPU)
    pools = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in recording.of_type(NODE_POOL)}
    made_of = {name: spec["template"]["spec"]["nodeClassRef"]["name"] for name, spec in pools.items()}
    assert made_of == {name: name for name in (SPOT.name, FALLBACK.name, CPU.name)}
    classes = recording.of_type(NODE_CLASS)
    names = {one.inputs["metadata"]["name"]: one.name for one in classes}
    assert names == {name: f"autoscaler-{name}" for name in made_of}


@pytest.mark.parametrize("pool", [SPOT, CPU, RESERVED, eks_specs.gpu_pool("b-1", image="bottlerocket")])
def test_every_node_has_encrypted_disks_and_no_open_door(pool: Pool) -> None:
    spec = run(pool).only(NODE_CLASS).inputs["spec"]
    disks = [one["ebs"] for one in spec["blockDeviceMappings"]]
    assert {(disk["encrypted"], disk["deleteOnTermination"]) for disk in disks} == {(True, True)}
    devices = [mapping["deviceName"] for mapping in spec["blockDeviceMappings"]]
    assert devices == (["/dev/xvda", "/dev/xvdb"] if pool.nodes.image == "bottlerocket" else ["/dev/xvda"])
    assert f"{pool.nodes.disk_gb}Gi" in [disk["volumeSize"] for disk in disks]
    assert spec["metadataOptions"]["httpTokens"] == "required"
    assert spec["metadataOptions"]["httpPutResponseHopLimit"] == 1
    assert spec["associatePublicIPAddress"] is False
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-of-the-cluster"}]
    private = {f"cluster-private-{zone}-id" for zone in eks_specs.THREE_ZONES}
    assert {term["id"] for term in spec["subnetSelectorTerms"]} == private


def test_a_reservation_is_selected() -> None:
    spec = run(RESERVED).only(NODE_CLASS).inputs["spec"]
    assert spec["capacityReservationSelectorTerms"] == [{"id": "cr-0123456789abcdef0"}]
    assert "capacityReservationSelectorTerms" not in run(SPOT).only(NODE_CLASS).inputs["spec"]


def test_there_is_no_other_autoscaler_and_no_group_but_the_admin_pool() -> None:
    recording = run(SPOT, CPU)
    assert recording.of_type("kubernetes:apps/v1:Deployment") == []
    tags = [one.inputs["tag"]["key"] for one in recording.of_type("aws:autoscaling/tag:Tag")]
    assert not [key for key in tags if "cluster-autoscaler" in key]
    (admin,) = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert admin.inputs["nodeGroupName"] == "admin"


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (3, 2)])
def test_there_are_no_more_replicas_than_nodes_for_them(nodes: int, replicas: int) -> None:
    release = controller(run(nodes=nodes)).inputs
    assert release["values"]["replicas"] == replicas
    assert release["values"]["nodeSelector"]["gpucluster.dev/role"] == "admin"


@pytest.mark.parametrize("version", ["1.34", "1.36"])
def test_what_its_objects_are_comes_first_and_with_every_version(version: str) -> None:
    recording = run(version=version)
    release = controller(recording)
    (definitions,) = [one for one in recording.of_type(RELEASE) if one.urn != release.urn]
    assert release.inputs["chart"] == "oci://public.ecr.aws/karpenter/karpenter"
    assert release.inputs["skipCrds"] is True
    assert definitions.inputs == {
        "chart": "oci://public.ecr.aws/karpenter/karpenter-crd",
        "name": "karpenter-crd",
        "namespace": release.inputs["namespace"],
        "version": release.inputs["version"],
        "timeout": release.inputs["timeout"],
    }
    assert release.inputs["version"].startswith("1.14.")


def test_the_catalogue_reserves_what_either_autoscaler_asks_for() -> None:
    (reserved,) = [pod.request for pod in catalog.of("eks").nodes.system_pods if pod.name == "autoscaler"]
    deployment = eks_specs.recorded(SPOT).only("kubernetes:apps/v1:Deployment").inputs
    asked = [
        deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"],
        controller(run()).inputs["values"]["controller"]["resources"]["requests"],
    ]
    assert reserved.milli_cpu == max(int(one["cpu"].removesuffix("m")) for one in asked)
    assert reserved.memory_mib == max(int(one["memory"].removesuffix("Mi")) for one in asked)


# https://github.com/aws/karpenter-provider-aws/tree/v1.14.1/pkg/controllers/interruption/messages
INTERRUPTIONS = {
    ("aws.health", "AWS Health Event"),
    ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
    ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("aws.ec2", "EC2 Instance State-change Notification"),
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
}


def test_it_hears_of_every_interruption() -> None:
    recording = run()
    queue = recording.only("aws:sqs/queue:Queue")
    assert controller(recording).inputs["values"]["settings"]["interruptionQueue"] == queue.inputs["name"]
    made = recording.of_type("aws:cloudwatch/eventRule:EventRule")
    rules = {one.inputs["name"]: json.loads(one.inputs["eventPattern"]) for one in made}
    assert {(rule["source"][0], rule["detail-type"][0]) for rule in rules.values()} == INTERRUPTIONS
    targets = [one.inputs for one in recording.of_type("aws:cloudwatch/eventTarget:EventTarget")]
    assert {target["rule"] for target in targets} == set(rules)
    (policy,) = recording.of_type("aws:sqs/queuePolicy:QueuePolicy")
    allowed, denied = json.loads(policy.inputs["policy"])["Statement"]
    (hears,) = [one["Resource"] for one in statements(recording) if "sqs:ReceiveMessage" in one["Action"]]
    assert {target["arn"] for target in targets} == {allowed["Resource"]} == {denied["Resource"]} == {hears}
    assert {one.split("/")[1] for one in allowed["Condition"]["ArnEquals"]["aws:SourceArn"]} == set(rules)
    assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def statements(recording: recorder.Recording) -> list[dict[str, Any]]:
    release = controller(recording).inputs
    return eks_specs.rights(recording, release["values"]["serviceAccount"]["name"], release["namespace"])


# https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/aws/sdk.go, without what only its tests call.
CALLED = {
    "ec2": "CreateFleet CreateLaunchTemplate CreateTags DeleteLaunchTemplate DescribeCapacityReservations "
    "DescribeImages DescribeInstanceStatus DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeInstances "
    "DescribeLaunchTemplates DescribePlacementGroups DescribeSecurityGroups DescribeSpotPriceHistory DescribeSubnets "
    "RunInstances TerminateInstances",
    "iam": "AddRoleToInstanceProfile CreateInstanceProfile DeleteInstanceProfile GetInstanceProfile "
    "ListInstanceProfiles RemoveRoleFromInstanceProfile TagInstanceProfile",
    "eks": "DescribeCluster",
    "pricing": "GetProducts",
    "ssm": "GetParameter",
    "sqs": "DeleteMessage GetQueueUrl ReceiveMessage",
    "arc-zonal-shift": "GetManagedResource",
}
# Called only for a NodeClass with a role in the place of a profile or with a placement group, or with zonal shift on.
UNUSED = {
    "arc-zonal-shift:GetManagedResource",
    "ec2:DescribePlacementGroups",
    *(f"iam:{verb}InstanceProfile" for verb in ("AddRoleTo", "Create", "Delete", "RemoveRoleFrom", "Tag")),
}


def test_it_may_do_what_it_calls_and_no_more() -> None:
    recording = run(FALLBACK)
    spec = recording.only(NODE_CLASS).inputs["spec"]
    assert "instanceProfile" in spec
    assert not {"role", "placementGroupSelector"} & set(spec)
    assert "enableZonalShift" not in controller(recording).inputs["values"]["settings"]
    called = {f"{service}:{action}" for service, actions in CALLED.items() for action in actions.split()}
    allowed = {action for statement in statements(recording) for action in statement["Action"]}
    # EC2 asks whether the role of a machine may be given to it.
    assert allowed == called - UNUSED | {"iam:PassRole"}


def test_it_changes_machines_of_its_own_cluster_alone() -> None:
    own_tag = "kubernetes.io/cluster/gpu-test"
    for statement in statements(run()):
        reads = all(
            action.partition(":")[2].startswith(("Describe", "Get", "List", "Receive"))
            for action in statement["Action"]
        )
        condition = json.dumps(statement.get("Condition", {}))
        uses_what_others_made = statement["Sid"] == "AllowScopedEC2InstanceAccessActions"
        named = statement["Resource"] != "*" and not any(one.endswith("/*") for one in _listed(statement["Resource"]))
        assert reads or own_tag in condition or named or uses_what_others_made, statement


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_it_makes_machines_only_with_the_clusters_tag() -> None:
    for statement in statements(run()):
        makes = any(
            one.partition(":")[2].split(":")[-1].startswith("instance/") for one in _listed(statement["Resource"])
        )
        if makes and "ec2:RunInstances" in statement["Action"]:
            assert statement["Condition"]["StringEquals"]["aws:RequestTag/kubernetes.io/cluster/gpu-test"] == "owned"


def test_it_gives_nodes_one_role_which_an_access_entry_of_its_own_lets_in() -> None:
    recording = run(FALLBACK)
    (passed,) = [statement for statement in statements(recording) if "iam:PassRole" in statement["Action"]]
    entry = recording.only("aws:eks/accessEntry:AccessEntry").inputs
    profile = recording.only("aws:iam/instanceProfile:InstanceProfile").inputs
    assert (entry["type"], entry["principalArn"].rpartition("/")[2]) == ("EC2_LINUX", profile["role"])
    assert passed["Resource"] == entry["principalArn"]
    assert recording.only(NODE_CLASS).inputs["spec"]["instanceProfile"] == profile["name"]
    # EKS makes the entry of a managed group's role itself, and refuses a second one.
    (admin,) = recording.of_type("aws:eks/nodeGroup:NodeGroup")
    assert admin.inputs["nodeRoleArn"] != entry["principalArn"]


def test_a_star_in_the_roles_path_stands_for_no_other_role() -> None:
    recording = run(role_path="/*/team?/$/")
    (passed,) = [statement for statement in statements(recording) if "iam:PassRole" in statement["Action"]]
    assert (
        recording.only("aws:eks/accessEntry:AccessEntry")
        .inputs["principalArn"]
        .endswith(":role/*/team?/$/gpu-test-karpenter-nodes")
    )
    assert passed["Resource"].endswith(":role/${*}/team${?}/${$}/gpu-test-karpenter-nodes")


@pytest.mark.parametrize(("pools", "spot"), [((SPOT, FALLBACK), True), ((FALLBACK, CPU, RESERVED), False)])
def test_only_who_has_spot_machines_may_make_their_role(pools: tuple[Pool, ...], spot: bool) -> None:
    makes = [one for one in statements(run(*pools)) if "iam:CreateServiceLinkedRole" in one["Action"]]
    assert bool(makes) is spot
    for statement in makes:
        assert statement["Condition"] == {"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}}
        assert statement["Resource"].endswith(":role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot")


def test_subnets_and_reservations_may_be_another_accounts() -> None:
    (used,) = [one for one in statements(run(RESERVED)) if one["Sid"] == "AllowScopedEC2InstanceAccessActions"]
    accounts = {one.split(":")[5].partition("/")[0]: one.split(":")[4] for one in used["Resource"]}
    assert accounts["capacity-reservation"] == accounts["subnet"] == "*"
    assert accounts["security-group"] == "123456789012"
