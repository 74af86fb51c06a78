"""GPU metrics and cost: an exporter on GPU nodes, Prometheus and Grafana on the admin pool.

The chart's values: https://github.com/prometheus-community/helm-charts/tree/main/charts/kube-prometheus-stack
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pulumi

from components.clouds.gpu_exporter import APP, PORT
from components.driver_daemon_set import NAMESPACE, config_map, daemon_set
from components.resources import Chart, documents
from components.settings import Settings
from components.settings.sections.tools import Prometheus
from components.users import open_tool
from components.workloads.charts import forwarded, password, release, values_in
from components.workloads.data import WorkloadArgs
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
CHARTS: Final = (CHART,)
USAGE: Final = forwarded(CHART, GRAFANA, 3000)
LOGIN: Final = "grafana-login"
"""The Secret with Grafana's user and password."""

_HERE: Final = Path(__file__).parent
_DEFAULT_IDLE_MINUTES: Final = 15
"""Scale-down delay of a cloud that publishes none:
https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler"""
_GRACE_MINUTES: Final = 30
"""In addition to the autoscaler's scale-down delay."""


class GpuMonitoring(pulumi.ComponentResource):
    """An exporter on every GPU node, Prometheus with rules and Grafana with dashboards, reachable in the cluster."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:GpuMonitoring", name, None, opts)
        cluster, objects, setting = args.cluster, args.cluster.objects, args.workloads.monitoring
        assert setting is not None
        pools = cluster.settings.gpu_pools
        for daemon in cluster.cloud.gpu_exporters(pools):
            files = objects.declare(f"{name}-{daemon.name}-files", config_map(daemon), self)
            # Not critical: on a full node it waits instead of preempting a job.
            objects.declare(f"{name}-{daemon.name}", daemon_set(daemon, critical=False), self, files)
        space = objects.namespace(CHART.namespace, self)
        open_tool(cluster, CHART.namespace, self, space, [LOGIN])
        needs: list[pulumi.Resource] = [
            space,
            objects.declare(f"{name}-network", _own_pods_only(), self, space),
            password(cluster, LOGIN, CHART.namespace, {"user": "admin"}, self, space),
            *(objects.declare(f"{name}-{one['metadata']['name']}", one, self, space) for one in dashboards()),
        ]
        release(cluster, CHART, values(setting, cluster.settings, pools), self, *needs, *args.after)
        self.register_outputs({"grafana": f"{CHART.namespace}/{GRAFANA}"})


TOOL: Final = GpuMonitoring


def _own_pods_only() -> dict[str, Any]:
    """A NetworkPolicy: Prometheus and Alertmanager answer whoever reaches them, about all namespaces, and end or fall
    silent at a request. Forwarded ports come from the pod itself.

    https://prometheus.io/docs/operating/security/#prometheus
    """
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}
    return manifest("networking.k8s.io/v1", "NetworkPolicy", "own-pods-only", CHART.namespace, spec=spec)


def rules(settings: Settings, pools: Sequence[Pool]) -> dict[str, Any]:
    """Prometheus' rules for these pools: those of ``rules.yaml``, and the prices of their nodes."""
    (document,) = documents(_HERE / "rules.yaml")
    for group in document["groups"]:
        for rule in group["rules"]:
            if rule.get("alert") == "GpuPoolNotBackAtZero":
                longest = max(settings.idle_minutes_of(pool) or _DEFAULT_IDLE_MINUTES for pool in pools)
                rule["for"] = f"{longest + _GRACE_MINUTES}m"
    return {"groups": [{"name": "gpucluster-pools", "rules": list(_facts(pools))}, *document["groups"]]}


def _facts(pools: Sequence[Pool]) -> Iterator[dict[str, Any]]:
    for pool in pools:
        labels = {"pool": pool.name}
        yield {"record": "gpucluster:pool_minimum", "expr": f"vector({pool.scaling.min_nodes})", "labels": labels}
        if pool.nodes.hourly_usd is not None:
            yield {
                "record": "gpucluster:node_usd_per_hour",
                "expr": f"vector({pool.nodes.hourly_usd:.4f})",
                "labels": labels,
            }


def dashboards() -> Iterator[dict[str, Any]]:
    """ConfigMaps for Grafana, one for each dashboard in ``dashboards/``."""
    for file in sorted((_HERE / "dashboards").glob("*.json")):
        data = {file.name: file.read_text(encoding="utf-8")}
        labels = {"grafana_dashboard": "1"}
        yield manifest("v1", "ConfigMap", f"dashboard-{file.stem}", CHART.namespace, labels=labels, data=data)


def values(monitoring: Prometheus, settings: Settings, pools: Sequence[Pool]) -> dict[str, Any]:
    """The chart's values: all pods on the admin pool, and no monitoring of components that the cloud runs."""
    chart = values_in(
        "monitoring/values.yaml",
        monitoring,
        rules=rules(settings, pools),
        alerts=monitoring.alertmanager_secret is not None,
        login=LOGIN,
        namespace=CHART.namespace,
        retention_days=monitoring.retention_days,
        disk_gb=monitoring.disk_gb,
        # Four fifths: https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size
        retention_gb=max(1, monitoring.disk_gb * 8 // 10),
        exporter=APP,
        exporter_port=str(PORT),
        exporter_namespace=NAMESPACE,
        pool_label=POOL_LABEL,
        pool_label_in_prometheus="".join(letter if letter.isalnum() else "_" for letter in POOL_LABEL),
    )
    if monitoring.alertmanager_secret is not None:
        own = {"configSecret": monitoring.alertmanager_secret, "useExistingSecret": True}
        chart["alertmanager"]["alertmanagerSpec"] |= own
    return chart
