"""The class of volumes for claims that name none.

EKS has made none since 1.30 (https://github.com/kubernetes-sigs/aws-ebs-csi-driver/pull/2039), and without one the
claims of most charts stay pending. That of the add-on has no parameters, so it does not encrypt:
https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
"""

from __future__ import annotations

from typing import Any, Final

from components.clouds.eks.node_template import VOLUME_TYPE
from components.clouds.storage_class import key_digest, storage_class

NAME: Final = "gp3-encrypted"
"""The parameters of a class cannot be changed: other ones, such as another key, are another name."""


def default_class(key: str | None = None) -> dict[str, Any]:
    """Encrypted with ``key``, else the account's default one; in the zone of its first pod, and free to grow."""
    own = {} if key is None else {"kmsKeyId": key}
    parameters = {"type": VOLUME_TYPE, "encrypted": "true", **own}
    return storage_class(f"{NAME}{key_digest(key)}", "ebs.csi.aws.com", parameters, default=True)
