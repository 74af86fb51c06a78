# ruff: noqa: D102 - CloudCatalog says what each method is for
"""GKE's side of the catalogue: its tables behind the words that all clouds share."""

from __future__ import annotations

from collections.abc import Mapping

from components.catalog.gke import gpus, machines, nodes, prices, zones
from components.catalog.model import Price
from components.catalog.tables import TableCatalog


class GkeCatalog(TableCatalog):
    """See ``CloudCatalog``."""

    def __init__(self) -> None:
        super().__init__(gpus=gpus, machines=machines, nodes=nodes, prices=prices, zones=zones)

    def nat_price(self, nodes: int, *, gateways: int = 1) -> Price:
        # One gateway serves all zones, and is billed by the nodes behind it.
        return prices.nat_price(nodes)

    def images(self) -> tuple[str, ...]:
        return ("cos", "ubuntu")

    def default_ranges(self) -> Mapping[str, str | None]:
        return {"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"}

    def default_cpu_machine(self) -> str:
        return "e2-standard-4"

    def default_admin_machine(self) -> str:
        return "e2-custom-2-10240"

    def reference_region(self) -> str:
        return "us-central1"

    def account_key(self) -> str:
        return "gcp:project"

    def account_example(self) -> str:
        return "my-project"

    def max_name_length(self) -> int:
        # GKE's own error says so: https://github.com/pulumi/pulumi-gcp/issues/1510
        return 40

    def pod_addresses_per_node(self) -> int:
        # A /24 at the default of 110 pods per node: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr
        return 256

    def kept_addresses(self) -> int:
        # Network, gateway, second-to-last and broadcast:
        # https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
        return 4
