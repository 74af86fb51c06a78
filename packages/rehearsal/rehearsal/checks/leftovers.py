"""After a destroy: nothing is left but the retained resources, which must still exist."""

from __future__ import annotations

from collections.abc import Sequence

from rehearsal.scenario.check import Check


def leftover_checks(left: Sequence[str], kept: frozenset[str]) -> list[Check]:
    """``left`` is what there is, each ending with its id after a space; ``kept`` are the ids of what was to stay."""
    over = [each for each in left if each.rpartition(" ")[2] not in kept]
    stays = f"; retained: {', '.join(sorted(kept))}" if kept else ""
    detail = f"still there: {', '.join(over)}" if over else "no node and no resource in the simulated account" + stays
    found = [Check("nothing-left", "Destroy leaves no node and no cloud resource", not over, detail)]
    if kept:
        missing = sorted(kept - {each.rpartition(" ")[2] for each in left})
        detail = f"deleted: {', '.join(missing)}" if missing else f"still there: {', '.join(sorted(kept))}"
        found.append(Check("kept", "Retained resources survive the destroy", not missing, detail))
    return found
