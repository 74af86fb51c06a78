"""The autoscaler simulation on the program's own resources: every group scales, and each missing part stops it."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from packages.rehearsal.tests.noting_fleet import NotingFleet
from packages.rehearsal.tests.providers.eks.account import NODE_GROUP, Amazon
from packages.rehearsal.tests.providers.eks.answers import answers
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.providers.eks.autoscaling.autoscaler_simulation import AutoscalerSimulation
from rehearsal.providers.eks.background import Background
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.functions import get_scaling_group
from rehearsal.providers.eks.nodes import declared_groups
from rehearsal.simulation import SimulatedNodeGroup
from tests import recorder
from tests.components import eks_specs

_PATHS = {
    "ConfigMap": "/api/v1/namespaces/kube-system/configmaps",
    "DaemonSet": "/apis/apps/v1/namespaces/kube-system/daemonsets",
    "Deployment": "/apis/apps/v1/deployments",
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
}
AGENT = "eks-pod-identity-agent"


@dataclass
class Stage:
    """A program's resources in the account, its objects in a cluster, and an autoscaler simulation that reads both."""

    account: Account
    objects: Mapping[str, list[dict[str, Any]]]

    def __post_init__(self) -> None:
        self.fleet = NotingFleet()
        self.fleet.objects = copy.deepcopy(dict(self.objects))
        account = replace(self.account, fleet=self.fleet)
        self.autoscaler = AutoscalerSimulation(account)

    def groups(self) -> dict[str, SimulatedNodeGroup]:
        """What the fleet has after a look at everything."""
        self.autoscaler.refresh()
        return self.fleet.groups

    def one(self, kind: str, name: str) -> dict[str, Any]:
        """An object in the cluster, to be changed."""
        return next(each for each in self.fleet.objects[_PATHS[kind]] if each["metadata"]["name"] == name)

    def remove(self, kind: str, name: str) -> None:
        """Take an object out of the cluster."""
        self.fleet.objects[_PATHS[kind]].remove(self.one(kind, name))


def run_program(folder: Any, name: str) -> Iterator[Stage]:
    """The program with a GPU pool, a spot GPU pool and a CPU pool, in the account and in the cluster."""
    amazon = Amazon(folder)
    pools = (
        eks_specs.gpu_pool("t4-1", zones=eks_specs.THREE_ZONES),
        eks_specs.gpu_pool(
            "t4-4-spot", size=4, machine_types=("g4dn.12xlarge",), capacity_type="spot", image="bottlerocket"
        ),
        eks_specs.cpu_pool(zones=eks_specs.THREE_ZONES),
    )
    with answers(amazon), pytest.MonkeyPatch.context() as patch:
        # The provider's own autoscaler simulation would look at every step on the way.
        patch.setattr(Background, "start", lambda self, account: None)
        cluster = {"cluster_name": name, "autoscaler": "cluster-autoscaler", "zones": eks_specs.THREE_ZONES}
        recording = eks_specs.run(*pools, cluster=cluster)
    amazon.provider.close()
    yield Stage(amazon.account, in_cluster(recording, amazon.fleet.applied))


