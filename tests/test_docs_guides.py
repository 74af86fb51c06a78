"""docs/guides.md: each capability names tests that exist, or why none can show it."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.stacks import ROOT

ROWS: Final = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (ROOT / "docs" / "guides.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| what it does")
]
_TEST: Final = re.compile(r"`([^`\s]+\.py)::(\w+)`")
_REHEARSALS: Final = ROOT / "packages" / "rehearsal" / "tests"


@pytest.mark.parametrize(("capability", "shown"), ROWS, ids=[row[0] for row in ROWS])
def test_a_capability_is_shown_by_a_test_or_has_a_reason(capability: str, shown: str) -> None:
    for file, name in _TEST.findall(shown):
        path = (_REHEARSALS if file.startswith("rehearsals/") else ROOT) / file
        defined = re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert name in defined, f"{capability}: {file} has no {name}"
    assert _TEST.search(shown) or len(shown.split()) > 3, capability


def test_each_guide_has_its_rows() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) > 50
