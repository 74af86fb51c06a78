"""What the reference says of clouds: what can be asked for where."""

from __future__ import annotations

import pytest

from components.settings import docs


@pytest.mark.parametrize("column", [*docs.columns()], ids=lambda column: f"{column.cloud}-{column.autoscaler}")
def test_the_stack_that_wishes_are_added_to_is_accepted_everywhere(column: docs.Column) -> None:
    """So a "no" in the reference is about the wish."""
    assert docs.supports(column, {})
    assert not docs.supports(column, {"gpuPools": {"maxNodes": 0}})
    # A section that no wish is about yet is asked for, too.
    assert not docs.supports(column, {"maintenance": {"hours": 0}})


def test_the_reference_tells_apart_what_clouds_can_do() -> None:
    answers = dict(docs.support())
    assert all(len(row) == len([*docs.columns()]) for row in answers.values())
    assert [title for title, row in answers.items() if not any(row)] == []
    assert all(answers["`gpuPools[].drivers: none`"])
