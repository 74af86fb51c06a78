"""What a destroy leaves: nothing, but for what the stack says to keep, which must be there."""

from __future__ import annotations

from collections.abc import Sequence

from rehearsal.scenario.check import Check


def leftover_checks(left: Sequence[str], kept: frozenset[str]) -> list[Check]:
    """``left`` is what there is, each ending with its id after a space; ``kept`` are the ids of what was to stay."""
    over = [each for each in left if each.rpartition(" ")[2] not in kept]
    stays = f"; kept: {', '.join(sorted(kept))}" if kept else ""
    detail = f"still there: {', '.join(over)}" if over else "no node, and no resource in the simulated account" + stays
    found = [Check("nothing-left", "No node and no resource of the cloud is left", not over, detail)]
    if kept:
        missing = sorted(kept - {each.rpartition(" ")[2] for each in left})
        detail = f"gone: {', '.join(missing)}" if missing else f"still there: {', '.join(sorted(kept))}"
        found.append(Check("kept", "What the stack keeps outlives it", not missing, detail))
    return found
