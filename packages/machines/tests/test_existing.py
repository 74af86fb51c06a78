"""A cluster that somebody else made: what is asked of it, and our labels and taints on a real API server's nodes."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from machines.errors import OperationError
from machines.existing import cluster, nodes
from machines.existing.api import AnswerError, ClusterApi, ClusterLogin, connected, listens
from machines.existing.resources import ExistingResources
from machines.inputs import EXISTING_CLUSTER, NODES, configuration_problems, problems_of
from machines.resources import MachineResources
from machines.wire import UNKNOWN
from packages.machines.tests.simulated import Lines
from rehearsal.cluster.control_plane import ControlPlane

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
LABELS = {"gpucluster.dev/pool": "t4-2", "gpucluster.dev/gpu": "nvidia-t4"}
POOL = {"name": "t4-2", "machines": ["gpu1"], "count": 1, "gpus": 2, "labels": LABELS, "taints": [GPU_TAINT]}
RIGHTS = [
    {"group": "", "resource": "nodes", "verbs": ["get", "list", "patch"]},
    {"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "name": "edit", "verbs": ["bind"]},
]
PLUGIN = {
    "metadata": {"name": "nvidia-device-plugin", "namespace": "gpu-operator"},
    "spec": {
        "template": {
            "spec": {
                "containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}],
                "volumes": [{"hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
            }
        }
    },
}


def kubeconfig(**user: str) -> str:
    entries = [
        {"clusters": [{"name": name, "cluster": {"server": f"https://{name}.example:6443"}}], "users": name}
        for name in ("lab", "other")
    ]
    return yaml.safe_dump(
        {
            "clusters": [each for entry in entries for each in entry["clusters"]],
            "users": [{"name": "ann", "user": {"token": "s3cret", **user}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "ann"}} for name in ("lab", "other")],
            "current-context": "lab",
        }
    )


class Answers(ClusterApi):
    """An API server in memory: ``denied`` are (resource, verb) that the user may not do."""

    def __init__(
        self, *gpu_nodes: dict[str, Any], denied: set[tuple[str, str]] | None = None, operator: bool = False
    ) -> None:
        super().__init__(Path())
        self.nodes, self.denied, self.operator = gpu_nodes, denied or set(), operator
        self.daemon_sets: list[dict[str, Any]] = []

    def send(self, method: str, path: str, body: Any = None, content: str = "", query: Any = None) -> dict[str, Any]:
        if path.endswith("selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            return {"status": {"allowed": (asked["resource"], asked["verb"]) not in self.denied}}
        if path == "/apis/apps/v1/daemonsets":
            return {"items": self.daemon_sets}
        if "customresourcedefinitions" in path and not self.operator:
            raise AnswerError(404, "not found")
        return {"items": list(self.nodes)} if path == "/api/v1/nodes" else {"metadata": {"uid": "1"}}


def node(name: str = "gpu1", gpus: int = 2, **metadata: Any) -> dict[str, Any]:
    allocatable = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {"metadata": {"name": name, **metadata}, "spec": {}, "status": {"allocatable": allocatable}}


def problems(api: ClusterApi, **changed: Any) -> str:
    inputs = {"rights": RIGHTS, "pools": [{**POOL, **changed}]}
    return "\n".join(map(str, cluster.problems(api, inputs)))


def test_a_cluster_that_is_right_has_no_problem() -> None:
    assert problems(Answers(node())) == ""
    assert problems(Answers(node(gpus=0)), devicePlugin=True) == ""
    assert problems(Answers(node(), node("cpu1", 0))) == ""


def test_all_missing_rights_are_one_message_and_come_before_anything_else() -> None:
    denied = {("nodes", "patch"), ("nodes", "list"), ("clusterroles", "bind")}
    (problem,) = cluster.problems(Answers(denied=denied), {"rights": RIGHTS, "pools": [POOL]})
    assert problem.text.splitlines() == [
        "The user of the kubeconfig lacks rights; ask the cluster's administrator for:",
        "    list, patch nodes",
        "    bind clusterroles.rbac.authorization.k8s.io edit",
    ]


@pytest.mark.parametrize(
    ("api", "changed", "text"),
    [
        (Answers(node("gpu2")), {}, "the cluster has no node 'gpu1'; it has gpu2"),
        (Answers(node(gpus=0)), {}, "offers no GPUs; install NVIDIA's driver and device plugin there"),
        (Answers(node(gpus=4)), {}, "offers 4 GPUs (allocatable nvidia.com/gpu), the stack file says 2"),
        (Answers(node(gpus=0), operator=True), {"devicePlugin": True}, "NVIDIA's GPU Operator offers GPUs already"),
        (Answers(node()), {"machines": [], "selector": {"a": "b"}}, "0 nodes have the labels of its selector"),
        (Answers(node(labels={"gpucluster.dev/pool": "x"})), {}, "has the label gpucluster.dev/pool=x"),
        (
            Answers({**node(), "spec": {"taints": [{**GPU_TAINT, "value": "yes"}]}}),
            {},
            "has the taint nvidia.com/gpu=yes:NoSchedule",
        ),
    ],
)
def test_what_does_not_fit_is_a_problem(api: Answers, changed: dict[str, Any], text: str) -> None:
    assert text in problems(api, **changed)


def test_a_device_plugin_of_somebody_else_is_named_and_ours_is_not() -> None:
    api = Answers(node())
    api.daemon_sets = [PLUGIN]
    assert "gpu-operator/nvidia-device-plugin offers GPUs already and is left alone" in problems(api, devicePlugin=True)
    assert problems(api) == ""
    ours = {**PLUGIN, "metadata": {**PLUGIN["metadata"], "labels": {"gpucluster.dev/driver": "whole"}}}
    api.daemon_sets = [ours]
    assert problems(api, devicePlugin=True) == ""


def test_a_node_in_two_pools_is_a_problem() -> None:
    pools = [POOL, {**POOL, "name": "other", "machines": [], "selector": {"a": "b"}}]
    found_twice = cluster.problems(Answers(node(labels={"a": "b"})), {"rights": [], "pools": pools})
    assert [str(each) for each in found_twice] == ["other: node gpu1 is in t4-2 too; write it in one pool"]


def test_nodes_that_an_autoscaler_makes_are_told_what_they_lack() -> None:
    scaled = {**POOL, "machines": [], "scaled": True}
    api = Answers(node(labels={"gpucluster.dev/pool": "t4-2"}))
    (line,) = cluster.warnings(api, {"pools": [scaled]})
    assert line == (
        "t4-2: node gpu1 lacks gpucluster.dev/gpu=nvidia-t4, nvidia.com/gpu=present:NoSchedule; "
        "set it on its node group"
    )
    assert cluster.problems(api, {"rights": [], "pools": [scaled]}) == []


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("taint", "warned"),
    [
        ({"key": "sku", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "effect": "NoExecute"}, True),
        ({"key": "sku", "value": "gpu", "effect": "PreferNoSchedule"}, False),
        (CORDON, False),
        ({"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}, False),
        ({"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}, False),
        (GPU_TAINT, False),
        ({"key": "gpucluster.dev/gpus-per-node", "value": "2", "effect": "NoSchedule"}, False),
    ],
)
def test_a_taint_of_others_that_keeps_pods_away_is_named(taint: dict[str, str], warned: bool, scaled: bool) -> None:
    """Microsoft's page on GPUs has the taint sku=gpu: https://learn.microsoft.com/azure/aks/use-nvidia-gpu"""
    pool = {**POOL, "scaled": scaled, **({"machines": []} if scaled else {})}
    member = node(labels=LABELS)
    member["spec"] = {"taints": [GPU_TAINT, taint]}
    lines = cluster.warnings(Answers(member), {"pools": [pool]})
    assert len(lines) == warned
    if warned:
        value = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        assert f"t4-2: node gpu1 has the taint {value}, which the pool's pods do not tolerate" in lines[0]
    assert cluster.warnings(Answers(member), {"pools": [{**pool, "taints": [GPU_TAINT, taint]}]}) == []


