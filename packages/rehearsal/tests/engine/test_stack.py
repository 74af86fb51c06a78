"""Which stack is meant: what is written when there is none of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.engine.stack import StackError, available, locate

EXAMPLES = [f"gke-{number:02}-with-a-long-name" for number in range(30)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "examples").mkdir()
    for name in ("Pulumi.dev", "Pulumi.prod", *(f"examples/{each}" for each in EXAMPLES)):
        (tmp_path / f"{name}.yaml").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("dve", "dev"),
        ("prd", "prod"),
        (EXAMPLES[3], f"examples/{EXAMPLES[3]}.yaml"),
        ("examples/gke-07-with-a-long-nam", f"examples/{EXAMPLES[7]}.yaml"),
    ],
)
def test_a_misspelt_stack_is_answered_with_the_nearest_alone(root: Path, written: str, near: str) -> None:
    with pytest.raises(StackError) as raised:
        locate(written, root)
    assert str(raised.value).endswith(f"does not exist): did you mean {near}?")
    assert locate(near, root).exists()


def test_without_a_near_one_all_are_listed_in_lines_that_fit_a_terminal(root: Path) -> None:
    with pytest.raises(StackError) as raised:
        locate("zzz", root)
    first, *lines = str(raised.value).splitlines()
    assert first == f"no stack 'zzz' ({root / 'Pulumi.zzz.yaml'} does not exist)."
    assert lines[0] == "Stacks: dev, prod."
    assert lines[1].startswith(f"Examples, as examples/{EXAMPLES[0]}.yaml: ")
    assert max(map(len, lines)) <= 80
    words = " ".join(lines)
    assert [each for each in available(root) if Path(each).stem not in words] == []
