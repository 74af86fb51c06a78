"""A private registry for the images of jobs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.cluster import Cluster
from components.settings.workloads import Registry


@dataclass(frozen=True, kw_only=True)
class ContainerRegistryArgs:
    """The registry of ``cluster``, whose nodes may pull from it."""

    cluster: Cluster
    registry: Registry


class ContainerRegistry(pulumi.ComponentResource):
    """A registry; an image in it is ``<address>/<image>:<tag>``."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: ContainerRegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ContainerRegistry", name, None, opts)
        self.address = args.cluster.handle.workloads.registry(name, args.registry, self)
        self.register_outputs({"address": self.address})
