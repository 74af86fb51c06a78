"""Everything below ``workloads`` and ``identities`` of a stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster
from components.published_offer import queued
from components.resources import Chart
from components.settings.workloads import Workloads
from components.workloads import dashboard, keda, monitoring, notebook, queue
from components.workloads.charts import forward
from components.workloads.checkpoints import CheckpointBucket, CheckpointBucketArgs
from components.workloads.inference_service import InferenceService, InferenceServiceArgs
from components.workloads.pod_identity import PodIdentity, PodIdentityArgs
from components.workloads.registry import ContainerRegistry, ContainerRegistryArgs, PullRights, PullRightsArgs
from components.workloads.shared_volume import SharedVolume, SharedVolumeArgs
from concepts.kubernetes import DEFAULT_NAMESPACE
from concepts.offer import QUEUE
from gpu.job import QUEUE_LABEL

_TO_USE: Final = {
    "monitoring": forward(monitoring.CHART, monitoring.GRAFANA, 3000),
    "queue": f"label {QUEUE_LABEL}={QUEUE} on a Job; gpu submit sets it",
    "notebook": forward(notebook.CHART, notebook.SERVICE, 8000),
    "dashboard": forward(dashboard.CHART, dashboard.SERVICE, 8080),
}
"""What a person does to use a tool, by its key."""


def declare_workloads(
    cluster: Cluster,
    admin_pool: pulumi.Resource,
    peoples: Mapping[str, pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Mapping[str, pulumi.Output[Any]]:
    """Declare what the stack file asks for; the stack's outputs about it. Nothing where it asks for nothing.

    What runs by itself waits for ``admin_pool``; ``peoples`` are the namespaces that the program makes for people.
    """
    settings, outputs = cluster.settings, dict[str, pulumi.Output[Any]]()
    reach = {
        each.service_account: Reach(read=each.read, write=each.write, secrets=each.secrets)
        for each in settings.identities
    }
    registry, checkpoints = settings.workloads.registry, settings.workloads.checkpoints
    if registry is not None:
        made = ContainerRegistry("registry", ContainerRegistryArgs(cluster=cluster, registry=registry), opts)
        outputs["registry"] = made.address
    if settings.workloads.pull_from:
        PullRights("pulls", PullRightsArgs(cluster=cluster, registries=settings.workloads.pull_from), opts)
    if checkpoints is not None:
        args = CheckpointBucketArgs(cluster=cluster, checkpoints=checkpoints)
        bucket = CheckpointBucket("checkpoints", args, opts).bucket
        outputs["checkpoints"] = bucket.url
        account = checkpoints.service_account
        reach[account] = replace(reach.get(account, Reach()), own={"checkpoints": bucket})
    volume = settings.workloads.shared_volume
    services = settings.workloads.services
    named = [*(account.partition("/")[0] for account in reach), *(service.namespace for service in services)]
    namespaces = _namespaces(cluster, [*named, *([volume.namespace] if volume is not None else [])], peoples)
    for account, reached in reach.items():
        namespace, _, name = account.partition("/")
        PodIdentity(
            f"{namespace}.{name}",
            PodIdentityArgs(
                cluster=cluster, account=(namespace, name), reach=reached, namespace=namespaces.get(namespace)
            ),
            opts,
        )
    if volume is not None:
        wanted = SharedVolumeArgs(cluster=cluster, volume=volume, namespace=namespaces.get(volume.namespace))
        outputs["sharedVolume"] = pulumi.Output.from_input(SharedVolume("shared-volume", wanted, opts).claim)
    if services:
        scaler = keda.Keda("keda", keda.KedaArgs(cluster=cluster, after=(admin_pool,)), opts)
        addresses: dict[str, str] = {}
        for service in services:
            namespace = namespaces.get(service.namespace)
            wants = InferenceServiceArgs(
                cluster=cluster,
                service=service,
                after=[scaler.ready, *([] if namespace is None else [namespace])],
                checkpoints=outputs.get("checkpoints"),
            )
            made_of = InferenceService(f"service-{service.namespace}.{service.name}", wants, opts)
            addresses[service.name] = made_of.address
        outputs["services"] = pulumi.Output.from_input(addresses)
    _declare_tools(cluster, admin_pool, opts, peoples)
    told = {key: use for key, use in _TO_USE.items() if key in settings.workloads.tools}
    return {**outputs, **{key: pulumi.Output.from_input(use) for key, use in told.items()}}


def charts_of(wanted: Workloads) -> Sequence[Chart]:
    """The charts of others that a stack with these keys installs."""
    known = {
        "services": (keda.CHART, keda.HTTP_CHART),
        "monitoring": (monitoring.CHART,),
        "queue": (queue.CHART,),
        "notebook": (notebook.CHART,),
        "dashboard": (dashboard.CHART,),
    }
    return [chart for key in wanted.tools for chart in known[key]]


def _declare_tools(
    cluster: Cluster,
    admin_pool: pulumi.Resource,
    opts: pulumi.ResourceOptions,
    peoples: Mapping[str, pulumi.Resource],
) -> None:
    """What runs on the admin pool for people, after its nodes and the default class, which a claim takes once."""
    after = (admin_pool,)
    wanted, pools = cluster.settings.workloads, cluster.settings.gpu_pools
    if wanted.monitoring is not None:
        measured = monitoring.GpuMonitoringArgs(cluster=cluster, monitoring=wanted.monitoring, pools=pools, after=after)
        monitoring.GpuMonitoring("monitoring", measured, opts)
    if wanted.queue is not None:
        namespaces = {name: peoples.get(name) for name in queued(cluster.settings)}
        shared = queue.JobQueueArgs(
            cluster=cluster, queue=wanted.queue, pools=pools, namespaces=namespaces, after=after
        )
        queue.JobQueue("queue", shared, opts)
    if wanted.notebook is not None:
        offered = notebook.NotebookHubArgs(cluster=cluster, notebook=wanted.notebook, pools=pools, after=after)
        notebook.NotebookHub("notebook", offered, opts)
    if wanted.dashboard is not None:
        shown = dashboard.ClusterDashboardArgs(cluster=cluster, dashboard=wanted.dashboard, after=after)
        dashboard.ClusterDashboard("dashboard", shown, opts)


def _namespaces(
    cluster: Cluster, names: list[str], peoples: Mapping[str, pulumi.Resource]
) -> Mapping[str, pulumi.Resource]:
    return {
        name: peoples.get(name) or cluster.objects.namespace(name, cluster)
        for name in dict.fromkeys(names)
        if name != DEFAULT_NAMESPACE
    }
