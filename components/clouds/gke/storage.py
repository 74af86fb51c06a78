"""The default StorageClass, if volumes are encrypted with the customer's key.

GKE's own default class remains; of two default classes Kubernetes uses the newer:
https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass
"""

from __future__ import annotations

import hashlib
from typing import Any


def default_class(key: str) -> dict[str, Any]:
    """As GKE's ``standard-rwo``, with the key: https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek.

    The parameters of a class cannot be changed: another key is another name.
    """
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": f"own-key-{hashlib.sha256(key.encode()).hexdigest()[:6]}",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "pd.csi.storage.gke.io",
        "parameters": {"type": "pd-balanced", "disk-encryption-kms-key": key},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
