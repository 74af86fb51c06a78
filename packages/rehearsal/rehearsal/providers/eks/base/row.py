"""A resource type of AWS: a row of ``types.yaml``, and the functions for what its requests cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.base.policy_documents import document_problem
from rehearsal.providers.eks.base.request import parameters, request_of
from rehearsal.providers.resource import Pending, Reference, SimulatedResource
from rehearsal.providers.rules import Check, RuleBook, ServerRule
from rehearsal.providers.store import Record

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
            self.clears(account, id, {**old, "value": before})
        if after or not self.clears:
            self.sets(account, id, {**new, "value": after})


@dataclass(frozen=True, kw_only=True)
class Row(SimulatedResource[Account]):
    """One resource type of AWS. moto holds the types that have ``describe``; the records hold the others.

    The schema's ``api`` is the request that creates it. Its parameters are inputs with the schema's names, and tags.

    Most of its fields are described in ``types.yaml``.

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
    # The provider cannot tell an input left open from a zero one; other defaults were filled in before.
    absent: tuple[Any, ...] = ("", False, 0, 0.0)
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


def row(token: str, *, outputs: Mapping[str, Any] | None = None, rules: Iterable[Any] = (), **own: Any) -> Row:
    """The row of a type in ``types.yaml``, with its own functions, and with further ``outputs`` and ``rules``."""
    declared = declared_rows()[token]
    return replace(declared, outputs={**declared.outputs, **(outputs or {})}, rules=[*declared.rules, *rules], **own)


@cache
def declared_rows() -> Mapping[str, Row]:
    """``types.yaml`` by type."""
    text = Path(__file__).with_name("types.yaml").read_text("utf-8")
    return {token: _row(token, dict(declared)) for token, declared in yaml.safe_load(text).items()}


def _row(token: str, declared: dict[str, Any]) -> Row:
    for key in ("required", "replaces", "unordered", "unknown", "one_of"):
        declared[key] = tuple(declared.get(key, "").split())
    references = {path: text.split() for path, text in declared.pop("references", {}).items()}
    lost = declared.pop("not_imported", "")
    if lost:
        declared["imported"] = lambda inputs: {**inputs, lost: None}
    if "describe" in declared:
        declared["describe"] = _asks(**declared["describe"])
    if "remove" in declared:
        declared["remove"] = _sends(**declared["remove"])
    return Row(
        token=token,
        outputs={name: _output(each) for name, each in declared.pop("outputs", {}).items()},
        references={path: Reference(type, tie) for path, (tie, type) in references.items()},
        rules=[*_with_documents(declared.pop("rules", {}))],
        attributes=tuple(_attribute(name, **each) for name, each in declared.pop("attributes", {}).items()),
        **declared,
    )


def _asks(*, request: str, at: str = "", where: Mapping[str, Any] | None = None, **params: Any) -> Describe:
    def describe(account: Account, id: str, inputs: Properties) -> Mapping[str, Any] | None:
        values = {**inputs, "id": id}
        answer = send(account, request, params, values)
        answered = answer.get(at) if at else answer
        permitted = {key: filled(each, values) for key, each in (where or {}).items()}
        for each in answered if isinstance(answered, list) else [answered]:
            if each is not None and all(each.get(key) in values for key, values in _lists(permitted).items()):
                return each
        return None

    return describe


def _lists(permitted: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {key: each if isinstance(each, list) else [each] for key, each in permitted.items()}


def _sends(*, request: str, **params: Any) -> Remove:
    return lambda account, id, inputs: _ignore(send(account, request, params, {**inputs, "id": id}))


def _ignore(_: Any) -> None:
    """The answer."""


def _attribute(
    name: str, *, set: Mapping[str, Any], clear: Mapping[str, Any] | None = None, empty: Any = None, tied: bool = False
) -> Attribute:
    return Attribute(name, _sends(**set), _sends(**clear) if clear else None, empty, tied)


def _output(declared: str | Mapping[str, Any]) -> str | Callable[[Pending[Account]], Any]:
    if isinstance(declared, str):
        return declared
    ((path, default),) = declared.items()
    return lambda pending: _value_at(pending.answer, path, default)


def _value_at(answer: Any, path: str, default: Any) -> Any:
    for step in path.split("."):
        if isinstance(answer, list):
            answer = answer[int(step)] if int(step) < len(answer) else None
        else:
            answer = answer.get(step) if answer else None
    if isinstance(answer, datetime):
        return answer.isoformat()
    return default if answer is None else answer


def _with_documents(declared: Mapping[str, Properties]) -> Iterator[ServerRule[Account]]:
    """The rules of a type; those about a ``policy`` check it as AWS does."""
    for each in RuleBook[Account](declared).rules:
        written = declared[each.id]
        yield replace(each, check=_document(each.reads[0], **written)) if "policy" in written else each


def _document(path: str, *, policy: str, refusal: str, **_: Any) -> Check[Account]:
    def check(inputs: Properties, _: Account) -> str | None:
        text = inputs.get(path)
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


def rule(id: str, source: str, *reads: str) -> Callable[[Check[Account]], ServerRule[Account]]:
    """Makes the decorated check a rule."""
    return lambda check: ServerRule(id, source, reads, check)
