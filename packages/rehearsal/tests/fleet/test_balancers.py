"""Which Services and Ingresses get an address of which form."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import override

from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.balancers import Balancers
from rehearsal.simulation import Balancing

NAMED = Balancing("{name}.elb.us-west-2.amazonaws.com")
SERVED = Balancing(ingress_classes=("", "gce"))
ADDRESS = r"203.0.113."
HOST = "a0b1c2.elb.us-west-2.amazonaws.com"


class Served(Api):
    """An API server with one object."""

    def __init__(self, plural: str, item: Object) -> None:
        super().__init__(Kubeconfig({"server": "https://nowhere"}, {"token": "t"}))
        self._plural, self._item = plural, item
        self.written: list[tuple[str, Any]] = []

    @override
    def list(self, path: str, **query: str) -> list[Object]:
        return [self._item] if path.endswith(self._plural) else []

    @override
    def merge_if_there(self, path: str, body: Object) -> None:
        self.written.append((path, body["status"]["loadBalancer"]["ingress"]))


def item(spec: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "web", "namespace": "default", "uid": "0b-1c2", **metadata}, "spec": spec}


BALANCER = {"type": "LoadBalancer"}
OLD = {"annotations": {"kubernetes.io/ingress.class": "nginx"}}


@pytest.mark.parametrize(
    ("plural", "served", "balancing", "expected"),
    [
        ("services", item(BALANCER), Balancing(), {"ip": ADDRESS}),
        ("services", item(BALANCER), NAMED, {"hostname": HOST}),
        ("services", item({"type": "ClusterIP"}), NAMED, None),
        ("services", item({**BALANCER, "loadBalancerClass": "service.k8s.aws/nlb"}), NAMED, None),
        ("services", item(BALANCER, deletionTimestamp="now"), NAMED, None),
        ("services", {**item(BALANCER), "status": {"loadBalancer": {"ingress": [{"ip": "1"}]}}}, NAMED, None),
        ("ingresses", item({}), SERVED, {"ip": ADDRESS}),
        ("ingresses", item({"ingressClassName": "gce"}), SERVED, {"ip": ADDRESS}),
        ("ingresses", item({"ingressClassName": "nginx"}), SERVED, None),
        ("ingresses", item({}, **OLD), SERVED, None),
        ("ingresses", item({}), NAMED, None),
    ],
)
def test_an_address_is_what_the_cloud_would_write(
    plural: str, served: Object, balancing: Balancing, expected: dict[str, str] | None
) -> None:
    api = Served(plural, served)
    Balancers(api, balancing).look()
    if expected is None:
        assert api.written == []
        return
    ((path, (address,)),) = api.written
    assert path.endswith(f"/namespaces/default/{plural}/web/status")
    assert address.keys() == expected.keys()
    assert all(address[key].startswith(value) for key, value in expected.items())
