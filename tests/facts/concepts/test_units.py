"""Kubernetes' quantities, paths and answers, and Go's durations, mean what their readers take them for."""

from __future__ import annotations

from decimal import Decimal

import pytest

from facts.concepts.counts import counted, largest
from facts.concepts.durations import seconds
from facts.concepts.kubernetes import pod_requests, quantity
from facts.concepts.rest import admission_warnings, failure, resource_path
from tests.tables import cases


@cases
def test_quantities(text: str, value: str) -> None:
    assert quantity(text) == Decimal(value)


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


@cases
def test_seconds(text: str, value: float | None) -> None:
    assert seconds(text) == value


def test_one_is_singular_and_everything_else_is_not() -> None:
    assert [counted(count, "GPU node") for count in (0, 1, 2)] == ["0 GPU nodes", "1 GPU node", "2 GPU nodes"]


@pytest.mark.parametrize("order", [1, -1])
def test_the_largest_are_three_in_an_order_that_does_not_depend_on_registration(order: int) -> None:
    amounts = [("t4", 1), ("l4", 2), ("a100", 1), ("h100", 0)]
    assert largest(amounts[::order]) == [("l4", 2), ("a100", 1), ("t4", 1)]


@cases
def test_a_path_names_one_object_or_a_collection(arguments: list[str], path: str) -> None:
    assert resource_path(*arguments) == path


def test_every_warning_of_every_header_is_read() -> None:
    assert admission_warnings(['299 - "one", 299 - "two \\"quoted\\""', '299 - "three"', "nonsense"]) == (
        "one",
        'two "quoted"',
        "three",
    )


@cases
def test_an_error_answer_is_read_only_from_a_status(body: str | None, expected: list[str] | None) -> None:
    for sent in (body, None if body is None else body.encode()):
        assert failure(sent) == (None if expected is None else tuple(expected))
