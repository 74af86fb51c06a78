"""An inference service on GPUs that scales to zero replicas and GPU nodes without requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.published_offer import offer
from components.settings import Settings
from components.settings.services import InferenceService as InferenceServiceSetting
from components.workloads.keda import PROXY, PROXY_PORT, SCALER
from facts.concepts.kubernetes import GPU_RESOURCE, manifest
from facts.concepts.offer import Offer
from facts.concepts.pool import placement
from facts.jobs.fit import Fit, PodRequest
from facts.jobs.job import CHECKPOINTS
from facts.jobs.plan import NothingFits, place

_APP: Final = "app.kubernetes.io/name"
_MIB_PER_GIB: Final = 1024
_HTTP_PORT: Final = 80
# Start of a node, driver, image and model take minutes. The proxy's default timeout is 20 seconds.
# https://keda.sh/http-add-on/0.15/reference/interceptorroute/
_COLD_START: Final = "20m"
_READINESS_SECONDS: Final = 10
# Pulumi would wait for GPU nodes, and KEDA sets the number of replicas.
_NOT_AWAITED: Final = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs:
    """``service`` in ``cluster``, scaled by KEDA, declared after ``after``.

    ``checkpoints`` is the URL of the stack's bucket, for a service that restores a job's newest checkpoint.
    """

    cluster: Cluster
    service: InferenceServiceSetting
    after: Sequence[pulumi.Resource] = ()
    checkpoints: pulumi.Input[str] | None = None


class InferenceService(pulumi.ComponentResource):
    """A Deployment with its Services, PodDisruptionBudget and KEDA objects.

    ``address`` is that of a proxy that holds requests until a replica is ready, so the first request takes minutes.
    """

    address: str

    def __init__(self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:InferenceService", name, None, opts)
        service, objects, settings = args.service, args.cluster.objects, args.cluster.settings
        self.address = f"http://{service.name}.{service.namespace}:{PROXY_PORT}"
        try:
            stack_offer, fit = placed(settings, service)
        except NothingFits as error:
            raise pulumi.RunError(f"workloads.services: {service.name}: {error}") from None
        bucket = settings.workloads.checkpoints
        account = "" if bucket is None else bucket.service_account.partition("/")[2]
        pods = _deployment(service, fit, _pod(service, fit, stack_offer, args.checkpoints, account))
        deployment = objects.declare(f"{name}-pods", pods, self, *args.after, as_made=("spec.replicas",))
        for suffix, each in {
            "target": _pods_service(service),
            "service": _service(service),
            "budget": _budget(service),
            "route": _route(service),
        }.items():
            objects.declare(f"{name}-{suffix}", each, self, *args.after)
        objects.declare(f"{name}-scaling", _scaling(service), self, deployment)
        self.register_outputs({"address": self.address})


def placed(settings: Settings, service: InferenceServiceSetting) -> tuple[Offer, Fit]:
    """The stack's pool inventory, and the cheapest pools that fit one replica.

    Raises:
        NothingFits: none fits.
    """
    stack_offer = offer(settings, settings.gpu_pools, (), {})
    request = PodRequest(
        gpus=service.gpus,
        gpu=service.gpu,
        spot=service.spot,
        memory_mib=(service.memory_gib or 0) * _MIB_PER_GIB,
        workers=max(1, service.min),
    )
    return stack_offer, place(stack_offer, request)


def floor_usd(settings: Settings) -> float | None:
    """Hourly list price of the replicas that always run; ``None`` if a price is unknown."""
    total = 0.0
    for service in settings.workloads.services:
        if service.min:
            _, fit = placed(settings, service)
            if fit.hourly_usd is None:
                return None
            total += math.ceil(service.min / fit.pods_per_node) * fit.hourly_usd
    return total


def _pod(
    service: InferenceServiceSetting, fit: Fit, stack_offer: Offer, checkpoints: pulumi.Input[str] | None, account: str
) -> dict[str, Any]:
    requests = {"requests": {"memory": f"{service.memory_gib}Gi"}} if service.memory_gib else {}
    container: dict[str, Any] = {
        "name": "main",
        "image": service.image,
        "ports": [{"name": "http", "containerPort": service.port}],
        "readinessProbe": {
            "httpGet": {"path": service.health, "port": "http"},
            "periodSeconds": _READINESS_SECONDS,
        },
        "resources": {**requests, "limits": {GPU_RESOURCE: service.gpus}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        "securityContext": {"allowPrivilegeEscalation": False},
        **({"command": list(service.command)} if service.command else {}),
    }
    spec: dict[str, Any] = {
        **placement([pool.name for pool in fit.pools], fit.taints),
        # Requests need no rights in the cluster; a bucket's come from another token.
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    if service.max > 1:
        # A preference, so that a zone without capacity delays no replica.
        spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {_APP: service.name}}}]
    labels: dict[str, str] = {_APP: service.name}
    if service.checkpoint is not None and checkpoints is not None:
        container["env"] = [{"name": CHECKPOINTS, "value": pulumi.Output.concat(checkpoints, "/", service.checkpoint)}]
        spec["serviceAccountName"] = account
        labels |= stack_offer.account_labels
    return {"metadata": {"labels": labels}, "spec": spec}


def _deployment(service: InferenceServiceSetting, fit: Fit, pod: dict[str, Any]) -> dict[str, Any]:
    # Start the new replica first if the pools have room for it; otherwise stop the old one first.
    room = fit.most_pods > service.max
    rolling = {"maxSurge": 1, "maxUnavailable": 0} if room else {"maxSurge": 0, "maxUnavailable": 1}
    spec = {
        "replicas": service.min,
        "selector": {"matchLabels": {_APP: service.name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": pod,
    }
    return _object(service, "apps/v1", "Deployment", spec, annotations=_NOT_AWAITED)


def _pods_service(service: InferenceServiceSetting) -> dict[str, Any]:
    """The Service of the replicas, for the proxy."""
    ports = [{"name": "http", "port": _HTTP_PORT, "targetPort": "http"}]
    spec = {"selector": {_APP: service.name}, "ports": ports}
    # With no replica there is no endpoint, which Pulumi would wait for.
    return _object(service, "v1", "Service", spec, "-pods", annotations=_NOT_AWAITED)


def _service(service: InferenceServiceSetting) -> dict[str, Any]:
    """The host name of requests for it: https://keda.sh/http-add-on/0.15/user-guide/autoscale-an-app/"""
    spec = {"type": "ExternalName", "externalName": PROXY}
    return _object(service, "v1", "Service", spec)


