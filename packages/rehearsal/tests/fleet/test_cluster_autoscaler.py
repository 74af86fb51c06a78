"""A cluster-autoscaler of the user's own: the protocol by which it scales the groups, and its process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
import yaml

from facts.concepts.kubernetes import Taint
from packages.rehearsal.tests.fleet import autoscaler_loop
from packages.rehearsal.tests.fleet.autoscaler_loop import Provider
from packages.rehearsal.tests.fleet.facts import TOLERATIONS, running_fleet
from packages.rehearsal.tests.simulated_cluster import (
    CLUSTER,
    GPU_TAINT,
    JOBS,
    ZONES,
    eventually,
    gpu_group,
    job,
    nodes,
)
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.processes import Child
from rehearsal.fleet import cluster_autoscaler
from rehearsal.fleet.cluster_autoscaler import ClusterAutoscalerProcess
from rehearsal.fleet.external_grpc import NodeGroupServer
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.nodes import ClusterFacts
from rehearsal.simulation import Packing
from rehearsal.tools import ToolsError
from rehearsal.tools.own_autoscaler import AutoscalerProgram, own_autoscaler
from tests.components.specs import changed

PACKING = Packing(gpus_below=0.4, others_below=0.6, moves_system_pods=True, moves_local_storage=True)
PROGRAM = AutoscalerProgram(Path("/bin/false"), "1.36.1", (1, 36))
ACCELERATOR = "cloud.google.com/gke-accelerator"


class Nodes:
    """An ``Api`` that has only nodes."""

    def __init__(self) -> None:
        self.there: list[Object] = []

    def list(self, path: str, **query: str) -> list[Object]:
        if path != "/api/v1/nodes":
            return []
        key, _, value = query["labelSelector"].partition("=")
        return [node for node in self.there if node["metadata"]["labels"].get(key) == value]

    def create(self, path: str, body: Object) -> None:
        self.there.append(body)

    def merge_if_there(self, path: str, body: Object) -> None:
        """A stopped machine; nobody looks at it."""

    def delete(self, path: str) -> None:
        self.there = [node for node in self.there if not path.endswith(node["metadata"]["name"])]


@pytest.fixture
def there() -> Nodes:
    return Nodes()


@pytest.fixture
def groups(tmp_path: Path) -> Groups:
    groups = Groups(ClusterFacts(CLUSTER, "us-central1", "1.34.4"), tmp_path / "fleet.json")
    labels = {"gpucluster.dev/pool": "t4", ACCELERATOR: "nvidia-tesla-t4"}
    late = {"late_labels": {"late": "yes"}, "late_taints": (Taint("late", None, "NoSchedule"),)}
    groups.declare(gpu_group("t4", zones=ZONES, labels=labels, packing=PACKING, unneeded_minutes=5, **late))
    groups.declare(gpu_group("each", zones=ZONES, per_zone=True, min_nodes=1))
    groups.declare(gpu_group("fixed", autoscaled=False))
    return groups


@pytest.fixture
def server(there: Nodes, groups: Groups) -> Iterator[NodeGroupServer]:
    server = NodeGroupServer(cast(Api, there), groups, options_by_group=True)
    yield server
    server.close()


@pytest.fixture
def provider(server: NodeGroupServer) -> Provider:
    return Provider(f"127.0.0.1:{server.port}")


def refused(provider: Provider, method: str, **fields: Any) -> tuple[grpc.StatusCode, str | None]:
    with pytest.raises(grpc.RpcError) as failure:
        provider.call(method, **fields)
    return failure.value.code(), failure.value.details()


def named(nodes: list[Object]) -> list[dict[str, Any]]:
    return [{"name": node["metadata"]["name"], "providerID": node["spec"]["providerID"]} for node in nodes]


def test_groups_are_served_with_their_limits_one_per_zone_where_these_count_so(provider: Provider) -> None:
    served = provider.call("NodeGroups").nodeGroups
    assert [(each.id, each.minSize, each.maxSize) for each in served] == [
        ("t4", 0, 3),
        ("each-us-central1-a", 1, 3),
        ("each-us-central1-b", 1, 3),
    ]


def test_an_empty_group_is_planned_with_what_its_autoscaler_knows_of_it(provider: Provider) -> None:
    node = provider.template("t4")
    labels = node["metadata"]["labels"]
    assert (labels["topology.kubernetes.io/zone"], labels["node.kubernetes.io/instance-type"]) == (
        "us-central1-a",
        "n1-standard-4",
    )
    assert (labels["gpucluster.dev/pool"], labels[ACCELERATOR]) == ("t4", "nvidia-tesla-t4")
    assert "late" not in labels
    assert node["spec"]["taints"] == [GPU_TAINT.manifest]
    # 4 cores without GKE's reservation of 6 %, 1 % and twice 0.5 %.
    assert (node["status"]["allocatable"]["nvidia.com/gpu"], node["status"]["allocatable"]["cpu"]) == ("1", "3920m")


def test_nodes_come_evenly_in_the_zones_and_know_their_group(provider: Provider, there: Nodes) -> None:
    assert provider.size("t4") == 0
    provider.call("NodeGroupIncreaseSize", id="t4", delta=3)
    assert provider.size("t4") == 3
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in there.there]
    assert zones == ["us-central1-a", "us-central1-b", "us-central1-a"]
    assert there.there[0]["metadata"]["labels"]["late"] == "yes"
    instances = provider.call("NodeGroupNodes", id="t4").instances
    assert [(each.id, each.status.instanceState) for each in instances] == [
        (node["spec"]["providerID"], 1) for node in there.there
    ]
    labels = [{"key": key, "value": value} for key, value in there.there[0]["metadata"]["labels"].items()]
    assert provider.call("NodeGroupForNode", node={"name": "x", "labels": labels}).nodeGroup.id == "t4"
    assert provider.call("NodeGroupForNode", node={"name": "x"}).nodeGroup.id == ""


def test_a_machine_whose_node_is_gone_still_has_its_group_and_may_be_deleted_again(
    provider: Provider, there: Nodes
) -> None:
    provider.call("NodeGroupIncreaseSize", id="t4", delta=1)
    (machine,) = (each.id for each in provider.call("NodeGroupNodes", id="t4").instances)
    unregistered = {"name": machine, "providerID": machine}
    there.there.clear()
    assert provider.call("NodeGroupForNode", node=unregistered).nodeGroup.id == "t4"
    provider.call("NodeGroupDeleteNodes", id="t4", nodes=[unregistered])
    code, _ = refused(provider, "NodeGroupDeleteNodes", id="each-us-central1-b", nodes=[unregistered])
    assert code == grpc.StatusCode.INVALID_ARGUMENT


def test_only_the_named_nodes_go_and_never_below_the_minimum(provider: Provider, there: Nodes) -> None:
    provider.call("NodeGroupIncreaseSize", id="each-us-central1-a", delta=2)
    one, other = there.there
    provider.call("NodeGroupDeleteNodes", id="each-us-central1-a", nodes=named([one]))
    assert there.there == [other]
    code, why = refused(provider, "NodeGroupDeleteNodes", id="each-us-central1-a", nodes=named([other]))
    assert (code, why) == (grpc.StatusCode.FAILED_PRECONDITION, "each-us-central1-a has 1 nodes, of which 1 remain")
    code, why = refused(provider, "NodeGroupDeleteNodes", id="each-us-central1-b", nodes=named([other]))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert why == f"{other['metadata']['name']}: not of each-us-central1-b"
    assert there.there == [other]


@pytest.mark.parametrize("delta", [0, -1, 4])
def test_a_size_beyond_the_limits_is_refused(provider: Provider, there: Nodes, delta: int) -> None:
    code, why = refused(provider, "NodeGroupIncreaseSize", id="t4", delta=delta)
    assert (code, why) == (grpc.StatusCode.INVALID_ARGUMENT, f"t4: 0 of at most 3 nodes, no room for {delta} more")
    assert there.there == []


def test_a_target_is_never_lowered_below_the_nodes_that_exist(provider: Provider, there: Nodes) -> None:
    provider.call("NodeGroupIncreaseSize", id="t4", delta=1)
    code, _ = refused(provider, "NodeGroupDecreaseTargetSize", id="t4", delta=-1)
    assert (code, len(there.there)) == (grpc.StatusCode.FAILED_PRECONDITION, 1)


def test_a_pool_without_machines_is_refused_until_there_are_some(server: NodeGroupServer, provider: Provider) -> None:
    server.exhaust(["t4"])
    code, why = refused(provider, "NodeGroupIncreaseSize", id="t4", delta=1)
    assert (code, why) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "there is no machine for t4 now")
    server.exhaust([])
    provider.call("NodeGroupIncreaseSize", id="t4", delta=1)


@pytest.mark.parametrize("id", ["nobody", "fixed", "each", ""])
@pytest.mark.parametrize("method", ["TargetSize", "Nodes", "TemplateNodeInfo", "GetOptions"])
def test_a_group_that_is_not_served_is_an_error(provider: Provider, method: str, id: str) -> None:
    assert refused(provider, f"NodeGroup{method}", id=id) == (grpc.StatusCode.NOT_FOUND, f"there is no node group {id}")


def test_options_are_those_that_the_stack_declares(provider: Provider) -> None:
    durations = {"scaleDownUnneededDuration": {"seconds": 10}, "MaxNodeProvisionDuration": {"seconds": 900}}
    defaults = {"scaleDownUtilizationThreshold": 0.5, **durations}

    def options(id: str) -> Any:
        return provider.call("NodeGroupGetOptions", id=id, defaults=defaults).nodeGroupAutoscalingOptions

    packed, others = options("t4"), options("each-us-central1-a")
    assert (packed.scaleDownGpuUtilizationThreshold, packed.scaleDownUtilizationThreshold) == (0.4, 0.6)
    assert packed.scaleDownUnneededDuration.seconds == 5
    assert (others.scaleDownGpuUtilizationThreshold, others.scaleDownUtilizationThreshold) == (0.001, 0.5)
    assert others.scaleDownUnneededDuration.seconds == 10
    assert packed.MaxNodeProvisionDuration.seconds == 900


def test_releases_that_take_a_new_node_for_unready_get_no_options_by_group(there: Nodes, groups: Groups) -> None:
    server = NodeGroupServer(cast(Api, there), groups, options_by_group=False)
    code, _ = refused(Provider(f"127.0.0.1:{server.port}"), "NodeGroupGetOptions", id="t4")
    server.close()
    assert code == grpc.StatusCode.UNIMPLEMENTED


def test_flags_are_those_of_the_groups_cloud_then_the_stacks_compressed() -> None:
    declared = ("--scale-down-unneeded-time=5m", "--max-node-provision-time=15m", "--v=4", "--cloud-provider=aws")
    group = gpu_group("t4", packing=PACKING, unneeded_minutes=7, autoscaler_flags=declared)
    own = [*cluster_autoscaler.flags(group)]
    ours = "--balancing-ignore-label=rehearsal.gpucluster.dev/group"
    assert own[-3:] == ["--scale-down-unneeded-time=5s", "--max-node-provision-time=15m", ours]
    assert ours not in cluster_autoscaler.flags(gpu_group("t4", autoscaler_flags=("--balancing-label=team",)))
    assert {"--scale-down-unneeded-time=7s", "--scale-down-gpu-utilization-threshold=0.4"} < set(own)
    assert "--scale-down-unneeded-time=10s" in cluster_autoscaler.flags(gpu_group("t4"))


def test_gpus_are_known_by_the_clouds_label(provider: Provider) -> None:
    assert provider.call("GPULabel").label == ACCELERATOR
    assert [each.key for each in provider.call("GetAvailableGPUTypes").gpuTypes] == ["nvidia-tesla-t4"]


def test_bytes_are_those_of_the_published_protocol_and_prices_are_not_served(server: NodeGroupServer) -> None:
    def raw(method: str, request: bytes) -> bytes:
        path = f"/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/{method}"
        answer: bytes = channel.unary_unary(path)(request, timeout=30)
        return answer

    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        assert raw("NodeGroupIncreaseSize", b"\x08\x02\x12\x02t4") == b""
        assert raw("NodeGroupTargetSize", b"\n\x02t4") == b"\x08\x02"
        assert b'\n\x02t4\x18\x03"\x02t4' in raw("NodeGroups", b""), "id 1, no minimum, maximum 3, debug"
        with pytest.raises(grpc.RpcError) as failure:
            raw("PricingNodePrice", b"")
    assert failure.value.code() == grpc.StatusCode.UNIMPLEMENTED


REPORTS_VERSION = "case $1 in --help) echo \"available: [$2]\";; *) echo 'Cluster Autoscaler 1.36.1'; exit 255;; esac"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "is not a program"),
        ("echo nothing known; exit 2", r"is no cluster-autoscaler \(nothing known\)"),
        ("exit 0", r"is no cluster-autoscaler \(it prints nothing\)"),
        (REPORTS_VERSION.replace("$2", "aws,gce"), "lacks the provider externalgrpc: build it with -tags"),
        (REPORTS_VERSION.replace("$2", "aws,externalgrpc"), ""),
    ],
)
def test_what_is_no_such_program_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, message: str
) -> None:
    path = tmp_path / "program"
    if script is not None:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("CLUSTER_AUTOSCALER", str(path))
    if message:
        with pytest.raises(ToolsError, match=f"CLUSTER_AUTOSCALER=.*program {message}"):
            own_autoscaler()
    else:
        assert own_autoscaler() == AutoscalerProgram(path, "1.36.1", (1, 36))
    monkeypatch.delenv("CLUSTER_AUTOSCALER")
    assert own_autoscaler() is None


def test_the_end_of_a_program_that_is_being_stopped_is_no_failure(tmp_path: Path, groups: Groups) -> None:
    class Stopping:
        """Processes that are looked at while they stop."""

        def stop(self, child: object, grace: float) -> None:
            process.check()

    process = ClusterAutoscalerProcess(
        cast(ControlPlane, SimpleNamespace(api=Nodes(), processes=Stopping())), PROGRAM, tmp_path, groups
    )
    process._child = cast(Child, SimpleNamespace(check=lambda: pytest.fail("it was stopped")))  # pyright: ignore[reportPrivateUsage]
    process.close()


def fake(folder: Path) -> Path:
    """A program that calls what a cluster-autoscaler calls."""
    program = folder / "cluster-autoscaler"
    known = "case $1 in --help) echo externalgrpc; exit;; --v=1) echo Cluster Autoscaler 1.34.0; exit;; esac"
    command = f"PYTHONPATH='{':'.join(sys.path)}' exec {sys.executable} -m {autoscaler_loop.__name__} \"$@\""
    program.write_text(f"#!/bin/sh\n{known}\n{command}\n")
    program.chmod(0o755)
    return program


@pytest.mark.rehearsal
def test_the_program_scales_from_zero_and_back_in_place_of_the_simulated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_AUTOSCALER", str(fake(tmp_path)))
    with running_fleet(tmp_path) as running:
        api, fleet = running.api, running.fleet
        group = gpu_group("t4", min_nodes=1, packing=PACKING, unneeded_minutes=1)
        fleet.apply_group(group)
        fleet.apply_group(gpu_group("t4-more", initial_nodes=1, unneeded_minutes=1))
        fleet.settle()
        assert api.find("/apis/karpenter.sh/v1") is None
        config = api.get("/api/v1/namespaces/kube-node-lease/configmaps/cluster-autoscaler-priority-expander")
        assert yaml.safe_load(config["data"]["priorities"]) == {100: ["^t4$", r"^t4\-more$"]}
        selected = {"nodeSelector": {"gpucluster.dev/pool": "t4"}, "tolerations": TOLERATIONS}
        api.create(JOBS, job("j", pods=3, seconds=900, **selected))
        eventually("3 pods run", lambda: api.get(f"{JOBS}/j")["status"].get("ready") == 3)
        # A change of the group leaves the autoscaled nodes alone.
        fleet.apply_group(changed(group, labels={**group.nodes.labels, "team": "a"}))
        assert len(nodes(api, "t4")) == 3
        api.delete(f"{JOBS}/j")
        eventually("the minimum", lambda: (len(nodes(api, "t4")), len(nodes(api, "t4-more"))) == (1, 0))
        fleet.exhaust(["t4"])
        fleet.delete_group(CLUSTER, "t4")
        assert nodes(api, "t4") == []
        fleet.settle()
