"""What a person does when an update cannot go on: docs/operations.md, "Recover from an interrupted update"."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.events import name_of

_FAILED: Final = re.compile(r"\((\S+)\):\s*\n\s*error:.*(?:already exists|exists already)", re.IGNORECASE)
"""In the engine's log: the resource of such an error."""


def after_kill(engine: Engine) -> CommandResult:
    """Unlock the stack and clear what was being created. Raises ``EngineError``.

    ``--import-pending-creates`` has no effect: the engine of v3.200.0 drops operations of the type ``importing``
    (https://github.com/pulumi/pulumi/blob/v3.200.0/pkg/cmd/pulumi/operations/refresh.go).
    """
    engine.run("cancel --yes", "--stack", engine.stack)
    return engine.operation("recover", ["refresh", "--yes", "--skip-preview", "--clear-pending-creates"])


def import_existing(engine: Engine, failed: CommandResult, ids: Mapping[str, str]) -> CommandResult:
    """Import what an update failed to create because it ``already exists``; ``ids`` (URN → id) is what the cloud has.

    With nothing to import, the failed update is the result. Raises ``EngineError``.
    """
    names = {*_FAILED.findall(failed.log.read_text())}
    urns = engine.resources()
    entries = [
        {
            "type": own_type(urn),
            "name": name_of(urn),
            "id": id,
            "parent": _parent(urn, urns),
            "provider": _of(urn, urns),
        }
        for urn, id in ids.items()
        if name_of(urn) in names and urn not in urns
    ]
    if not entries:
        return failed
    file = engine.run_dir / "import.json"
    file.write_text(json.dumps({"nameTable": {urn: urn for urn in urns}, "resources": entries}))
    flags = ["--yes", "--skip-preview", "--protect=false", "--generate-code=false", "--file", str(file)]
    return engine.operation("import", ["import", *flags])


def own_type(urn: str) -> str:
    """A resource's type, without those of its parents."""
    return urn.split("::")[2].rpartition("$")[2]


def _parent(urn: str, urns: Sequence[str]) -> str:
    """The component that a resource belongs to: a child's name begins with its component's."""
    types = urn.split("::")[2].rpartition("$")[0]
    return max(
        (each for each in urns if each.split("::")[2] == types and name_of(urn).startswith(name_of(each))), key=len
    )


def _of(urn: str, urns: Sequence[str]) -> str:
    """The provider of a resource."""
    return next(each for each in urns if own_type(each) == f"pulumi:providers:{own_type(urn).partition(':')[0]}")
