"""GPU metrics and cost: an exporter on GPU nodes, Prometheus and Grafana on the admin pool.

The chart's values: https://github.com/prometheus-community/helm-charts/tree/main/charts/kube-prometheus-stack
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi

from components.clouds.gpu_exporter import APP, PORT
from components.cluster import Cluster
from components.driver_daemon_set import NAMESPACE, config_map, daemon_set
from components.resources import Chart, documents
from components.settings import Settings
from components.settings.tools import Prometheus
from components.users import open_tool
from components.workloads.charts import ON_ADMIN, password, release, requests
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import POOL_LABEL, Pool

CHART: Final = Chart(
    repository="oci://ghcr.io/prometheus-community/charts",
    name="kube-prometheus-stack",
    version="88.5.3",
    namespace="monitoring",
)
GRAFANA: Final = f"{CHART.name}-grafana"
"""Its Service."""
LOGIN: Final = "grafana-login"
"""The Secret with Grafana's user and password."""

_HERE: Final = Path(__file__).parent
_DEFAULT_IDLE_MINUTES: Final = 15
"""Scale-down delay of a cloud that publishes none:
https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler"""
_GRACE_MINUTES: Final = 30
"""In addition to the autoscaler's scale-down delay."""


@dataclass(frozen=True, kw_only=True)
class GpuMonitoringArgs:
    """Monitoring of the GPU ``pools`` of ``cluster``, after the admin pool and the StorageClass (``after``)."""

    cluster: Cluster
    monitoring: Prometheus
    pools: Sequence[Pool]
    after: tuple[pulumi.Resource, ...] = ()


