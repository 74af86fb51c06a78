"""What a stack file with cloud: kubeadm does not support: one row each."""

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
    Refused(
        keys=("pools.mig",),
        message="own machines have no MIG yet, whose partitions are lost at each reboot and would have to be made "
        "again",
        remedy="Leave it out, or write timeSharing: {clientsPerGpu: 2}, which does not isolate pods",
    ),
)
