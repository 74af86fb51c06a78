"""Addresses of Services and Ingresses, as a cloud's controllers write them into their status. They lead nowhere."""

from __future__ import annotations

import zlib
from typing import Any, Final

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import PollingThread
from rehearsal.simulation import Balancing

_POLL_SECONDS: Final = 0.5
_SERVICES: Final = "services"
_INGRESSES: Final = "ingresses"
_OLD_CLASS: Final = "kubernetes.io/ingress.class"
"""https://kubernetes.io/docs/concepts/services-networking/ingress/#deprecated-annotation"""


class Balancers(PollingThread):
    """Gives each Service of type LoadBalancer, and each Ingress of a class that the cloud serves, its address."""

    def __init__(self, api: Api, balancing: Balancing) -> None:
        super().__init__("balancers", _POLL_SECONDS)
        self._api = api
        self._balancing = balancing

    def look(self) -> None:
        """Write the addresses that are missing."""
        for each in self._api.list(resource_path("v1", _SERVICES), resourceVersion="0"):
            spec = each["spec"]
            # Another controller serves a class: https://kubernetes.io/docs/concepts/services-networking/service/#load-balancer-class
            if spec.get("type") == "LoadBalancer" and not spec.get("loadBalancerClass"):
                self._write("v1", _SERVICES, each, self._address(each))
        if self._balancing.ingress_classes:
            group = "networking.k8s.io/v1"
            for each in self._api.list(resource_path(group, _INGRESSES), resourceVersion="0"):
                if _class(each) in self._balancing.ingress_classes:
                    self._write(group, _INGRESSES, each, {"ip": _ip(each)})

    def _address(self, service: Object) -> dict[str, Any]:
        name = f"a{service['metadata']['uid'].replace('-', '')}"[:32]
        form = self._balancing.host_name
        return {"hostname": form.format(name=name)} if form else {"ip": _ip(service)}

    def _write(self, version: str, plural: str, item: Object, address: dict[str, Any]) -> None:
        place = item["metadata"]
        if not place.get("deletionTimestamp") and not item.get("status", {}).get("loadBalancer", {}).get("ingress"):
            path = resource_path(version, plural, place["name"], place["namespace"])
            self._api.merge_if_there(f"{path}/status", {"status": {"loadBalancer": {"ingress": [address]}}})


def _class(ingress: Object) -> str:
    named = ingress["spec"].get("ingressClassName")
    return str(named or (ingress["metadata"].get("annotations") or {}).get(_OLD_CLASS, ""))


def _ip(item: Object) -> str:
    # 203.0.113.0/24 is reserved for documentation (RFC 5737): no real host answers there.
    return f"203.0.113.{zlib.crc32(item['metadata']['uid'].encode()) % 254 + 1}"
