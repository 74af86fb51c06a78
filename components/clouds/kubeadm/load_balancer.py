"""Addresses for Services of type LoadBalancer: MetalLB in layer 2 mode, where no cloud has load balancers.

A worker answers ARP for each Service's address: https://metallb.io/concepts/layer2/. The chart's values:
https://github.com/metallb/metallb/blob/v0.15.3/charts/metallb/values.yaml
"""

from __future__ import annotations

from typing import Any, Final

from components.clouds.base import AdminObjects
from components.resources import Chart
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
    inputs = {**CHART.where, "values": values()}
    installed = objects.objects.helm_release(CHART.name, inputs, objects.parent, space, objects.admin_pool)
    pool = manifest(_API, "IPAddressPool", _NAME, CHART.namespace, spec={"addresses": [addresses]})
    layer2 = manifest(_API, "L2Advertisement", _NAME, CHART.namespace, spec={"ipAddressPools": [_NAME]})
    declared = objects.declare("load-balancer-range", pool, installed)
    objects.declare("load-balancer-layer2", layer2, declared)


def values() -> dict[str, Any]:
    """The chart's values: no BGP, the controller on the admin pool, a speaker on every machine whatever its taints."""
    return {
        "controller": {
            "nodeSelector": {ROLE_LABEL: "admin"},
            "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        },
        "speaker": {
            "frr": {"enabled": False},
            "tolerations": [{"operator": "Exists"}],
            "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        },
        "frrk8s": {"enabled": False},
    }
