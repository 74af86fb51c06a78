"""A program that answers requests on GPUs, with no replica and no GPU node while nobody asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.published_offer import offer
from components.settings import Settings
from components.settings.services import InferenceService as Wanted
from components.workloads.keda import PROXY, PROXY_PORT, SCALER
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer
from facts.jobs.fit import Fit, PodRequest
from facts.jobs.job import CHECKPOINTS, placement
from facts.jobs.plan import NothingFits, place

_APP: Final = "app.kubernetes.io/name"
_MIB_PER_GIB: Final = 1024
_HTTP_PORT: Final = 80
# A node that has to be started, its driver, the image and the model: minutes. The proxy's own default is 20 seconds.
# https://keda.sh/http-add-on/0.15/reference/interceptorroute/
_COLD_START: Final = "20m"
_READINESS_SECONDS: Final = 10
# Pulumi would wait for GPU nodes, and the number of replicas is KEDA's.
_NOT_AWAITED: Final = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs:
    """``service`` in ``cluster``, scaled by KEDA once all of ``after`` is there.

    ``checkpoints`` is the URL of the stack's bucket, for a service that restores a job's newest checkpoint.
    """

    cluster: Cluster
    service: Wanted
    after: Sequence[pulumi.Resource] = ()
    checkpoints: pulumi.Input[str] | None = None


class InferenceService(pulumi.ComponentResource):
    """A Deployment with its Services and PodDisruptionBudget, and what tells KEDA about it.

    ``address`` is where it is called: a proxy that holds requests until a replica is ready, so a caller needs patience
    for the first one.
    """

    address: str

    def __init__(self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:InferenceService", name, None, opts)
        wanted, objects, settings = args.service, args.cluster.objects, args.cluster.settings
        self.address = f"http://{wanted.name}.{wanted.namespace}:{PROXY_PORT}"
        try:
            there, fit = placed(settings, wanted)
        except NothingFits as error:
            raise pulumi.RunError(f"workloads.services: {wanted.name}: {error}") from None
        bucket = settings.workloads.checkpoints
        account = "" if bucket is None else bucket.service_account.partition("/")[2]
        pods = _deployment(wanted, fit, _pod(wanted, fit, there, args.checkpoints, account))
        deployment = objects.declare(f"{name}-pods", pods, self, *args.after, as_made=("spec.replicas",))
        for suffix, manifest in {
            "target": _target(wanted),
            "service": _front(wanted),
            "budget": _budget(wanted),
            "route": _route(wanted),
        }.items():
            objects.declare(f"{name}-{suffix}", manifest, self, *args.after)
        objects.declare(f"{name}-scaling", _scaling(wanted), self, deployment)
        self.register_outputs({"address": self.address})


def placed(settings: Settings, wanted: Wanted) -> tuple[Offer, Fit]:
    """What the stack offers, and the cheapest pools of it that take one replica.

    Raises:
        NothingFits: none does.
    """
    there = offer(settings, settings.gpu_pools, (), {})
    request = PodRequest(
        gpus=wanted.gpus,
        gpu=wanted.gpu,
        spot=wanted.spot,
        memory_mib=(wanted.memory_gib or 0) * _MIB_PER_GIB,
        pods=max(1, wanted.min),
    )
    return there, place(there, request)


def floor_usd(settings: Settings) -> float | None:
    """What the replicas that always run cost in an hour, by list prices; ``None`` if one is not known."""
    total = 0.0
    for wanted in settings.workloads.services:
        if wanted.min:
            _, fit = placed(settings, wanted)
            if fit.hourly_usd is None:
                return None
            total += math.ceil(wanted.min / fit.pods_per_node) * fit.hourly_usd
    return total


def _pod(wanted: Wanted, fit: Fit, there: Offer, checkpoints: pulumi.Input[str] | None, account: str) -> dict[str, Any]:
    requests = {"requests": {"memory": f"{wanted.memory_gib}Gi"}} if wanted.memory_gib else {}
    container: dict[str, Any] = {
        "name": "main",
        "image": wanted.image,
        "ports": [{"name": "http", "containerPort": wanted.port}],
        "readinessProbe": {
            "httpGet": {"path": wanted.health, "port": "http"},
            "periodSeconds": _READINESS_SECONDS,
        },
        "resources": {**requests, "limits": {GPU_RESOURCE: wanted.gpus}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        **({"command": list(wanted.command)} if wanted.command else {}),
    }
    spec: dict[str, Any] = {
        **placement([pool.name for pool in fit.pools], fit.taints),
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    labels: dict[str, str] = {_APP: wanted.name}
    if wanted.checkpoint is not None and checkpoints is not None:
        container["env"] = [{"name": CHECKPOINTS, "value": pulumi.Output.concat(checkpoints, "/", wanted.checkpoint)}]
        spec["serviceAccountName"] = account
        labels |= there.account_labels
    return {"metadata": {"labels": labels}, "spec": spec}


def _deployment(wanted: Wanted, fit: Fit, pod: dict[str, Any]) -> dict[str, Any]:
    # One more at first, if the pools have room for it; else the old one goes before the new one comes.
    room = fit.most_pods > wanted.max
    rolling = {"maxSurge": 1, "maxUnavailable": 0} if room else {"maxSurge": 0, "maxUnavailable": 1}
    spec = {
        "replicas": wanted.min,
        "selector": {"matchLabels": {_APP: wanted.name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": pod,
    }
    metadata = {**_metadata(wanted), "annotations": _NOT_AWAITED}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _target(wanted: Wanted) -> dict[str, Any]:
    """The replicas themselves, for the proxy."""
    ports = [{"name": "http", "port": _HTTP_PORT, "targetPort": "http"}]
    spec = {"selector": {_APP: wanted.name}, "ports": ports}
    # With no replica there is no endpoint, which Pulumi would wait for.
    metadata = {**_metadata(wanted, "-pods"), "annotations": _NOT_AWAITED}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _front(wanted: Wanted) -> dict[str, Any]:
    """The name by which it is called: https://keda.sh/http-add-on/0.15/user-guide/autoscale-an-app/"""
    spec = {"type": "ExternalName", "externalName": PROXY}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(wanted), "spec": spec}


