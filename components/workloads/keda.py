"""KEDA, which scales services by their requests, to no replica and back, and the proxy that holds a request meanwhile.

KEDA alone cannot wake an HTTP server by a request: with no pod there is nobody to count one. Its HTTP add-on puts a
proxy in front, which does. https://keda.sh/http-add-on/0.15/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import CustomResource
from concepts.pool import ROLE_LABEL

NAMESPACE: Final = "keda"
SCALER: Final = f"keda-add-ons-http-external-scaler.{NAMESPACE}:9090"
PROXY: Final = f"keda-add-ons-http-interceptor-proxy.{NAMESPACE}.svc.cluster.local"
PROXY_PORT: Final = 8080

CHARTS: Final = "https://kedacore.github.io/charts"
CORE, CORE_VERSION = "keda", "2.21.0"
HTTP, HTTP_VERSION = "keda-add-ons-http", "0.15.0"

_ON_ADMIN: Final = {"nodeSelector": {ROLE_LABEL: "admin"}}
# What the charts ask for would be a second admin node: https://github.com/kedacore/charts/blob/main/keda/values.yaml,
# https://github.com/kedacore/charts/blob/main/http-add-on/values.yaml
_SMALL: Final = {"requests": {"cpu": "25m", "memory": "64Mi"}}
_INSTALL_SECONDS: Final = 600


@dataclass(frozen=True, kw_only=True)
class KedaArgs:
    """KEDA in ``cluster``, on its admin pool, once that is there (``after``)."""

    cluster: Cluster
    after: tuple[pulumi.Resource, ...] = ()


class Keda(pulumi.ComponentResource):
    """Both charts, at fixed versions. ``ready`` is what services wait for."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Keda", name, None, opts)
        self._name, self._cluster = name, args.cluster
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        namespace = args.cluster.objects.declare(f"{name}-namespace", manifest, self)
        resources = dict.fromkeys(("operator", "metricServer", "webhooks"), _SMALL)
        core = self._release(CORE, CORE_VERSION, {**_ON_ADMIN, "resources": resources}, namespace, *args.after)
        one = {**_ON_ADMIN, "replicas": 1, "resources": _SMALL}
        values = {
            "operator": one,
            "scaler": one,
            "interceptor": {**one, "replicas": {"min": 1, "max": 3}},
        }
        self.ready = self._release(HTTP, HTTP_VERSION, values, core)
        self.register_outputs({"versions": {CORE: CORE_VERSION, HTTP: HTTP_VERSION}})

    def _release(self, chart: str, version: str, values: dict[str, Any], *after: pulumi.Resource) -> CustomResource:
        inputs = {
            "chart": chart,
            "version": version,
            "repositoryOpts": {"repo": CHARTS},
            "name": chart,
            "namespace": NAMESPACE,
            "timeout": _INSTALL_SECONDS,
            "values": values,
        }
        return self._cluster.objects.helm_release(f"{self._name}-{chart}", inputs, self, *after)
