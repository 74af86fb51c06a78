"""Everything below ``workloads`` and ``identities`` of a stack file.

The module of a tool is imported only if the stack file has its key, because imports delay every preview.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster
from components.resources import Chart
from components.settings.sections.workloads import Workloads
from components.workloads import data
from components.workloads.data import WorkloadArgs


def declare_workloads(
    cluster: Cluster,
    admin_pool: pulumi.Resource,
    user_namespaces: Mapping[str, pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> Mapping[str, pulumi.Output[Any]]:
    """Declare the stack file's ``workloads`` and ``identities``; the stack's outputs about them.

    Pods wait for ``admin_pool``; ``user_namespaces`` are those of ``Access``, by name.
    """
    settings, outputs = cluster.settings, dict[str, pulumi.Output[Any]]()
    reach = {
        each.service_account: Reach(read=each.read, write=each.write, secrets=each.secrets)
        for each in settings.identities
    }
    workloads = settings.workloads
    checkpoints, volume, services = workloads.checkpoints, workloads.shared_volume, workloads.services
    if workloads.registry is not None:
        outputs["registry"] = data.ContainerRegistry("registry", WorkloadArgs(cluster=cluster), opts).address
    elif "registry" in cluster.handle.workloads.rights_of_data:
        data.RightsOfData("registry", data.ContainerRegistry, cluster, opts)
    if workloads.pull_from:
        data.PullRights("pulls", WorkloadArgs(cluster=cluster), opts)
    if checkpoints is not None:
        bucket = data.CheckpointBucket("checkpoints", WorkloadArgs(cluster=cluster), opts).bucket
        outputs["checkpoints"] = bucket.url
        account = checkpoints.service_account
        reach[account] = replace(reach.get(account, Reach()), own={"checkpoints": bucket})
    elif "checkpoints" in cluster.handle.workloads.rights_of_data:
        data.RightsOfData("checkpoints", data.CheckpointBucket, cluster, opts)
    args = WorkloadArgs(cluster=cluster, namespaces=user_namespaces, after=(admin_pool,))
    if reach:
        _declare_identities(cluster, reach, user_namespaces, opts)
    if volume is not None:
        outputs["sharedVolume"] = pulumi.Output.from_input(data.SharedVolume("shared-volume", args, opts).claim)
    if services:
        url = outputs.get("checkpoints")
        outputs["services"] = pulumi.Output.from_input(_declare_services(args, url, opts))
    return {**outputs, **{key: pulumi.Output.from_input(text) for key, text in _declare_tools(args, opts).items()}}


def charts_of(workloads: Workloads) -> Sequence[Chart]:
    """The third-party charts of a stack with these keys."""
    return [chart for key in workloads.tools for chart in _tool(key).CHARTS]


def _tool(key: str) -> Any:
    """The module of a key: its ``CHARTS`` and, except for services, its ``TOOL`` and how it is used (``USAGE``)."""
    return import_module(f"components.workloads.{'keda' if key == 'services' else key}")


def _declare_identities(
    cluster: Cluster,
    reach: Mapping[str, Reach],
    namespaces: Mapping[str, pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    for account, reach_of_account in reach.items():
        namespace, _, name = account.partition("/")
        data.PodIdentity(
            f"{namespace}.{name}",
            data.PodIdentityArgs(
                cluster=cluster, account=(namespace, name), reach=reach_of_account, namespace=namespaces.get(namespace)
            ),
            opts,
        )


def _declare_services(
    args: WorkloadArgs, checkpoints: pulumi.Output[str] | None, opts: pulumi.ResourceOptions
) -> dict[str, str]:
    """The address of each service, by its name."""
    from components.workloads.inference_service import InferenceService, InferenceServiceArgs
    from components.workloads.keda import Keda

    scaler = Keda("keda", args, opts)
    addresses: dict[str, str] = {}
    for service in args.workloads.services:
        namespace = args.namespaces.get(service.namespace)
        service_args = InferenceServiceArgs(
            cluster=args.cluster,
            service=service,
            after=[scaler.ready, *([] if namespace is None else [namespace])],
            checkpoints=checkpoints,
        )
        resource = InferenceService(f"service-{service.namespace}.{service.name}", service_args, opts)
        addresses[service.name] = resource.address
    return addresses


def _declare_tools(args: WorkloadArgs, opts: pulumi.ResourceOptions) -> dict[str, str]:
    """Declare the tools on the admin pool, after its nodes and the default StorageClass. Key → how to use the tool."""
    usage: dict[str, str] = {}
    for key in args.workloads.tools:
        if key != "services":
            _tool(key).TOOL(key, args, opts)
            usage[key] = _tool(key).USAGE
    return usage
