"""A stack while the clouds' APIs fail: create, update, refresh and destroy, each until it succeeds.

Every call of the engine gets a fault, chosen by a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from proof.faults.session import FaultSession, FaultsFailed
from rehearsal.day_two.edits import EDITS, Edit, Target, edit_stack, entry_of
from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import name_of
from rehearsal.engine.recovery import own_type, placed
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


_EDITS: Final = tuple(each for each in EDITS if each.id in ("maximum-raised", "label", "tag"))
REVERSIBLE: Final = _EDITS[:2]
"""GKE refuses to take a stack's last tag away (docs/operations.md)."""


def clean_run(session: FaultSession) -> dict[str, list[str]]:
    """Run the steps without faults; returns the calls that can be disturbed: method → URNs. Raises ``FaultsFailed``."""
    session.sandbox.inject(())
    _require(session.up("clean-up"))
    resources, session.clean["Create"] = session.resources(), session.inventory()
    session.places = placed(session.engine.deployment())
    original = edit(session)
    steps = _require(session.up("clean-update")).outcome.steps
    updated = {(step.type, step.name) for step in steps if step.op == "update"}
    session.clean["Update"] = session.clean["Read"] = session.inventory()
    session.engine.stack_file.write_text(original)
    _require(session.engine.destroy(session.log_name("clean-destroy")))
    session.clean["Delete"] = session.inventory()
    _, existing = session.sandbox.calls()  # what goes with the cluster is not deleted by a call of its own
    deleted = [urn for urn in resources if urn not in existing]
    changed = [urn for urn in resources if (own_type(urn), name_of(urn)) in updated]
    return {"Create": resources, "Update": changed, "Read": resources, "Delete": deleted}


def disturbed_run(
    session: FaultSession, faults: Sequence[CallFault], complete: Callable[[FaultSession], None] | None = None
) -> None:
    """Run the steps with faults, each until it succeeds; ``complete`` is called when the cluster is."""
    of: Mapping[str, list[CallFault]] = {
        call: [fault for fault in faults if fault.call == call] for call in ("Create", "Update", "Read", "Delete")
    }
    session.disturb("Create", of["Create"], session.up)
    if complete is not None:
        complete(session)
    original = edit(session)
    session.disturb("Update", of["Update"], session.up)
    session.disturb("Read", of["Read"], lambda: _refreshed(session))
    session.engine.stack_file.write_text(original)
    session.disturb("Delete", of["Delete"], lambda: session.engine.destroy(session.log_name("destroy")))


def _refreshed(session: FaultSession) -> CommandResult:
    """What stale answers put into the state, the next update puts right."""
    refreshed = session.engine.refresh(session.log_name("refresh"))
    return session.up("after-refresh") if refreshed.ok else refreshed


def edit(session: FaultSession, edits: tuple[Edit, ...] = _EDITS) -> str:
    """Change settings that update resources in place; returns the stack file as it was."""
    file = session.engine.stack_file
    original = file.read_text()
    parents = [place["parent"] for place in session.places.values()]
    pool = next(name_of(urn) for urn in parents if own_type(urn).endswith(":GpuNodePool"))
    edit_stack(file, edits, Target(entry_of(pool, file), ""))
    return original


def _require(result: CommandResult) -> CommandResult:
    if not result.ok:
        raise FaultsFailed(f"without a fault, {result.command} fails: {result.reason} ({result.log})")
    return result
