"""A default for resource types that no cloud's table has: inputs come back as outputs, and the type is noted by name.

Only other Pulumi programs get it. For this project's program, a type without a row is an error.
"""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Final

from typing_extensions import override

from rehearsal.providers.base import CallContext, CheckFailure, Created, Diff, Previous, Properties, Provider
from rehearsal.providers.differences import differences, format_path

NOTES: Final = "not-simulated.txt"
"""In the run's directory: the types that were created and are not simulated, one a line."""


class EchoProvider(Provider):
    """Any type of the plugin ``name``. The provider's Python package has checked the inputs; nothing else does.

    ``run_dir`` gets the notes. Outputs that are not inputs are missing, except ``id``.
    """

    def __init__(self, name: str, version: str, run_dir: Path) -> None:
        self.name, self.version = name, version
        self._notes = run_dir / NOTES
        self._states: dict[str, Properties] = {}
        self._types: dict[str, str] = {}
        self._lock = threading.Lock()

    @override
    def inventory(self) -> list[str]:
        return [f"{self._types[id]} {id}" for id in self._states]

    @override
    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        return news, []

    @override
    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        return Diff(tuple(format_path(path) for path in differences(before.inputs, news)))

    @override
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        if request.preview:
            return Created("", inputs)
        id = f"{request.name}-{Random(request.urn).getrandbits(28):07x}"  # the same in every run
        with self._lock:
            if request.type not in self._types.values():
                with self._notes.open("a") as notes:
                    notes.write(f"{request.type}\n")
            self._types[id], self._states[id] = request.type, inputs
        return Created(id, inputs)

    @override
    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        current = self._states.get(id)
        return Created("", {}) if current is None else Created(id, current)

    @override
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        if not request.preview:
            self._states[id] = news
        return news

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        self._states.pop(id, None)


def noted(run_dir: Path) -> tuple[str, ...]:
    """The types that a run created and that are not simulated, in alphabetical order."""
    notes = run_dir / NOTES
    return tuple(sorted(set(notes.read_text().splitlines()))) if notes.exists() else ()
