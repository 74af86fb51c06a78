"""What Checkov reports, and the answers to it in ``answers.csv``."""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rehearsal.second_opinion.documents import frameworks

ANSWERS: Final = Path(__file__).with_name("answers.csv")


class ScannerFailed(Exception):
    """Checkov did not run to its end; the message has its last lines."""


@dataclass(frozen=True, order=True)
class ScannerFinding:
    """A check that a resource does not pass, with the check's title."""

    check: str
    resource: str
    title: str


@dataclass(frozen=True)
class Answer:
    """Why findings of ``check`` on the resources that match ``resources`` stand, until the day ``ends``."""

    check: str
    resources: str
    why: str
    ends: date

    def covers(self, finding: ScannerFinding, today: date) -> bool:
        """Whether it is about the finding, and still holds."""
        return self.check == finding.check and fnmatchcase(finding.resource, self.resources) and today <= self.ends


@dataclass(frozen=True)
class Opinion:
    """The number of checks that passed, and the findings."""

    passed: int
    findings: tuple[ScannerFinding, ...]


def answers(file: Path = ANSWERS) -> list[Answer]:
    """The committed answers."""
    with file.open(encoding="utf-8", newline="") as rows:
        return [
            Answer(row["check"], row["resources"], row["why"], date.fromisoformat(row["ends"]))
            for row in csv.DictReader(rows)
        ]


def unanswered(findings: Iterable[ScannerFinding], known: Sequence[Answer], today: date) -> list[ScannerFinding]:
    """Findings that no answer covers, in order."""
    return sorted(each for each in findings if not any(answer.covers(each, today) for answer in known))


def scan(checkov: Path, files: Mapping[str, str]) -> Opinion:
    """Run the program ``checkov`` on the files, without network.

    Raises:
        ScannerFailed: it printed no result.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        options = ["--compact", "--quiet", "--skip-download", "--soft-fail", "--output", "json"]
        command = [str(checkov), "--directory", folder, "--framework", *frameworks(files), *options]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        return opinion(done.stdout)
    except (ValueError, KeyError, TypeError):
        raise ScannerFailed("\n".join((done.stderr or done.stdout).splitlines()[-5:])) from None


def opinion(output: str) -> Opinion:
    """What the scanner's JSON says; one report, or a list of them."""
    reports = json.loads(output)
    reports = reports if isinstance(reports, list) else [reports]
    findings = {
        ScannerFinding(each["check_id"], each["resource"], each["check_name"])
        for report in reports
        for each in report["results"]["failed_checks"]
    }
    return Opinion(sum(report["summary"]["passed"] for report in reports), tuple(sorted(findings)))
