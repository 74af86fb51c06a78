"""An API server that the whole internet reaches, in each cloud's spelling; two halves are the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from facts.concepts.declared import Cluster
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared

INPUTS: dict[str, Callable[[list[Any]], dict[str, Any]]] = {
    "gcp:container/cluster:Cluster": lambda ranges: {
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": each} for each in ranges]}
    },
    "aws:eks/cluster:Cluster": lambda ranges: {"vpcConfig": {"publicAccessCidrs": ranges}},
    "azure-native:containerservice:ManagedCluster": lambda ranges: {
        "apiServerAccessProfile": {"authorizedIPRanges": ranges}
    },
}


@pytest.mark.parametrize("type_token", INPUTS)
@pytest.mark.parametrize(
    ("ranges", "is_open"),
    [
        (["203.0.113.0/24"], False),
        (["203.0.113.0/24", "0.0.0.0/0"], True),
        (["0.0.0.0/1", "128.0.0.0/1"], True),
        (["10.0.0.0/16", "203.0.113.7/32"], False),
        (["203.0.113.0/24", UNKNOWN], UNKNOWN),
    ],
)
def test_ranges_of_the_control_plane(type_token: str, ranges: list[Any], is_open: Any) -> None:
    items = read(Declared(type_token, "c", "urn:c", INPUTS[type_token](ranges)))
    assert [item.open_api for item in items if isinstance(item, Cluster)] == [is_open]
