"""Paths of objects, and what answers of the Kubernetes API say."""

from __future__ import annotations

import pytest

from facts.concepts.rest import admission_warnings, failure, resource_path


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("v1", "nodes"), "/api/v1/nodes"),
        (("v1", "pods", "", "team"), "/api/v1/namespaces/team/pods"),
        (("apps/v1", "daemonsets", "x", "y"), "/apis/apps/v1/namespaces/y/daemonsets/x"),
        (("v1", "pods", "../nodes", "c/d"), "/api/v1/namespaces/c%2Fd/pods/..%2Fnodes"),
        (
            ("rbac.authorization.k8s.io/v1", "clusterroles", "system:node"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
        ),
    ],
)
def test_a_path_names_one_object_or_a_collection(arguments: tuple[str, ...], path: str) -> None:
    assert resource_path(*arguments) == path


def test_every_warning_of_every_header_is_read() -> None:
    assert admission_warnings(['299 - "one", 299 - "two \\"quoted\\""', '299 - "three"', "nonsense"]) == (
        "one",
        'two "quoted"',
        "three",
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"message": "no such pod", "reason": "NotFound"}', ("no such pod", "NotFound")),
        ('{"message": "no"}', ("no", "")),
        (b"<html>bad gateway</html>\n", None),
        (b"[1]", None),
        (None, None),
    ],
)
def test_an_error_answer_is_read_only_from_a_status(body: bytes | str | None, expected: tuple[str, str] | None) -> None:
    assert failure(body) == expected
