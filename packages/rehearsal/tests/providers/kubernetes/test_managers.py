"""Whose the fields of an object are, before an update."""

from __future__ import annotations

from typing import Any

from rehearsal.providers.kubernetes.manifest import manager_of, taken_over

OURS = "pulumi-kubernetes-1234"


def entry(manager: str, operation: str, *labels: str, **more: str) -> dict[str, Any]:
    fields = {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def test_fields_of_the_creation_and_of_kubectl_are_taken_over_and_no_others() -> None:
    theirs = [entry("helm", "Update", "d"), entry("kubectl-edit", "Update", "e", subresource="status")]
    creation = [entry("pulumi-kubernetes", "Update", "a", "b"), entry("kubectl-edit", "Update", "c")]
    managed = [*creation, *theirs, entry(OURS, "Apply", "b", "z")]
    taken = taken_over({"metadata": {"managedFields": managed}}, OURS)
    assert taken == [*theirs, entry(OURS, "Apply", "a", "b", "c", "z")]
    assert taken_over({"metadata": {"managedFields": taken}}, OURS) == []
    assert taken_over({"metadata": {"managedFields": creation}}, OURS) == [entry(OURS, "Apply", "a", "b", "c")]


def test_the_annotation_names_the_manager_then_the_state() -> None:
    annotated = {"metadata": {"annotations": {"pulumi.com/patchFieldManager": "me"}}}
    assert manager_of(annotated, {"__fieldManager": OURS}) == "me"
    assert manager_of({}, {"__fieldManager": OURS}) == OURS
    assert manager_of({}, {}) != manager_of({}, {})
