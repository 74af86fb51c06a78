"""Which stacks a change has to rehearse."""

from __future__ import annotations

import pytest

from rehearsal.engine.changed_stacks import main, stack_files, to_rehearse

STACKS = ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "examples/gke-tips.yaml"]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ([], []),
        (["docs/policies.md", "README.md", "tests/recorder.py"], []),
        (["Pulumi.prod.yaml", "README.md"], ["Pulumi.prod.yaml"]),
        (["examples/gke-tips.yaml", "Pulumi.dev.yaml"], ["Pulumi.dev.yaml", "examples/gke-tips.yaml"]),
        (["Pulumi.gone.yaml"], []),
        (["components/cluster.py"], STACKS),
        (["policies/rules/money.py", "Pulumi.dev.yaml"], STACKS),
        (["__main__.py"], STACKS),
    ],
)
def test_to_rehearse(changed: list[str], expected: list[str]) -> None:
    assert to_rehearse(changed, STACKS) == expected


def test_the_projects_own_stacks_are_listed() -> None:
    assert set(STACKS) <= set(stack_files())


def test_a_base_that_is_no_commit_is_a_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-branch"]) == 2
    assert "cannot compare with the commit 'no-such-branch'" in capsys.readouterr().err


def test_nothing_changed_since_now(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["HEAD"]) == 0
    assert capsys.readouterr().out == ""
