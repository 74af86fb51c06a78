"""Callers: temporary credentials and their roles."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

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


@dataclass(frozen=True)
class Credentials:
    """Keys of one session, as STS gives them."""

    access_key: str
    secret_key: str
    token: str
    expiration: datetime


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

    def assume(self, role: str, session: str, tags: Mapping[str, str]) -> Credentials:
        """Credentials for the role; who may assume it is the caller's business. STS's errors come through."""
        answer = self._account.call(
            "sts", "AssumeRole", RoleArn=role, RoleSessionName=session[:_LONGEST_NAME], DurationSeconds=SESSION_SECONDS
        )
        keys = answer["Credentials"]
        with self._lock:
            self._known[keys["AccessKeyId"]] = Caller(answer["AssumedRoleUser"]["Arn"], role, dict(tags))
        return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], keys["Expiration"])
