"""What is wrong with a stack file, in words that let its author mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing to mend: the key's ``path`` (``gpuPools[1].gpusPerNode``), what is wrong, what to write instead."""

    path: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {_sentence(self.message)} {_sentence(self.remedy)}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


class SettingsError(Exception):
    """A stack file with problems: all of them, one a line."""

    def __init__(self, problems: Sequence[Problem], *, stack: str = "") -> None:
        self.problems = tuple(problems)
        self.stack = stack
        super().__init__(self._text())

    def _text(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        where = f" of stack '{self.stack}'" if self.stack else ""
        return "\n".join([f"{count} in the settings{where}:", *(f"  {problem}" for problem in self.problems)])


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, compared without regard to case; ``None`` if nothing is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    match = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[match[0]] if match else None


def instead(word: str, known: Sequence[str], *, shown: int = 16) -> str:
    """A remedy for a word that is not known: the nearest one, or those there are."""
    near = nearest(word, known)
    if near is not None:
        return f"Did you mean '{near}'?"
    listed = ", ".join(known[:shown])
    return f"Write one of {listed}" + (f" … ({len(known)} in all)" if len(known) > shown else "")
