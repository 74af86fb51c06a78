"""A NodePool's requirements, held against what a machine would be labelled with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


class RequirementError(ValueError):
    """A requirement that cannot be judged; the message names it."""


def admits(requirements: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Whether a machine with these labels meets all requirements.

    Raises:
        RequirementError: an operator that Karpenter does not have, or a number that is none.
    """
    return all(_meets(each, labels) for each in requirements)


def _meets(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = requirement["key"], requirement["operator"]
    values = [str(value) for value in requirement.get("values") or ()]
    found = labels.get(key)
    if operator not in _OPERATORS:
        raise RequirementError(f"requirement {key}: no operator {operator}; write one of {', '.join(_OPERATORS)}")
    if operator == "Exists":
        return found is not None
    if operator == "DoesNotExist":
        return found is None
    if operator == "NotIn":
        return found not in values
    if found is None:
        return False
    if operator == "In":
        return found in values
    try:
        bound, number = int(values[0]), int(found)
    except (IndexError, ValueError) as error:
        raise RequirementError(f"requirement {key}: {operator} takes one whole number, not {values}") from error
    return number > bound if operator == "Gt" else number < bound
