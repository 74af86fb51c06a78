from __future__ import annotations

from facts.concepts.counts import counted


def test_one_is_singular_and_everything_else_is_not() -> None:
    assert [counted(count, "GPU node") for count in (0, 1, 2)] == ["0 GPU nodes", "1 GPU node", "2 GPU nodes"]
