"""What goes wrong with a machine, in words for the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """``where``: a property's path or a machine's name. ``text``: what is wrong and what to do."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


class OperationError(Exception):
    """An operation failed. ``begun``: the machine was already changed, so that the resource belongs into the state.

    ``state`` is what is known of it then.
    """

    def __init__(self, message: str, *, begun: bool = False, state: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.begun = begun
        self.state = dict(state or {})


class Unreachable(OperationError):
    """No session on the machine could be had: network, host key, user's key or sudo."""


def all_problems(problems: Sequence[Problem]) -> str:
    """One message with all of them, a line each."""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}; nothing was changed on any machine"
    return "\n".join([f"{count}:", *(f"  {problem}" for problem in problems)])
