"""Which calls of the engine are disturbed, and how: every call gets a fault, chosen by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Final

from rehearsal.providers.call_faults import CallFault, FaultKind

_FAILING: Final[tuple[FaultKind, ...]] = ("refused", "throttled", "lost answer", "killed before", "killed after")
_CHANGING: Final[tuple[FaultKind, ...]] = (*_FAILING, "slow")
KINDS: Final[Mapping[str, tuple[FaultKind, ...]]] = {
    "Create": _CHANGING,
    "Update": _CHANGING,
    "Read": ("stale", "refused", "slow"),
    "Delete": _CHANGING,
}
ROTATIONS: Final = len(_CHANGING)
"""So many plans with different rotations disturb every call in every way."""


def planned(calls: Mapping[str, Iterable[str]], seed: int, *, rotation: int = 0, most: int = 0) -> list[CallFault]:
    """A fault for each call (method → URNs), or for a sample of ``most``; the same seed gives the same plan.

    The kinds of a method take turns in a shuffled order, so each occurs as often as any other. Without an update before
    it no answer is stale, so only reads of the resources of an update call are.
    """
    updated = {*calls.get("Update", ())}
    faults: list[CallFault] = []
    for call, urns in calls.items():
        order = sorted(urns)
        random.Random(f"{seed} {call}").shuffle(order)
        for changes in (True, False):
            kinds: list[FaultKind] = [kind for kind in KINDS[call] if changes or kind != "stale"]
            some = enumerate(urn for urn in order if (urn in updated) == changes)
            faults += [CallFault(call, urn, kinds[(place + rotation) % len(kinds)]) for place, urn in some]
    return random.Random(seed).sample(faults, most) if 0 < most < len(faults) else faults