def _budget(wanted: Wanted) -> dict[str, Any]:
    """One replica at a time is moved; a budget that forbids it would keep its node for ever."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {_APP: wanted.name}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _metadata(wanted), "spec": spec}


def _route(wanted: Wanted) -> dict[str, Any]:
    called = f"{wanted.name}.{wanted.namespace}"
    spec = {
        "target": {"service": f"{wanted.name}-pods", "port": _HTTP_PORT},
        "rules": [{"hosts": [wanted.name, called, f"{called}.svc", f"{called}.svc.cluster.local"]}],
        "scalingMetric": {"concurrency": {"targetValue": wanted.concurrency}},
        "timeouts": {"readiness": _COLD_START, "request": "0s"},
    }
    return {
        "apiVersion": "http.keda.sh/v1beta1",
        "kind": "InterceptorRoute",
        "metadata": _metadata(wanted),
        "spec": spec,
    }


def _scaling(wanted: Wanted) -> dict[str, Any]:
    """https://keda.sh/docs/2.20/reference/scaledobject-spec/"""
    spec = {
        "scaleTargetRef": {"name": wanted.name},
        "minReplicaCount": wanted.min,
        "maxReplicaCount": wanted.max,
        "cooldownPeriod": 60 * wanted.idle_minutes,
        "triggers": [
            {"type": "external-push", "metadata": {"scalerAddress": SCALER, "interceptorRoute": wanted.name}},
        ],
    }
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": _metadata(wanted), "spec": spec}


def _metadata(wanted: Wanted, suffix: str = "") -> dict[str, Any]:
    return {"name": f"{wanted.name}{suffix}", "namespace": wanted.namespace, "labels": {_APP: wanted.name}}
