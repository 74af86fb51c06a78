"""A resource type of AWS: a row of ``resources.yaml``, and the functions for what its requests cannot say.

And IAM policy documents: AWS's validation, before any evaluation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from facts.concepts.unknown import coalesce
from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks.cloud import Account, AwsError, not_found
from rehearsal.providers.eks.request import parameters, request_of
from rehearsal.providers.resource import Pending, SimulatedResource, Table
from rehearsal.providers.rules import Check
from schemas import schema

_VERSIONS: Final = ("2012-10-17", "2008-10-17")
_ACTION, _RESOURCE = re.compile(r"\*|[\w-]+:[\w*?]+"), re.compile(r"\*|arn:.+")
_EXAMPLES: Final = {_ACTION: "a name after its service (s3:GetObject)", _RESOURCE: "an ARN"}
_FORMS: Final = {"Action": _ACTION, "NotAction": _ACTION, "Resource": _RESOURCE, "NotResource": _RESOURCE}


def document_problem(text: Any, *, principals: bool) -> str | None:
    """What is wrong with a policy document, ``None`` if nothing; ``principals``: it hangs on a resource.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
    """
    try:
        document = json.loads(text)
    except (TypeError, ValueError) as error:
        return f"The policy is not valid JSON: {error}"
    if not isinstance(document, dict):
        return "The policy is not a JSON object"
    if document.get("Version", _VERSIONS[1]) not in _VERSIONS:
        return f"The policy's Version {document['Version']!r} is none of {', '.join(_VERSIONS)}"
    statements = document.get("Statement")
    statements = [statements] if isinstance(statements, dict) else statements
    if not isinstance(statements, list) or not statements:
        return "The policy has no Statement"
    return next((problem for each in statements if (problem := _statement_problem(each, principals))), None)


def named_roles(text: str) -> frozenset[str]:
    """The ARNs of the roles that a resource's policy names as principals."""
    statements = json.loads(text)["Statement"]
    principals = (each.get("Principal") for each in ([statements] if isinstance(statements, dict) else statements))
    named = (each["AWS"] for each in principals if isinstance(each, dict) and "AWS" in each)
    arns = (arn for each in named for arn in ([each] if isinstance(each, str) else each))
    return frozenset(arn for arn in arns if ":role/" in arn)


def _statement_problem(statement: Any, principals: bool) -> str | None:
    if not isinstance(statement, dict):
        return "A statement of the policy is not an object"
    if statement.get("Effect") not in ("Allow", "Deny"):
        return f"A statement has Effect {statement.get('Effect')!r}: write Allow or Deny"
    if "Action" not in statement and "NotAction" not in statement:
        return "A statement has no Action"
    has_principal = "Principal" in statement or "NotPrincipal" in statement
    if principals and not has_principal:
        return "A statement has no Principal"
    if not principals and has_principal:
        return "A statement of an identity's policy must not have a Principal"
    if not principals and "Resource" not in statement and "NotResource" not in statement:
        return "A statement has no Resource"
    return _names_problem(statement)


def _names_problem(statement: Mapping[str, Any]) -> str | None:
    principal = statement.get("Principal", "*")
    if not principal or (isinstance(principal, dict) and not all(principal.values())):
        return "Invalid principal in policy"
    for element, form in _FORMS.items():
        names = statement.get(element, "*")
        for name in [names] if isinstance(names, str) else names or [""]:
            if not form.fullmatch(name):
                return f"{element} {name!r} is none: write * or {_EXAMPLES[form]}"
    return None


Describe = Callable[[Account, str, Properties], "Mapping[str, Any] | None"]
"""Account, id and inputs → what AWS says of the resource; ``None`` or AWS's "not found" if it is gone."""
Change = Callable[[Account, str, Properties, Properties], None]
"""Account, id, old and new inputs."""
Remove = Callable[[Account, str, Properties], None]
"""Account, id and inputs; AWS's "not found" is no error."""


def _nothing(*_: Any) -> None:
    """What moto lacks is in the records alone."""


@dataclass(frozen=True)
class Attribute:
    """An input with requests of its own. ``clears`` comes before another value is set; without it ``empty`` is set.

    ``tied``: it is cleared before the resource is removed. The requests are templates of inputs and ``{value}``.
    """

    input: str
    sets: Remove
    clears: Remove | None = None
    empty: Any = None
    tied: bool = False

    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        """Follow a change of the input."""
        before, after = (self.empty if each.get(self.input) is None else each[self.input] for each in (old, new))
        if before == after:
            return
        if self.clears and before:
            try:
                self.clears(account, id, {**old, "value": before})
            except AwsError as error:  # as the providers' own functions do
                if not not_found(error):
                    raise
        if after or not self.clears:
            self.sets(account, id, {**new, "value": after})


