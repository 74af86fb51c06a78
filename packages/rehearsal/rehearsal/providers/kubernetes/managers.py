"""Field managers, as the plugin has them since 4.29: one creates every object, another per resource applies changes.

https://github.com/pulumi/pulumi-kubernetes/blob/v4.32.0/provider/pkg/await/await.go
"""

from __future__ import annotations

import secrets
from functools import reduce
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.manifest import annotation

CREATOR: Final = "pulumi-kubernetes"
"""What every object is created as, by an ordinary request: so none that exists is adopted."""

_ANNOTATION: Final = "pulumi.com/patchFieldManager"
_REPLACED: Final = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    (CREATOR, "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
"""Beginnings of a manager's name, and its operation."""


def manager_of(inputs: Properties, state: Properties) -> str:
    """What changes of a resource are applied as: its annotation, else what its state has, else a random name."""
    return annotation(inputs, _ANNOTATION) or state.get("__fieldManager") or f"{CREATOR}-{secrets.token_hex(4)}"


def created(live: Properties) -> bool:
    """Whether fields of an object are as the plugin created them; their new manager is in no preview's way."""
    return any((each["manager"], each["operation"]) == (CREATOR, "Update") for each in _managed(live))


def taken_over(live: Properties, manager: str) -> list[Properties]:
    """An object's ``managedFields`` once ``manager`` has what its creation or ``kubectl`` set, as before each update.

    Empty if there is nothing to take over. The plugin's ``fixCSAFieldManagers``; others' fields stay theirs.
    """
    entries = _managed(live)
    replaced = [each for each in entries if "subresource" not in each and _is_replaced(each)]
    own = [each for each in entries if (each["manager"], each["operation"]) == (manager, "Apply")]
    if not replaced:
        return []
    fields: dict[str, Any] = reduce(_union, (each["fieldsV1"] for each in (*own, *replaced)))
    rest = [each for each in entries if each not in replaced and each not in own]
    return [*rest, {**(own or replaced)[0], "manager": manager, "operation": "Apply", "fieldsV1": fields}]


def _managed(live: Properties) -> list[Properties]:
    return live["metadata"].get("managedFields") or []


def _is_replaced(entry: Properties) -> bool:
    return any(entry["operation"] == operation and entry["manager"].startswith(name) for name, operation in _REPLACED)


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The fields of two sets: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management"""
    return {**one, **{key: _union(one.get(key, {}), value) for key, value in other.items()}}
