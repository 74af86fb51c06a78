"""A web page that shows the cluster: Headlamp, the successor of the Kubernetes dashboard.

https://github.com/kubernetes-sigs/headlamp/tree/main/charts/headlamp
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.resources import Chart
from components.users import open_tool
from components.workloads.charts import forwarded, release, values_in
from components.workloads.data import WorkloadArgs

CHART: Final = Chart(
    repository="https://kubernetes-sigs.github.io/headlamp", name="headlamp", version="0.45.0", namespace="dashboard"
)
SERVICE: Final = CHART.name
CHARTS: Final = (CHART,)
USAGE: Final = forwarded(CHART, SERVICE, 8080)


class ClusterDashboard(pulumi.ComponentResource):
    """Headlamp behind a Service that is reachable only from the cluster; users log in with their own token."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ClusterDashboard", name, None, opts)
        assert args.workloads.dashboard is not None
        space = args.cluster.objects.namespace(CHART.namespace, self)
        open_tool(args.cluster, CHART.namespace, self, space)
        values = values_in("dashboard-values.yaml", args.workloads.dashboard)
        release(args.cluster, CHART, values, self, space, *args.after)
        self.register_outputs({"service": f"{CHART.namespace}/{SERVICE}"})


TOOL: Final = ClusterDashboard
