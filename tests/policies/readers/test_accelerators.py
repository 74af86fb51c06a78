"""Groups of accelerators that are no NVIDIA GPUs and come from zero are not noted."""

from __future__ import annotations

import pytest

from tests.policies.corpus.accelerators import NOTHING_UP, RULE
from tests.policies.corpus.case import Case, findings


@pytest.mark.parametrize("case", NOTHING_UP, ids=lambda case: case.id)
def test_nothing_is_noted_where_nothing_is_up(case: Case) -> None:
    assert RULE not in {violation.rule for violation in findings(case)}
