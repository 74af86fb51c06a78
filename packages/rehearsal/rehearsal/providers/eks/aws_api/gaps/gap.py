"""A request that moto cannot answer, or answers wrongly, as the functions beside this see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.providers.eks.authorization.identity import Operation, Right


class GapError(Exception):
    """The service's error: its code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class GapRequest(Operation):
    """One request. ``refusal`` says what is refused of rights that it turns out to need: EC2's message, or ``""``."""

    refusal: Callable[[Iterable[Right]], str] = lambda _: ""

    def filters(self) -> dict[str, list[str]]:
        """EC2's ``Filters`` as name → values."""
        return {each["Name"]: list(each.get("Values") or ()) for each in self.params.get("Filters") or ()}


Gap = Callable[[GapRequest], Mapping[str, Any] | None]
"""Answers with the operation's output, or leaves the request to moto with ``None``; raises :class:`GapError`."""
