"""StorageClasses: disks that the machines of the stack attach, encrypted with the customer's key if there is one.

Claims that name no class get the default one, whose disks the admin pool's machine attaches. GKE's own default
(``standard-rwo``, balanced Persistent Disks) remains; of two default classes Kubernetes uses the newer:
https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from components.clouds.storage_class import key_digest, storage_class
from components.settings import Settings
from facts.catalog.gke.machines import boot_disk
from facts.concepts.pool import Pool

_PERSISTENT: Final = "pd-balanced"
_OF_GKE: Final = "standard-rwo"


def classes(settings: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Resource name suffix and manifest of each class that GKE does not bring."""
    key, default = settings.security.disk_key, boot_disk(settings.admin_pool.nodes.machine_type)
    types = {default, *(boot_disk(pool.nodes.machine_type) for pool in settings.pools)}
    for type in sorted(types):
        if type != _PERSISTENT or key is not None:
            yield f"{'default' if type == default else type}-class", _class(type, key, default=type == default)


def volume_class(settings: Settings, pool: Pool) -> str | None:
    """The class of the disks that the pool's machines attach; ``None`` if it is the default."""
    type = boot_disk(pool.nodes.machine_type)
    return (
        None if type == boot_disk(settings.admin_pool.nodes.machine_type) else _name(type, settings.security.disk_key)
    )


def _name(type: str, key: str | None) -> str:
    if type == _PERSISTENT:
        return _OF_GKE if key is None else f"own-key{key_digest(key)}"
    return f"{type}{key_digest(key)}"


def _class(type: str, key: str | None, *, default: bool) -> dict[str, Any]:
    """As ``standard-rwo`` in all but type and key: https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek,
    https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/hyperdisk."""
    parameters = {"type": type, **({} if key is None else {"disk-encryption-kms-key": key})}
    return storage_class(_name(type, key), "pd.csi.storage.gke.io", parameters, default=default)
