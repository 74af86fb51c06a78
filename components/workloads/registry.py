"""A private registry for images of jobs, and permissions to pull from other registries."""

from __future__ import annotations

import hashlib

import pulumi

from components.workloads.args import WorkloadArgs


class ContainerRegistry(pulumi.ComponentResource):
    """A registry; an image in it is ``<address>/<image>:<tag>``."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ContainerRegistry", name, None, opts)
        assert args.workloads.registry is not None
        self.address = args.cluster.handle.workloads.registry(name, args.workloads.registry, self)
        self.register_outputs({"address": self.address})


class PullRights(pulumi.ComponentResource):
    """Permission to pull images from registries of other projects or accounts."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PullRights", name, None, opts)
        grant_pull = args.cluster.handle.workloads.grant_pull
        assert grant_pull is not None, "settings refuse pullFrom on such a cloud"
        for registry in args.workloads.pull_from:
            digits = hashlib.sha256(registry.encode()).hexdigest()[:6]
            full_name = f"{name}-{registry.rpartition('/')[2]}-{digits}"
            grant_pull(full_name, registry, self)
        self.register_outputs({"registries": list(args.workloads.pull_from)})
