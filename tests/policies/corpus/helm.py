"""Helm releases that bring GPU workloads and their helpers, and GPUs shared behind the autoscaler's back."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Resource
from tests.policies.corpus.gke import pool
from tests.policies.corpus.kubernetes import DAEMON_SET, EVERYTHING, PLACEABLE, SPOT, TOLERATION, allowed, blocked

SHARING: Final = "gpu-sharing-visible"
TIME_SLICING: Final = "sharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4}\n"


def release(chart: str, values: Any = None, namespace: str = "gpu") -> Resource:
    """A Helm release."""
    properties = {"chart": chart, "namespace": namespace, "values": values}
    name = chart.rpartition("/")[2]
    return "kubernetes:helm.sh/v3:Release", name, {key: value for key, value in properties.items() if value is not None}


BLOCKED: Final = [
    blocked("chart-values", PLACEABLE, "any chart whose values ask for more than a node has").of(
        release(
            "vllm/vllm-stack",
            {"servingEngineSpec": {"modelSpec": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 4}}}]}},
        )
    ),
    blocked(
        "operator-not-on-spot", DAEMON_SET, "the operator's tolerations replaced, and the pool's Spot taint forgotten"
    ).of(
        pool(
            config={
                "spot": True,
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}, SPOT],
            }
        ),
        release("gpu-operator", {"daemonsets": {"tolerations": [TOLERATION]}}),
    ),
    blocked("plugin-without-tolerations", DAEMON_SET, "the chart's default tolerations overwritten with none").of(
        release("nvdp/nvidia-device-plugin", {"tolerations": []}, "kube-system")
    ),
    blocked("exporter-by-default", DAEMON_SET, "the exporter's chart tolerates nothing by default").of(
        release("dcgm-exporter")
    ),
    blocked("time-slicing-in-a-chart", SHARING, "time slicing in the chart's values").of(
        release("nvidia-device-plugin", {"config": {"map": {"default": TIME_SLICING}}})
    ),
]

ALLOWED: Final = [
    allowed("gpu-operator", "the operator as it comes").of(release("gpu-operator")),
    allowed("device-plugin", "the plugin from a registry").of(
        release("oci://ghcr.io/example/charts/nvidia-device-plugin", {"tolerations": EVERYTHING})
    ),
    allowed("exporter", "the exporter with the toleration it needs").of(
        release("dcgm-exporter", {"tolerations": [TOLERATION]})
    ),
    allowed("cpu-chart", "a database").of(
        release("bitnami/postgresql", {"primary": {"resources": {"limits": {"cpu": "2"}}}})
    ),
    allowed("values-unknown", "values that another resource computes: checked at update").of(
        release("gpu-operator", UNKNOWN)
    ),
    allowed("config-map-about-time-slicing", "another scheduler's time slices").of(
        ("kubernetes:core/v1:ConfigMap", "os", {"data": {"c": "timeSlicing:\n  replicas: 3\n"}})
    ),
]
