"""An issue that a rule, a limit or an ADR relies on was read to its end, on a day that is over."""

from __future__ import annotations

import re
from datetime import date

from facts.catalog.tables import rows
from tests.stacks import ROOT

FOLDERS = ("docs/adr", "policies/rules", "components/settings/limits")


def cited() -> set[str]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in (".md", ".py")]
    issue = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+")
    return {match for file in files for match in issue.findall(file.read_text(encoding="utf-8"))}


def test_each_cited_issue_has_its_end_and_no_other_has() -> None:
    threads = [row["thread"] for row in rows("", "threads")]
    assert threads == sorted(cited())


def test_each_says_what_holds_since_when() -> None:
    today = date.today().isoformat()
    for row in rows("", "threads"):
        assert row["state"] in ("open", "closed", ""), row
        assert "2026-01-01" < row["dated"] <= today, row
        assert row["end"], row
