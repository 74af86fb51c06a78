"""Rules, alerts and dashboards, tried by Prometheus' own promtool where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

# Names: https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv
# Labels: https://github.com/NVIDIA/dcgm-exporter/blob/main/internal/pkg/rendermetrics/render_metrics.go and, if a pod
# has the GPU, https://github.com/NVIDIA/dcgm-exporter/blob/main/internal/pkg/transformation/const.go
_GPU_LABELS: Final = (
    *("gpu", "UUID", "pci_bus_id", "device", "modelName", "hostname", "GPU_I_PROFILE", "GPU_I_ID"),
    *("namespace", "pod", "container"),
)
EXPORTED: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "kube-state-metrics": {
        # https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/cluster/node-metrics.md
        "kube_node_info": ("node",),
        # With a label for each that is let through: label_ and its name, other characters being _.
        "kube_node_labels": ("node", "label_gpucluster_dev_gpu", "label_gpucluster_dev_pool"),
        "kube_node_status_allocatable": ("node", "resource", "unit"),
        "kube_node_status_capacity": ("node", "resource", "unit"),
        # https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/workload/pod-metrics.md
        "kube_pod_status_phase": ("namespace", "pod", "uid", "phase"),
        "kube_pod_status_unschedulable": ("namespace", "pod", "uid"),
        "kube_pod_container_resource_requests": ("namespace", "pod", "uid", "container", "node", "resource", "unit"),
        "kube_pod_container_status_waiting_reason": ("namespace", "pod", "uid", "container", "reason"),
    },
    "dcgm-exporter": {
        "DCGM_FI_DEV_GPU_UTIL": _GPU_LABELS,
        "DCGM_FI_DEV_MEM_COPY_UTIL": _GPU_LABELS,
        "DCGM_FI_DEV_FB_USED": _GPU_LABELS,
        "DCGM_FI_DEV_FB_FREE": _GPU_LABELS,
        "DCGM_FI_DEV_POWER_USAGE": _GPU_LABELS,
        "DCGM_FI_DEV_GPU_TEMP": _GPU_LABELS,
        "DCGM_FI_DEV_XID_ERRORS": _GPU_LABELS,
    },
    "dcgm-exporter of slices": {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": _GPU_LABELS},
}
"""The labels of each measurement that an exporter exports, by exporter: no query and no test may use another."""
