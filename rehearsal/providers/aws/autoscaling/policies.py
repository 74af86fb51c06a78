"""What IAM policy documents allow: the part of the evaluation that decides about one call of one role.

Identity policies only: an explicit Deny wins, then any Allow, else no
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html). Not here: permission
boundaries, service control policies and resource policies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

Document = Mapping[str, Any]
"""A policy document, parsed."""

_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
_SET_OPERATORS: Final = ("ForAllValues:", "ForAnyValue:")


class UnsupportedPolicyError(ValueError):
    """A document uses something that this evaluation does not know; the message names it."""


@dataclass(frozen=True)
class Call:
    """One request: ``action`` (``autoscaling:SetDesiredCapacity``) on the ARN ``resource``.

    ``context`` holds condition keys as policies spell them (``aws:ResourceTag/owner``, ``aws:RequestedRegion``); a key
    with several values (``aws:TagKeys``) is a tuple. Keys are compared without regard to case, as IAM does, except
    for what follows the slash of a tag key.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)


def allows(documents: Iterable[Document], call: Call) -> bool:
    """Whether a role with these policy ``documents`` may make ``call``.

    Raises:
        UnsupportedPolicyError: a statement about this call has a condition that cannot be judged.
    """
    effects = {statement["Effect"] for document in documents for statement in _matching(document, call)}
    return "Allow" in effects and "Deny" not in effects


def trusts(document: Document, service: str, actions: Sequence[str], context: Mapping[str, str]) -> bool:
    """Whether a role's trust policy lets the AWS ``service`` (``pods.eks.amazonaws.com``) do all of ``actions``."""
    own = [statement for statement in _statements(document) if _is_for(statement.get("Principal"), service)]
    return all(allows([{"Statement": own}], Call(action, "*", context)) for action in actions)


def resource_tags(tags: Mapping[str, str], *services: str) -> dict[str, str]:
    """The condition keys that a tagged resource brings: ``aws:ResourceTag/…``, and those of ``services``."""
    return {f"{prefix}:ResourceTag/{key}": value for prefix in ("aws", *services) for key, value in tags.items()}


def request_tags(tags: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    """The condition keys of a request that sets ``tags``."""
    return {**{f"aws:RequestTag/{key}": value for key, value in tags.items()}, "aws:TagKeys": tuple(tags)}


def _matching(document: Document, call: Call) -> Iterable[Mapping[str, Any]]:
    for statement in _statements(document):
        about = _names(statement, "Action", call.action, True, call) and _names(
            statement, "Resource", call.resource, False, call
        )
        if about and _meets(statement.get("Condition") or {}, call):
            yield statement


def _statements(document: Document) -> list[Mapping[str, Any]]:
    found = document.get("Statement") or []
    return [found] if isinstance(found, Mapping) else list(found)


def _names(statement: Mapping[str, Any], element: str, value: str, ignore_case: bool, call: Call) -> bool:
    """Whether the statement's ``Action`` or ``Resource`` covers ``value``; trust policies have no ``Resource``."""
    if f"Not{element}" in statement:
        return not _any_like(_listed(statement[f"Not{element}"]), value, ignore_case, call)
    if element not in statement:
        return element == "Resource"
    return _any_like(_listed(statement[element]), value, ignore_case, call)


def _any_like(patterns: Sequence[str], value: str, ignore_case: bool, call: Call) -> bool:
    return any(_like(_substituted(pattern, call), value, ignore_case) for pattern in patterns)


def _is_for(principal: Any, service: str) -> bool:
    return isinstance(principal, Mapping) and service in _listed(principal.get("Service"))


def _meets(conditions: Mapping[str, Mapping[str, Any]], call: Call) -> bool:
    return all(
        _judge(operator, key, [_substituted(value, call) for value in _listed(values)], call)
        for operator, keys in conditions.items()
        for key, values in keys.items()
    )


def _judge(operator: str, key: str, wanted: Sequence[str], call: Call) -> bool:
    """One condition. A key that the request lacks fails it, unless the operator is negated or ends in ``IfExists``.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    quantifier = next((prefix for prefix in _SET_OPERATORS if operator.startswith(prefix)), "")
    plain = operator.removeprefix(quantifier)
    optional, plain = plain.endswith("IfExists"), plain.removesuffix("IfExists")
    found = _context(call, key)
    if plain == "Null":
        return (found is None) == (wanted[0].lower() == "true")
    compare = _OPERATORS.get(plain)
    if compare is None:
        known = ", ".join(sorted([*_OPERATORS, "Null"]))
        raise UnsupportedPolicyError(f"condition operator {operator} cannot be judged; the rehearsal knows {known}")
    negated = plain in _NEGATED
    if found is None:
        return optional or negated or quantifier == "ForAllValues:"
    values = (found,) if isinstance(found, str) else found
    # The test of one value: one of those wanted, or, negated, none of them.
    answers = [any(compare(pattern, value) for pattern in wanted) != negated for value in values]
    return all(answers) if quantifier != "ForAnyValue:" else any(answers)


def _context(call: Call, key: str) -> str | tuple[str, ...] | None:
    return next((value for name, value in call.context.items() if _folded(name) == _folded(key)), None)


def _folded(key: str) -> str:
    prefix, slash, tag = key.partition("/")
    return prefix.lower() + slash + tag


def _substituted(text: str, call: Call) -> str:
    """``text`` with its policy variables (``${aws:PrincipalTag/team}``) filled in; an unknown one stays as it is."""

    def value(match: re.Match[str]) -> str:
        found = _context(call, match.group(1))
        return found if isinstance(found, str) else match.group(0)

    return _VARIABLE.sub(value, text)


def _like(pattern: str, value: str, ignore_case: bool = False) -> bool:
    return _compiled(pattern, ignore_case).fullmatch(value) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    # Not fnmatch: in IAM a bracket is a bracket.
    regex = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return re.compile(regex, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [_text(value)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equal(wanted: str, value: str) -> bool:
    return wanted == value


def _equal_ignoring_case(wanted: str, value: str) -> bool:
    return wanted.lower() == value.lower()


_OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "ArnEquals": _like,
    "ArnLike": _like,
    "ArnNotEquals": _like,
    "ArnNotLike": _like,
    "Bool": _equal_ignoring_case,
    "StringEquals": _equal,
    "StringEqualsIgnoreCase": _equal_ignoring_case,
    "StringLike": _like,
    "StringNotEquals": _equal,
    "StringNotEqualsIgnoreCase": _equal_ignoring_case,
    "StringNotLike": _like,
}
_NEGATED: Final = frozenset(name for name in _OPERATORS if "Not" in name)
