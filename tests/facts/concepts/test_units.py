"""Kubernetes' quantities, paths and answers, and Go's durations, mean what their readers take them for."""

from __future__ import annotations

from decimal import Decimal

import pytest

from facts.concepts.counts import counted, largest
from facts.concepts.durations import seconds
from facts.concepts.kubernetes import gpu_limit, pod_requests, quantity
from facts.concepts.rest import admission_warnings, failure, resource_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "1"),
        ("200m", "0.2"),
        ("1Gi", "1073741824"),
        ("1.5k", "1500"),
        ("1e3", "1000"),
        ("2E", "2000000000000000000"),
        ("1Ki", "1024"),
    ],
)
def test_quantities(text: str, value: str) -> None:
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "Gi", "1x", "1 Gi", "--1"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        quantity(text)


@pytest.mark.parametrize(("written", "gpus"), [("1k", 2000), ("8", 16), (8, 16), (None, 0)])
def test_gpus_are_quantities_like_any_other(written: str | int | None, gpus: int) -> None:
    assert gpu_limit({"containers": [{"resources": {"limits": {"nvidia.com/gpu": written}}}] * 2}) == gpus


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


@pytest.mark.parametrize(
    ("first", "beside", "gpus"),
    [
        ([], [], 1),
        ([("2k", None)], [], 2000),
        ([("1", "Always")], [], 2),
        ([("1", "Always"), ("4", None)], [], 5),
        ([("4", None), ("1", "Always")], [], 4),
        ([("1", "Always")], ["2"], 4),
    ],
)
def test_gpus_of_containers_sidecars_and_init_containers(
    first: list[tuple[str, str | None]], beside: list[str], gpus: int
) -> None:
    def container(number: str, restart: str | None = None) -> dict[str, object]:
        return {"resources": {"limits": {"nvidia.com/gpu": number}}, "restartPolicy": restart}

    spec = {
        "initContainers": [container(*each) for each in first],
        "containers": [container("1"), *map(container, beside)],
    }
    assert gpu_limit(spec) == gpus


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30s", 30),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("0", 0),
        ("Never", None),
        ("", None),
        ("10", None),
        ("1h 30m", None),
        ("-1h", None),
    ],
)
def test_seconds(text: str, value: float | None) -> None:
    assert seconds(text) == value


def test_one_is_singular_and_everything_else_is_not() -> None:
    assert [counted(count, "GPU node") for count in (0, 1, 2)] == ["0 GPU nodes", "1 GPU node", "2 GPU nodes"]


@pytest.mark.parametrize("order", [1, -1])
def test_the_largest_are_three_in_an_order_that_does_not_depend_on_registration(order: int) -> None:
    amounts = [("t4", 1), ("l4", 2), ("a100", 1), ("h100", 0)]
    assert largest(amounts[::order]) == [("l4", 2), ("a100", 1), ("t4", 1)]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["v1", "nodes"], "/api/v1/nodes"),
        (["v1", "pods", "", "team"], "/api/v1/namespaces/team/pods"),
        (["apps/v1", "daemonsets", "x", "y"], "/apis/apps/v1/namespaces/y/daemonsets/x"),
        (["v1", "pods", "../nodes", "c/d"], "/api/v1/namespaces/c%2Fd/pods/..%2Fnodes"),
        (
            ["rbac.authorization.k8s.io/v1", "clusterroles", "system:node"],
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
        ),
    ],
)
def test_a_path_names_one_object_or_a_collection(arguments: list[str], path: str) -> None:
    assert resource_path(*arguments) == path


def test_every_warning_of_every_header_is_read() -> None:
    expected = ("one", 'two "quoted"', "three")
    assert admission_warnings(['299 - "one", 299 - "two \\"quoted\\""', '299 - "three"', "nonsense"]) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"message": "no such pod", "reason": "NotFound"}', ["no such pod", "NotFound"]),
        ('{"message": "no"}', ["no", ""]),
        ("<html>bad gateway</html>\n", None),
        ("[1]", None),
        (None, None),
    ],
)
def test_an_error_answer_is_read_only_from_a_status(body: str | None, expected: list[str] | None) -> None:
    for sent in (body, None if body is None else body.encode()):
        assert failure(sent) == (None if expected is None else tuple(expected))