def _budget(service: InferenceServiceSetting) -> dict[str, Any]:
    """One replica at a time may be evicted; a stricter budget would keep its node forever."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {_APP: service.name}}}
    return _object(service, "policy/v1", "PodDisruptionBudget", spec)


def _route(service: InferenceServiceSetting) -> dict[str, Any]:
    address = f"{service.name}.{service.namespace}"
    spec = {
        "target": {"service": f"{service.name}-pods", "port": _HTTP_PORT},
        "rules": [{"hosts": [service.name, address, f"{address}.svc", f"{address}.svc.cluster.local"]}],
        "scalingMetric": {"concurrency": {"targetValue": service.concurrency}},
        "timeouts": {"readiness": _COLD_START, "request": "0s"},
    }
    return _object(service, "http.keda.sh/v1beta1", "InterceptorRoute", spec)


def _scaling(service: InferenceServiceSetting) -> dict[str, Any]:
    """https://keda.sh/docs/2.20/reference/scaledobject-spec/"""
    spec = {
        "scaleTargetRef": {"name": service.name},
        "minReplicaCount": service.min,
        "maxReplicaCount": service.max,
        "cooldownPeriod": 60 * service.idle_minutes,
        "triggers": [
            {"type": "external-push", "metadata": {"scalerAddress": SCALER, "interceptorRoute": service.name}},
        ],
    }
    return _object(service, "keda.sh/v1alpha1", "ScaledObject", spec)


def _object(
    service: InferenceServiceSetting,
    api_version: str,
    kind: str,
    spec: Mapping[str, Any],
    suffix: str = "",
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    name, labels = f"{service.name}{suffix}", {_APP: service.name}
    return manifest(api_version, kind, name, service.namespace, labels=labels, annotations=annotations, spec=spec)
