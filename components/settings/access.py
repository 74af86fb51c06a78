"""``access``: roles in the cluster for principals other than its creator."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictStr, ValidationInfo, field_validator

from components.settings.fields import PoolName, Section, wrong
from components.settings.namespaces import Namespace

Role = Literal["admin", "developer", "viewer"]


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
        return value


def each_once(value: tuple[Access, ...]) -> tuple[Access, ...]:
    """Unique names, and at most one role per principal: a cloud has one entry for each."""
    for word, values in (("name", [entry.name for entry in value]), ("who", [entry.who for entry in value])):
        twice = sorted({each for each in values if values.count(each) > 1})
        if twice:
            raise wrong(
                f"the {word} '{twice[0]}' is listed twice", "Write each once; a developer may have several namespaces"
            )
    return value


AccessList = Annotated[tuple[Access, ...], AfterValidator(each_once)]
