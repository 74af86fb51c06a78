"""The fleet's arithmetic and words, without a cluster; replicas that grow with the cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from facts.concepts.kubernetes import Taint
from packages.rehearsal.tests.simulated_cluster import GPU_TAINT, ZONES, gpu_group, pod_spec
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.fleet.machine_types import InstanceTypes, allocatable, capacity
from rehearsal.fleet.node_pools import node_pools, refused_by_karpenter, weights
from rehearsal.fleet.node_watch import Late, NodeWatch, missing
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate, kubelet_version
from rehearsal.fleet.pod_placement import refusal
from rehearsal.fleet.proportional import Proportional, replicas, targets
from rehearsal.fleet.stuck_pods import would_fit
from rehearsal.providers.gke.system import system_objects
from rehearsal.simulation import NodeShape
from tests.components.specs import changed

FACTS = ClusterFacts("demo", "us-central1", "1.34.4")


# The documentation's own examples, and a size in every band of its formula:
# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
@cases
def test_reservations(cpu: float, memory_gib: float, free_millicores: int, free_mib: int) -> None:
    free = allocatable(NodeShape(cpu, memory_gib))
    assert free.cpu_millicores == free_millicores
    assert abs(free.memory_mib - free_mib) <= 1


def test_each_reserved_amount_of_a_machine_replaces_the_formula() -> None:
    plain = NodeShape(4, 16)
    reported = replace(plain, reserved_milli_cpu=80, reserved_memory_mib=1000)
    assert (allocatable(reported).cpu_millicores, allocatable(reported).memory_mib) == (3920, 16384 - 1000)
    only_memory = allocatable(replace(reported, reserved_milli_cpu=None))
    assert (only_memory.cpu_millicores, only_memory.memory_mib) == (allocatable(plain).cpu_millicores, 16384 - 1000)
    assert allocatable(replace(plain, reserved_milli_cpu=0, reserved_memory_mib=0)) == capacity(plain)
    assert allocatable(replace(plain, max_pods=29)).resources()["pods"] == "29"


def test_gpus_are_zero_until_a_driver_and_absent_without_gpus() -> None:
    assert capacity(NodeShape(4, 16, 2)).resources(gpus=0)["nvidia.com/gpu"] == "0"
    assert "nvidia.com/gpu" not in capacity(NodeShape(4, 16)).resources(gpus=0)


def test_an_exhausted_offer_is_gone_until_it_is_not() -> None:
    types, group = InstanceTypes(), gpu_group("one")

    def offers() -> set[tuple[Any, ...]]:
        (entry,) = json.loads(types.document())
        return {tuple(each["values"][0] for each in offer["Requirements"]) for offer in entry["offerings"]}

    types.add(group)
    everything = offers()
    zone, market = sorted(everything)[0]
    assert types.exhaust({(group.nodes.machine_type, zone, market)})
    assert offers() == everything - {(zone, market)}
    assert not types.exhaust({(group.nodes.machine_type, zone, market)})
    assert types.exhaust(())
    assert offers() == everything


def test_types_are_named_as_the_cloud_names_machines_and_never_twice() -> None:
    types = InstanceTypes()
    one, two = gpu_group("one"), gpu_group("two", gpus=2)
    assert types.add(one)
    assert types.add(two)
    assert types.name(one) == "n1-standard-4"
    assert types.name(two) == "n1-standard-4.2.nvidia-tesla-t4"
    assert [entry["name"] for entry in json.loads(types.document())] == [types.name(g) for g in (one, two)]


def test_a_group_whose_machine_is_known_better_keeps_the_name_of_its_type() -> None:
    types, unknown = InstanceTypes(), gpu_group("one")
    unknown = replace(unknown, machine=replace(unknown.machine, disk_mib=0))
    assert types.add(unknown)
    known = replace(unknown, machine=replace(unknown.machine, disk_mib=100))
    assert types.add(known)
    assert [types.name(known)] == ["n1-standard-4"] == [entry["name"] for entry in json.loads(types.document())]
    assert types.add(replace(unknown, name="two"))
    # Two shapes that are there together cannot have one name.
    assert types.name(unknown) != types.name(known) == "n1-standard-4"


def test_only_a_new_shape_zone_or_way_of_buying_is_news() -> None:
    types = InstanceTypes()
    group = gpu_group("one")
    assert types.add(group)
    assert not types.add(changed(group, name="other", max_nodes=9, hourly_usd=9.0))
    assert types.add(changed(group, zones=ZONES))
    assert types.add(changed(group, capacity_type="spot"))
    assert types.add(replace(group, machine=replace(group.machine, memory_gib=16)))


def test_the_cheapest_group_has_the_highest_weight() -> None:
    groups = [gpu_group(f"g{price}", hourly_usd=price) for price in (3.0, 1.0, 2.0, 1.0)]
    order = weights([replace(group, name=f"{index}") for index, group in enumerate(groups)])
    assert order["1"] == order["3"] > order["2"] > order["0"]


def test_weights_stay_in_karpenters_range() -> None:
    order = weights(gpu_group(f"g{price}", hourly_usd=price) for price in range(250))
    assert (min(order.values()), max(order.values())) == (1, 100)


def test_ranks_go_before_prices_and_groups_without_a_rank_come_last() -> None:
    cheap, dear = gpu_group("cheap", hourly_usd=1), gpu_group("dear", hourly_usd=9)
    order = weights([cheap, dear, replace(dear, name="first", rank=0), replace(cheap, name="second", rank=1.5)])
    assert sorted(order, key=lambda name: -order[name]) == ["first", "second", "cheap", "dear"]
    equal = weights([replace(cheap, rank=1), replace(dear, rank=1), replace(dear, name="same", rank=1)])
    assert equal["cheap"] > equal["dear"] == equal["same"]


LATE_LABEL, LATE_TAINT = {"team": "vision"}, Taint("dedicated", "vision", "NoSchedule")


def template(**fields: Any) -> dict[str, Any]:
    (pool,) = node_pools(NodeTemplate(gpu_group("pool", **fields), FACTS), "type", 50)
    result: dict[str, Any] = pool["spec"]["template"]
    return result


def test_the_autoscaler_does_not_plan_with_what_it_cannot_see_but_holds_the_node_back() -> None:
    unseen = template(late_labels=LATE_LABEL, late_taints=(LATE_TAINT,))
    assert unseen["metadata"]["labels"].keys().isdisjoint(LATE_LABEL)
    assert unseen["spec"]["taints"] == [GPU_TAINT.manifest]
    assert [taint["effect"] for taint in unseen["spec"]["startupTaints"]] == ["NoSchedule"]
    visible = template(labels=LATE_LABEL, taints=(GPU_TAINT, LATE_TAINT))
    assert visible["metadata"]["labels"].items() >= LATE_LABEL.items()
    assert visible["spec"]["taints"] == [GPU_TAINT.manifest, LATE_TAINT.manifest]
    assert "startupTaints" not in visible["spec"]


def test_a_declared_instance_type_or_zone_never_contradicts_the_requirements() -> None:
    labels = {"node.kubernetes.io/instance-type": "n1-standard-4", "topology.kubernetes.io/zone": ZONES[0]}
    assert template(labels=labels)["metadata"]["labels"].keys().isdisjoint(labels)


HELD_BACK = {"key": "rehearsal.gpucluster.dev/unseen", "effect": "NoSchedule"}


def held_back(**labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "n", "labels": labels, "resourceVersion": "7"},
        "spec": {"taints": [GPU_TAINT.manifest, dict(HELD_BACK)]},
    }


def test_a_held_back_node_is_released_with_everything_at_once() -> None:
    late = Late(LATE_LABEL, (LATE_TAINT.manifest,))
    patch = missing(held_back(), late)
    # On an older version of the node this patch would undo what others changed since.
    metadata = {"labels": LATE_LABEL, "resourceVersion": "7"}
    assert patch == {"metadata": metadata, "spec": {"taints": [GPU_TAINT.manifest, LATE_TAINT.manifest]}}
    expected = {"metadata": {"resourceVersion": "7"}, "spec": {"taints": [GPU_TAINT.manifest]}}
    assert missing(held_back(**LATE_LABEL), Late(LATE_LABEL)) == expected


def test_a_complete_node_is_left_alone() -> None:
    node = {"metadata": {"name": "n", "labels": {**LATE_LABEL, "other": "x"}}, "spec": {}}
    assert missing(node, Late(LATE_LABEL)) is None
    assert missing(node, Late({"team": "speech"})) == {"metadata": {"labels": {"team": "speech"}}}


def test_no_label_of_another_cloud_stays() -> None:
    labels = {"eks-node-viewer/instance-price": "0.5", "karpenter.sh/nodepool": "t4-1"}
    patch = missing({"metadata": {"name": "n", "labels": labels}, "spec": {}}, Late())
    assert patch == {"metadata": {"labels": {"eks-node-viewer/instance-price": None}}}


def registered(version: int, **labels: str) -> dict[str, Any]:
    labels = {"karpenter.sh/registered": "true", **labels}
    metadata = {"name": "n", "uid": "1", "labels": labels, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {}}


class Patches:
    """An API server that keeps every patch; the node is then at the next of ``answers``: a version or a refusal."""

    def __init__(self, *answers: int | ApiError) -> None:
        self.answers = list(answers)
        self.bodies: list[Any] = []

    def merge(self, path: str, body: Any) -> dict[str, Any]:
        assert path == "/api/v1/nodes/n"
        self.bodies.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return registered(answer)


def test_what_a_watch_tells_of_the_time_before_a_node_was_completed_is_not_patched_again() -> None:
    api = Patches(ApiError(409, "Conflict", ""), 9, 15, 30, 31)
    watch = NodeWatch(cast(Api, api), lambda _: Late(LATE_LABEL), lambda _: None)
    # A conflict completes nothing, so that the next event is a new chance.
    for version in (5, 6):
        watch.notice("MODIFIED", registered(version))
    assert len(api.bodies) == 2
    for version in (7, 8):
        watch.notice("MODIFIED", registered(version))
    assert len(api.bodies) == 2
    # As the patch left it: if it lacks something all the same, that is news.
    watch.notice("MODIFIED", registered(9, **LATE_LABEL))
    assert len(api.bodies) == 2
    watch.notice("MODIFIED", registered(9))
    assert len(api.bodies) == 3
    # Somebody took the label off since.
    watch.notice("MODIFIED", registered(16))
    assert len(api.bodies) == 4
    # A node of the same name that is made anew is another one.
    watch.notice("DELETED", registered(17))
    anew = registered(3)
    anew["metadata"]["uid"] = "2"
    watch.notice("ADDED", anew)
    assert len(api.bodies) == 5


@cases
def test_a_kubelet_is_whole_and_no_newer_minor_than_the_control_plane(requested: str, reported: str) -> None:
    assert kubelet_version(requested, "v1.34.4") == reported


MAX_PODS = 29


def limits(**fields: Any) -> dict[str, int]:
    machine = NodeShape(4, 15, 1, "nvidia-tesla-t4", max_pods=MAX_PODS)
    group = gpu_group("pool", zones=ZONES, machine=machine, **fields)
    pools = node_pools(NodeTemplate(group, FACTS), "type", 50)
    for pool in pools:
        assert int(pool["spec"]["limits"]["pods"]) == int(pool["spec"]["limits"]["nodes"]) * MAX_PODS
    return {pool["metadata"]["name"]: int(pool["spec"]["limits"]["nodes"]) for pool in pools}


def test_a_total_maximum_is_one_pool_and_a_maximum_per_zone_one_for_each() -> None:
    assert limits(max_nodes=5, min_nodes=1) == {"pool": 4}
    assert limits(max_nodes=5, min_nodes=1, per_zone=True) == {"pool-us-central1-a": 4, "pool-us-central1-b": 4}


def test_permanent_nodes_are_the_minimum_or_every_node_without_autoscaling() -> None:
    group = gpu_group("pool", zones=ZONES, min_nodes=3)
    assert group.permanent() == {ZONES[0]: 2, ZONES[1]: 1}
    assert replace(group, per_zone=True).permanent() == {ZONES[0]: 3, ZONES[1]: 3}
    fixed = changed(group, autoscaled=False)
    assert replace(fixed, initial_nodes=2).permanent() == {ZONES[0]: 2, ZONES[1]: 2}
    assert replace(fixed, initial_nodes=1).permanent() == {ZONES[0]: 2, ZONES[1]: 1}
    assert changed(fixed, min_nodes=0).permanent() == {ZONES[0]: 0, ZONES[1]: 0}


@cases
def test_labels_that_karpenter_refuses(key: str, refused: bool) -> None:
    assert refused_by_karpenter(key) is refused


SPOT_TAINT = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NoSchedule"}
NODE = {
    "metadata": {"labels": {"gpu": "t4", "count": "4"}},
    "spec": {
        "taints": [GPU_TAINT.manifest, SPOT_TAINT, {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]
    },
}


@cases
def test_why_a_daemon_does_not_run_on_a_node(fields: dict[str, Any], expected: str | None) -> None:
    assert refusal(pod_spec(**fields), NODE) == expected


@cases
def test_what_a_group_takes(gpus: int, pod_fields: dict[str, Any], group_fields: dict[str, Any], fits: bool) -> None:
    changes = {**group_fields, "late_taints": tuple(Taint(**each) for each in group_fields.get("late_taints", ()))}
    assert would_fit(pod_spec(gpus, **pod_fields), NodeTemplate(gpu_group("pool", **changes), FACTS)) is fits


class Recorded(Api):
    """An API server with GKE's ConfigMaps, which records the replicas of each Deployment."""

    def __init__(self) -> None:
        self.replicas: dict[str, int] = {}

    def get(self, path: str, **query: str) -> Object:
        name = path.rpartition("/")[2]
        return next(each for each in system_objects({}) if each["kind"] == "ConfigMap" and named(each, name))

    def merge(self, path: str, body: Object) -> Object:
        self.replicas[path.rpartition("/")[2]] = body["spec"]["replicas"]
        return {}


