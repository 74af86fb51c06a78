"""The cluster: network, identities, control plane and kubeconfig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pulumi

from components.clouds.base import Cloud, CloudCluster, JoinedCluster, load_cloud
from components.resources import ClusterObjects, KubernetesProvider
from components.settings import Settings


class PoolsCluster(Protocol):
    """What pools need of a cluster, whether the stack makes it (``Cluster``) or joins it (``GpuPools``)."""

    @property
    def settings(self) -> Settings:
        """The stack's settings."""
        ...

    @property
    def cloud(self) -> Cloud:
        """The cluster's cloud."""
        ...

    @property
    def handle(self) -> CloudCluster | JoinedCluster:
        """Declares the autoscaler, which declares pools."""
        ...

    @property
    def objects(self) -> ClusterObjects:
        """Declares objects in the cluster."""
        ...


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """The cluster of a stack with these ``settings``."""

    settings: Settings


class Cluster(pulumi.ComponentResource):
    """A cluster without pools.

    ``handle`` declares pools in it, ``objects`` declares objects in it, ``kubeconfig`` (secret) is for users.
    """

    settings: Settings
    cloud: Cloud
    handle: CloudCluster
    objects: ClusterObjects
    kubeconfig: pulumi.Output[str]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Cluster", name, None, opts)
        self.settings, self.cloud = args.settings, load_cloud(args.settings.cloud)
        self.handle = self.cloud.cluster(name, args.settings, self)
        self.kubeconfig = self.handle.kubeconfig
        provider = KubernetesProvider(
            f"{name}-objects", self.handle.admin_kubeconfig, self.handle.authority, pulumi.ResourceOptions(parent=self)
        )
        owner = None if self.handle.outlives_stack else self.handle.resource
        self.objects = ClusterObjects(provider=provider, cluster=owner)
        self.register_outputs({"name": self.handle.name, "kubeconfig": self.kubeconfig})
