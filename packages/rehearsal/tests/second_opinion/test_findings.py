"""A finding is answered for its check and resource, until a day."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from rehearsal.second_opinion.findings import Answer, ScannerFailed, ScannerFinding, answers, opinion, scan, unanswered

TODAY = date(2026, 11, 25)
FINDING = ScannerFinding("CKV_GCP_26", "google_compute_subnetwork.cluster-subnetwork", "flow logs")


def answer(check: str = "CKV_GCP_26", resources: str = "google_compute_subnetwork.*", ends: date = TODAY) -> Answer:
    return Answer(check, resources, "they cost money", ends)


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ([answer()], []),
        ([], [FINDING]),
        ([answer(check="CKV_GCP_27")], [FINDING]),
        ([answer(resources="google_compute_network.*")], [FINDING]),
        ([answer(ends=date(2026, 11, 24))], [FINDING]),
    ],
)
def test_a_finding_is_open_unless_its_own_answer_still_holds(known: list[Answer], left: list[ScannerFinding]) -> None:
    assert unanswered([FINDING], known, TODAY) == left


def test_every_committed_answer_has_a_reason_and_ends_within_two_years() -> None:
    known = answers()
    assert len(known) == len({(each.check, each.resources) for each in known}) > 50
    assert [each for each in known if len(each.why) < 15 or each.ends > date(2028, 11, 25)] == []


def test_reports_are_read_together() -> None:
    failed = [{"check_id": FINDING.check, "resource": FINDING.resource, "check_name": FINDING.title}]
    report = {"summary": {"passed": 3}, "results": {"failed_checks": failed}}
    read = opinion(json.dumps([report, {"summary": {"passed": 4}, "results": {"failed_checks": []}}]))
    assert (read.passed, read.findings) == (7, (FINDING,))
    assert opinion(json.dumps(report)).passed == 3


def test_a_scanner_without_a_result_is_no_pass(tmp_path: Path) -> None:
    scanner = tmp_path / "checkov"
    scanner.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 2\n")
    scanner.chmod(0o755)
    with pytest.raises(ScannerFailed, match="no such option"):
        scan(scanner, {"plan.json": "{}"})
