"""The findings of a run as a file for reviews: JSON, or SARIF for tools that show findings next to code.

``GPUCLUSTER_GATE_RESULT=/folder/gate.sarif pulumi preview --policy-pack …`` writes it (any other ending: JSON). It is
rewritten after each finding, so it is complete even if a mandatory rule ends the run. It has everything that the run
prints, with levels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from policies.rules.table import BY_ID

VARIABLE: Final = "GPUCLUSTER_GATE_RESULT"
"""The environment variable with the file's absolute path: the engine runs the pack in another folder."""
PAGE: Final = "docs/policies.md"
COST: Final = "cost"
"""The policy that prints what a program's nodes cost. It is not a rule: it has no level and is no finding."""

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"mandatory": "error", "remediate": "error", "advisory": "warning"}

State = Literal["found", "open", "exempted", "changed"]
"""``open``: unknown until the update. ``exempted``: covered by an exemption. ``changed``: fixed by the gate."""


@dataclass(frozen=True)
class Finding:
    """One line of a run's result; ``resource`` is a URN, ``""`` for the stack as a whole."""

    rule: str
    level: str
    state: State
    resource: str
    message: str
    remedy: str
    note: str = ""


class Result:
    """The findings of one run, each once; with a ``path`` also written to that file.

    Raises:
        ValueError: the path is not absolute.
    """

    def __init__(self, path: str = "", version: str = "0") -> None:
        if path and not Path(path).is_absolute():
            raise ValueError(
                f"{VARIABLE}={path}: write an absolute path; the engine runs the policy pack in its own folder"
            )
        self._path = Path(path) if path else None
        self._version = version
        self._findings: dict[Finding, None] = {}
        self._write()

    def add(self, finding: Finding) -> None:
        """Records a finding."""
        if finding not in self._findings:
            self._findings[finding] = None
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        findings = list(self._findings)
        content = sarif(findings, self._version) if self._path.suffix == ".sarif" else plain(findings, self._version)
        beside = self._path.with_name(f".{self._path.name}.part")
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._path)


def page_of(rule: str) -> str:
    """The section of the documentation on a rule."""
    return f"{PAGE}#{rule}"


def plain(findings: list[Finding], version: str) -> dict[str, Any]:
    """The result as JSON."""
    listed = [{**asdict(one), "severity": BY_ID[one.rule].severity, "page": page_of(one.rule)} for one in findings]
    return {"pack": "gpucluster", "version": version, "findings": listed}


def sarif(findings: list[Finding], version: str) -> dict[str, Any]:
    """The result as SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html."""
    driver = {
        "name": "gpucluster",
        "version": version,
        "informationUri": PAGE,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.remedy},
                "helpUri": page_of(rule.id),
                "defaultConfiguration": {"level": _LEVELS.get(rule.level, "none")},
                "properties": {"problem.severity": rule.severity},
            }
            for rule in BY_ID.values()
        ],
    }
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_sarif_result(one) for one in findings]}],
    }


def _sarif_result(finding: Finding) -> Mapping[str, Any]:
    text = f"{finding.message}\nFix: {finding.remedy}" + (f"\n{finding.note}" if finding.note else "")
    # Resources have no source line, but viewers require a file.
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": "Pulumi.yaml"}}}
    if finding.resource:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.resource, "kind": "resource"}]
    identity = f"{finding.rule}:{finding.resource}:{finding.message}"
    level = _LEVELS.get(finding.level, "none") if finding.state == "found" else "note"
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": level,
        "message": {"text": text},
        "locations": [location],
        # By this key code scanning recognises a result of an earlier run:
        # https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
        "partialFingerprints": {"primaryLocationLineHash": hashlib.sha256(identity.encode()).hexdigest()},
    }
    if finding.state == "exempted":
        result["suppressions"] = [{"kind": "external", "justification": finding.note}]
    return result
