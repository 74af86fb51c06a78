"""All faults by name, in the order of ``cases.csv``: what each is, and the code that injects it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from rehearsal.faults import added, changed
from rehearsal.faults.case import Case

_FILE: Final = Path(__file__).with_name("cases.csv")
_INJECTIONS: Final = {**changed.INJECTIONS, **added.INJECTIONS}


def _read() -> dict[str, Case]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["name"]: Case(**{**row, "rule": row["rule"] or None}, inject=_INJECTIONS[row["name"]]) for row in rows}


CASES: Final[dict[str, Case]] = _read()
