"""Kubernetes' quantities mean what the API server takes them for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from facts.concepts.kubernetes import quantity


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