def named(each: Object, name: str) -> bool:
    return bool(each["metadata"]["name"] == name)


def node(name: str, cpu: str = "2") -> Any:
    return {"metadata": {"name": name}, "status": {"capacity": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("nodes", "cores", "dns", "konnectivity"),
    [(1, 2, 1, 1), (2, 6, 2, 2), (9, 70, 2, 6), (10, 70, 2, 8), (33, 200, 3, 8), (5, 600, 3, 5), (100, 400, 7, 12)],
)
def test_replicas_go_by_nodes_and_by_cores(nodes: int, cores: int, dns: int, konnectivity: int) -> None:
    data = {each["metadata"]["name"]: each["data"] for each in system_objects({}) if each["kind"] == "ConfigMap"}
    assert replicas(data["kube-dns-autoscaler"], nodes, cores) == dns
    assert replicas(data["konnectivity-agent-autoscaler-config"], nodes, cores) == konnectivity


def test_each_node_that_comes_or_goes_counts_and_the_first_ones_count_together() -> None:
    api = Recorded()
    watch = Proportional(api, list(targets(system_objects({}))))
    watch.listed([node("admin")])
    assert api.replicas == {"kube-dns": 1, "konnectivity-agent": 1}
    watch.notice("ADDED", node("gpu", cpu="600"))
    assert api.replicas == {"kube-dns": 3, "konnectivity-agent": 2}
    api.replicas.clear()
    watch.notice("MODIFIED", node("gpu", cpu="600"))
    assert not api.replicas, "a heartbeat is no change"
    watch.notice("DELETED", node("gpu", cpu="600"))
    assert api.replicas == {"kube-dns": 1, "konnectivity-agent": 1}


def test_an_autoscaler_without_flags_scales_nothing() -> None:
    objects = [each for each in system_objects({}) if each["kind"] == "Deployment"]
    assert [each.deployment.rpartition("/")[2] for each in targets(objects)] == ["kube-dns", "konnectivity-agent"]
    for each in objects:
        each["spec"]["template"]["spec"]["containers"][0].pop("args", None)
    assert not list(targets(objects))
