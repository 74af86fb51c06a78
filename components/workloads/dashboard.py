"""A web page that shows the cluster: Headlamp, the successor of the Kubernetes dashboard.

https://github.com/kubernetes-sigs/headlamp/tree/main/charts/headlamp
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.access import VIEWER_ROLE
from components.cluster import Cluster
from components.resources import Chart
from components.users import open_tool
from components.workloads.charts import forwarded, release, values_in
from components.workloads.data import WorkloadArgs
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, manifest, role_binding

CHART: Final = Chart(
    repository="https://kubernetes-sigs.github.io/headlamp", name="headlamp", version="0.45.0", namespace="dashboard"
)
SERVICE: Final = CHART.name
LOGIN: Final = "dashboard"
"""The ServiceAccount with whose tokens users of own machines log in."""
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
        if args.cluster.handle.user is not None:
            self._declare_login(args.cluster)
        self.register_outputs({"service": f"{CHART.namespace}/{SERVICE}"})

    def _declare_login(self, cluster: Cluster) -> None:
        """An account in ``default`` with the rights of that namespace's users, who may create its tokens.

        Their kubeconfig has a certificate, which Headlamp does not take.
        """
        account = manifest("v1", "ServiceAccount", LOGIN, DEFAULT_NAMESPACE, automountServiceAccountToken=False)
        declared = cluster.objects.declare(f"{LOGIN}-login", account, self)
        subject = {"apiGroup": "", "kind": "ServiceAccount", "name": LOGIN, "namespace": DEFAULT_NAMESPACE}
        for role, namespace in (("edit", DEFAULT_NAMESPACE), (VIEWER_ROLE, None)):
            reference = {"kind": "ClusterRole", "name": role}
            binding = role_binding(f"gpucluster:{LOGIN}", reference, [subject], namespace)
            cluster.objects.declare(f"{LOGIN}-login-{role.rpartition(':')[2]}", binding, self, declared)


TOOL: Final = ClusterDashboard
