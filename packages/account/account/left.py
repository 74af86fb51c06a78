"""Part *account* of ``prove``: what a destroyed stack has left in the cloud's account. It reads, nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NamedTuple, Protocol

from account.asking import AccountError, AccountQuestion, answers
from account.command import CLOUDS
from account.rows import ShownRow
from components.settings import Settings

_NAMED: Final = 8


class Left(NamedTuple):
    """A resource by the ``id`` that the command which deletes it takes, and ``words`` by which its owner knows it."""

    id: str
    words: str = ""


class AskedLeftovers(Protocol):
    """The account of one cloud after ``pulumi destroy``."""

    @property
    def caller(self) -> str:
        """The account and the principal."""
        ...

    @property
    def cluster(self) -> str | None:
        """The stack's cluster if it is still there. May raise the SDK's errors."""
        ...

    def questions(self) -> Iterator[AccountQuestion]:
        """One for each kind of resource."""
        ...

    def unanswered(self, error: Exception) -> str | None:
        """Why a question has no answer; ``None`` for a defect."""
        ...


def question(
    what: str, right: str, find: Callable[[], Iterable[Left]], remove: str, *, region: str = "", kept: str = ""
) -> AccountQuestion:
    """Whether any resources of a kind are left. ``what``: the kind in the plural. ``remove``: the command that takes
    an id at its end. ``region``: an option of the command. ``kept``: why they stay on purpose, or by the cloud."""
    title = f"no {what} are left"

    def ask() -> Iterator[ShownRow]:
        left = [*find()]
        row = {"id": f"left:{what}", "title": title}
        if not left:
            yield ShownRow(**row, result="shown", detail="none")
            return
        named = [f"{each.id} ({each.words})" if each.words else each.id for each in left[:_NAMED]]
        more = f", and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        command = " ".join(filter(None, (f"{remove} {shlex.quote(left[0].id)}", region)))
        remedy = f"if it is yours and nobody needs it: `{command}`"
        if kept:
            yield ShownRow(**row, result="warning", detail=f"{', '.join(named)}{more}: {kept}", remedy=remedy)
        else:
            yield ShownRow(**row, result="failed", detail=f"{', '.join(named)}{more}", remedy=remedy)

    return AccountQuestion(id=f"left:{what}", title=title, right=right, ask=ask)


def leftovers_of(settings: Settings) -> AskedLeftovers:
    """The account of the stack's cloud, as the user of this shell. Raises AccountError."""
    if settings.existing_cluster is not None:
        raise AccountError(f"stack {settings.stack}: its cluster is somebody else's, so most that is there stays")
    module = f"{CLOUDS}.{settings.cloud}"
    if find_spec(module) is None or find_spec(f"{module}.leftovers") is None:
        raise AccountError(f"stack {settings.stack}: no cloud account has its machines, so nothing is left in one")
    opened: AskedLeftovers = import_module(f"{module}.leftovers").opened(settings)
    return opened


def rows_left(account: AskedLeftovers) -> list[ShownRow]:
    """All rows; while the cluster is there one alone, because the stack is not destroyed."""
    first = AccountQuestion(
        id="left:cluster", title="the cluster is gone", right="what asks for it", ask=lambda: _cluster(account)
    )
    rows = [*answers([first], account.unanswered)]
    return rows if rows[0].result == "failed" else [*rows, *answers(account.questions(), account.unanswered)]


def _cluster(account: AskedLeftovers) -> Iterator[ShownRow]:
    row, cluster = {"id": "left:cluster", "title": "the cluster is gone"}, account.cluster
    if cluster is None:
        yield ShownRow(**row, result="shown", detail="none of that name")
    else:
        remedy = "run `pulumi destroy` first; then this part shows what is left"
        yield ShownRow(**row, result="failed", detail=f"{cluster} is there", remedy=remedy)
