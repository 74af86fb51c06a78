"""What IAM policy documents allow: of a program before its update, and of a request under way. Pure, three-valued.

An explicit Deny wins, then any Allow, else no:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html. One kind of policy at a time
(identity policies, or a boundary, or a trust policy); who combines them calls this once for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

from facts.concepts.unknown import UNKNOWN, Maybe, Unknown, at, both, either, items, negation

_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html#policy-vars-specialchars
_CHARACTER: Final = re.compile(r"\$\{([*?$])\}|.", re.DOTALL)
ANY_RESOURCE: Final = ""
"""The resource of a call whose ARN does not matter: a statement about any resource counts."""

Document = Mapping[str, Any]
"""A policy document, parsed; a value in it may be ``UNKNOWN``."""


Value: TypeAlias = "str | tuple[str, ...] | Unknown"
"""Of a condition key: one text, or several (``aws:TagKeys``)."""


@dataclass(frozen=True)
class AuthorizationRequest:
    """One request: ``action`` (``autoscaling:SetDesiredCapacity``) on ``resource``.

    ``resource`` is an ARN in which ``?`` stands for a part that the program does not tell, ``*`` for calls that take no
    resource, or ``ANY_RESOURCE``. ``context`` holds the condition keys that are known (``aws:RequestedRegion``), any
    other is ``UNKNOWN``, or certainly missing if the call is ``whole``; with ``None`` the conditions of an Allow count
    as met: the caller knows that its own requests fit them. ``tags`` are those of the resource, and with ``more_tags``
    there may be others; a ``whole`` call may have them in its context instead (:func:`resource_tags`).
    """

    action: str
    resource: str = "*"
    context: Mapping[str, Value] | None = field(default_factory=dict)
    tags: Mapping[str, Maybe[str]] = field(default_factory=dict)
    more_tags: bool = True
    whole: bool = False


def resource_tags(tags: Mapping[str, str], *services: str) -> dict[str, str]:
    """The condition keys that a tagged resource brings: ``aws:ResourceTag/…``, and those of ``services``."""
    return {f"{prefix}:ResourceTag/{key}": value for prefix in ("aws", *services) for key, value in tags.items()}


def request_tags(tags: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    """The condition keys of a request that sets ``tags``."""
    return {**{f"aws:RequestTag/{key}": value for key, value in tags.items()}, "aws:TagKeys": tuple(tags)}


def parsed(document: Any) -> Maybe[Document]:
    """A document as programs write it, as JSON or as an object; ``UNKNOWN`` where it cannot be read (yet)."""
    if isinstance(document, Mapping):
        return document
    try:
        content = json.loads(document) if isinstance(document, str) else UNKNOWN
    except ValueError:
        return UNKNOWN
    return content if isinstance(content, Mapping) else UNKNOWN


def literal(text: str) -> str:
    """A text for a policy in which ``*``, ``?`` and ``$`` stand for themselves."""
    return re.sub(r"[*?$]", r"${\g<0>}", text)


def allows(documents: Iterable[Maybe[Document]], call: AuthorizationRequest) -> Maybe[bool]:
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


def denies(documents: Iterable[Maybe[Document]], call: AuthorizationRequest) -> Maybe[bool]:
    """Whether a Deny, and not only the lack of an Allow, is what keeps somebody from ``call``."""
    statements = [statement for document in documents for statement in _statements(document)]
    return either(both((_effect(each, "Deny"), _covers(each, call))) for each in statements)


def unevaluated_operators(documents: Iterable[Maybe[Document]], call: AuthorizationRequest) -> tuple[str, ...]:
    """The condition operators, of statements about ``call``, that :func:`allows` has no answer for."""
    about = (
        statement
        for document in documents
        for statement in _statements(document)
        if statement is not UNKNOWN and both((_names_action(statement, call), _names_resource(statement, call))) is True
    )
    used = (operator for statement in about for operator in at(statement, "Condition") or {})
    return tuple(dict.fromkeys(operator for operator in used if _plain(operator) not in (*_OPERATORS, "Null")))


def trusts(
    document: Maybe[Document], service: str, actions: Iterable[str], context: Mapping[str, Value] | None = None
) -> Maybe[bool]:
    """Whether a role's trust policy lets the AWS ``service`` (``pods.eks.amazonaws.com``) do all of ``actions``.

    With a ``context``, that is all the condition keys there are; without one, the conditions of an Allow count as met.
    """
    if document is UNKNOWN:
        return UNKNOWN
    known = [each for each in _statements(document) if _is_for(each, service) is True]
    possible = [each for each in _statements(document) if _is_for(each, service) is not False]
    calls = [AuthorizationRequest(action, ANY_RESOURCE, context, whole=context is not None) for action in actions]
    answers = [both(allows([{"Statement": own}], call) for call in calls) for own in (known, possible)]
    return answers[0] if answers[0] is answers[1] else UNKNOWN


def _statements(document: Maybe[Document]) -> list[Any]:
    statements = at(document, "Statement")
    return [statements] if isinstance(statements, Mapping) else items(statements)


def _effect(statement: Any, expected: str) -> Maybe[bool]:
    effect = at(statement, "Effect")
    return UNKNOWN if effect is UNKNOWN else effect == expected


def _is_for(statement: Any, service: str) -> Maybe[bool]:
    principal = at(statement, "Principal")
    return principal == "*" or either(_equal(each, service) for each in _listed(at(principal, "Service")))


def _covers(statement: Any, call: AuthorizationRequest) -> Maybe[bool]:
    if statement is UNKNOWN:
        return UNKNOWN
    return both((_names_action(statement, call), _names_resource(statement, call), _meets(statement, call)))


def _names_action(statement: Any, call: AuthorizationRequest) -> Maybe[bool]:
    excepted = at(statement, "NotAction")
    if excepted is not None:
        return negation(either(_like(pattern, call.action, True) for pattern in _listed(excepted)))
    return either(_like(pattern, call.action, True) for pattern in _listed(at(statement, "Action")))


def _names_resource(statement: Any, call: AuthorizationRequest) -> Maybe[bool]:
    excepted = at(statement, "NotResource")
    if excepted is not None:
        if call.resource == ANY_RESOURCE or "?" in call.resource:
            return UNKNOWN
        return negation(either(_names(_filled(pattern, call), call.resource) for pattern in _listed(excepted)))
    named = _listed(at(statement, "Resource"))
    if call.resource == ANY_RESOURCE or not named:
        return True  # a trust policy names none
    return either(_names(_filled(pattern, call), call.resource) for pattern in named)


def _names(pattern: Any, resource: str) -> Maybe[bool]:
    """Whether an ARN with parts that nobody knows yet is meant; one that is unknown as a whole fits everything.

    Part by part, and an ARN that is cut short means all that begins so:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html.
    """
    if pattern is UNKNOWN:
        return UNKNOWN
    parts = zip(str(pattern).split(":", 5), resource.split(":", 5), strict=False)
    return both(
        True if part == "?" else _like(literal, part) or (UNKNOWN if "?" in part else False) for literal, part in parts
    )


def _meets(statement: Any, call: AuthorizationRequest) -> Maybe[bool]:
    conditions = at(statement, "Condition")
    if not isinstance(conditions, Mapping):
        return True if conditions is None else UNKNOWN
    if call.context is None:
        return True if at(statement, "Effect") == "Allow" else UNKNOWN
    return both(
        _judge(operator, _context_value(key, call), [_filled(each, call) for each in _listed(values)])
        for operator, keys in conditions.items()
        for key, values in (keys.items() if isinstance(keys, Mapping) else (("", UNKNOWN),))
    )


def _context_value(key: str, call: AuthorizationRequest) -> Value | None:
    """The request's value for a condition key: ``None`` for one that the request, or the resource, certainly lacks."""
    context_value = next((value for name, value in (call.context or {}).items() if _folded(name) == _folded(key)), None)
    if context_value is not None:
        return context_value
    prefix, _, tag = key.partition("/")
    if prefix.lower().endswith(":resourcetag"):
        return call.tags.get(tag, UNKNOWN if call.more_tags and not call.whole else None)
    return None if call.whole else UNKNOWN


