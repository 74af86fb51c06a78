"""``access``: roles in the cluster for principals other than its creator."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StrictStr, ValidationInfo, field_validator

from components.settings.fields.namespaces import Namespace
from components.settings.fields.types import PoolName, Section, once, wrong

Role = Literal["admin", "developer", "viewer", "reader"]


class Access(Section):
    """A user, a group or a pipeline, and its role in the cluster."""

    name: PoolName = Field(description="prefix of the names of the objects that grant the access")
    who: Annotated[StrictStr, Field(min_length=1)] = Field(
        description="the user, group or identity, as the cloud names it (see below). The identity that creates the "
        "cluster is always admin"
    )
    role: Role = Field(
        description="`admin`: everything. `developer`: workloads in `namespaces`. `viewer`: read access without "
        "secrets. `reader`: a [pipeline](ci.md#inside-the-cluster) that reads the kinds of objects in this program, "
        "but no Secrets and no logs. All roles can read nodes"
    )
    namespaces: tuple[Namespace, ...] = Field(
        default=(),
        validate_default=True,
        description="namespaces of a `developer` (required) or a `viewer` (default: all). Missing ones are created. A "
        "namespace that is removed from the list is not deleted",
    )

    @field_validator("namespaces")
    @classmethod
    def _namespaces(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        role = info.data.get("role")
        if len(set(value)) < len(value):
            raise wrong("a namespace is listed twice", "Write each namespace once")
        if role == "developer" and not value:
            raise wrong("a developer needs at least one namespace", "Write for example namespaces: [default]")
        if role == "admin" and value:
            raise wrong("an admin has access to all namespaces", "Leave it out, or write role: developer")
        if role == "reader" and value:
            raise wrong("a reader has access to all namespaces", "Leave it out, or write role: viewer")
        return value


_ONCE: Final = "Write each once; a developer may have several namespaces"
# At most one role per principal: a cloud has one entry for each.
AccessList = Annotated[
    tuple[Access, ...],
    once("the name '{0.name}' is listed twice", _ONCE, lambda entry: entry.name),
    once("the who '{0.who}' is listed twice", _ONCE, lambda entry: entry.who),
]
