"""All faults by name, in the order in which they are listed."""

from __future__ import annotations

from typing import Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases import added, changed, karpenter, program

CASES: Final[dict[str, Case]] = {
    case.name: case for case in (*changed.CASES, *added.CASES, *program.CASES, *karpenter.CASES)
}