class GpuMonitoring(pulumi.ComponentResource):
    """An exporter on every GPU node, Prometheus with rules and Grafana with dashboards, reachable in the cluster."""

    def __init__(self, name: str, args: GpuMonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:GpuMonitoring", name, None, opts)
        cluster, objects = args.cluster, args.cluster.objects
        for daemon in cluster.cloud.gpu_exporters(args.pools):
            files = objects.declare(f"{name}-{daemon.name}-files", config_map(daemon), self)
            # Not critical: on a full node it waits instead of preempting a job.
            objects.declare(f"{name}-{daemon.name}", daemon_set(daemon, critical=False), self, files)
        space = objects.namespace(CHART.namespace, self)
        open_tool(cluster, CHART.namespace, self, space, [LOGIN])
        needs: list[pulumi.Resource] = [
            space,
            password(cluster, LOGIN, CHART.namespace, {"user": "admin"}, self, space),
            *(objects.declare(f"{name}-{one['metadata']['name']}", one, self, space) for one in dashboards()),
        ]
        release(cluster, CHART, values(args.monitoring, cluster.settings, args.pools), self, *needs, *args.after)
        self.register_outputs({"grafana": f"{CHART.namespace}/{GRAFANA}"})


def rules(settings: Settings, pools: Sequence[Pool]) -> dict[str, Any]:
    """Prometheus' rules for these pools: those of ``rules.yaml``, and the prices of their nodes."""
    (document,) = documents(_HERE / "rules.yaml")
    for group in document["groups"]:
        for rule in group["rules"]:
            if rule.get("alert") == "GpuPoolNotBackAtZero":
                rule["for"] = f"{_idle_minutes(settings, pools) + _GRACE_MINUTES}m"
    return {"groups": [{"name": "gpucluster-pools", "rules": list(_facts(pools))}, *document["groups"]]}


def _idle_minutes(settings: Settings, pools: Sequence[Pool]) -> int:
    """The longest scale-down delay of these pools."""
    return max(settings.idle_minutes_of(pool) or _DEFAULT_IDLE_MINUTES for pool in pools)


def _facts(pools: Sequence[Pool]) -> Iterator[dict[str, Any]]:
    for pool in pools:
        labels = {"pool": pool.name}
        yield {"record": "gpucluster:pool_minimum", "expr": f"vector({pool.min_nodes})", "labels": labels}
        if pool.hourly_usd is not None:
            yield {"record": "gpucluster:node_usd_per_hour", "expr": f"vector({pool.hourly_usd:.4f})", "labels": labels}


def dashboards() -> Iterator[dict[str, Any]]:
    """ConfigMaps for Grafana, one for each dashboard in ``dashboards/``."""
    for file in sorted((_HERE / "dashboards").glob("*.json")):
        data = {file.name: file.read_text(encoding="utf-8")}
        labels = {"grafana_dashboard": "1"}
        yield manifest("v1", "ConfigMap", f"dashboard-{file.stem}", CHART.namespace, labels=labels, data=data)


def values(monitoring: Prometheus, settings: Settings, pools: Sequence[Pool]) -> dict[str, Any]:
    """The chart's values: all pods on the admin pool, and no monitoring of components that the cloud runs."""
    pods, off = monitoring.pods, {"enabled": False}
    secret = monitoring.alertmanager_secret
    volume = {"requests": {"storage": f"{monitoring.disk_gb}Gi"}}
    return {
        # A managed control plane cannot be scraped, and a DaemonSet on all nodes would also run on GPU nodes.
        **dict.fromkeys(("kubeEtcd", "kubeScheduler", "kubeControllerManager", "kubeProxy", "nodeExporter"), off),
        "defaultRules": {"create": False},
        "additionalPrometheusRulesMap": {"gpucluster": rules(settings, pools)},
        "alertmanager": {
            "enabled": secret is not None,
            "alertmanagerSpec": {
                **({"configSecret": secret, "useExistingSecret": True} if secret is not None else {}),
                "resources": requests(pods["alertmanager"]),
                "nodeSelector": ON_ADMIN,
            },
        },
        "prometheusOperator": {
            # A webhook that the control plane cannot reach would block every change.
            "admissionWebhooks": off,
            "tls": off,
            "resources": requests(pods["operator"]),
            "prometheusConfigReloader": {"resources": requests(pods["reloader"])},
            "nodeSelector": ON_ADMIN,
        },
        "kube-state-metrics": {
            "resources": requests(pods["state-metrics"]),
            "nodeSelector": ON_ADMIN,
            "metricLabelsAllowlist": [f"nodes=[{POOL_LABEL},gpucluster.dev/gpu]"],
        },
        "grafana": {
            "admin": {"existingSecret": LOGIN, "userKey": "user", "passwordKey": "password"},
            "defaultDashboardsEnabled": False,
            "service": {"type": "ClusterIP"},
            "resources": requests(pods["grafana"]),
            "sidecar": {"resources": requests(pods["sidecar"])},
            "nodeSelector": ON_ADMIN,
        },
        "prometheus": {
            "prometheusSpec": {
                "retention": f"{monitoring.retention_days}d",
                # Four fifths: https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size
                "retentionSize": f"{max(1, monitoring.disk_gb * 8 // 10)}GB",
                "resources": requests(pods["prometheus"]),
                "nodeSelector": ON_ADMIN,
                "storageSpec": {
                    "volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": volume}}
                },
                "additionalScrapeConfigs": [_scrape()],
            }
        },
    }


def _scrape() -> dict[str, Any]:
    """The exporter's pods, with their node's name and pool: the exporter itself names the pod that has the GPU.

    https://prometheus.io/docs/prometheus/latest/configuration/configuration/#kubernetes_sd_config
    """
    node_label = "".join(letter if letter.isalnum() else "_" for letter in POOL_LABEL)
    return {
        "job_name": APP,
        "honor_labels": True,
        "kubernetes_sd_configs": [
            {"role": "pod", "namespaces": {"names": [NAMESPACE]}, "attach_metadata": {"node": True}}
        ],
        "relabel_configs": [
            {"source_labels": ["__meta_kubernetes_pod_label_k8s_app"], "regex": APP, "action": "keep"},
            {"source_labels": ["__meta_kubernetes_pod_container_port_number"], "regex": str(PORT), "action": "keep"},
            {"source_labels": ["__meta_kubernetes_pod_node_name"], "target_label": "node"},
            {"source_labels": [f"__meta_kubernetes_node_label_{node_label}"], "target_label": "pool"},
        ],
    }
