"""All faults by name, in the order of ``cases.csv``. The faulty program imports this itself, so it must stay cheap."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.faults.injections import INJECTIONS, Injection

_FILE: Final = Path(__file__).with_name("cases.csv")


@dataclass(frozen=True)
class Case:
    """One fault of the program.

    ``inject`` gets the original program as a function and must call it, with something changed before or added after.
    ``rule`` is the policy that must refuse it, ``None`` if only the cloud or the cluster can know. Without the gate,
    the rehearsal's check ``check`` must fail, and its detail must contain ``reason``.
    """

    name: str
    title: str
    stack: str
    rule: str | None
    check: str
    reason: str
    inject: Injection


def _read() -> dict[str, Case]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["name"]: Case(**{**row, "rule": row["rule"] or None}, inject=INJECTIONS[row["name"]]) for row in rows}


CASES: Final[dict[str, Case]] = _read()
