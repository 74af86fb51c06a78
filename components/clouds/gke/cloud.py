"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from functools import partial
from typing import Final

from components.clouds.base import Cloud, PoolGovernance, reaches_zero
from components.clouds.device_plugin import has_software_of_others
from components.clouds.gke import access, drivers
from components.clouds.gke.cluster import GkeCluster
from components.clouds.gke.joined import JOINING
from components.clouds.gke.pools import location_policy
from components.clouds.gke.workloads.share import DRIVER
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from facts.concepts.pool import Pool

# Google publishes no figure per profile; the open source autoscaler waits 10 minutes (--scale-down-unneeded-time):
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
_SCALE_DOWN: Final = {
    "balanced": "about 10 minutes after the last pod of the node ended",
    "optimize-utilization": "sooner than the about 10 minutes of the balanced profile; Google publishes no figure",
}
_THEIRS: Final = "as the cluster's autoscaling profile says, which its owner sets: about 10 minutes or less"
_UNTAINTED: Final = "yes, without pods; the pool has no taint, so a system pod may keep its last node"
# By price for the pods; a flag adds a penalty for spot machines of more than 32 vCPUs or 64 GiB:
# https://github.com/GoogleCloudPlatform/cluster-autoscaler/blob/main/pkg/expander/gkeprice/gke_price.go
_CHOICE: Final = (
    "among the pools that fit the pending pods: one with an unused reservation of this project, else the least "
    "expensive, so usually spot before its on-demand fallback; among several spot pools not always the cheapest"
)
_CLASS_CHOICE: Final = (
    "among the pools of the ComputeClass {}, for pods that select it: the first in the order of the stack file that "
    "has capacity; after a failed attempt a pool is skipped for some minutes, and nodes that run are not replaced"
)
_MINIMUM_NOTE: Final = (
    "; the autoscaler keeps the minimum of {} nodes but does not create them: the pool starts with them, and after "
    "raising minNodes resize it once (gcloud container clusters resize)"
)


def governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """Limits and behaviour of the autoscaler for ``pool``: Google runs it; profile and limits come from the stack.
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    """
    profile = settings.autoscaling_profile
    return PoolGovernance(
        governed_by=f"GKE managed cluster autoscaler, profile {profile or 'of the cluster'}",
        location_policy=location_policy(pool),
        choice=_CHOICE if pool.scaling.compute_class is None else _CLASS_CHOICE.format(pool.scaling.compute_class),
        scale_up="a pending pod that fits this pool's labels, taints and free capacity"
        + (_MINIMUM_NOTE.format(pool.scaling.min_nodes) if pool.scaling.min_nodes else ""),
        scale_down=_SCALE_DOWN.get(profile, _THEIRS)
        if pool.scaling.unneeded_minutes is None
        else f"{pool.scaling.unneeded_minutes} minutes after the last pod of the node ended, by its ComputeClass",
        reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
    )


CLOUD: Final = Cloud(
    name="gke",
    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration=True,
    # Every Google account: https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac
    admits_strangers=True,
    # A node of which at most half is in use is drained if its pods fit elsewhere:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    ends_running_pods=True,
    # By default all clients of the network have root's rights:
    # https://github.com/openshift/openshift-docs/blob/main/modules/persistent-storage-csi-gcp-filestore-nfs-export-options.adoc
    open_share=DRIVER,
    # Google's device plugin gives a container the devices themselves; the GPU Operator's may not.
    gpus_by_variable=lambda pools: any(pool.gpus.of_nvidia and has_software_of_others(pool) for pool in pools),
    cluster=GkeCluster,
    # The installer that Google preloads on its node images, for pools whose driver GKE does not install.
    gpu_daemons=drivers.gpu_daemons,
    # With the driver of the host, as Google's own example has it:
    # https://github.com/GoogleCloudPlatform/prometheus-engine/tree/main/examples/nvidia-dcgm
    gpu_exporters=partial(gpu_exporter, driver=drivers.HOST_FOLDER),
    subject=access.subject,
    governance=governance,
    joining={"managed": JOINING},
)
