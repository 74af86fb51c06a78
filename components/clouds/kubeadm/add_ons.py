"""What a cloud's control plane brings and kubeadm does not: the pods' network, volumes, and addresses for Services of
type LoadBalancer. Manifests are in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pulumi

from components.clouds.base import AdminObjects
from components.resources import Chart, documents
from facts.concepts.pool import ROLE_LABEL

METALLB: Final = Chart(
    repository="https://metallb.github.io/metallb", name="metallb", version="0.15.3", namespace="metallb-system"
)
FIREWALL_PORTS: Final = ("7946/tcp", "7946/udp")
"""By which MetalLB's speakers notice that a machine failed: https://metallb.io/#requirements"""

_HERE: Final = Path(__file__).parent


def flannel(objects: AdminObjects, pod_cidr: str) -> None:
    """The pods' network: without it no node is ready."""
    _declare(objects, "flannel", podCidr=pod_cidr)


def local_path(objects: AdminObjects) -> None:
    """The default StorageClass: folders on the machine where a volume's first pod runs."""
    _declare(objects, "local-path")


def load_balancer(objects: AdminObjects, addresses: str) -> None:
    """MetalLB, and the range of ``addresses`` that it gives to Services."""
    # Its speakers are in the machines' network and send ARP.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    space = objects.objects.namespace(METALLB.namespace, objects.parent, labels=labels)
    (values,) = documents(_HERE / "metallb-values.yaml", admin={ROLE_LABEL: "admin"})
    inputs = {**METALLB.where, "values": values}
    installed = objects.objects.helm_release(METALLB.name, inputs, objects.parent, space, *objects.home)
    _declare(objects, "load-balancer", installed, addresses=addresses)


def _declare(objects: AdminObjects, name: str, *before: pulumi.Resource, **values: str) -> None:
    """The objects of ``<name>.yaml`` by their names there, each after the one above it."""
    (listed,) = documents(_HERE / f"{name}.yaml", **values)
    for suffix, manifest in listed.items():
        before = (objects.declare(f"{name}-{suffix}", manifest, *before),)
