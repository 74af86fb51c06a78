"""Everything below ``workloads`` and ``identities`` of a stack file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster
from components.workloads.checkpoints import CheckpointBucket, CheckpointBucketArgs
from components.workloads.inference_service import InferenceService, InferenceServiceArgs
from components.workloads.keda import Keda, KedaArgs
from components.workloads.pod_identity import PodIdentity, PodIdentityArgs
from components.workloads.registry import ContainerRegistry, ContainerRegistryArgs, PullRights, PullRightsArgs
from components.workloads.shared_volume import SharedVolume, SharedVolumeArgs

_THERE_ALREADY: Final = "default"
"""The namespace that every cluster has."""


def declare_workloads(
    cluster: Cluster, admin_pool: pulumi.Resource, opts: pulumi.ResourceOptions
) -> Mapping[str, pulumi.Output[Any]]:
    """Declare what the stack file asks for; the stack's outputs about it. Nothing where it asks for nothing.

    What runs by itself waits for ``admin_pool``.
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
    namespaces = _namespaces(cluster, [*named, *([volume.namespace] if volume is not None else [])])
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
        keda = Keda("keda", KedaArgs(cluster=cluster, after=(admin_pool,)), opts)
        addresses: dict[str, str] = {}
        for service in services:
            namespace = namespaces.get(service.namespace)
            wants = InferenceServiceArgs(
                cluster=cluster,
                service=service,
                after=[keda.ready, *([] if namespace is None else [namespace])],
                checkpoints=outputs.get("checkpoints"),
            )
            made_of = InferenceService(f"service-{service.namespace}.{service.name}", wants, opts)
            addresses[service.name] = made_of.address
        outputs["services"] = pulumi.Output.from_input(addresses)
    return outputs


def _namespaces(cluster: Cluster, names: list[str]) -> Mapping[str, pulumi.Resource]:
    return {
        name: cluster.objects.declare(
            f"namespace-{name}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, cluster
        )
        for name in dict.fromkeys(names)
        if name != _THERE_ALREADY
    }
