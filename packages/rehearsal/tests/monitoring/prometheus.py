"""A real Prometheus, configured as the chart's operator would do it with the values that the program declares."""

from __future__ import annotations

import json
import math
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import yaml

from packages.rehearsal.tests.monitoring import faster
from packages.rehearsal.tests.monitoring.exporters import STATE_METRICS, Exporters
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.processes import Child, Processes, free_ports

PROGRAM: Final = shutil.which("prometheus")
SCRAPE: Final = "30s"
"""What the operator asks and judges by where the values say nothing:
https://github.com/prometheus-operator/prometheus-operator/blob/main/Documentation/api-reference/api.md#prometheusspec"""
LOOKBACK: Final = "5m"
"""Prometheus' own: how old a measurement may be that a query still takes.
https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness"""

_OF_THE_SERVICE_MONITOR: Final = {
    "job": STATE_METRICS,
    "namespace": "monitoring",
    "service": "kube-prometheus-stack-kube-state-metrics",
    "pod": "kube-prometheus-stack-kube-state-metrics-0",
    "container": STATE_METRICS,
    "endpoint": "http",
}
"""The labels of what a ServiceMonitor finds, which metrics without such labels of their own then have:
https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/prometheus/promcfg.go
https://github.com/prometheus-community/helm-charts/blob/main/charts/kube-state-metrics/templates/servicemonitor.yaml
"""

Labels = frozenset[tuple[str, str]]


def configuration(values: Mapping[str, Any], rules: Path, exporters: Exporters) -> dict[str, Any]:
    """That of Prometheus with the chart's ``values``, which finds and reaches pods through their replacements."""
    every = faster.duration(SCRAPE)
    own = [
        {
            **{key: value for key, value in job.items() if key != "kubernetes_sd_configs"},
            "proxy_url": exporters.url,
            "http_sd_configs": [
                {"url": exporters.discovery(asked), "refresh_interval": every} for asked in job["kubernetes_sd_configs"]
            ],
        }
        for job in values["prometheus"]["prometheusSpec"]["additionalScrapeConfigs"]
    ]
    state = {
        "job_name": "serviceMonitor/monitoring/kube-prometheus-stack-kube-state-metrics/0",
        "honor_labels": True,
        "proxy_url": exporters.url,
        "static_configs": [{"targets": [f"{STATE_METRICS}:8080"], "labels": _OF_THE_SERVICE_MONITOR}],
    }
    intervals = {"scrape_interval": every, "evaluation_interval": every}
    return {"global": intervals, "rule_files": [str(rules)], "scrape_configs": [state, *own]}


@dataclass(frozen=True)
class Prometheus:
    """Its HTTP API: https://prometheus.io/docs/prometheus/latest/querying/api/"""

    port: int

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            self._get("/-/ready")
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    def metrics(self) -> dict[str, float]:
        """Its own, by name and labels, as it writes them."""
        lines = (line for line in self._get("/metrics").splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def now(self, expression: str) -> dict[Labels, float]:
        """What a query answers, by labels."""
        answer = self._ask("query", {"query": expression})
        return {_labels(each["metric"]): float(each["value"][1]) for each in answer}

    def since(self, expression: str, start: float) -> dict[Labels, list[float]]:
        """What it answered after ``start``, a time, until now, as often as rules are judged."""
        step = 0.5
        query = {"query": expression, "start": math.ceil(start / step) * step, "end": time.time() + step, "step": step}
        answer = self._ask("query_range", query)
        return {_labels(each["metric"]): [float(value) for _, value in each["values"]] for each in answer}

    def fired(self, start: float) -> set[Labels]:
        """The alerts that fired at any time since ``start``, with their labels; severity is left out."""
        return {
            frozenset(pair for pair in labels if pair[0] not in {"__name__", "alertstate", "severity"})
            for labels in self.since('ALERTS{alertstate="firing"}', start)
        }

    def _ask(self, what: str, query: Mapping[str, object]) -> Any:
        return json.loads(self._get(f"/api/v1/{what}?{urlencode(query)}"))["data"]["result"]

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            text: str = answer.read().decode()
        return text


@contextmanager
def running(configured: Mapping[str, Any], folder: Path) -> Iterator[Prometheus]:
    """One on loopback, which keeps everything in ``folder``."""
    assert PROGRAM is not None
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(dict(configured)))
    (port,) = free_ports(1)
    command = [
        PROGRAM,
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--query.lookback-delta={faster.duration(LOOKBACK)}",
    ]
    with Processes(folder / "logs") as processes:
        child, answers = processes.start("prometheus", command), Prometheus(port)
        eventually("Prometheus is ready", lambda: _answers(child, answers))
        yield answers


def _answers(child: Child, prometheus: Prometheus) -> bool:
    child.check()
    return prometheus.ready()


def _labels(metric: Mapping[str, str]) -> Labels:
    return frozenset(metric.items())
