"""A cluster that somebody else made, as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.base import Cloud, CloudCluster, GpuDaemon, PoolGovernance, Subject
from components.clouds.certificate_subject import certificate_subject
from components.clouds.device_plugin import device_plugin
from components.clouds.existing.cluster import ExistingClusterHandle
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from components.settings.access import Access
from facts.concepts.counts import counted
from facts.concepts.pool import Pool


class Existing:
    """The ``Cloud`` of a cluster that exists."""

    name: str = "existing"

    # Whether its API server does is not known: pods bring their tolerations.
    adds_gpu_toleration: bool = False

    ends_running_pods: bool = False

    admits_strangers: bool = False

    def cluster(self, name: str, settings: Settings, parent: pulumi.Resource) -> CloudCluster:
        """The cluster behind the kubeconfig."""
        return ExistingClusterHandle(name, settings, parent)

    def gpu_daemons(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's device plugin for pools that ask for it; elsewhere that of the cluster's owner."""
        return device_plugin([pool for pool in pools if pool.gpus.drivers == "managed"])

    def gpu_exporters(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's exporter, to which the nodes' container runtime gives the driver."""
        return gpu_exporter(pools)

    def subject(self, entry: Access) -> Subject:
        """As the cluster's API server names them."""
        return certificate_subject(entry)

    def governance(self, pool: Pool, settings: Settings) -> PoolGovernance:
        """The program scales nothing there; an autoscaler of others learns what its node group has to bring."""
        labels = ", ".join(f"{key}={value}" for key, value in pool.labels.items())
        taints = ", ".join(str(taint) for taint in pool.taints)
        brings = f"; its node group must bring the labels {labels} and the taints {taints or 'none'}"
        return PoolGovernance(
            governed_by=f"the cluster's own autoscaler{brings}" if pool.autoscaled else "nobody: the nodes are there",
            min_nodes=pool.min_nodes,
            max_nodes=pool.max_nodes,
            location_policy="",
            choice="the autoscaler's" if pool.autoscaled else "the scheduler's",
            scale_up="the cluster's owner",
            scale_down="the cluster's owner",
            reaches_zero="the cluster's owner decides"
            if pool.autoscaled
            else f"no: {counted(pool.max_nodes, 'node')} of the cluster",
        )


CLOUD: Final[Cloud] = Existing()
