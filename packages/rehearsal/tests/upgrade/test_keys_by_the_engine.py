"""Edits of keys by the engine: the released version's stack, updated by today's program with other keys, and destroyed.

Each edit by itself, without an engine: test_keys.py.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from rich.console import Console
from typing_extensions import override

from packages.rehearsal.tests.tables import beside
from packages.rehearsal.tests.upgrade.released import released
from rehearsal import checks
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.tools import provide

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

TABLE: Final[dict[str, Any]] = beside(str(Path(__file__).with_name("test_keys.py")))


class _Edited(Rehearsal):
    """No jobs. The released version deploys the stack ``before``, which today's program updates."""

    before: Path

    @override
    def _up(self, engine: Engine) -> CommandResult:
        self._engine_check("base", "The released version", engine.of(released(), self.before).up(name="base"))
        return super()._up(engine)

    @override
    def _scenario(self, engine: Engine) -> None:
        assert self._sandbox is not None
        again = engine.up(name="again", expect_no_changes=True)
        self._engine_check("again", "A second update changes nothing", again)
        self._record.checks += checks.account_checks(self._sandbox.problems())


class _Refused(_Edited):
    """The same, but today's program first refuses the stack ``after`` because of ``key``."""

    after: Path
    key: str

    @override
    def _up(self, engine: Engine) -> CommandResult:
        updated = super()._up(engine)
        answer = engine.of(ROOT, self.after).preview()
        refused = not answer.ok and f"security.{self.key}: the running cluster" in answer.reason
        self._check("refused", "The edit is refused in the preview", refused, answer.reason)
        return updated


def stack(folder: Path, name: str, letter: str | None, *keys: str) -> Path:
    """The stack file of the table with that letter of these keys."""
    config = dict(TABLE["stacks"][name])
    for key in keys if letter else ():
        known = TABLE["keys"].get(f"{name} {key}", TABLE["keys"][name])
        config["gpucluster:security"] = {**config.get("gpucluster:security", {}), key: known[letter]}
    folder.mkdir(exist_ok=True)
    file = folder / f"keys-{name}.yaml"
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def finished(rehearsal: _Edited, *ids: str) -> None:
    done = rehearsal.run()
    assert done.passed, done.record.reasons
    assert {"base", "again", "destroy", *ids} <= {each.id for each in done.record.checks}


def arguments(file: Path, folder: Path) -> tuple[Any, Options, Console]:
    running = resolve(str(file))
    options = Options(tools=provide(running.tools), gate=None, build=folder)
    return running, options, Console(file=io.StringIO(), width=160)


@pytest.mark.parametrize(("name", "keys"), [("gke", ("kmsKey", "diskKey", "dataKey")), ("eks", ("diskKey",))])
def test_other_keys_in_the_update_from_the_released_version(name: str, keys: tuple[str, ...], tmp_path: Path) -> None:
    rehearsal = _Edited(*arguments(stack(tmp_path / "after", name, "b", *keys), tmp_path))
    rehearsal.before = stack(tmp_path / "before", name, "a", *keys)
    finished(rehearsal)


@pytest.mark.parametrize(("name", "key", "before"), [("eks", "kmsKey", None), ("aks", "diskKey", "a")])
def test_a_key_that_the_cloud_cannot_change(name: str, key: str, before: str | None, tmp_path: Path) -> None:
    deployed = stack(tmp_path / "before", name, before, key)
    rehearsal = _Refused(*arguments(deployed, tmp_path))
    rehearsal.before, rehearsal.after, rehearsal.key = deployed, stack(tmp_path / "after", name, "b", key), key
    finished(rehearsal, "refused")
