"""What a person does when an update cannot go on: docs/operations.md, "Recover from an interrupted update"."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from typing import Any, Final

from rehearsal.engine.engine import STATE, CommandResult, Engine
from rehearsal.engine.events import name_of

_FAILED: Final = re.compile(r"\((\S+)\):\s*\n\s*error:.*(?:already exist|connection reset)", re.IGNORECASE)
"""In the engine's log: the resource of such an error. Names of networks on AWS are not unique: what exists there and is
not imported is created again."""


def after_kill(engine: Engine, ids: Mapping[str, str], places: Mapping[str, Mapping[str, str]]) -> CommandResult:
    """Unlock the stack, and import of what was being created what exists. ``ids`` (URN → id) is what the cloud has.

    ``places`` are ``placed``'s, of a complete state. Raises ``EngineError``.

    ``--import-pending-creates`` has no effect: the engine of v3.200.0 drops operations of the type ``importing``
    (https://github.com/pulumi/pulumi/blob/v3.200.0/pkg/cmd/pulumi/operations/refresh.go). In a folder, each file of the
    state has another with its attributes, which a kill may leave empty; without that file the state is readable
    (https://pkg.go.dev/gocloud.dev/blob/fileblob#hdr-Attributes).
    """
    for attributes in (engine.run_dir / STATE).rglob("*.attrs"):
        if not attributes.stat().st_size:
            attributes.unlink()
    engine.run("cancel --yes", "--stack", engine.stack)
    pending = engine.deployment().get("pending_operations") or []
    refreshed = engine.operation("recover", ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"])
    creating = {each["resource"]["urn"] for each in pending if each["type"] == "creating"}
    return _imported(engine, creating, ids, places) or refreshed if refreshed.ok else refreshed


def placed(deployment: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """URN → the URNs of its ``parent`` and its ``provider``, of a deployment's resources that have both."""
    return {
        each["urn"]: {"parent": each["parent"], "provider": each["provider"].rpartition("::")[0]}
        for each in deployment.get("resources") or []
        if each.get("parent") and each.get("provider")
    }


def import_existing(
    engine: Engine, failed: CommandResult, ids: Mapping[str, str], places: Mapping[str, Mapping[str, str]]
) -> CommandResult:
    """Import what an update failed to create, because it already exists or the answer was lost.

    With nothing to import, the failed update is the result. Raises ``EngineError``.
    """
    names = {*_FAILED.findall(failed.log.read_text())}
    return _imported(engine, {urn for urn in ids if name_of(urn) in names}, ids, places) or failed


def _imported(
    engine: Engine, created: Set[str], ids: Mapping[str, str], places: Mapping[str, Mapping[str, str]]
) -> CommandResult | None:
    """``None`` if there is nothing to import. A patch of an object is repeated instead."""
    urns = engine.resources()
    entries = [
        {"type": own_type(urn), "name": name_of(urn), "id": ids[urn], **places[urn]}
        for urn in sorted(created & ids.keys() & places.keys() - {*urns})
        if not own_type(urn).endswith("Patch")
    ]
    if not entries:
        return None
    file = engine.run_dir / "import.json"
    file.write_text(json.dumps({"nameTable": {urn: urn for urn in urns}, "resources": entries}))
    flags = ["--yes", "--skip-preview", "--protect=false", "--generate-code=false", "--file", str(file)]
    return engine.operation("import", ["import", *flags])


def own_type(urn: str) -> str:
    """A resource's type, without those of its parents."""
    return urn.split("::")[2].rpartition("$")[2]
