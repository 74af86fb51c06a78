"""A cluster that somebody else made, as the components see it."""

from __future__ import annotations

from typing import Final

from components.clouds.base import Cloud, PoolGovernance, named_subject
from components.clouds.device_plugin import managed_device_plugin
from components.clouds.existing.cluster import ExistingClusterHandle
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from facts.concepts.counts import counted
from facts.concepts.pool import Pool


def _governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """The program scales nothing there; an autoscaler of others learns what its node group has to bring."""
    labels = ", ".join(f"{key}={value}" for key, value in pool.nodes.labels.items())
    taints = ", ".join(str(taint) for taint in pool.nodes.taints)
    brings = f"; its node group must bring the labels {labels} and the taints {taints or 'none'}"
    fixed = f"no: {counted(pool.scaling.max_nodes, 'node')} of the cluster"
    return PoolGovernance(
        governed_by=f"the cluster's own autoscaler{brings}"
        if pool.scaling.autoscaled
        else "nobody: the nodes are there",
        location_policy="",
        choice="the autoscaler's" if pool.scaling.autoscaled else "the scheduler's",
        scale_up="the cluster's owner",
        scale_down="the cluster's owner",
        reaches_zero="the cluster's owner decides" if pool.scaling.autoscaled else fixed,
    )


CLOUD: Final = Cloud(
    name="existing",
    # Whether its API server does is not known: pods bring their tolerations.
    adds_gpu_toleration=False,
    # Unless its owner has another strategy: https://github.com/NVIDIA/k8s-device-plugin (DEVICE_LIST_STRATEGY)
    gpus_by_variable=lambda _: True,
    cluster=ExistingClusterHandle,
    # For pools that ask for it; elsewhere that of the cluster's owner.
    gpu_daemons=managed_device_plugin,
    # The nodes' container runtime gives it the driver.
    gpu_exporters=gpu_exporter,
    # As the API server names the CN and O of a client certificate:
    # https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
    subject=named_subject,
    governance=_governance,
)
