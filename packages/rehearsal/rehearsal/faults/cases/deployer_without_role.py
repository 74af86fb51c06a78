"""A cluster of Azure's in which whoever made it may do nothing."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change

_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"
_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
_READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"


def _reader(inputs: dict[str, Any]) -> dict[str, Any] | None:
    role = inputs["roleDefinitionId"]
    return {**inputs, "roleDefinitionId": role.replace(_CLUSTER_ADMIN, _READER)} if _CLUSTER_ADMIN in role else None


CASE = Case(
    name="deployer-without-role",
    title="whoever runs the program gets no role for what is in the cluster",
    stack="examples/aks-train-infer.yaml",
    rule=None,
    check="up",
    reason="forbidden",
    sabotage=change(_ASSIGNMENT, _reader),
)
