"""What a stack file with cloud: existing does not support: one row each."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Refused
from components.settings.limits.own import MADE_BY_CLOUDS

_MADE_ALREADY: Final = "the cluster is there already, somebody else made it"

REFUSED: Final[tuple[Refused, ...]] = (
    *MADE_BY_CLOUDS,
    # What a cluster that somebody else made has already
    Refused(
        keys=("region", "availability"),
        message=_MADE_ALREADY,
        remedy="Leave it out",
    ),
    Refused(
        keys=("zones",),
        message=_MADE_ALREADY,
        remedy="Leave it out; select nodes by their zone: selector: {topology.kubernetes.io/zone: …}",
    ),
    Refused(
        keys=("kubernetes",),
        message=_MADE_ALREADY,
        remedy="Leave it out; the cluster's owner upgrades it",
    ),
    Refused(
        keys=("network",),
        message=_MADE_ALREADY,
        remedy="Leave it out; the cluster's owner decides who reaches it",
    ),
    Refused(
        keys=("monitoring",),
        message=_MADE_ALREADY,
        remedy="Leave it out; workloads.monitoring installs Prometheus",
    ),
    Refused(
        keys=("maintenance",),
        message=_MADE_ALREADY,
        remedy="Leave it out; the cluster's owner decides when it is upgraded",
    ),
    Refused(
        keys=("autoscaling",),
        message=_MADE_ALREADY,
        remedy="Leave it out; capacity: autoscaled is for pools whose nodes the cluster's autoscaler makes",
    ),
    Refused(
        keys=("addons",),
        message=_MADE_ALREADY,
        remedy="Leave it out; install them as you do on that cluster",
    ),
    Refused(
        keys=("identities",),
        message=_MADE_ALREADY,
        remedy="Leave it out; bind service accounts to your cloud's identities yourself",
    ),
    Refused(
        keys=("labels",),
        message=_MADE_ALREADY,
        remedy="Leave it out; labels of nodes are gpuPools[].labels",
    ),
    Refused(
        keys=("tags", "raw"),
        message=_MADE_ALREADY,
        remedy="Leave it out; no resource of a cloud is made",
    ),
    Refused(
        keys=("ssh",),
        message=_MADE_ALREADY,
        remedy="Leave it out: no machine is logged in to. To make a cluster of machines, write cloud: kubeadm",
    ),
    Refused(
        keys=("packages",),
        message=_MADE_ALREADY,
        remedy="Leave it out: nothing is installed on machines. To make a cluster of machines, write cloud: kubeadm",
    ),
    Refused(
        keys=("pools.minNodes",),
        message="the nodes are there already, somebody else made them",
        remedy="Leave it out; the autoscaler's owner decides",
    ),
    Refused(
        keys=("pools.zones",),
        message="the nodes are there already, somebody else made them",
        remedy="Leave it out; select nodes by a label: selector: {topology.kubernetes.io/zone: …}",
    ),
    Refused(
        keys=("pools.driverVersion",),
        message="the nodes are there already, somebody else made them",
        remedy="Leave it out; the nodes' owner installs their driver",
    ),
    Refused(
        keys=("pools.mig",),
        message="the nodes are there already, somebody else made them",
        remedy="Leave it out; the nodes' owner partitions their GPUs",
    ),
    Refused(
        keys=(
            "pools.machineType",
            "pools.machineTypes",
            "pools.image",
            "pools.diskGb",
            "pools.raw",
            "pools.unneededMinutes",
            "pools.locationPolicy",
            "pools.upgrade",
            "pools.placement",
            "pools.fabric",
            "pools.imageStreaming",
            "pools.computeClass",
            "pools.reservation",
            "pools.nodes",
        ),
        message="the nodes are there already, somebody else made them",
        remedy="Leave it out; the nodes' owner chose it",
    ),
)
