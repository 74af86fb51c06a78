"""Faults of the engine's files, on the real engine and a program without resources."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proof.faults import situations
from proof.faults.session import FaultSession
from rehearsal.engine.engine import Engine, EngineError
from rehearsal.engine.stack import ROOT

_PROGRAM = "import time, pulumi\ntime.sleep(2)\npulumi.export('a', 'b')\n"


@pytest.fixture
def session(tools: Path, tmp_path: Path) -> FaultSession:
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: probe\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (project / "__main__.py").write_text(_PROGRAM)
    (project / ".venv").symlink_to(ROOT / ".venv")
    file = project / "Pulumi.dev.yaml"
    file.write_text("config: {}\n")
    engine = Engine.create(project=project, stack="dev", stack_file=file, run_dir=tmp_path / "run", path=(tools,))
    nobody: Any = None
    session = FaultSession(engine, nobody, nobody, print)
    assert session.up().ok
    return session


@pytest.mark.rehearsal
def test_faults_of_the_engines_files_leave_the_state(session: FaultSession, monkeypatch: pytest.MonkeyPatch) -> None:
    before = session.engine.deployment()["resources"]
    for refused in (situations.two_updates, situations.state_truncated, situations.full_disk):
        refused(session)
        assert session.engine.up(None, name="again", expect_no_changes=True).ok
        assert session.engine.deployment()["resources"] == before
    monkeypatch.setattr(situations, "FULL_DISK", situations.FULL_DISK.replace("head -c 64m", "head -c 1m"))
    with pytest.raises(EngineError, match="disk-full does not fail with the words 'no space left on device'"):
        situations.full_disk(session)


@pytest.mark.parametrize(
    ("ok", "log", "refused"),
    [
        (False, "error: the stack is currently locked by 1 lock(s)", True),
        (True, "error: the stack is currently locked by 1 lock(s)", False),
        (False, "error: something else", False),
        (False, "panic: the stack is currently locked by 1 lock(s)", False),
        (False, "Traceback (most recent call last): locked", False),
    ],
)
def test_a_refusal_has_its_words_and_is_no_crash(tmp_path: Path, ok: bool, log: str, refused: bool) -> None:
    (tmp_path / "up.log").write_text(log)
    result: Any = SimpleNamespace(command="up", ok=ok, log=tmp_path / "up.log")
    if refused:
        situations.require_refused(result, "locked")
        return
    with pytest.raises(EngineError, match="up does not fail with the words 'locked': /"):
        situations.require_refused(result, "locked")
