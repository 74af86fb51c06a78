"""Kubernetes' quantities mean what the API server takes them for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from facts.concepts.kubernetes import pod_requests, quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("200m", Decimal("0.2")),
        ("1Gi", 1024**3),
        ("1.5k", 1500),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("1Ki", 1024),
    ],
)
def test_quantities(text: str, value: Any) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "1x", "1 Gi", "--1"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        quantity(text)


def test_a_pod_requests_its_containers_together_or_its_largest_init_container() -> None:
    spec = {
        "initContainers": [{"resources": {"requests": {"cpu": "3", "memory": "64Mi"}}}, {}],
        "containers": [
            {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "4"}}},
            {"resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 2}}},
            {"resources": None},
        ],
    }
    assert pod_requests(spec) == {"cpu": 3, "memory": 1024**3, "nvidia.com/gpu": 2}
    assert pod_requests({"containers": [{}]}) == {}