def test_one_context_is_taken_of_a_kubeconfig() -> None:
    access = ClusterLogin.of(kubeconfig(), "other")
    assert access.server == "https://other.example:6443"
    (context,) = json.loads(access.kubeconfig)["contexts"]
    assert context == {"name": "other", "context": {"cluster": "other", "user": "ann"}}
    assert "lab.example" not in access.kubeconfig


@pytest.mark.parametrize(
    ("content", "context", "text"),
    [
        ("nonsense", "", "is no kubeconfig; write what `kubectl config view --minify --flatten --raw` prints"),
        (kubeconfig(), "prod", "has no context 'prod'; it has lab, other"),
        (kubeconfig(**{"client-key": "/home/ann/key.pem"}), "", "names files of one machine (client-key)"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_refused_without_quoting_it(content: str, context: str, text: str) -> None:
    resources = MachineResources()
    (problem,) = resources.check_config({"kubeconfig": content, "context": context})
    assert text in problem.text
    assert "s3cret" not in problem.text
    assert configuration_problems({"kubeconfig": content}) == []


async def test_a_kubeconfig_that_is_not_known_yet_is_no_problem_in_a_preview() -> None:
    resources = MachineResources()
    resources.configure({"kubeconfig": UNKNOWN})
    inputs = {"rights": RIGHTS, "pools": [POOL]}
    assert resources.check_config({"kubeconfig": UNKNOWN}) == []
    assert await resources.check(EXISTING_CLUSTER, inputs, Lines()) == (inputs, [])
    assert resources.preview(EXISTING_CLUSTER, {}, inputs)["kubeconfig"] is UNKNOWN


def test_another_cluster_is_refused_and_another_credential_is_an_update() -> None:
    resources = ExistingResources({"kubeconfig": kubeconfig()})
    before = {"rights": [], "pools": [], "cluster": "uid-1"}
    state = {**before, "kubeconfig": ClusterLogin.of(kubeconfig()).kubeconfig}
    assert resources.diff(EXISTING_CLUSTER, before, state, before).changes == frozenset()
    rotated = ExistingResources({"kubeconfig": kubeconfig(token="other")})
    assert rotated.diff(EXISTING_CLUSTER, before, state, before).changes == {"kubeconfig"}
    with pytest.raises(OperationError, match="another cluster"):
        resources.diff(EXISTING_CLUSTER, before, state, {**before, "cluster": "uid-2"})


def test_inputs_are_checked() -> None:
    assert problems_of(NODES, {"pool": "t4-2", "labels": LABELS, "taints": [GPU_TAINT], "machines": ["gpu1"]}) == []
    wrong = problems_of(NODES, {"labels": {"a b": "c"}, "nodes": ["gpu1"]})
    assert [each.where for each in wrong] == ["pool", "nodes", "labels.a b"]


def test_a_socket_that_nobody_serves_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "api"
    assert not listens(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        assert path.exists()
        assert not listens(path), "the file is there before anybody listens"
        server.listen()
        assert listens(path)


# A real API server.


@pytest.fixture
def lab(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Lab]:
    made = Lab(control_plane, request.node.name.replace("_", "-")[:40].strip("-"))
    yield made
    control_plane.api.delete(made.path)


class Lab:
    """A node of somebody else, and the plugin's resource that labels and taints it."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self.api, self.name, self.path = control_plane.api, name, f"/api/v1/nodes/{name}"
        self.kubeconfig = control_plane.kubeconfig.read_text()
        metadata = {"name": name, "labels": {"theirs": "1", "gpucluster.dev/gpu": "nvidia-t4"}}
        spec = {"taints": [{"key": "dedicated", "value": "ann", "effect": "NoSchedule"}]}
        self.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})
        self.resources = ExistingResources({"kubeconfig": self.kubeconfig})
        self.before = self.live()

    def live(self) -> tuple[dict[str, str], list[dict[str, str]], bool]:
        """Labels, taints without those of the node controller, and whether the program has set something."""
        live = self.api.get(self.path)
        taints = [each for each in live["spec"].get("taints") or [] if not each["key"].startswith("node.kube")]
        managers = {entry["manager"] for entry in live["metadata"].get("managedFields") or []}
        return live["metadata"]["labels"], taints, "gpucluster" in managers

    def inputs(self, **changed: Any) -> dict[str, Any]:
        inputs = {"pool": "t4-2", "machines": [self.name], "labels": LABELS, "taints": [GPU_TAINT], **changed}
        completed, problems_found, _ = self.resources.check(NODES, inputs)
        assert problems_found == []
        return completed

    def taint(self, *taints: dict[str, str], **spec: Any) -> None:
        """Somebody else replaces the list of taints, as the node controller does."""
        current = self.api.get(self.path)["spec"].get("taints") or []
        self.api.merge(self.path, {"spec": {"taints": [*current, *taints], **spec}})


class TestRealApiServer:
    pytestmark = pytest.mark.rehearsal

    def test_labels_and_taints_come_and_go_and_those_of_others_stay(self, lab: Lab) -> None:
        inputs = lab.inputs()
        assert inputs["nodes"] == [lab.name]
        state = lab.resources.create(NODES, inputs)
        labels, taints, ours = lab.live()
        assert {**LABELS, "theirs": "1"}.items() <= labels.items()
        assert GPU_TAINT in taints
        assert "dedicated" in {taint["key"] for taint in taints}
        assert ours
        assert lab.resources.read(NODES, inputs, state) == state
        lab.resources.delete(NODES, inputs, state)
        assert lab.live() == lab.before

    def test_a_controller_that_takes_the_list_of_taints_over_loses_and_keeps_nothing(self, lab: Lab) -> None:
        """With server-side apply of taints our taint would stay behind for good: the list has one owner."""
        inputs = lab.inputs()
        state = lab.resources.create(NODES, inputs)
        lab.taint(CORDON, unschedulable=True)
        assert lab.resources.read(NODES, inputs, state)["drift"] == []
        state = lab.resources.update(NODES, state, {**inputs, "labels": {**LABELS, "more": "1"}})
        assert CORDON["key"] in {each["key"] for each in lab.api.get(lab.path)["spec"]["taints"]}
        lab.resources.delete(NODES, state, state)
        live = lab.api.get(lab.path)
        keys = {each["key"] for each in live["spec"]["taints"]}
        assert CORDON["key"] in keys
        assert GPU_TAINT["key"] not in keys
        assert "gpucluster" not in {entry["manager"] for entry in live["metadata"]["managedFields"]}

    def test_a_taint_that_was_there_before_stays(self, lab: Lab) -> None:
        lab.taint(GPU_TAINT)
        inputs = lab.inputs()
        state = lab.resources.create(NODES, inputs)
        assert state["foreign"] == {lab.name: [GPU_TAINT]}
        lab.resources.delete(NODES, inputs, state)
        assert GPU_TAINT in lab.live()[1]

    def test_drift_is_reported_and_mended(self, lab: Lab) -> None:
        inputs = lab.inputs()
        state = lab.resources.create(NODES, inputs)
        lab.api.merge(lab.path, {"metadata": {"labels": {"gpucluster.dev/pool": None}}})
        state = lab.resources.read(NODES, inputs, state)
        assert state["drift"] == [f"node {lab.name} lacks gpucluster.dev/pool=t4-2"]
        assert lab.resources.diff(NODES, inputs, state, inputs).changes == {"drift"}
        state = lab.resources.update(NODES, state, inputs)
        assert lab.resources.read(NODES, inputs, state)["drift"] == []

    def test_a_node_that_leaves_the_pool_is_given_back_and_one_that_is_gone_is_no_error(self, lab: Lab) -> None:
        inputs = lab.inputs()
        state = lab.resources.create(NODES, inputs)
        state = lab.resources.update(NODES, state, {**inputs, "machines": [], "nodes": []})
        assert lab.live() == lab.before
        lab.resources.delete(NODES, inputs, {**state, "nodes": ["never-there"]})

    def test_a_node_stays_in_the_pool_that_has_it_by_now(self, lab: Lab) -> None:
        """A renamed pool is made before the former one goes, and nobody orders the updates of two pools."""
        former = lab.inputs()
        state = lab.resources.create(NODES, former)
        renamed = lab.inputs(pool="big-2", labels={**LABELS, "gpucluster.dev/pool": "big-2"})
        after = lab.resources.create(NODES, renamed)
        lab.resources.delete(NODES, former, state)
        assert lab.resources.read(NODES, renamed, after)["drift"] == []
        lab.resources.delete(NODES, renamed, after)
        assert lab.live() == lab.before

    def test_a_label_of_somebody_else_is_never_overwritten(self, lab: Lab) -> None:
        lab.api.merge(lab.path, {"metadata": {"labels": {"gpucluster.dev/pool": "theirs"}}})
        with pytest.raises(OperationError, match=r"(?s)conflict.*gpucluster\.dev/pool") as refused:
            lab.resources.create(NODES, lab.inputs())
        assert refused.value.begun
        assert lab.live()[0]["gpucluster.dev/pool"] == "theirs"
        lab.resources.delete(NODES, lab.inputs(), refused.value.state)
        assert lab.live()[0]["gpucluster.dev/pool"] == "theirs"

    def test_a_user_without_rights_is_told_all_of_them_by_the_real_server(self, control_plane: ControlPlane) -> None:
        name, role = "nobody-much", {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}
        api, rbac = control_plane.api, "/apis/rbac.authorization.k8s.io/v1"
        api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        api.create(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": [role]})
        role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
        binding = {"metadata": {"name": name}, "roleRef": role_ref, "subjects": subjects}
        api.create(f"{rbac}/clusterrolebindings", binding)
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        token = api.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        admin = yaml.safe_load(control_plane.kubeconfig.read_text())
        admin["users"] = [{"name": user["name"], "user": {"token": token}} for user in admin["users"]]
        resources = ExistingResources({"kubeconfig": yaml.safe_dump(admin)})
        _, refused, _ = resources.check(EXISTING_CLUSTER, {"rights": RIGHTS, "pools": []})
        expected = ["patch nodes", "bind clusterroles.rbac.authorization.k8s.io edit"]
        assert [line.strip() for line in str(refused[0].text).splitlines()[2:]] == expected
        with connected(ClusterLogin.of(yaml.safe_dump(admin))) as limited:
            assert nodes.selected(limited.items("/api/v1/nodes"), {}) == []

    def test_a_cluster_that_does_not_answer_is_named(self) -> None:
        nowhere = kubeconfig().replace("https://lab.example:6443", "https://127.0.0.1:1")
        with pytest.raises(OperationError, match=r"the cluster at https://127\.0\.0\.1:1"):
            ExistingResources({"kubeconfig": nowhere}).check(NODES, {"pool": "t4-2", "labels": {}})

    def test_without_kubectl_the_user_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", os.devnull)
        with pytest.raises(OperationError, match="kubectl is not on PATH"):
            ExistingResources({"kubeconfig": kubeconfig()}).check(NODES, {"pool": "t4-2", "labels": {}})
