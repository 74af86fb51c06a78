"""The calls that controllers made, one JSON object a line, for people and for checks."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

Verdict = Literal["allowed", "denied", "failed", "not simulated"]
"""``failed``: the caller may make the call, and AWS refused it for another reason."""


@dataclass(frozen=True)
class Entry:
    """One call. ``who`` is an ARN, or an unknown access key.

    ``missing`` is the right that the caller lacks, or why the call was not evaluated; ``error`` is AWS's answer to a
    call that was not ``allowed``.
    """

    who: str
    service: str
    operation: str
    region: str
    verdict: Verdict
    resources: tuple[str, ...] = ()
    missing: str = ""
    error: str = ""


class CallLog:
    """Appends to ``path``, whose folder is made when the first call comes; threads take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Write one call with the time, in UTC."""
        time = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        fields: Mapping[str, object] = {"time": time, **{key: value for key, value in asdict(entry).items() if value}}
        with self._turn:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(fields) + "\n")
