"""The program of others that makes the cluster which a stack's ``existingCluster`` names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from facts import catalog
from rehearsal.engine.engine import Engine
from rehearsal.engine.program import ForeignProgram, open_program
from rehearsal.engine.stack import ROOT, Stack, stack_name

PROGRAMS: Final = ROOT / "examples" / "other-programs"


class OwnersProgram:
    """A program in ``place``, a folder or a stack file in it; without one, ``<cloud>-company`` of ``PROGRAMS``.

    Raises StackError: it cannot be rehearsed, and why.
    """

    def __init__(self, stack: Stack, place: Path | None) -> None:
        there = place or PROGRAMS / f"{stack.settings.cloud}-company"
        folder, name = (there.parent, stack_name(there)) if there.is_file() else (there, stack.name)
        self.program: Final[ForeignProgram] = open_program(folder, name)
        self._stack, self._own = stack, place is None

    def beside(self, engine: Engine, folder: Path) -> Engine:
        """Its stack in the account of ``engine``, with its own stack file or with one that names the cluster and its
        place; ``folder`` is made for it."""
        program = self.program
        folder.mkdir()
        file = program.file
        if not file.is_file():
            file = folder / "config.yaml"
            file.write_text(yaml.safe_dump({"config": self._config()}))
        beside = engine.another(program.folder, program.stack, file, folder)
        return replace(beside, path=(*engine.path, program.environment / "bin"), bytecode=self._own)

    def _config(self) -> dict[str, object]:
        settings, project = self._stack.settings, yaml.safe_load((self.program.folder / "Pulumi.yaml").read_text())
        existing = settings.existing_cluster
        group = None if existing is None else existing.resource_group
        values = {"name": settings.cluster_name, "region": settings.region, "zones": list(settings.zones)}
        if len(settings.known.choices.autoscalers) > 1:
            values["autoscaler"] = settings.autoscaler
        values |= {} if group is None else {"resourceGroup": group}
        config = {f"{project['name']}:{key}": value for key, value in values.items()}
        return {**config, catalog.of(settings.cloud).account.key: settings.project}
