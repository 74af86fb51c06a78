"""After a destroy: nothing is left but the retained resources, which must still exist."""

from __future__ import annotations

from collections.abc import Sequence

from rehearsal.scenario.check import Check


def leftover_checks(left: Sequence[str], retained: frozenset[str]) -> list[Check]:
    """``left``: what still exists, each ending with its id after a space; ``retained``: ids of what must stay."""
    over = [each for each in left if each.rpartition(" ")[2] not in retained]
    stays = f"; retained: {', '.join(sorted(retained))}" if retained else ""
    detail = f"still there: {', '.join(over)}" if over else "no node and no resource in the simulated account" + stays
    checks = [Check("nothing-left", "Destroy leaves no node and no cloud resource", not over, detail)]
    if retained:
        missing = sorted(retained - {each.rpartition(" ")[2] for each in left})
        detail = f"deleted: {', '.join(missing)}" if missing else f"still there: {', '.join(sorted(retained))}"
        checks.append(Check("kept", "Retained resources survive the destroy", not missing, detail))
    return checks
