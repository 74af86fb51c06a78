"""A stack's life while the clouds' APIs fail: create, update, refresh and destroy, each until it succeeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.day_two.edits import EDITS, Target, edit_stack, entry_of
from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import name_of
from rehearsal.engine.recovery import own_type
from rehearsal.faults.world import FaultsFailed, World
from rehearsal.providers.call_faults import CallFault

_EDITS: Final = tuple(each for each in EDITS if each.id in ("maximum-raised", "label", "tag"))


def clean_life(world: World) -> dict[str, list[str]]:
    """Play the life without faults; returns the calls that can be disturbed: method → URNs. Raises ``FaultsFailed``."""
    world.sandbox.inject(())
    _require(world.up("clean-up"))
    resources, world.clean["Create"] = world.resources(), world.inventory()
    original = _edit(world)
    steps = _require(world.up("clean-update")).outcome.steps
    updated = {(step.type, step.name) for step in steps if step.op == "update"}
    world.clean["Update"] = world.clean["Read"] = world.inventory()
    world.engine.stack_file.write_text(original)
    _require(world.engine.destroy(world.log_name("clean-destroy")))
    world.clean["Delete"] = world.inventory()
    _, existing = world.sandbox.calls()  # what goes with the cluster is not deleted by a call of its own
    deleted = [urn for urn in resources if urn not in existing]
    changed = [urn for urn in resources if (own_type(urn), name_of(urn)) in updated]
    return {"Create": resources, "Update": changed, "Read": resources, "Delete": deleted}


def disturbed_life(world: World, faults: Sequence[CallFault]) -> None:
    """Play it with faults."""
    of: Mapping[str, list[CallFault]] = {
        call: [fault for fault in faults if fault.call == call] for call in ("Create", "Update", "Read", "Delete")
    }
    world.disturb("Create", of["Create"], world.up)
    original = _edit(world)
    world.disturb("Update", of["Update"], world.up)
    world.disturb("Read", of["Read"], lambda: _refreshed(world))
    world.engine.stack_file.write_text(original)
    world.disturb("Delete", of["Delete"], lambda: world.engine.destroy(world.log_name("destroy")))


def _refreshed(world: World) -> CommandResult:
    """What stale answers put into the state, the next update puts right."""
    refreshed = world.engine.operation(world.log_name("refresh"), ["refresh", "--yes", "--skip-preview"])
    return world.up("after-refresh") if refreshed.ok else refreshed


def _edit(world: World) -> str:
    """Change settings that update resources in place; returns the stack file as it was."""
    file = world.engine.stack_file
    original = file.read_text()
    pool = next(name_of(urn) for urn in world.engine.resources() if own_type(urn).endswith(":GpuNodePool"))
    edit_stack(file, _EDITS, Target(entry_of(pool, file), ""))
    return original


def _require(result: CommandResult) -> CommandResult:
    if not result.ok:
        raise FaultsFailed(f"without a fault, {result.command} fails: {result.evidence}")
    return result
