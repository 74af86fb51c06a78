"""What a cluster or a pool declares for one setting: the rows of each cloud's ``test_declared.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from facts.concepts.pool import Pool
from tests.recorder import Recording, Registration


@dataclass(frozen=True)
class Case:
    """A pool, or the cluster itself, with other settings of the ``cluster`` than the usual ones.

    Paths have spaces between their steps.
    """

    pool: Pool | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    """The type of the resource, where it is another than the usual one."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Path in the resource's inputs → exactly this value."""
    lacks: Sequence[str] = ()
    """Paths that are not there."""
    ignores: Sequence[str] = ()
    """Inputs that keep their value when the program's changes."""
    follows: Sequence[str] = ()
    """Inputs that do not."""
    without: Sequence[str] = ()
    """Types of which there is no resource."""


def each_case(cases: Mapping[str, Sequence[Case]]) -> pytest.MarkDecorator:
    """Parametrises a test with the cases of each sentence that they prove."""
    rows = [
        pytest.param(case, id=f"{sentence}-{number}")
        for sentence, those in cases.items()
        for number, case in enumerate(those)
    ]
    return pytest.mark.parametrize("case", rows)


def assert_declared(case: Case, resource: Registration, recording: Recording) -> None:
    assert case.inputs or case.lacks or case.ignores or case.follows
    assert [each.name for each in recording.resources if each.type in case.without] == []
    assert {*case.ignores} <= {*resource.ignore_changes}
    assert not {*case.follows} & {*resource.ignore_changes}
    for path, expected in case.inputs.items():
        *parents, last = _steps(path)
        assert _at(resource.inputs, parents)[last] == expected, path
    for path in case.lacks:
        *parents, last = _steps(path)
        block = _at(resource.inputs, parents)
        assert last not in (range(len(block)) if isinstance(block, list) else block), path


def _steps(path: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in path.split()]


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value
