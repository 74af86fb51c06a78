"""The class of volumes for claims that name none.

EKS has made none since 1.30 (https://github.com/kubernetes-sigs/aws-ebs-csi-driver/pull/2039), and without one the
claims of most charts stay pending. That of the add-on has no parameters, so it does not encrypt:
https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
"""

from __future__ import annotations

from typing import Any, Final

from components.clouds.eks.node_template import VOLUME_TYPE

NAME: Final = "gp3-encrypted"
"""The parameters of a class cannot be changed: other ones are another name."""


def default_class() -> dict[str, Any]:
    """Encrypted with the account's default key, in the zone of the first pod that uses the volume, and free to grow."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": NAME, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "ebs.csi.aws.com",
        "parameters": {"type": VOLUME_TYPE, "encrypted": "true"},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
