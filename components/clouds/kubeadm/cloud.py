"""Own machines as the components see them."""

from __future__ import annotations

from functools import partial
from typing import Final

from components.clouds.base import Cloud, PoolGovernance, named_subject
from components.clouds.device_plugin import device_plugin
from components.clouds.gpu_exporter import gpu_exporter
from components.clouds.kubeadm.cluster import KubeadmCluster
from components.settings import Settings
from facts.concepts.counts import counted
from facts.concepts.pool import Pool


def _governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """Nobody scales own machines."""
    return PoolGovernance(
        governed_by="nobody: the machines are yours and always there",
        location_policy="",
        choice="the scheduler's",
        scale_up="a machine that is added to the stack file",
        scale_down="a machine that is removed from the stack file, after its pods have ended",
        reaches_zero=f"no: {counted(pool.scaling.max_nodes, 'machine')} of your own",
    )


CLOUD: Final = Cloud(
    name="kubeadm",
    # The API server runs the ExtendedResourceToleration admission controller (``configuration``).
    adds_gpu_toleration=True,
    cluster=KubeadmCluster,
    # The driver is the machine's own, installed with it.
    gpu_daemons=partial(device_plugin, by_mounts=True),
    # The machines' container runtime gives it the driver.
    gpu_exporters=partial(gpu_exporter, by_mounts=True),
    # As the API server names the CN and O of a client certificate:
    # https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
    subject=named_subject,
    governance=_governance,
)