def in_cluster(recording: recorder.Recording, applied: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The declared objects and the add-ons' by API path, as they are once their pods run."""
    manifests = list(applied)
    for each in recording.resources:
        if each.type.startswith("kubernetes:"):
            manifests.append(each.inputs)
    objects: dict[str, list[dict[str, Any]]] = {path: [] for path in _PATHS.values()}
    for each in manifests:
        if each.get("kind") in _PATHS:
            status = {"Deployment": {"readyReplicas": 1}, "DaemonSet": {"numberReady": 1}}.get(each["kind"], {})
            objects[_PATHS[each["kind"]]].append({**copy.deepcopy(each), "status": status})
    return objects


@pytest.fixture(scope="module")
def cluster_autoscaler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield from run_program(tmp_path_factory.mktemp("aws"), "governed")


@pytest.fixture
def stage(cluster_autoscaler: Stage) -> Stage:
    return Stage(cluster_autoscaler.account, cluster_autoscaler.objects)


def test_every_pool_of_the_program_scales_with_all_its_labels_and_taints(stage: Stage) -> None:
    groups = stage.groups()
    assert {"t4-1", "t4-4-spot", "cpu"} <= groups.keys()
    for name in ("t4-1", "t4-4-spot", "cpu"):
        group = groups[name]
        assert (group.scaling.autoscaled, group.not_scaled_because, group.scaling.min_nodes) == (True, "", 0)
        assert group.scaling.max_nodes > 0
        assert {key for key in group.late_labels if not key.startswith(("eks.amazonaws.com/", "beta."))} == set()
        assert group.late_taints == ()
        assert len(group.nodes.zones) == 1, "the autoscaler plans with the first zone"
    assert groups["t4-4-spot"].machine.gpus == 4


def test_the_priority_expander_orders_the_programs_pools(stage: Stage) -> None:
    groups = stage.groups()
    ranks = {name: groups[name].rank for name in ("t4-1", "t4-4-spot", "cpu")}
    assert None not in ranks.values()
    assert ranks["t4-1"] != ranks["t4-4-spot"]
    stage.remove("ConfigMap", "cluster-autoscaler-priority-expander")
    assert "ConfigMap kube-system/cluster-autoscaler-priority-expander" in stage.groups()["t4-1"].not_scaled_because


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [("Deployment", "cluster-autoscaler", "no autoscaler runs"), ("DaemonSet", AGENT, f"no pod of {AGENT} is ready")],
)
def test_what_the_cluster_lacks_turns_groups_off_and_on(stage: Stage, kind: str, name: str, reason: str) -> None:
    assert stage.groups()["t4-1"].scaling.autoscaled
    taken = stage.one(kind, name)
    stage.remove(kind, name)
    assert not stage.groups()["t4-1"].scaling.autoscaled
    assert reason in stage.groups()["t4-1"].not_scaled_because
    stage.fleet.objects[_PATHS[kind]].append(taken)
    group = stage.groups()["t4-1"]
    assert (group.scaling.autoscaled, group.not_scaled_because) == (True, "")


def test_a_tag_that_is_missing_hides_a_label_once_the_group_has_had_a_node(stage: Stage) -> None:
    asg = next(group.asg_name for group in declared_groups(stage.account) if group.base.name == "t4-1")
    key = "k8s.io/cluster-autoscaler/node-template/label/nvidia.com/gpu.present"
    tag = {"ResourceId": asg, "ResourceType": "auto-scaling-group", "Key": key}
    stage.account.call("autoscaling", "DeleteTags", Tags=[tag])
    try:
        assert "nvidia.com/gpu.present" in stage.groups()["t4-1"].nodes.labels, "DescribeNodegroup tells it"
        stage.fleet.with_history.add("t4-1")
        group = stage.groups()["t4-1"]
        assert group.late_labels["nvidia.com/gpu.present"] == "true"
        assert "nvidia.com/gpu.present" not in group.nodes.labels
    finally:
        whole = {**tag, "Value": "true", "PropagateAtLaunch": False}
        stage.account.call("autoscaling", "CreateOrUpdateTags", Tags=[whole])
    assert "nvidia.com/gpu.present" in stage.groups()["t4-1"].nodes.labels


def test_a_boundary_takes_what_the_policy_gives(stage: Stage) -> None:
    roles = [each["RoleName"] for each in stage.account.call("iam", "ListRoles")["Roles"]]
    role = next(name for name in roles if "autoscaler" in name)
    reads = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*:Describe*", "Resource": "*"}]}
    limit = stage.account.call("iam", "CreatePolicy", PolicyName="limit", PolicyDocument=json.dumps(reads))
    stage.account.call("iam", "PutRolePermissionsBoundary", RoleName=role, PermissionsBoundary=limit["Policy"]["Arn"])
    try:
        assert "no permissions boundary allows the" in stage.groups()["t4-1"].not_scaled_because
    finally:
        stage.account.call("iam", "DeleteRolePermissionsBoundary", RoleName=role)
    assert stage.groups()["t4-1"].scaling.autoscaled


def test_the_fleet_hears_only_what_is_new(stage: Stage) -> None:
    stage.groups()
    applied: list[str] = []
    apply = stage.fleet.apply_group
    stage.fleet.apply_group = lambda group: (applied.append(group.name), apply(group))[1]
    stage.autoscaler.look()
    assert applied == []
    stage.remove("Deployment", "cluster-autoscaler")
    stage.autoscaler.look()
    assert set(applied) == {"t4-1", "t4-4-spot", "cpu"}, "the admin pool's size is fixed"


