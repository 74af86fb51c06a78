"""``access``: roles in the cluster for principals other than its creator."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StrictStr, ValidationInfo, field_validator

from components.settings.fields import PoolName, Section, once, wrong
from components.settings.namespaces import Namespace

Role = Literal["admin", "developer", "viewer", "reader"]


class Access(Section):
    """A user, a group or a pipeline, and its role in the cluster."""

    name: PoolName
    who: Annotated[StrictStr, Field(min_length=1)]
    role: Role
    namespaces: tuple[Namespace, ...] = Field(default=(), validate_default=True)

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
