"""A container's environment is what its pod's specification says, or it is not started."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from rehearsal.workloads.environment import EnvironmentProblem, arguments, environment, expand

NODE: dict[str, Any] = {"status": {"allocatable": {"cpu": "1930m", "memory": "3Gi"}}}
OBJECTS = {
    ("configmaps", "settings"): {"data": {"LEVEL": "debug", "COLOR": "red"}},
    ("secrets", "keys"): {"data": {"KEY": base64.b64encode(b"s3cret").decode()}},
}


def pod(*env: dict[str, Any], **container: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "200m"}, "limits": {"memory": "1Gi"}}
    made = {"name": "main", "image": "x", "env": list(env), "resources": resources, **container}
    metadata = {"name": "it", "namespace": "kube-system", "uid": "u1", "labels": {"app.kubernetes.io/name": "it"}}
    spec = {"containers": [made], "nodeName": "n1", "serviceAccountName": "robot"}
    return {"metadata": metadata, "spec": spec, "status": {"hostIP": "127.0.0.1"}}


def resolved(*env: dict[str, Any], **container: Any) -> dict[str, str]:
    made = pod(*env, **container)
    return environment(made, made["spec"]["containers"][0], lambda plural, name: OBJECTS.get((plural, name)), NODE)


def from_(kind: str, **reference: Any) -> dict[str, Any]:
    return {"name": "IT", "valueFrom": {kind: reference}}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ({"name": "IT", "value": "plain"}, "plain"),
        ({"name": "IT"}, ""),
        (from_("fieldRef", fieldPath="metadata.namespace"), "kube-system"),
        (from_("fieldRef", fieldPath="metadata.labels['app.kubernetes.io/name']"), "it"),
        (from_("fieldRef", fieldPath="metadata.annotations['none']"), ""),
        (from_("fieldRef", fieldPath="spec.nodeName"), "n1"),
        (from_("fieldRef", fieldPath="spec.serviceAccountName"), "robot"),
        (from_("fieldRef", fieldPath="status.hostIP"), "127.0.0.1"),
        (from_("resourceFieldRef", resource="requests.cpu", divisor="1m"), "200"),
        (from_("resourceFieldRef", resource="requests.cpu", divisor="0"), "1"),
        (from_("resourceFieldRef", resource="limits.memory", divisor="0", containerName="main"), "1073741824"),
        (from_("resourceFieldRef", resource="limits.cpu", divisor="1m"), "1930"),
        (from_("configMapKeyRef", name="settings", key="LEVEL"), "debug"),
        (from_("secretKeyRef", name="keys", key="KEY"), "s3cret"),
    ],
)
def test_every_source_of_a_value(variable: dict[str, Any], value: str) -> None:
    assert resolved(variable) == {"IT": value}


@pytest.mark.parametrize("reference", [{"name": "settings", "key": "ABSENT"}, {"name": "absent", "key": "LEVEL"}])
def test_what_is_referred_to_must_exist_unless_it_is_optional(reference: dict[str, str]) -> None:
    with pytest.raises(EnvironmentProblem, match=reference["name"]):
        resolved(from_("configMapKeyRef", **reference))
    assert resolved(from_("configMapKeyRef", **reference, optional=True)) == {}


def test_a_source_that_nobody_knows_is_a_problem_and_not_an_empty_value() -> None:
    with pytest.raises(EnvironmentProblem, match="fileKeyRef"):
        resolved(from_("fileKeyRef", path="x"))


def test_whole_objects_come_first_and_variables_win() -> None:
    sources = [
        {"prefix": "P_", "configMapRef": {"name": "settings"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    variables = resolved({"name": "P_LEVEL", "value": "info"}, envFrom=sources)
    assert variables == {"P_LEVEL": "info", "P_COLOR": "red"}
    with pytest.raises(EnvironmentProblem, match="none"):
        resolved(envFrom=[{"secretRef": {"name": "none"}}])


@pytest.mark.parametrize(
    ("text", "value"),
    [("$(A)-$(B)", "1-$(B)"), ("$$(A)", "$(A)"), ("$$", "$"), ("A", "A"), ("$(A", "$(A"), ("$(A)$(A)", "11")],
)
def test_references_between_variables(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value


def test_a_variable_sees_those_before_it() -> None:
    later = {"name": "B", "value": "$(A)/$(C)"}
    assert resolved({"name": "A", "value": "1"}, later, {"name": "C", "value": "2"})["B"] == "1/$(C)"


def test_arguments_follow_the_programs_name() -> None:
    container = {"command": ["/bin/it", "serve"], "args": ["--level=$(LEVEL)"]}
    assert arguments(container, {"LEVEL": "debug"}) == ["serve", "--level=debug"]
    assert arguments({}, {}) == []
