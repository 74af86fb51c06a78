"""What a cloud's control plane brings and kubeadm does not: the pods' network and volumes. Manifests are in YAML."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components.clouds.base import AdminObjects
from components.resources import documents


def flannel(objects: AdminObjects, pod_cidr: str) -> None:
    """The pods' network: without it no node is ready."""
    _declare(objects, "flannel", podCidr=pod_cidr)


def local_path(objects: AdminObjects) -> None:
    """The default StorageClass: folders on the machine where a volume's first pod runs."""
    _declare(objects, "local-path")


def _declare(objects: AdminObjects, name: str, **values: str) -> None:
    """The objects of ``<name>.yaml`` by their names there, each after the one above it."""
    (listed,) = documents(Path(__file__).with_name(f"{name}.yaml"), **values)
    before: tuple[pulumi.Resource, ...] = ()
    for suffix, manifest in listed.items():
        before = (objects.declare(f"{name}-{suffix}", manifest, *before),)
