"""An inference service on GPUs that scales to zero replicas and GPU nodes without requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.published_offer import offer
from components.resources import documents
from components.settings import Settings
from components.settings.pools.costs import reserved_nodes
from components.settings.sections.services import InferenceService as InferenceServiceSetting
from components.teams import required_class
from components.workloads.keda import PROXY, PROXY_PORT, SCALER
from facts.concepts.offer import Offer
from facts.concepts.pool import placement, with_mps
from facts.jobs.fit import Fit, PodRequest
from facts.jobs.job import CHECKPOINTS
from facts.jobs.plan import NothingFits, place

_APP: Final = "app.kubernetes.io/name"
_MIB_PER_GIB: Final = 1024


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
        if service.min and (ending := _ends(fit)):
            pulumi.warn(
                f"workloads.services: {service.name}: min: {service.min} keeps it running, but its nodes end: "
                f"{ending}. It then waits for others. Choose a gpu of a pool whose nodes stay, or write min: 0",
                self,
            )
        bucket = settings.workloads.checkpoints
        account = "" if bucket is None else bucket.service_account.partition("/")[2]
        from_bucket = service.checkpoint is not None and args.checkpoints is not None
        labels = {_APP: service.name, **(stack_offer.account_labels if from_bucket else {})}
        named = [each.name for each in settings.workloads.services]
        first, *others, scaling = _manifests(service, fit, labels, alone=named.count(service.name) == 1)
        template = first["spec"]["template"]
        template["spec"] = with_mps(template["spec"], fit.selected) | required_class(settings.teams, service.namespace)
        _complete(service, template["spec"], args.checkpoints, account)
        deployment = objects.declare(f"{name}-pods", first, self, *args.after, as_made=("spec.replicas",))
        for suffix, each in zip(("target", "service", "budget", "route"), others, strict=True):
            objects.declare(f"{name}-{suffix}", each, self, *args.after)
        objects.declare(f"{name}-scaling", scaling, self, deployment)
        self.register_outputs({"address": self.address})


def _ends(fit: Fit) -> str:
    """When the nodes of its pools end by themselves; nothing if some of them stay."""
    ends = [
        f"{pool.name} {hours} hours after their start"
        if (hours := pool.scaling.max_run_hours) is not None
        else f"{pool.name} at {pool.ends}"
        for pool in fit.pools
        if pool.ends is not None or pool.scaling.max_run_hours is not None
    ]
    return ", ".join(ends) if len(ends) == len(fit.pools) else ""


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
        namespace=service.namespace,
    )
    return stack_offer, place(stack_offer, request)


def floor_usd(settings: Settings) -> float | None:
    """Hourly list price of the replicas that always run, on other than reserved machines, which are paid for anyway;
    ``None`` if a price is unknown."""
    total, reserved = 0.0, {pool.name: count for pool, count in reserved_nodes(settings.gpu_pools)}
    for service in settings.workloads.services:
        if service.min:
            _, fit = placed(settings, service)
            nodes = math.ceil(service.min / fit.pods_per_node)
            for pool in fit.pools:
                paid = min(nodes, reserved.get(pool.name, 0))
                reserved[pool.name] = reserved.get(pool.name, 0) - paid
                nodes -= paid
            if nodes and fit.hourly_usd is None:
                return None
            total += nodes * (fit.hourly_usd or 0.0)
    return total


def _complete(
    service: InferenceServiceSetting, spec: dict[str, Any], checkpoints: pulumi.Input[str] | None, account: str
) -> None:
    """Add to the pod's spec what not every service has."""
    container = spec["containers"][0]
    if service.command:
        container["command"] = list(service.command)
    if service.max > 1:
        # A preference, so that a zone without capacity delays no replica.
        spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {_APP: service.name}}}]
    if service.checkpoint is not None and checkpoints is not None:
        container["env"] = [{"name": CHECKPOINTS, "value": pulumi.Output.concat(checkpoints, "/", service.checkpoint)}]
        spec["serviceAccountName"] = account


def _manifests(
    service: InferenceServiceSetting, fit: Fit, labels: Mapping[str, str], *, alone: bool
) -> list[dict[str, Any]]:
    """Deployment, Service of the replicas, Service of the proxy, PodDisruptionBudget, route and scaling. ``alone``: no
    other namespace has a service of that name."""
    # Of two routes for a host the older one gets all requests: https://keda.sh/http-add-on/0.15/concepts/routing/
    longer = f"{service.name}.{service.namespace}"
    hosts = [*([service.name] if alone else []), longer, f"{longer}.svc", f"{longer}.svc.cluster.local"]
    # Start the new replica first if the pools have room for it; otherwise stop the old one first.
    requests = {"requests": {"memory": f"{service.memory_gib}Gi"}} if service.memory_gib else {}
    surge = 1 if fit.most_pods > service.max else 0
    return documents(
        Path(__file__).with_name("inference-service.yaml"),
        name=service.name,
        namespace=service.namespace,
        app={_APP: service.name},
        labels=dict(labels),
        **placement([pool.name for pool in fit.pools], fit.taints, fit.selected),
        image=service.image,
        port=service.port,
        health=service.health,
        resources={**requests, "limits": {fit.resource: service.gpus}},
        min=service.min,
        max=service.max,
        surge=surge,
        unavailable=1 - surge,
        concurrency=service.concurrency,
        idle_seconds=60 * service.idle_minutes,
        proxy=PROXY,
        scaler=SCALER,
        hosts=hosts,
    )
