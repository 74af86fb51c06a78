"""What a stack file with cloud: existing does not support: one row each."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Refused

REFUSED: Final[tuple[Refused, ...]] = (
    # What a cloud makes and own machines have nothing for
    Refused(
        keys=("workloads.registry",),
        message="a cloud makes it, own machines have none",
        remedy="Leave it out, and name a registry in the images of your jobs",
    ),
    Refused(
        keys=("workloads.pullFrom",),
        message="a cloud makes it, own machines have none",
        remedy="Leave it out, and name a registry in the images of your jobs; a pull secret gives access to it",
    ),
    Refused(
        keys=("workloads.checkpoints",),
        message="a cloud makes it, own machines have none",
        remedy="Leave it out; jobs can save to a volume, or to a bucket elsewhere with a key in a Kubernetes secret",
    ),
    Refused(
        keys=("workloads.sharedVolume",),
        message="a cloud makes it, own machines have none",
        remedy="Leave it out, and use an NFS server of your own: a PersistentVolume with nfs: {server, path}",
    ),
    # What a cluster that somebody else made has already
    Refused(
        keys=("region", "availability"),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out",
    ),
    Refused(
        keys=("zones",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; select nodes by their zone: selector: {topology.kubernetes.io/zone: …}",
    ),
    Refused(
        keys=("kubernetes",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; the cluster's owner upgrades it",
    ),
    Refused(
        keys=("network",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; the cluster's owner decides who reaches it",
    ),
    Refused(
        keys=("monitoring",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; workloads.monitoring installs Prometheus",
    ),
    Refused(
        keys=("maintenance",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; the cluster's owner decides when it is upgraded",
    ),
    Refused(
        keys=("autoscaling",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; capacity: autoscaled is for pools whose nodes the cluster's autoscaler makes",
    ),
    Refused(
        keys=("addons",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; install them as you do on that cluster",
    ),
    Refused(
        keys=("identities",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; bind service accounts to your cloud's identities yourself",
    ),
    Refused(
        keys=("labels",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; labels of nodes are gpuPools[].labels",
    ),
    Refused(
        keys=("tags", "raw"),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out; no resource of a cloud is made",
    ),
    Refused(
        keys=("ssh",),
        message="the cluster is there already, somebody else made it",
        remedy="Leave it out: no machine is logged in to. To make a cluster of machines, write cloud: kubeadm",
    ),
    Refused(
        keys=("packages",),
        message="the cluster is there already, somebody else made it",
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
