"""What a cloud's control plane brings and kubeadm does not: the pods' network and volumes. Manifests are in YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
import yaml

from components.clouds.base import AdminObjects

_FOLDER: Final = Path(__file__).parent


def flannel(objects: AdminObjects, pod_cidr: str) -> None:
    """The pods' network: without it no node is ready."""
    _declare(objects, "flannel", manifests("flannel", podCidr=pod_cidr))


def local_path(objects: AdminObjects) -> None:
    """The default StorageClass: folders on the machine where a volume's first pod runs."""
    _declare(objects, "local-path", manifests("local-path"))


def manifests(name: str, **values: str) -> Mapping[str, dict[str, Any]]:
    """The objects of ``<name>.yaml`` by their names there, with ``{key}`` replaced by its value."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return yaml.safe_load(text)


def _declare(objects: AdminObjects, name: str, objects_by_name: Mapping[str, dict[str, Any]]) -> None:
    before: tuple[pulumi.Resource, ...] = ()
    for suffix, manifest in objects_by_name.items():
        before = (objects.declare(f"{name}-{suffix}", manifest, *before),)
