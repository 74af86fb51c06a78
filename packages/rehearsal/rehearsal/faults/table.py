"""All faults by name, in the order of ``cases.yaml``. The faulty program imports this itself, so it must stay cheap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.faults.injections import Injection, injection


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


def _case(name: str, row: dict[str, Any]) -> Case:
    texts: dict[str, Any] = {key: value for key, value in row.items() if key not in ("change", "add")}
    return Case(name=name, **{"rule": None, **texts}, inject=injection(name, row))


_ROWS: Final = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
CASES: Final[dict[str, Case]] = {name: _case(name, row) for name, row in _ROWS.items()}
