"""Questions to a cloud's account, one after the other: no right to ask one of them ends none of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from account.rows import ShownRow
from components.settings import Settings

DENIED: Final = "you may not ask"
"""Why a question has no answer, where the caller has no right to it."""


class AccountError(Exception):
    """Nothing could be asked; the message says what to do."""


def of_own_clusters(settings: Settings) -> None:
    """Raises AccountError for a stack whose cluster somebody else made, where that is not asked about yet."""
    if settings.existing_cluster is not None:
        problem = "its cluster is there, and only accounts of clusters that the program makes are asked"
        remedy = "`make plan` looks at that cluster, read-only, and lists the rights that you lack"
        raise AccountError(f"stack {settings.stack}: {problem}. {remedy}")


@dataclass(frozen=True, kw_only=True)
class AccountQuestion:
    """``right``: what the caller needs to ask, by the cloud's name. ``ask``: the rows that answer it."""

    id: str
    title: str
    right: str
    ask: Callable[[], Iterable[ShownRow]]


@dataclass
class AccountFacts:
    """What the account has, as ``make rehearse ACCOUNT=`` reads it; ``None`` where it was not asked."""

    quotas: dict[str, int] = field(default_factory=dict)
    reservations: dict[str, int] | None = None
    keys: list[str] | None = None
    missing_rights: list[str] = field(default_factory=list)

    def as_file(self) -> dict[str, Any]:
        """The content of the file."""
        known = {"quotas": self.quotas, "missingRights": self.missing_rights}
        optional = {"reservations": self.reservations, "keys": self.keys}
        return {**known, **{key: value for key, value in optional.items() if value is not None}}


def answers(questions: Iterable[AccountQuestion], unanswered: Callable[[Exception], str | None]) -> Iterator[ShownRow]:
    """All rows. ``unanswered``: why a question has no answer, ``None`` for a defect, which is raised."""
    for question in questions:
        try:
            # As a list: what was answered before the refusal is no answer to the whole question.
            rows = [*question.ask()]
        except Exception as error:
            reason = unanswered(error)
            if reason is None:
                raise
            remedy = f"let the deployer use {question.right}, or ask somebody who may" if reason == DENIED else ""
            rows = [ShownRow(id=question.id, title=question.title, result="not shown", detail=reason, remedy=remedy)]
        yield from rows
