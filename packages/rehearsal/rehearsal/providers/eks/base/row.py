"""A resource type of AWS: a row, with the requests by which moto keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.base.request import parameters, request_of
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.store import Record

Describe = Callable[[Account, str, Properties], "Mapping[str, Any] | None"]
"""Account, id and inputs → what AWS says of the resource; ``None`` or AWS's "not found" if it is gone."""
Change = Callable[[Account, str, Properties, Properties], None]
"""Account, id, old and new inputs."""
Remove = Callable[[Account, str, Properties], None]
"""Account, id and inputs; AWS's "not found" is no error."""


def _nothing(*_: Any) -> None:
    """What moto lacks is in the records alone."""


@dataclass(frozen=True, kw_only=True)
class Row(SimulatedResource[Account]):
    """One resource type of AWS. moto holds the types that have ``describe``; the records hold the others.

    The schema's ``api`` is the request that creates it. Its parameters are inputs with the schema's names, and tags.

    Args:
        answer: where in that request's answer the id is (``Vpc.VpcId``), if the id is no template of inputs.
        wrap: inputs and parameters → the parameters as they are sent, where the schema's names do not suffice.
        make: makes it in another way and answers its id.
        describe: asks for it; the outputs are made of the answer.
        change: changes it in place, apart from its tags.
        completes_with_change: whether ``change`` follows the request, for the inputs that that cannot carry.
        remove: removes it; refuses what AWS refuses.
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
    change: Change = _nothing
    completes_with_change: bool = False
    remove: Remove = _nothing
    retag: Change | None = None
    live: Callable[[Account, Record], Properties] = lambda _, record: record.inputs
    tagged: str = ""
    name_limit: int = 64
    one_of: tuple[str, ...] = ()
    wrong: Callable[[Properties], Iterable[CheckFailure]] = lambda _: ()


def asks(request: str, key: str, **params: Any) -> Describe:
    """Describes a resource by one request (``ec2:DescribeSubnets``), whose answer has it, or a list of it, at ``key``.

    Without a ``key`` it is the whole answer. Texts in ``params`` are templates of inputs and ``{id}``.
    """

    def describe(account: Account, id: str, inputs: Properties) -> Mapping[str, Any] | None:
        answer = _send(account, request, params, id, inputs)
        description: Any = answer[key] if key else answer
        return (description[0] if description else None) if isinstance(description, list) else description

    return describe


def sends(request: str, **params: Any) -> Remove:
    """Removes a resource by one request; ``params`` as for :func:`asks`."""

    def remove(account: Account, id: str, inputs: Properties) -> None:
        _send(account, request, params, id, inputs)

    return remove


def resends(token: str, request: str = "", wrap: Callable[..., dict[str, Any]] = lambda _, params: params) -> Change:
    """Changes a resource by the request that made it, or by another with the same parameters."""

    def change(account: Account, id: str, old: Properties, new: Properties) -> None:
        service, operation = request.split(":") if request else request_of(token)
        account.call(service, operation, **wrap(new, parameters(token, new)))

    return change


def from_answer(key: str, default: Any = None) -> Callable[[Pending[Account]], Any]:
    """An output that is in AWS's description of the resource."""
    return lambda pending: pending.answer.get(key, default)


def refused(token: str, code: str, message: str, operation: str = "") -> AwsError:
    """AWS's refusal of the request that makes a resource, or of another ``operation``."""
    service, makes = request_of(token)
    return AwsError(service, operation or makes, code, message)


def _send(account: Account, request: str, params: Any, id: str, inputs: Properties) -> dict[str, Any]:
    service, _, operation = request.partition(":")
    return account.call(service, operation, **_filled(params, {**inputs, "id": id}))


def _filled(template: Any, values: Properties) -> Any:
    if isinstance(template, dict):
        return {key: _filled(each, values) for key, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    return template.format_map(values) if isinstance(template, str) else template
