"""Own machines as the components see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.base import Cloud, CloudCluster, GpuDaemon, PoolGovernance, Subject
from components.clouds.certificate_subject import certificate_subject
from components.clouds.device_plugin import device_plugin
from components.clouds.gpu_exporter import gpu_exporter
from components.clouds.kubeadm.cluster import KubeadmCluster
from components.settings import Settings
from components.settings.access import Access
from facts.concepts.counts import counted
from facts.concepts.pool import Pool


class Kubeadm:
    """The ``Cloud`` of own machines."""

    name: str = "kubeadm"

    # The API server runs the ExtendedResourceToleration admission controller (``configuration``).
    adds_gpu_toleration: bool = True

    ends_running_pods: bool = False

    admits_strangers: bool = False

    def cluster(self, name: str, settings: Settings, parent: pulumi.Resource) -> CloudCluster:
        """The control plane on its machine."""
        return KubeadmCluster(name, settings, parent)

    def gpu_daemons(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's device plugin; the driver is the machine's own, installed with it."""
        return device_plugin(pools, by_mounts=True)

    def gpu_exporters(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's exporter, to which the machines' container runtime gives the driver."""
        return gpu_exporter(pools, by_mounts=True)

    def subject(self, entry: Access) -> Subject:
        """As a client certificate names them."""
        return certificate_subject(entry)

    def governance(self, pool: Pool, settings: Settings) -> PoolGovernance:
        """Nobody scales own machines."""
        return PoolGovernance(
            governed_by="nobody: the machines are yours and always there",
            min_nodes=pool.min_nodes,
            max_nodes=pool.max_nodes,
            location_policy="",
            choice="the scheduler's",
            scale_up="a machine that is added to the stack file",
            scale_down="a machine that is removed from the stack file, after its pods have ended",
            reaches_zero=f"no: {counted(pool.max_nodes, 'machine')} of your own",
        )


CLOUD: Final[Cloud] = Kubeadm()
