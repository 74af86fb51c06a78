"""What IAM policy documents allow, as far as a program tells before the update. Pure; the answers have three values.

An explicit Deny wins, then any Allow, else no:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html. Identity policies only: no
permission boundaries, service control policies or resource policies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from policies.rules.model import UNKNOWN, Maybe
from policies.rules.scheduling import both, either
from policies.values import at, items

ANY_RESOURCE: Final = ""
"""The resource of a call whose ARN does not matter: a statement about any resource counts."""

Document = Mapping[str, Any]
"""A policy document, parsed; a value in it may be ``UNKNOWN``."""


@dataclass(frozen=True)
class Call:
    """One request: ``action`` (``autoscaling:SetDesiredCapacity``) on ``resource``.

    ``resource`` is an ARN in which ``?`` stands for a part that the program does not tell, ``*`` for calls that take no
    resource, or ``ANY_RESOURCE``. ``context`` holds the condition keys that are known (``aws:RequestedRegion``), any
    other is ``UNKNOWN``; with ``None`` the conditions of an Allow count as met: the caller knows that its own requests
    fit them. ``tags`` are those of the resource, and with ``more_tags`` there may be others.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, Maybe[str]] | None = field(default_factory=dict)
    tags: Mapping[str, Maybe[str]] = field(default_factory=dict)
    more_tags: bool = True


def parsed(document: Any) -> Maybe[Document]:
    """A document as programs write it, as JSON or as an object; ``UNKNOWN`` where it cannot be read (yet)."""
    if isinstance(document, Mapping):
        return document
    try:
        found = json.loads(document) if isinstance(document, str) else UNKNOWN
    except ValueError:
        return UNKNOWN
    return found if isinstance(found, Mapping) else UNKNOWN


def allows(documents: Iterable[Maybe[Document]], call: Call) -> Maybe[bool]:
    """Whether somebody with these policies may make ``call``."""
    known = list(documents)
    statements = [statement for document in known for statement in _statements(document)]
    denied = either(both((_effect(each, "Deny"), _covers(each, call))) for each in statements)
    allowed = either(both((_effect(each, "Allow"), _covers(each, call))) for each in statements)
    if denied is True:
        return False
    if allowed is False:
        return UNKNOWN if UNKNOWN in known else False
    return UNKNOWN if UNKNOWN in (denied, allowed) else True


def trusts(document: Maybe[Document], service: str, actions: Iterable[str]) -> Maybe[bool]:
    """Whether a role's trust policy lets the AWS ``service`` (``pods.eks.amazonaws.com``) do all of ``actions``."""
    if document is UNKNOWN:
        return UNKNOWN
    known = [each for each in _statements(document) if _is_for(each, service) is True]
    possible = [each for each in _statements(document) if _is_for(each, service) is not False]
    calls = [Call(action, ANY_RESOURCE, None) for action in actions]
    answers = [both(allows([{"Statement": own}], call) for call in calls) for own in (known, possible)]
    return answers[0] if answers[0] is answers[1] else UNKNOWN


def _statements(document: Maybe[Document]) -> list[Any]:
    found = at(document, "Statement")
    return [found] if isinstance(found, Mapping) else items(found)


def _effect(statement: Any, wanted: str) -> Maybe[bool]:
    effect = at(statement, "Effect")
    return UNKNOWN if effect is UNKNOWN else effect == wanted


def _is_for(statement: Any, service: str) -> Maybe[bool]:
    principal = at(statement, "Principal")
    return principal == "*" or either(_equal(each, service) for each in _listed(at(principal, "Service")))


def _covers(statement: Any, call: Call) -> Maybe[bool]:
    if statement is UNKNOWN:
        return UNKNOWN
    return both((_names_action(statement, call), _names_resource(statement, call), _meets(statement, call)))


def _names_action(statement: Any, call: Call) -> Maybe[bool]:
    excepted = at(statement, "NotAction")
    if excepted is not None:
        return _not(either(_like(pattern, call.action, True) for pattern in _listed(excepted)))
    return either(_like(pattern, call.action, True) for pattern in _listed(at(statement, "Action")))


def _names_resource(statement: Any, call: Call) -> Maybe[bool]:
    excepted = at(statement, "NotResource")
    if excepted is not None:
        return UNKNOWN
    named = _listed(at(statement, "Resource"))
    if call.resource == ANY_RESOURCE or not named:
        return True  # a trust policy names none
    return either(_names(pattern, call.resource) for pattern in named)


def _names(pattern: Any, resource: str) -> Maybe[bool]:
    """Whether an ARN with parts that nobody knows yet is meant; one that is unknown as a whole fits everything."""
    if pattern is UNKNOWN:
        return UNKNOWN
    parts = zip(str(pattern).split(":", 5), resource.split(":", 5), strict=False)
    return both(
        True if part == "?" else _like(wanted, part) or (UNKNOWN if "?" in part else False) for wanted, part in parts
    )


def _meets(statement: Any, call: Call) -> Maybe[bool]:
    conditions = at(statement, "Condition")
    if not isinstance(conditions, Mapping):
        return True if conditions is None else UNKNOWN
    if call.context is None:
        return True if at(statement, "Effect") == "Allow" else UNKNOWN
    return both(
        _judge(operator, _seen(key, call), _listed(wanted))
        for operator, keys in conditions.items()
        for key, wanted in (keys.items() if isinstance(keys, Mapping) else (("", UNKNOWN),))
    )


def _seen(key: str, call: Call) -> Maybe[str | None]:
    """The request's value for a condition key: ``None`` for a tag that the resource certainly lacks."""
    prefix, _, tag = key.partition("/")
    if prefix.lower().endswith(":resourcetag"):
        return call.tags.get(tag, UNKNOWN if call.more_tags else None)
    # The names of keys are compared without regard to case.
    return next((value for name, value in (call.context or {}).items() if name.lower() == key.lower()), UNKNOWN)


def _judge(operator: str, seen: Maybe[str | None], wanted: list[Any]) -> Maybe[bool]:
    """One condition; a key that the request lacks fails it, unless the operator is negated or ends in ``IfExists``.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    plain, optional = operator.removesuffix("IfExists"), operator.endswith("IfExists")
    if plain == "Null" and seen is not UNKNOWN and wanted:
        return (seen is None) == (str(wanted[0]).lower() == "true")
    negated = "Not" in plain
    if seen is UNKNOWN or plain.replace("Not", "") not in ("StringEquals", "StringLike"):
        return UNKNOWN
    if seen is None:
        return optional or negated
    same = _like if plain.endswith("Like") else _equal
    found = either(same(pattern, seen) for pattern in wanted)
    return _not(found) if negated else found


def _equal(wanted: Any, value: str) -> Maybe[bool]:
    return UNKNOWN if wanted is UNKNOWN else _text(wanted) == value


def _like(pattern: Any, value: str, ignore_case: bool = False) -> Maybe[bool]:
    if pattern is UNKNOWN:
        return UNKNOWN
    return _regex(_text(pattern), ignore_case).fullmatch(value) is not None


@cache
def _regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    # Not fnmatch: in IAM a bracket is a bracket.
    regex = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return re.compile(regex, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return items(value) if value is UNKNOWN or isinstance(value, (list, tuple)) else [value]


def _not(answer: Maybe[bool]) -> Maybe[bool]:
    return UNKNOWN if answer is UNKNOWN else not answer
