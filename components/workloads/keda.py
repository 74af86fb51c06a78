"""KEDA, which scales services by their requests, to zero and back, and the proxy that holds requests until then.

KEDA alone cannot start an HTTP server on a request: without a pod nothing counts requests. The proxy of its HTTP add-on
does. https://keda.sh/http-add-on/0.15/

The charts' values: https://github.com/kedacore/charts/tree/main/keda,
https://github.com/kedacore/charts/tree/main/http-add-on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import Chart
from components.settings.tools import Keda as KedaSetting
from components.users import open_tool
from components.workloads.charts import ON_ADMIN, REACHED_PORT, release, requests

_REPOSITORY: Final = "https://kedacore.github.io/charts"
CHART: Final = Chart(repository=_REPOSITORY, name="keda", version="2.20.2", namespace="keda")
HTTP_CHART: Final = Chart(repository=_REPOSITORY, name="keda-add-ons-http", version="0.15.0", namespace="keda")

SCALER: Final = f"{HTTP_CHART.name}-external-scaler.{HTTP_CHART.namespace}:9090"
PROXY: Final = f"{HTTP_CHART.name}-interceptor-proxy.{HTTP_CHART.namespace}.svc.cluster.local"
PROXY_PORT: Final = 8080

_MOST_PROXIES: Final = 3
"""KEDA also scales its proxy: one replica always runs, more if many requests wait and the admin pool has room."""


@dataclass(frozen=True, kw_only=True)
class KedaArgs:
    """KEDA in ``cluster``, on its admin pool, after that pool (``after``)."""

    cluster: Cluster
    after: tuple[pulumi.Resource, ...] = ()


class Keda(pulumi.ComponentResource):
    """Both charts, at fixed versions. ``ready`` is what services wait for."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Keda", name, None, opts)
        space = args.cluster.objects.namespace(CHART.namespace, self)
        open_tool(args.cluster, CHART.namespace, self, space)
        core = release(args.cluster, CHART, values(), self, space, *args.after)
        # It has a ScaledObject of its own.
        self.ready = release(args.cluster, HTTP_CHART, http_values(), self, space, core)
        self.register_outputs({"versions": {each.name: each.version for each in (CHART, HTTP_CHART)}})


def values() -> dict[str, Any]:
    """KEDA's values. Its default requests are more than a small admin node has."""
    pods = KedaSetting.pods
    return {
        "nodeSelector": ON_ADMIN,
        # Keep the chart's limits, 1000 MiB each: KEDA's memory grows with the number of watched objects.
        "resources": {
            key: requests(pods[pod], limited=False)
            for key, pod in {"operator": "operator", "metricServer": "metrics-server", "webhooks": "webhooks"}.items()
        },
        # Of the server of metrics: without them no replica beyond the first comes or goes.
        "service": {"portHttpsTarget": REACHED_PORT},
        "webhooks": {"port": REACHED_PORT},
    }


def http_values() -> dict[str, Any]:
    """The add-on's values. By default each part except the operator has three replicas."""
    pods = KedaSetting.pods
    return {
        "operator": {"nodeSelector": ON_ADMIN, "replicas": 1, "resources": requests(pods["http-operator"])},
        "scaler": {"nodeSelector": ON_ADMIN, "replicas": 1, "resources": requests(pods["scaler"])},
        "interceptor": {
            "nodeSelector": ON_ADMIN,
            "replicas": {"min": 1, "max": _MOST_PROXIES},
            "resources": requests(pods["interceptor"]),
        },
    }
