"""The rehearsal of another Pulumi program: its gate, its pools and what keeps it from being destroyed."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from facts.concepts.declared import NodeGroup
from facts.concepts.parts import Gpus
from packages.rehearsal.tests.tables import cases
from rehearsal.engine.engine import CommandResult, EngineError
from rehearsal.engine.events import Outcome, PolicyViolation
from rehearsal.engine.program import ForeignProgram
from rehearsal.engine.stack import ROOT
from rehearsal.run.options import Options
from rehearsal.run.program import ProgramRehearsal, gate_of, is_protected, refused_by

DEFAULT = ROOT / "policies" / "config" / "default.json"


def program(folder: Path) -> ForeignProgram:
    return ForeignProgram(folder, "dev", folder / "Pulumi.dev.yaml", folder / "venv", {}, None)


def test_without_a_gate_file_the_default_configuration_judges(tmp_path: Path) -> None:
    assert gate_of(program(tmp_path)).config == DEFAULT
    (tmp_path / "gate.json").write_text("{}")
    assert gate_of(program(tmp_path)).config == tmp_path / "gate.json"


def test_a_misspelled_rule_in_the_programs_gate_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text('{"gpu-tant": "mandatory"}')
    with pytest.raises(EngineError, match=r"gate\.json: gpu-tant: no such rule; did you mean gpu-taint\?"):
        gate_of(program(tmp_path))


def test_a_refusal_says_which_levels_applied_and_where_to_lower_one(tmp_path: Path) -> None:
    violation = PolicyViolation("private-nodes", "mandatory", "ml", "")
    assert refused_by(gate_of(program(tmp_path)), [violation], tmp_path) == (
        f"refused: private-nodes on ml. The levels are those of {DEFAULT}; lower a rule in {tmp_path}/gate.json"
    )


@cases
def test_a_destroy_that_fails_for_another_reason_is_a_failure(reason: str, protected: bool) -> None:
    assert is_protected(reason) is protected


class _Engine:
    def up(self, *arguments: Any, **named: Any) -> CommandResult:
        return CommandResult("up-again", 0, 1.0, Outcome(), Path("up-again.log"))

    def drift(self) -> CommandResult:
        return CommandResult("refresh", 0, 1.0, Outcome(), Path("refresh.log"))


@dataclass(frozen=True)
class _Sandbox:
    """Of a cloud whose account has these problems; ``None`` where nobody evaluates it."""

    reported: tuple[str, ...] | None

    def problems(self) -> tuple[str, ...] | None:
        return self.reported


@cases
def test_problems_in_the_account_fail_the_program(
    tmp_path: Path, reported: list[str] | None, passed: list[bool]
) -> None:
    options = Options(tools=tmp_path, gate=None, build=tmp_path)
    rehearsal: Any = ProgramRehearsal(program(tmp_path), options, Console(file=io.StringIO()))
    rehearsal._account(_Sandbox(None if reported is None else tuple(reported)))
    checks = rehearsal._record.checks
    assert [(check.id, check.passed) for check in checks] == [("cloud-problems", each) for each in passed]
    assert all(each in checks[0].detail for each in reported or ())


def test_without_a_gpu_node_the_program_is_updated_a_second_time_all_the_same(tmp_path: Path) -> None:
    options = Options(tools=tmp_path, gate=None, build=tmp_path)
    rehearsal: Any = ProgramRehearsal(program(tmp_path), options, Console(file=io.StringIO()))
    groups = [NodeGroup(name, "eks", gpus=Gpus(per_node=1)) for name in ("l4", "t4")]
    rehearsal._pools(_Engine(), None, groups, None)
    assert [(check.id, check.title, check.passed) for check in rehearsal._record.checks] == [
        ("second-up-no-changes", "A second update changes nothing", True),
        ("no-drift", "`pulumi refresh` finds no drift in the cloud or the cluster", True),
    ]
    assert list(rehearsal._record.scope.not_rehearsed)[-2:] == ["pool l4", "pool t4"]
