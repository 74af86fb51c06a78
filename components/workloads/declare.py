"""Everything below ``workloads`` and ``identities`` of a stack file.

What declares a key is imported where a stack file has that key: most have few, and every preview waits for imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster
from components.published_offer import queued
from components.resources import Chart
from components.settings.workloads import Workloads
from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.offer import QUEUE


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
    workloads = settings.workloads
    checkpoints, volume, services = workloads.checkpoints, workloads.shared_volume, workloads.services
    outputs.update(_declare_registries(cluster, opts))
    if checkpoints is not None:
        from components.workloads.checkpoints import CheckpointBucket, CheckpointBucketArgs

        args = CheckpointBucketArgs(cluster=cluster, checkpoints=checkpoints)
        bucket = CheckpointBucket("checkpoints", args, opts).bucket
        outputs["checkpoints"] = bucket.url
        account = checkpoints.service_account
        reach[account] = replace(reach.get(account, Reach()), own={"checkpoints": bucket})
    named = [*(account.partition("/")[0] for account in reach), *(service.namespace for service in services)]
    namespaces = _namespaces(cluster, [*named, *([volume.namespace] if volume is not None else [])], peoples)
    if reach:
        _declare_identities(cluster, reach, namespaces, opts)
    if volume is not None:
        from components.workloads.shared_volume import SharedVolume, SharedVolumeArgs

        wanted = SharedVolumeArgs(cluster=cluster, volume=volume, namespace=namespaces.get(volume.namespace))
        outputs["sharedVolume"] = pulumi.Output.from_input(SharedVolume("shared-volume", wanted, opts).claim)
    if services:
        url = outputs.get("checkpoints")
        outputs["services"] = pulumi.Output.from_input(_declare_services(cluster, admin_pool, namespaces, url, opts))
    told = _declare_tools(cluster, admin_pool, opts, peoples)
    return {**outputs, **{key: pulumi.Output.from_input(use) for key, use in told.items()}}


def charts_of(wanted: Workloads) -> Sequence[Chart]:
    """The charts of others that a stack with these keys installs."""
    from components.workloads import dashboard, keda, monitoring, notebook, queue

    known = {
        "services": (keda.CHART, keda.HTTP_CHART),
        "monitoring": (monitoring.CHART,),
        "queue": (queue.CHART,),
        "notebook": (notebook.CHART,),
        "dashboard": (dashboard.CHART,),
    }
    return [chart for key in wanted.tools for chart in known[key]]


def _declare_registries(cluster: Cluster, opts: pulumi.ResourceOptions) -> dict[str, pulumi.Output[Any]]:
    wanted = cluster.settings.workloads
    if wanted.registry is None and not wanted.pull_from:
        return {}
    from components.workloads.registry import ContainerRegistry, ContainerRegistryArgs, PullRights, PullRightsArgs

    outputs = dict[str, pulumi.Output[Any]]()
    if wanted.registry is not None:
        made = ContainerRegistry("registry", ContainerRegistryArgs(cluster=cluster, registry=wanted.registry), opts)
        outputs["registry"] = made.address
    if wanted.pull_from:
        PullRights("pulls", PullRightsArgs(cluster=cluster, registries=wanted.pull_from), opts)
    return outputs


def _declare_identities(
    cluster: Cluster,
    reach: Mapping[str, Reach],
    namespaces: Mapping[str, pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    from components.workloads.pod_identity import PodIdentity, PodIdentityArgs

    for account, reached in reach.items():
        namespace, _, name = account.partition("/")
        PodIdentity(
            f"{namespace}.{name}",
            PodIdentityArgs(
                cluster=cluster, account=(namespace, name), reach=reached, namespace=namespaces.get(namespace)
            ),
            opts,
        )


def _declare_services(
    cluster: Cluster,
    admin_pool: pulumi.Resource,
    namespaces: Mapping[str, pulumi.Resource],
    checkpoints: pulumi.Output[str] | None,
    opts: pulumi.ResourceOptions,
) -> dict[str, str]:
    """The address of each service, by its name."""
    from components.workloads.inference_service import InferenceService, InferenceServiceArgs
    from components.workloads.keda import Keda, KedaArgs

    scaler = Keda("keda", KedaArgs(cluster=cluster, after=(admin_pool,)), opts)
    addresses: dict[str, str] = {}
    for service in cluster.settings.workloads.services:
        namespace = namespaces.get(service.namespace)
        wants = InferenceServiceArgs(
            cluster=cluster,
            service=service,
            after=[scaler.ready, *([] if namespace is None else [namespace])],
            checkpoints=checkpoints,
        )
        made_of = InferenceService(f"service-{service.namespace}.{service.name}", wants, opts)
        addresses[service.name] = made_of.address
    return addresses


def _declare_tools(
    cluster: Cluster,
    admin_pool: pulumi.Resource,
    opts: pulumi.ResourceOptions,
    peoples: Mapping[str, pulumi.Resource],
) -> dict[str, str]:
    """What runs on the admin pool for people, after its nodes and the default class, which a claim takes once.

    What a person does to use each, by its key.
    """
    after = (admin_pool,)
    wanted, pools = cluster.settings.workloads, cluster.settings.gpu_pools
    told: dict[str, str] = {}
    if wanted.monitoring is not None:
        from components.workloads import monitoring

        measured = monitoring.GpuMonitoringArgs(cluster=cluster, monitoring=wanted.monitoring, pools=pools, after=after)
        monitoring.GpuMonitoring("monitoring", measured, opts)
        told["monitoring"] = _forward(monitoring.CHART, monitoring.GRAFANA, 3000)
    if wanted.queue is not None:
        from components.workloads import queue
        from facts.jobs.job import QUEUE_LABEL

        namespaces = {name: peoples.get(name) for name in queued(cluster.settings)}
        shared = queue.JobQueueArgs(
            cluster=cluster, queue=wanted.queue, pools=pools, namespaces=namespaces, after=after
        )
        queue.JobQueue("queue", shared, opts)
        told["queue"] = f"label {QUEUE_LABEL}={QUEUE} on a Job; gpu submit sets it"
    if wanted.notebook is not None:
        from components.workloads import notebook

        offered = notebook.NotebookHubArgs(cluster=cluster, notebook=wanted.notebook, pools=pools, after=after)
        notebook.NotebookHub("notebook", offered, opts)
        told["notebook"] = _forward(notebook.CHART, notebook.SERVICE, 8000)
    if wanted.dashboard is not None:
        from components.workloads import dashboard

        shown = dashboard.ClusterDashboardArgs(cluster=cluster, dashboard=wanted.dashboard, after=after)
        dashboard.ClusterDashboard("dashboard", shown, opts)
        told["dashboard"] = _forward(dashboard.CHART, dashboard.SERVICE, 8080)
    return told


def _namespaces(
    cluster: Cluster, names: list[str], peoples: Mapping[str, pulumi.Resource]
) -> Mapping[str, pulumi.Resource]:
    return {
        name: peoples.get(name) or cluster.objects.namespace(name, cluster)
        for name in dict.fromkeys(names)
        if name != DEFAULT_NAMESPACE
    }


def _forward(chart: Chart, service: str, port: int) -> str:
    """The command that brings the chart's ``service`` to a person's own ``port``."""
    return f"kubectl -n {chart.namespace} port-forward svc/{service} {port}:80"
