"""The command ``account``: asks the cloud's account what ``pulumi up`` on a stack will meet. It reads, nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from account.asking import AccountError, AccountFacts, AccountQuestion, answers
from account.rows import ShownRow, lines
from components.settings import Settings
from facts.concepts.counts import counted

CLOUDS: Final = "account.clouds"


class AskedAccount(Protocol):
    """The account of one cloud; ``facts`` are filled while its questions are answered."""

    facts: AccountFacts

    @property
    def caller(self) -> str:
        """The account and the principal."""
        ...

    def questions(self) -> Iterator[AccountQuestion]:
        """All questions."""
        ...

    def documents(self) -> Sequence[Mapping[str, Any]]:
        """The deployer's rights, as the cloud takes them."""
        ...

    def unanswered(self, error: Exception) -> str | None:
        """Why a question has no answer; ``None`` for a defect."""
        ...

    def how_to_grant(self, files: Sequence[str]) -> Iterator[str]:
        """The commands that give a deployer the rights in these files."""
        ...


def account_of(settings: Settings) -> AskedAccount:
    """The account of the stack's cloud, as the user of this shell. Raises AccountError."""
    if find_spec(f"{CLOUDS}.{settings.cloud}") is None:
        raise AccountError(f"stack {settings.stack}: no cloud account has its machines. `make prove` asks its cluster")
    known = settings.known.account
    if settings.project in known.placeholders:
        problem = f"{known.key}: '{settings.project}' is the placeholder of the examples. Write your own"
        raise AccountError(f"stack {settings.stack}: {problem}")
    opened: AskedAccount = import_module(f"{CLOUDS}.{settings.cloud}.questions").opened(settings)
    return opened


def ask(settings: Settings, folder: Path, say: Callable[[str], None], account: AskedAccount | None = None) -> int:
    """Print all answers, and write them with the deployer's rights into ``folder``. 1 if the stack cannot be deployed.

    Raises AccountError: nothing could be asked.
    """
    account = account or account_of(settings)
    say(f"{settings.cloud}, {settings.region}: {account.caller}. Nothing is changed.")
    rows = [*answers(account.questions(), account.unanswered)]
    for line in lines(rows):
        say(line)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "account.yaml"
    file.write_text(_HEAD + yaml.safe_dump(account.facts.as_file(), sort_keys=False), encoding="utf-8")
    files = [*_rights(account.documents(), folder)]
    say("")
    say(f"The deployer's rights, generated from the stack: {', '.join(files)}")
    for command in account.how_to_grant(files):
        say(f"    {command}")
    say(f"What the account has, for `make rehearse STACK={settings.stack} ACCOUNT={file}`: {file}")
    say(_verdict(rows, settings.stack))
    return 1 if any(row.result == "failed" for row in rows) else 0


_HEAD: Final = "# Written by `gpucluster account`; packages/rehearsal/docs/account.md explains the keys.\n"


def _rights(documents: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[str]:
    for old in folder.glob("deployer-*.json"):
        old.unlink()
    for number, document in enumerate(documents, 1):
        file = folder / f"deployer-{number}.json"
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        yield str(file)


def _verdict(rows: Sequence[ShownRow], stack: str) -> str:
    counts = {result: sum(row.result == result for row in rows) for result in ("failed", "warning", "not shown")}
    problems = counted(counts["failed"], "problem")
    unknown = f", {counts['not shown']} not answered" if counts["not shown"] else ""
    warnings = f", {counted(counts['warning'], 'warning')}" if counts["warning"] else ""
    return f"{'FAIL' if counts['failed'] else 'PASS'} {stack}: {problems}{warnings}{unknown}"
