"""KEDA, which scales services by their requests, to zero and back, and the proxy that holds requests until then.

KEDA alone cannot start an HTTP server on a request: without a pod nothing counts requests. The proxy of its HTTP add-on
does. https://keda.sh/http-add-on/0.15/
"""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.resources import Chart
from components.settings.sections.tools import Keda as KedaSetting
from components.users import open_tool
from components.workloads.charts import release, requests, values_in
from components.workloads.data import WorkloadArgs

_REPOSITORY: Final = "https://kedacore.github.io/charts"
CHART: Final = Chart(repository=_REPOSITORY, name="keda", version="2.20.2", namespace="keda")
HTTP_CHART: Final = Chart(repository=_REPOSITORY, name="keda-add-ons-http", version="0.15.0", namespace="keda")
CHARTS: Final = (CHART, HTTP_CHART)

SCALER: Final = f"{HTTP_CHART.name}-external-scaler.{HTTP_CHART.namespace}:9090"
PROXY: Final = f"{HTTP_CHART.name}-interceptor-proxy.{HTTP_CHART.namespace}.svc.cluster.local"
PROXY_PORT: Final = 8080


class Keda(pulumi.ComponentResource):
    """Both charts, at fixed versions. ``ready`` is what services wait for."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Keda", name, None, opts)
        space = args.cluster.objects.namespace(CHART.namespace, self)
        open_tool(args.cluster, CHART.namespace, self, space)
        core = release(args.cluster, CHART, values(), self, space, *args.after)
        # It has a ScaledObject of its own.
        self.ready = release(
            args.cluster, HTTP_CHART, values_in("keda-http-values.yaml", KedaSetting), self, space, core
        )
        self.register_outputs({"versions": {each.name: each.version for each in CHARTS}})


def values() -> dict[str, Any]:
    """KEDA's values. The chart's limits stay, 1000 MiB each: KEDA's memory grows with the number of watched objects."""
    unlimited = {pod: requests(asked, limited=False) for pod, asked in KedaSetting.pods.items()}
    return values_in("keda-values.yaml", KedaSetting, **unlimited)
