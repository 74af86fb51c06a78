"""Declared groups scale as a cloud's would: from zero and back, within limits, the cheapest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from packages.rehearsal.tests.fleet.facts import (
    SPOT_TAINT,
    TOLERATIONS,
    UNCLAIMED,
    Running,
    all_registered,
    instance_type,
    labelled,
    not_triggered,
    preferred,
    ready_gpus,
    ready_pools,
    required,
    running_fleet,
)
from packages.rehearsal.tests.simulated_cluster import (
    CLUSTER,
    GPU_TAINT,
    JOBS,
    PODS,
    ZONES,
    daemon_set,
    events,
    eventually,
    gpu_group,
    group_of,
    installer_pod,
    job,
    nodes,
    plugin_pod,
    pod,
    size_taint,
    taint_set,
)
from rehearsal.cluster.api import Api, ApiError
from rehearsal.fleet import FleetError
from rehearsal.fleet.machine_types import allocatable
from rehearsal.simulation import NodeShape
from tests.components.specs import changed

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "1.34.4-gke.100", daemon_set("agent")) as running:
        yield running


@pytest.fixture(autouse=True)
def empty(running: Running) -> Iterator[None]:
    """Each test leaves a cluster with the admin node only."""
    yield
    running.api.delete(JOBS)
    running.api.delete(PODS)
    running.api.delete("/api/v1/namespaces/default/events")
    for group in running.report()["groups"]:
        if group["name"] != "admin":
            running.fleet.delete_group(CLUSTER, group["name"])


def test_nodes_that_always_exist_are_ready_when_the_group_is(running: Running) -> None:
    (node,) = nodes(running.api, "admin")
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "e2-standard-4"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.4-gke.100"
    assert "nvidia.com/gpu" not in node["status"]["capacity"]


def test_from_zero_to_the_declared_nodes_and_back(running: Running) -> None:
    labels = {"gpucluster.dev/pool": "t4", "cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
    late = {"beta.kubernetes.io/instance-type": "n1-standard-4"}
    group = gpu_group("t4", labels={**labels, **late}, taints=(GPU_TAINT, SPOT_TAINT), capacity_type="spot")
    running.fleet.apply_group(group)
    assert nodes(running.api, "t4") == []

    spot = {"key": SPOT_TAINT.key, "operator": "Exists"}
    running.api.create(JOBS, job("j", pods=3, tolerations=[*TOLERATIONS, spot]))
    eventually("3 nodes with a GPU", lambda: ready_gpus(running.api, "t4") == 3)
    grown = eventually("they are part of the cluster", lambda: all_registered(nodes(running.api, "t4")))
    for node in grown:
        assert labels.items() <= node["metadata"]["labels"].items()
        assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == ZONES[0]
        assert node["metadata"]["labels"]["topology.kubernetes.io/region"] == "us-central1"
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == node["metadata"]["name"]
        assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "n1-standard-4"
        free = node["status"]["allocatable"]
        assert (node["status"]["capacity"]["cpu"], node["status"]["capacity"]["memory"]) == ("4", "15Gi")
        assert (free["cpu"], free["memory"]) == ("3920m", f"{allocatable(group.machine).memory_mib}Mi")
    # A controller takes the taint of a node that was not ready off by and by.
    declared = taint_set([GPU_TAINT.manifest, SPOT_TAINT.manifest])
    eventually(
        "the declared taints", lambda: all(taint_set(n["spec"]["taints"]) == declared for n in nodes(running.api, "t4"))
    )
    eventually(
        "late labels", lambda: all(late.items() <= n["metadata"]["labels"].items() for n in nodes(running.api, "t4"))
    )
    eventually("all done", lambda: running.api.get(f"{JOBS}/j")["status"].get("succeeded") == 3)
    eventually("empty again", lambda: not nodes(running.api, "t4"))


def test_a_node_is_not_used_before_its_gpus_are_there(running: Running) -> None:
    running.fleet.apply_group(gpu_group("t4", gpus_advertised_by="daemonset"))
    running.api.create(PODS, pod("waits", gpus=1))
    (node,) = eventually("a node", lambda: nodes(running.api, "t4"))
    event = eventually("the reason", lambda: events(running.api, "DriverMissing"))[-1]
    assert "no DaemonSet installs it" in event["message"]
    assert event["involvedObject"]["name"] == node["metadata"]["name"]
    assert group_of(running.api, "waits") is None

    running.api.apply_manifest(daemon_set("nvidia-driver-installer", **installer_pod(tolerations=TOLERATIONS)))
    eventually("the pod runs", lambda: group_of(running.api, "waits") == "t4")
    eventually("nothing is missing any more", lambda: running.missing_drivers() == [])
    eventually("the pod ends", lambda: running.api.get(f"{PODS}/waits")["status"]["phase"] == "Succeeded")
    eventually("empty again", lambda: not nodes(running.api, "t4"))
    running.api.delete("/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-driver-installer")


def test_a_driver_installer_without_a_toleration_leaves_the_gpus_invisible(running: Running) -> None:
    installer = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-driver-installer"
    running.api.apply_manifest(daemon_set("nvidia-driver-installer", **installer_pod(tolerations=TOLERATIONS)))
    taints = (GPU_TAINT, SPOT_TAINT)
    running.fleet.apply_group(gpu_group("t4-spot", gpus_advertised_by="daemonset", taints=taints, capacity_type="spot"))
    tolerations = [*TOLERATIONS, {"key": SPOT_TAINT.key, "operator": "Exists"}]
    running.api.create(PODS, pod("waits", gpus=1, tolerations=tolerations))
    (missing,) = eventually("the reason", running.missing_drivers)
    assert missing["group"] == "t4-spot"
    assert "DaemonSet kube-system/nvidia-driver-installer does not tolerate the taint" in missing["reason"]
    assert "cloud.google.com/gke-spot=true:NoSchedule" in missing["reason"]
    # A node that does not look as if it had GPUs counts as one without: others are started.
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes(running.api, "t4-spot")} == {"0"}
    assert group_of(running.api, "waits") is None
    running.api.delete(installer)


def test_a_group_that_is_planned_whole_grows_in_vain_until_its_nodes_are_known(running: Running) -> None:
    """The machine has 4 cores, of which pods get less; real sizes end it: nobody starts and removes nodes for ever."""
    api = running.api
    running.fleet.apply_group(gpu_group("whole", plans_whole=True))
    large = pod("large", gpus=1)
    large["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "3950m"}
    api.create(PODS, large)
    eventually("a node that is too small", lambda: nodes(api, "whole"))
    eventually("the reason", lambda: any("Insufficient cpu" in reason for reason in not_triggered(api)))
    eventually("empty again", lambda: not nodes(api, "whole"))
    api.create(PODS, pod("small", gpus=1, seconds=1))
    eventually("another pod starts", lambda: group_of(api, "small") == "whole")
    api.delete(f"{PODS}/large")


def test_a_device_plugin_offers_what_it_is_configured_to_not_what_the_autoscaler_expects(running: Running) -> None:
    api = running.api
    config = {"sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}}}
    # As the seed's manifest: known by its image, and bound to machine types by the old label.
    affinity = required("beta.kubernetes.io/instance-type", "n1-standard-4")
    plugin = daemon_set("gpus", **plugin_pod("plugin", tolerations=TOLERATIONS, affinity=affinity))
    running.fleet.apply_objects([plugin])
    machine = NodeShape(4, 15, 4, "nvidia-tesla-t4", reserved_milli_cpu=500, max_pods=20)
    offered: dict[str, Any] = {"offered_gpus": 2, "gpus_advertised_by": "device-plugin"}
    running.fleet.apply_group(gpu_group("t4", machine=machine, max_nodes=1, **offered))
    api.create(PODS, pod("four", gpus=4, seconds=60))
    expected = "the node advertises no GPU: pod kube-system/gpus-"
    # The node of the test before may be among them until the fleet looks again.
    reasons = lambda: [each["reason"] for each in running.missing_drivers() if each["reason"].startswith(expected)]  # noqa: E731
    assert eventually("the reason", reasons)[0].endswith("mounts the ConfigMap plugin, which does not exist")
    # The event follows the entry in the report.
    event = eventually("the same as an event", lambda: events(api, "DevicePluginMissing"))[-1]
    assert event["message"].endswith("mounts the ConfigMap plugin, which does not exist")
    metadata = {"name": "plugin", "namespace": "kube-system"}
    data = {"config.yaml": json.dumps(config)}
    running.fleet.apply_objects([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}])
    eventually("the pod runs", lambda: group_of(api, "four") == "t4")
    (node,) = nodes(api, "t4")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "6"
    assert (node["status"]["allocatable"]["cpu"], node["status"]["allocatable"]["pods"]) == ("3500m", "20")
    eventually("nothing is missing any more", lambda: running.missing_drivers() == [])
    api.delete("/apis/apps/v1/namespaces/kube-system/daemonsets/gpus")


def test_what_the_autoscaler_cannot_see_does_not_help_it_but_binds_pods(running: Running) -> None:
    unseen = {"team": "vision"}
    late: dict[str, Any] = {"late_labels": unseen, "late_taints": (SPOT_TAINT,)}
    running.fleet.apply_group(gpu_group("hidden", max_nodes=1, hourly_usd=1, **late))
    running.api.create(PODS, pod("selects", gpus=1, seconds=60, nodeSelector=unseen))
    refusals = eventually("the autoscaler refuses", lambda: not_triggered(running.api))
    assert refusals == ["pod didn't trigger scale-up: 1 node(s) didn't match Pod's node affinity/selector"]
    assert nodes(running.api, "hidden") == []
    running.api.create(PODS, pod("intolerant", gpus=1, seconds=60))
    (node,) = eventually("the node is complete", lambda: labelled(running.api, "hidden", "team"))
    assert taint_set([GPU_TAINT.manifest, SPOT_TAINT.manifest]) <= taint_set(node["spec"]["taints"])
    running.api.create(PODS, pod("tolerant", gpus=1, seconds=60, tolerations=[{"operator": "Exists"}]))
    eventually("the tolerant pod runs", lambda: group_of(running.api, "tolerant") == "hidden")
    assert group_of(running.api, "intolerant") is None


def test_a_group_that_nobody_scales_says_so_and_comes_and_goes_with_its_autoscaler(running: Running) -> None:
    fleet, api = running.fleet, running.api
    fixed = gpu_group("t4", autoscaled=False, not_scaled_because="the ASG has no tag k8s.io/x")
    fleet.apply_group(fixed)
    api.create(PODS, pod("first", gpus=1, seconds=120))
    (event,) = eventually("the reason", lambda: events(api, "NodeGroupNotScaled"))
    assert event["involvedObject"]["name"] == "first"
    assert event["message"].endswith("no autoscaler may start its nodes: the ASG has no tag k8s.io/x")
    assert event["metadata"]["labels"]["gpucluster.dev/pool"] == "t4"
    assert not fleet.had_nodes(CLUSTER, "t4")

    scaled = changed(fixed, autoscaled=True, not_scaled_because="")
    fleet.apply_group(scaled)
    eventually("a node comes", lambda: group_of(api, "first") == "t4")
    assert fleet.had_nodes(CLUSTER, "t4")
    assert "t4" in running.report()["had_nodes"]
    (node,) = all_registered(nodes(api, "t4")) or nodes(api, "t4")

    fleet.apply_group(fixed)
    api.create(PODS, pod("second", gpus=1, seconds=120))
    api.delete(f"{PODS}/first")
    eventually("the node that stayed serves the second pod", lambda: group_of(api, "second") == "t4")
    assert [each["metadata"]["name"] for each in nodes(api, "t4")] == [node["metadata"]["name"]]
    api.create(PODS, pod("third", gpus=1, seconds=120))
    # The second pod may have waited long enough for an event of its own.
    without_node = lambda: {each["involvedObject"]["name"] for each in events(api, "NodeGroupNotScaled")}  # noqa: E731
    eventually("nothing comes for the third", lambda: "third" in without_node())
    assert group_of(api, "third") is None

    fleet.apply_group(changed(scaled, rank=1, max_nodes=2))
    eventually("now it does", lambda: group_of(api, "third") == "t4")
    assert node["metadata"]["name"] in [each["metadata"]["name"] for each in nodes(api, "t4")]


def test_a_group_as_it_is_costs_no_request(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    group = gpu_group("t4", min_nodes=1, rank=1)
    running.fleet.apply_group(group)
    written = list[str]()

    def refuse(_: Api, path: str, *__: Any) -> None:
        written.append(path)
        raise ApiError(503, "", "this test writes nothing")

    for method in ("apply", "create", "delete", "merge"):
        monkeypatch.setattr(Api, method, refuse)
    running.fleet.apply_group(replace(group))
    assert written == []
    with pytest.raises(ApiError):
        running.fleet.apply_group(replace(group, rank=2))
    assert written == ["/apis/karpenter.sh/v1/nodepools/t4"]


def test_objects_and_the_kinds_that_they_need(running: Running) -> None:
    name = {"plural": "nodeclasses", "singular": "nodeclass", "kind": "NodeClass"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    kind = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodeclasses.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": name, "versions": versions},
    }
    one = {"apiVersion": "example.com/v1", "kind": "NodeClass", "metadata": {"name": "one"}, "spec": {"a": "b"}}
    path = "/apis/example.com/v1/nodeclasses"
    assert running.fleet.list_objects(path) == []
    running.fleet.apply_objects([kind, one])
    (listed,) = running.fleet.list_objects(path)
    assert listed["spec"] == {"a": "b"}
    running.fleet.apply_objects([{**one, "spec": {"a": "c"}}])
    assert [each["spec"] for each in running.fleet.list_objects(path)] == [{"a": "c"}]
    with pytest.raises(FleetError, match="no matches for kind 'Other'"):
        running.fleet.apply_objects([{**one, "kind": "Other"}])


def test_pods_beyond_the_maximum_stay_pending_with_a_reason(running: Running) -> None:
    running.fleet.apply_group(gpu_group("t4", max_nodes=2))
    running.api.create(JOBS, job("burst", pods=4, seconds=8))
    eventually("2 nodes", lambda: len(nodes(running.api, "t4")) == 2)
    reasons = eventually("a reason", lambda: not_triggered(running.api))
    assert reasons[0] == "pod didn't trigger scale-up: 1 max node group size reached"
    most = 2

    def done() -> bool:
        nonlocal most
        most = max(most, len(nodes(running.api, "t4")))
        return bool(running.api.get(f"{JOBS}/burst")["status"].get("succeeded") == 4)

    eventually("all pods have had their turn", done)
    assert most == 2


def test_pods_go_where_taints_and_sizes_allow(running: Running) -> None:
    running.fleet.apply_group(gpu_group("t4-1", max_nodes=1, hourly_usd=5))
    running.fleet.apply_group(gpu_group("t4-4", gpus=4, taints=(GPU_TAINT, size_taint(4)), hourly_usd=1))
    running.api.create(PODS, pod("plain", seconds=60))
    tolerated = [{"key": size_taint(4).key, "operator": "Exists"}]
    running.api.create(PODS, pod("four", gpus=4, seconds=60, tolerations=tolerated))
    running.api.create(PODS, pod("one", gpus=1, seconds=60))
    running.api.create(PODS, pod("another", gpus=1, seconds=60))
    eventually("the 4-GPU pod runs", lambda: group_of(running.api, "four") == "t4-4")
    eventually(
        "one 1-GPU pod runs", lambda: {group_of(running.api, "one"), group_of(running.api, "another")} == {None, "t4-1"}
    )
    eventually("the plain pod runs", lambda: group_of(running.api, "plain") == "admin")
    (large,) = nodes(running.api, "t4-4")
    eventually("the machine's own name", lambda: instance_type(running.api, "t4-4") == "n1-standard-4")
    assert large["status"]["capacity"]["nvidia.com/gpu"] == "4"
    assert len(nodes(running.api, "t4-1")) == 1


def test_the_cheapest_group_first_then_the_next_whatever_a_pod_prefers(running: Running) -> None:
    running.fleet.apply_group(gpu_group("dear", hourly_usd=2, labels={"gpucluster.dev/pool": "dear", "kind": "new"}))
    running.fleet.apply_group(gpu_group("cheap", hourly_usd=1, max_nodes=1))
    eventually("the autoscaler has taken in both", lambda: ready_pools(running.api) == {"dear", "cheap"})
    running.api.create(PODS, pod("first", gpus=1, seconds=60, affinity=preferred("kind", "new")))
    eventually("the first pod runs", lambda: group_of(running.api, "first") == "cheap")
    running.api.create(PODS, pod("second", gpus=1, seconds=60))
    eventually("the second pod runs", lambda: group_of(running.api, "second") == "dear")


def test_a_new_machine_type_while_nodes_are_being_made_costs_no_extra_node(running: Running) -> None:
    running.fleet.apply_group(gpu_group("t4", max_nodes=8))
    running.fleet.settle()
    running.api.create(JOBS, job("j", pods=4, seconds=60))
    eventually("the first node", lambda: nodes(running.api, "t4"))
    running.api.create("/api/v1/nodes", UNCLAIMED)
    shape = NodeShape(8, 32, 1, "nvidia-l4")
    running.fleet.apply_group(gpu_group("l4", machine_types=("g2-standard-8",), machine=shape, hourly_usd=9))
    running.fleet.settle()
    assert nodes(running.api, "unclaimed") == []
    eventually("all pods run", lambda: running.api.get(f"{JOBS}/j")["status"].get("ready") == 4)
    assert len(nodes(running.api, "t4")) == 4
    assert len(running.api.list("/apis/karpenter.sh/v1/nodeclaims")) == 4


def test_limits_per_zone_and_initial_nodes(running: Running) -> None:
    sizes: dict[str, Any] = {"min_nodes": 1, "max_nodes": 2, "initial_nodes": 2}
    labels = {"gpucluster.dev/pool": "wide"}
    running.fleet.apply_group(gpu_group("wide", zones=ZONES, per_zone=True, labels=labels, **sizes))
    placed = sorted(node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes(running.api, "wide"))
    assert placed == [ZONES[0], ZONES[0], ZONES[1], ZONES[1]]
    eventually("idle nodes above the minimum go", lambda: len(nodes(running.api, "wide")) == 2)
    left = sorted(node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes(running.api, "wide"))
    assert left == list(ZONES)


def test_a_changed_group_changes_its_nodes_in_place(running: Running) -> None:
    group = gpu_group("t4", min_nodes=1)
    running.fleet.apply_group(group)
    (before,) = nodes(running.api, "t4")
    after_change = changed(
        group, labels={"gpucluster.dev/pool": "t4", "team": "vision"}, taints=(GPU_TAINT, SPOT_TAINT)
    )
    running.fleet.apply_group(after_change)
    running.fleet.apply_group(after_change)
    (after,) = nodes(running.api, "t4")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"]["team"] == "vision"
    # Kubernetes' own taints of a node that has just become ready go a moment later.
    own = [taint for taint in after["spec"]["taints"] if not taint["key"].startswith("node.kubernetes.io/")]
    assert taint_set(own) == taint_set([GPU_TAINT.manifest, SPOT_TAINT.manifest])


def test_there_is_one_cluster_at_a_time(running: Running) -> None:
    arguments: dict[str, Any] = {"version": "1.34.4", "region": "us-central1", "zones": ZONES, "system_objects": []}
    again = running.fleet.create_cluster(CLUSTER, **arguments)
    assert again.host.startswith("127.0.0.1:")
    with pytest.raises(FleetError, match=r"cluster other: .* cluster demo uses it"):
        running.fleet.create_cluster("other", **arguments)
    with pytest.raises(FleetError, match=r"cluster other does not exist"):
        running.fleet.apply_group(replace(gpu_group("x"), cluster="other"))
