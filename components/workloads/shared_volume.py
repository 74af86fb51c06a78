"""A file system that all pods of a namespace share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.clouds.base import Share
from components.cluster import Cluster
from components.settings.workloads import SharedVolume as SharedVolumeSetting
from facts.concepts.kubernetes import manifest
from facts.concepts.offer import SHARED_CLAIM

# Kubernetes requires a size even for a volume that grows, and does not enforce it.
_ANY_SIZE_GIB: Final = 1


@dataclass(frozen=True, kw_only=True)
class SharedVolumeArgs:
    """The ``volume`` of ``cluster``; its claim waits for ``namespace`` if the program declares it."""

    cluster: Cluster
    volume: SharedVolumeSetting
    namespace: pulumi.Resource | None = None


class SharedVolume(pulumi.ComponentResource):
    """A volume that many pods can mount at once, through the claim ``shared`` in one namespace."""

    claim: str

    def __init__(self, name: str, args: SharedVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:SharedVolume", name, None, opts)
        namespace, objects = args.volume.namespace, args.cluster.objects
        self.claim = f"{namespace}/{SHARED_CLAIM}"
        share = args.cluster.handle.workloads.share(name, args.volume, self)
        volume_name = f"{namespace}-{SHARED_CLAIM}"
        size = {"storage": f"{share.size_gib or _ANY_SIZE_GIB}Gi"}
        volume = objects.declare(f"{name}-volume", _volume(volume_name, namespace, size, share), self, *share.ready)
        after = [volume] if args.namespace is None else [volume, args.namespace]
        objects.declare(f"{name}-claim", _claim(volume_name, namespace, size), self, *after)
        self.register_outputs({"claim": self.claim})


def _volume(volume_name: str, namespace: str, size: dict[str, str], share: Share) -> dict[str, Any]:
    """Retained, and reserved for one claim, so that no other binds it first.

    https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume
    """
    attributes = {"volumeAttributes": dict(share.attributes)} if share.attributes else {}
    spec = {
        "capacity": size,
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {"namespace": namespace, "name": SHARED_CLAIM},
        **({"mountOptions": list(share.options)} if share.options else {}),
        "csi": {"driver": share.driver, "volumeHandle": share.handle, **attributes},
    }
    return manifest("v1", "PersistentVolume", volume_name, spec=spec)


def _claim(volume: str, namespace: str, size: dict[str, str]) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "volumeName": volume,
        "resources": {"requests": size},
    }
    return manifest("v1", "PersistentVolumeClaim", SHARED_CLAIM, namespace, spec=spec)
