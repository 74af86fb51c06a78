"""The page about the rules is generated, and current."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies import docs
from policies.rules.rule import Rule
from policies.rules.table import RULES


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0, capsys.readouterr().err


def test_the_page_describes_every_rule_and_limit() -> None:
    page = docs.render()
    for rule in RULES:
        assert f"## {rule.id}\n" in page
        assert all(f"`{limit}`" in page for limit in rule.schema)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_refuses_its_own_example(rule: Rule[...]) -> None:
    violation = rule.check(rule.example, rule.example_limits)[0]
    assert violation.rule == rule.id
    assert not violation.not_evaluated


def test_an_old_page_is_noticed_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "PAGE", tmp_path / "policies.md")
    assert docs.main(["--check"]) == 1
    assert "policies.md is out of date: run `python -m policies.docs`" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