def _folded(key: str) -> str:
    """The names of keys are compared without regard to case, the tag behind a slash is not."""
    prefix, slash, tag = key.partition("/")
    return prefix.lower() + slash + tag


def _judge(operator: str, actual: Value | None, expected: list[Any]) -> Maybe[bool]:
    """One condition; a key that the request lacks fails it, unless the operator is negated or ends in ``IfExists``.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html and, for keys
    with several values, …/reference_policies_condition-single-vs-multi-valued-context-keys.html
    """
    plain, optional = _plain(operator), operator.endswith("IfExists")
    if actual is UNKNOWN:
        return UNKNOWN
    if plain == "Null" and expected:
        return UNKNOWN if expected[0] is UNKNOWN else (actual is None) == (_text(expected[0]).lower() == "true")
    same = _OPERATORS.get(plain)
    if same is None:
        return UNKNOWN
    negated = "Not" in plain
    if actual is None:
        return optional or negated or operator.startswith("ForAllValues:")
    # The test of one value: one of those wanted, or, negated, none of them.
    matches = (
        either(same(each, value) for each in expected) for value in ((actual,) if isinstance(actual, str) else actual)
    )
    answers = [negation(answer) if negated else answer for answer in matches]
    return either(answers) if operator.startswith("ForAnyValue:") else both(answers)