@dataclass(frozen=True, kw_only=True)
class Row(SimulatedResource[Account]):
    """One resource type of AWS. moto holds the types that have ``describe``; the records hold the others.

    The schema's ``api`` is the request that creates it. Its parameters are inputs with the schema's names, and tags.

    Most of its fields are described in ``resources.yaml``.

    Args:
        wrap: inputs and parameters → the parameters as they are sent, where the schema's names do not suffice.
        make: makes it in another way and answers its id.
        completes_with_change: whether a change follows the creation, for the inputs that the request cannot carry.
        retag: gives it new tags in place of the old, where the service's own request does not do here.
        live: its inputs as they are now, where something else than the program changes them.
        tagged: its type in EC2's tag specifications and in AWS's messages (``vpc``).
        name_limit: how long a made-up name may be.
        one_of: inputs; a program must declare exactly one of them.
        wrong: further mistakes that need no server to tell.
    """

    id: str = ""
    answer: str = ""
    wrap: Callable[[Properties, dict[str, Any]], dict[str, Any]] = lambda _, params: params
    make: Callable[[Pending[Account]], str] | None = None
    describe: Describe | None = None
    resend: str = ""
    attributes: tuple[Attribute, ...] = ()
    change: Change = _nothing
    completes_with_change: bool = False
    remove: Remove = _nothing
    retag: Change | None = None
    live: Callable[[Account, Record], Properties] = lambda _, record: record.inputs
    tagged: str = ""
    name_limit: int = 64
    one_of: tuple[str, ...] = ()
    wrong: Callable[[Properties], Iterable[CheckFailure]] = lambda _: ()

    def follow(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        """Change it in place, apart from its tags."""
        if self.resend:
            service, _, operation = self.resend.partition(":")
            account.call(service, operation, **self.wrap(new, parameters(self.token, new)))
        for attribute in self.attributes:
            attribute.change(account, id, old, new)
        self.change(account, id, old, new)

    def end(self, account: Account, id: str, inputs: Properties) -> None:
        """Remove it."""
        for attribute in self.attributes:
            if attribute.tied:
                attribute.change(account, id, inputs, {})
        self.remove(account, id, inputs)


_COMMON: Final[Mapping[str, Any]] = {
    "region": "{region}",
    "tagsAll": lambda pending: coalesce(pending.inputs.get("tags"), {}),
}
"""Outputs of every type that has them."""


class AwsTable(Table[Account]):
    """AWS's types and rules: requests are data, too, and an output may be a path in AWS's description."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name, rules in self.declared_rules.items():
            for id, declared in rules.items():
                if "policy" in declared:
                    self.check(name, id)(_document(**declared))

    @override
    def row(self, token: str, **code: Any) -> Row:
        return Row(token=token, **self.fields(token, code))

    @override
    def fields(self, token: str, code: dict[str, Any]) -> dict[str, Any]:
        entry = super().fields(token, code)
        common = {key: each for key, each in _COMMON.items() if key in schema("eks").resources[token].outputs}
        entry |= {"outputs": {**common, **entry["outputs"]}, "early": tuple(set(common) & {"tagsAll"})}
        for key, request in (("describe", _asks), ("remove", _sends)):
            if isinstance(entry.get(key), dict):
                entry[key] = request(**entry[key])
        attributes = entry.get("attributes", {}).items()
        return {**entry, "attributes": tuple(_attribute(name, **each) for name, each in attributes)}

    @override
    def output(self, declared: Any) -> str | Callable[[Pending[Account]], Any]:
        if isinstance(declared, str):
            return declared
        ((path, default),) = declared.items()
        return lambda pending: _value_at(pending.answer, path, default)


def _asks(*, request: str, at: str = "", where: Mapping[str, Any] | None = None, **params: Any) -> Describe:
    def describe(account: Account, id: str, inputs: Properties) -> Mapping[str, Any] | None:
        values = {**inputs, "id": id}
        answer = send(account, request, params, values)
        answered = answer.get(at) if at else answer
        permitted = {key: _listed(filled(each, values)) for key, each in (where or {}).items()}
        for each in _listed(answered):
            if each is not None and all(each.get(key) in allowed for key, allowed in permitted.items()):
                return each
        return None

    return describe


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _sends(*, request: str, **params: Any) -> Remove:
    def remove(account: Account, id: str, inputs: Properties) -> None:
        send(account, request, params, {**inputs, "id": id})

    return remove


def _attribute(
    name: str, *, set: Mapping[str, Any], clear: Mapping[str, Any] | None = None, empty: Any = None, tied: bool = False
) -> Attribute:
    return Attribute(name, _sends(**set), _sends(**clear) if clear else None, empty, tied)


def _value_at(answer: Any, path: str, default: Any) -> Any:
    for step in path.split("."):
        if isinstance(answer, list):
            answer = answer[int(step)] if int(step) < len(answer) else None
        else:
            answer = answer.get(step) if answer else None
    if isinstance(answer, datetime):
        return answer.isoformat()
    return default if answer is None else answer


def _document(*, reads: Sequence[str], policy: str, refusal: str, **_: Any) -> Check[Account]:
    def check(inputs: Properties, _: Account) -> str | None:
        text = inputs.get(reads[0])
        problem = None if text is None else document_problem(text, principals=policy == "resource")
        return refusal.format(problem=problem) if problem else None

    return check


def refused(token: str, code: str, message: str, operation: str = "") -> AwsError:
    """AWS's refusal of the request that makes a resource, or of another ``operation``."""
    service, makes = request_of(token)
    return AwsError(service, operation or makes, code, message)


def send(account: Account, request: str, params: Mapping[str, Any], values: Properties) -> dict[str, Any]:
    """One request (``ec2:DescribeSubnets``), whose parameters are templates of ``values``."""
    service, _, operation = request.partition(":")
    return account.call(service, operation, **filled(params, values))


def filled(template: Any, values: Properties) -> Any:
    """``template`` with each text in it filled in; a field alone (``{id}``) becomes the value itself, or ``None``."""
    if isinstance(template, dict):
        return {key: filled(each, values) for key, each in template.items()}
    if isinstance(template, list):
        return [filled(each, values) for each in template]
    if not isinstance(template, str):
        return template
    field = re.fullmatch(r"\{(\w+)\}", template)
    if field is None:
        return template.format_map(values)
    value = values.get(field[1])
    return int(value) if isinstance(value, float) else value


TABLE: Final = AwsTable(Path(__file__).parent)
