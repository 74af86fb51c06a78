"""A private registry for images of jobs, and permissions to pull from other registries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
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


@dataclass(frozen=True, kw_only=True)
class PullRightsArgs:
    """Other ``registries`` that the nodes of ``cluster`` may pull from."""

    cluster: Cluster
    registries: Sequence[str]


class PullRights(pulumi.ComponentResource):
    """Permission to pull images from registries of other projects or accounts."""

    def __init__(self, name: str, args: PullRightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PullRights", name, None, opts)
        grant_pull = args.cluster.handle.workloads.grant_pull
        assert grant_pull is not None, "settings refuse pullFrom on such a cloud"
        for registry in args.registries:
            digits = hashlib.sha256(registry.encode()).hexdigest()[:6]
            full_name = f"{name}-{registry.rpartition('/')[2]}-{digits}"
            grant_pull(full_name, registry, self)
        self.register_outputs({"registries": list(args.registries)})
