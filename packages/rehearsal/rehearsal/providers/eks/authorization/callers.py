"""Callers, their temporary credentials and roles; the permissions that a request needs, and what they depend on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from facts.concepts.iam import Value
from rehearsal.providers.eks.base.account import ADMINISTRATOR, Account

SESSION_SECONDS: Final = 6 * 3600
"""https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html: credentials of Pod Identity last six hours."""
_LONGEST_NAME: Final = 64


@dataclass(frozen=True)
class Caller:
    """``arn`` is a user's or an assumed role's session; ``role`` is the role's ARN, ``""`` for the administrator.

    ``tags`` are the session's, which policies see as ``aws:PrincipalTag/…``.
    """

    arn: str
    role: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class Callers:
    """The sessions of one account. Keys are believed, signatures are not checked: everything is on one machine."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._known = {ADMINISTRATOR: Caller(account.arn("iam", "user/simulated", everywhere=True))}

    def of(self, access_key: str) -> Caller | None:
        """Whose the key is; ``None`` for one that was never given out."""
        with self._lock:
            return self._known.get(access_key)

    def assume(self, role: str, session: str, tags: Mapping[str, str]) -> Mapping[str, Any]:
        """STS's credentials for the role; who may assume it is the caller's business. STS's errors come through."""
        answer = self._account.call(
            "sts", "AssumeRole", RoleArn=role, RoleSessionName=session[:_LONGEST_NAME], DurationSeconds=SESSION_SECONDS
        )
        keys: Mapping[str, Any] = answer["Credentials"]
        with self._lock:
            self._known[keys["AccessKeyId"]] = Caller(answer["AssumedRoleUser"]["Arn"], role, dict(tags))
        return keys


@dataclass(frozen=True)
class Right:
    """One action on one resource: an ARN, or ``*`` for actions that take none.

    ``context`` are the condition keys of this action and resource; those of every request come from ``evaluation``.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, Value] = field(default_factory=dict)


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