def _plain(operator: str) -> str:
    return operator.rpartition(":")[2].removesuffix("IfExists")


def _filled(value: Any, call: AuthorizationRequest) -> Any:
    """``value`` with its policy variables (``${aws:PrincipalTag/team}``) filled in.

    One that the request lacks stays as it is, and so fits nothing:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html.
    """
    if not isinstance(value, str):
        return value
    named = (name for name in _VARIABLE.findall(value) if not _CHARACTER.fullmatch(f"${{{name}}}"))
    variables = {name: _context_value(name, call) for name in named}
    if UNKNOWN in variables.values():
        return UNKNOWN
    texts = {name: text for name, text in variables.items() if isinstance(text, str)}
    return _VARIABLE.sub(lambda match: texts.get(match[1], match[0]), value)


def _equal(expected: Any, value: str) -> Maybe[bool]:
    return UNKNOWN if expected is UNKNOWN else _text(expected) == value


def _equal_ignoring_case(expected: Any, value: str) -> Maybe[bool]:
    return UNKNOWN if expected is UNKNOWN else _text(expected).lower() == value.lower()


def _like(pattern: Any, value: str, ignore_case: bool = False) -> Maybe[bool]:
    if pattern is UNKNOWN:
        return UNKNOWN
    return _regex(_text(pattern), ignore_case).fullmatch(value) is not None


@lru_cache(maxsize=4096)
def _regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    # Not fnmatch: in IAM a bracket is a bracket. As there, each part between two stars takes the first place that it
    # fits, for good (a lookahead keeps it): trying the later ones too takes exponential time, and finds nothing more.
    first, *rest = map(_between_stars, re.split(r"(?<!\$\{)\*+", pattern))
    inner = "".join(f"(?=(?P<p{n}>.*?{part}))(?P=p{n})" for n, part in enumerate(rest[:-1]))
    last = f".*{rest[-1]}" if rest else ""
    return re.compile(first + inner + last, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _between_stars(part: str) -> str:
    return "".join("." if each[0] == "?" else re.escape(each[1] or each[0]) for each in _CHARACTER.finditer(part))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return items(value) if value is UNKNOWN or isinstance(value, (list, tuple)) else [value]


_OPERATORS: Final[Mapping[str, Callable[[Any, str], Maybe[bool]]]] = {
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
