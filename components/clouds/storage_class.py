"""StorageClasses of encrypted disks that are made in the zone of their first pod, and may grow."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from facts.concepts.kubernetes import manifest


def storage_class(name: str, driver: str, parameters: Mapping[str, str], *, default: bool) -> dict[str, Any]:
    """The class of ``driver``; ``default``: of claims that name none.

    Its parameters cannot be changed: other ones, such as another key, are another name.
    """
    return manifest(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        annotations={"storageclass.kubernetes.io/is-default-class": "true"} if default else None,
        provisioner=driver,
        parameters=parameters,
        volumeBindingMode="WaitForFirstConsumer",
        allowVolumeExpansion=True,
    )


def key_digest(key: str | None) -> str:
    """What a class's name ends in: digits of its ``key``; nothing without one."""
    return "" if key is None else f"-{hashlib.sha256(key.encode()).hexdigest()[:6]}"
