"""Addresses for Services of type LoadBalancer: MetalLB in layer 2 mode, where no cloud has load balancers.

A worker answers ARP for each Service's address: https://metallb.io/concepts/layer2/.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from components.clouds.base import AdminObjects
from components.resources import Chart, documents
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import ROLE_LABEL

CHART: Final = Chart(
    repository="https://metallb.github.io/metallb", name="metallb", version="0.15.3", namespace="metallb-system"
)
FIREWALL_PORTS: Final = ("7946/tcp", "7946/udp")
"""By which its speakers notice that a machine failed: https://metallb.io/#requirements"""

_API: Final = "metallb.io/v1beta1"
_NAME: Final = "machines"


def load_balancer(objects: AdminObjects, addresses: str) -> None:
    """MetalLB, and the range of ``addresses`` that it gives to Services."""
    # Its speakers are in the machines' network and send ARP.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    space = objects.objects.namespace(CHART.namespace, objects.parent, labels=labels)
    (values,) = documents(Path(__file__).with_name("metallb-values.yaml"), admin={ROLE_LABEL: "admin"})
    inputs = {**CHART.where, "values": values}
    installed = objects.objects.helm_release(CHART.name, inputs, objects.parent, space, objects.admin_pool)
    pool = manifest(_API, "IPAddressPool", _NAME, CHART.namespace, spec={"addresses": [addresses]})
    layer2 = manifest(_API, "L2Advertisement", _NAME, CHART.namespace, spec={"ipAddressPools": [_NAME]})
    declared = objects.declare("load-balancer-range", pool, installed)
    objects.declare("load-balancer-layer2", layer2, declared)
