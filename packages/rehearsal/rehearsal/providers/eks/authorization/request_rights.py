"""The permissions that a request needs, and what they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from facts.concepts.iam import Value
from rehearsal.providers.eks.base.account import Account


@dataclass(frozen=True)
class Right:
    """One action on one resource: an ARN, or ``*`` for actions that take none.

    ``context`` are the condition keys of this action and resource; those of every request come from ``evaluation``.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.action if self.resource == "*" else f"{self.action} on {self.resource}"


@dataclass(frozen=True)
class Operation:
    """One request: the operation's parameters, and the account (in the request's region) to look things up in."""

    account: Account
    params: Mapping[str, Any]

    def arn(self, service: str, resource: str, *, everywhere: bool = False) -> str:
        """The ARN of a resource of this account."""
        return self.account.arn(service, resource, everywhere=everywhere)


Needs = Callable[[Operation], Iterable[Right]]
Table = Mapping[tuple[str, str], Needs]
"""Service and operation → what it needs."""


def only(action: str) -> Needs:
    """The right to an action that takes no resource."""
    return lambda _: (Right(action),)


def none(_: Operation) -> Iterable[Right]:
    """For what everybody may do."""
    return ()
