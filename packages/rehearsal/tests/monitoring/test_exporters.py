"""The replacements export what the exporters' documentation says, and nothing for objects that do not exist."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.monitoring import discovery, faster, gpu_metrics, state_metrics
from packages.rehearsal.tests.monitoring.exposition import Sample, text
from tests.components.workloads.tools.monitoring import EXPORTED

POOL, GPU = "gpucluster.dev/pool", "gpucluster.dev/gpu"
NODE = {
    "metadata": {"name": "n1", "uid": "u", "labels": {POOL: "t4-2", GPU: "nvidia-t4", "team": "vision"}},
    "status": {"capacity": {"nvidia.com/gpu": "2", "cpu": "4"}, "allocatable": {"nvidia.com/gpu": "1", "cpu": "3920m"}},
}


def pod(name: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "1", "memory": "1Gi"}}}
    ports = [{"containerPort": 9400}, {"containerPort": 80}]
    return {
        "metadata": {"namespace": "a", "name": name, "uid": f"{name}-uid", "labels": {"k8s-app": "x"}},
        "spec": {"containers": [{**container, "ports": ports}], **spec},
        "status": {"phase": phase, "podIP": "10.0.0.1"},
    }


WAITING = pod("waiting", "Pending")
WAITING["status"] |= {
    "conditions": [{"type": "PodScheduled", "status": "False"}],
    "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}],
}


def samples(*objects: dict[str, Any], allowed: tuple[str, ...] = (POOL, GPU)) -> list[Sample]:
    return [*state_metrics.samples([NODE], objects, allowed)]


def test_of_state_what_the_documentation_says() -> None:
    now = samples(WAITING, pod("p", nodeName="n1"))
    expected = EXPORTED["kube-state-metrics"]
    assert {each.name: {*each.labels} for each in now} == {name: {*labels} for name, labels in expected.items()}
    lines = text(now)
    assert (
        'kube_node_labels{node="n1",label_gpucluster_dev_pool="t4-2",label_gpucluster_dev_gpu="nvidia-t4"} 1' in lines
    )
    assert 'kube_node_status_allocatable{node="n1",resource="cpu",unit="core"} 3.92' in lines
    assert "team" not in lines
    assert "kube_node_labels" not in text(samples(allowed=()))


def test_of_each_pod_one_phase_and_why_it_waits_if_it_does() -> None:
    def ones(*objects: dict[str, Any]) -> list[tuple[str, str | None]]:
        statuses = (each for each in samples(*objects) if each.name.startswith("kube_pod_status") and each.value == 1)
        return [(each.name, each.labels.get("phase")) for each in statuses]

    assert ones(pod("p")) == [("kube_pod_status_phase", "Running")]
    assert ones(WAITING) == [("kube_pod_status_phase", "Pending"), ("kube_pod_status_unschedulable", None)]


@pytest.mark.parametrize(
    ("allowlist", "through"),
    [(["nodes=[a,b]"], ("a", "b")), (["pods=[a]", "nodes=[b]"], ("b",)), (["pods=[a]"], ()), ([], ())],
)
def test_the_charts_list_decides_which_node_labels_are_exported(allowlist: list[str], through: tuple[str, ...]) -> None:
    assert state_metrics.allowed_labels(allowlist, "nodes") == through


def test_of_gpus_what_the_documentation_says_and_whose_they_are() -> None:
    samples = [*gpu_metrics.samples(NODE, [pod("done", "Succeeded"), pod("p")], {"p": 80.0}.__getitem__)]
    assert {each.name for each in samples} == {*EXPORTED["dcgm-exporter"]}
    assert all({*each.labels} <= {*EXPORTED["dcgm-exporter"][each.name]} for each in samples)
    used = {each.labels["gpu"]: each for each in samples if each.name == "DCGM_FI_DEV_GPU_UTIL"}
    expected = {"0": ("p", 80.0), "1": (None, 0.0)}
    assert {gpu: (each.labels.get("pod"), each.value) for gpu, each in used.items()} == expected


def test_pods_are_discovered_by_port_with_the_labels_of_their_node() -> None:
    asked = {"role": "pod", "namespaces": {"names": ["a"]}, "attach_metadata": {"node": True}}
    first, second = discovery.targets([pod("p", nodeName="n1")], {"n1": NODE}, asked)
    assert (first["targets"], second["targets"]) == (["p-uid:9400"], ["p-uid:80"])
    assert first["labels"]["__meta_kubernetes_pod_label_k8s_app"] == "x"
    assert first["labels"]["__meta_kubernetes_pod_container_port_number"] == "9400"
    assert first["labels"]["__meta_kubernetes_node_label_gpucluster_dev_pool"] == "t4-2"
    assert not [*discovery.targets([pod("p")], {}, {**asked, "namespaces": {"names": ["b"]}})]
    without = {key: value for key, value in asked.items() if key != "attach_metadata"}
    assert "node_label" not in str([*discovery.targets([pod("p", nodeName="n1")], {"n1": NODE}, without)])


def test_only_times_are_shorter() -> None:
    assert faster.duration("30s") == "500ms"
    assert faster.query('sum_over_time(a:b5m{c="1h"}[1d:5m]) / 12 and d offset 3m') == (
        'sum_over_time(a:b5m{c="1h"}[1440000ms:5000ms]) / 12 and d offset 3000ms'
    )
    rule = {"alert": "A", "expr": "x[10m] > 1", "for": "1h", "labels": {"severity": "warning"}}
    assert faster.rules({"groups": [{"name": "g", "interval": "30s", "rules": [rule]}]}) == {
        "groups": [{"name": "g", "interval": "500ms", "rules": [{**rule, "expr": "x[10000ms] > 1", "for": "60000ms"}]}]
    }