def has(stage: Stage, **nodes: int) -> None:
    """What nodes there are, by group."""
    labels = [{"eks.amazonaws.com/nodegroup": group} for group, count in nodes.items() for _ in range(count)]
    stage.fleet.objects["/api/v1/nodes"] = [{"metadata": {"labels": each}} for each in labels]


def sizes(stage: Stage) -> dict[str, int]:
    """What a program reads of the size of each node group."""
    stage.groups()
    return {
        group.base.name: get_scaling_group(stage.account, {"name": group.asg_name})["desiredCapacity"]
        for group in declared_groups(stage.account)
    }


def test_the_size_that_the_autoscaler_gives_a_group_is_its_auto_scaling_groups(stage: Stage) -> None:
    at_rest = sizes(stage)
    assert (at_rest["t4-1"], at_rest["cpu"]) == (0, 0)
    has(stage, **{"t4-1": 2, "cpu": 1})
    assert sizes(stage) == {**at_rest, "t4-1": 2, "cpu": 1}
    has(stage, cpu=1)
    assert sizes(stage) == {**at_rest, "cpu": 1}
    has(stage)
    assert sizes(stage) == at_rest


def test_a_group_that_nothing_scales_keeps_its_size(stage: Stage) -> None:
    has(stage, **{"t4-1": 2})
    assert sizes(stage)["t4-1"] == 2
    taken = stage.one("Deployment", "cluster-autoscaler")
    stage.remove("Deployment", "cluster-autoscaler")
    has(stage)
    assert sizes(stage)["t4-1"] == 2
    group = stage.fleet.groups["t4-1"]
    assert (group.scaling.autoscaled, group.scaling.min_nodes) == (False, 2), "nobody ends what runs, nor starts more"
    stage.fleet.objects[_PATHS["Deployment"]].append(taken)
    assert sizes(stage)["t4-1"] == 0


def test_groups_that_are_deleted_meanwhile_are_withdrawn(stage: Stage) -> None:
    before = set(stage.groups())
    record = next(each for each in stage.account.store.all(NODE_GROUP) if each.inputs["nodeGroupName"] == "cpu")
    stage.account.store.remove(NODE_GROUP, record.id)
    try:
        assert before - set(stage.groups()) == {"cpu"}
    finally:
        stage.account.store.put(record)


def test_a_group_on_its_way_out_is_left_alone(stage: Stage) -> None:
    stage.groups()
    record = next(each for each in stage.account.store.all(NODE_GROUP) if each.inputs["nodeGroupName"] == "cpu")
    leaving = replace(record, outputs={**record.outputs, "status": "DELETING"})
    before = stage.fleet.groups.pop("cpu")
    stage.account.store.put(leaving)
    try:
        assert "cpu" not in stage.groups(), "the deletion removed it from the fleet"
        stage.fleet.groups["cpu"] = before
        assert stage.groups()["cpu"] is before, "and takes its time for that"
    finally:
        stage.account.store.put(record)
    assert stage.groups()["cpu"] == before


def test_a_deletion_that_begins_during_a_look_wins(stage: Stage) -> None:
    stage.groups()
    record = next(each for each in stage.account.store.all(NODE_GROUP) if each.inputs["nodeGroupName"] == "cpu")
    leaving = replace(record, outputs={**record.outputs, "status": "DELETING"})
    applied: list[str] = []
    stage.fleet.apply_group = lambda group: (applied.append(group.name), stage.account.store.put(leaving))[0]
    try:
        stage.groups()
    finally:
        stage.account.store.put(record)
    assert applied[0] != "cpu"
    assert "cpu" not in applied


def test_the_thread_notices_by_itself(stage: Stage) -> None:
    noticed = threading.Event()
    apply = stage.fleet.apply_group

    def apply_group(group: SimulatedNodeGroup) -> None:
        apply(group)
        if group.name == "t4-1" and group.not_scaled_because:
            noticed.set()

    stage.fleet.apply_group = apply_group
    stage.autoscaler.start()
    try:
        stage.remove("Deployment", "cluster-autoscaler")
        assert noticed.wait(PATIENCE)
    finally:
        stage.autoscaler.close()
