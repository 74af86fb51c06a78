"""The result of a run as a file: all that the run prints, once, with its level, whole, and without a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from policies.result import Finding, Result, plain, sarif
from policies.rules.table import BY_ID
from policies.secrets import HIDDEN, Secrets
from tests.tables import cases

URN = "urn:pulumi:dev::p::gcp:container/nodePool:NodePool::t4"
REFUSED = Finding("gpu-taint", "mandatory", "found", URN, "it lacks the taint", "Add the taint.")
NOTED = Finding("unjudged", "advisory", "found", "", "nobody lists it", "Use another type.")
EXEMPT = Finding("gpu-zero-minimum", "mandatory", "exempted", URN, "keeps 1 node", "Set 0.", "Exempt until 2027-01-31")
OPEN = Finding("gpu-ceiling", "mandatory", "open", URN, "its maximum", "Set it.")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_run_that_finds_nothing_leaves_an_empty_result_in_place_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text("of an older run")
    Result(str(path), "1.2.3")
    assert read(path) == {"pack": "gpucluster", "version": "1.2.3", "findings": []}


def test_the_file_is_whole_after_each_finding_and_holds_each_once(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    result = Result(str(path))
    for finding, count in ((REFUSED, 1), (NOTED, 2), (REFUSED, 2)):
        result.add(finding)
        assert len(read(path)["findings"]) == count
    assert [path.name for path in tmp_path.iterdir()] == ["gate.json"]


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Result().add(REFUSED)
    assert list(tmp_path.iterdir()) == []


def test_a_path_from_here_is_refused() -> None:
    with pytest.raises(ValueError, match="write an absolute path"):
        Result("gate.json")


def test_json_has_rule_message_and_page() -> None:
    (finding,) = plain([REFUSED], "1")["findings"]
    assert finding["page"] == "docs/policies.md#gpu-taint"
    assert finding["severity"] == BY_ID["gpu-taint"].severity
    assert {finding[key] for key in ("rule", "level", "state", "resource")} == {"gpu-taint", "mandatory", "found", URN}


def test_sarif_separates_violations_that_fail_the_run(tmp_path: Path) -> None:
    path = tmp_path / "gate.sarif"
    result = Result(str(path), "1.2.3")
    for finding in (REFUSED, NOTED, EXEMPT, OPEN):
        result.add(finding)
    (run,) = read(path)["runs"]
    assert [one["level"] for one in run["results"]] == ["error", "warning", "note", "note"]
    assert [bool(one.get("suppressions")) for one in run["results"]] == [False, False, True, False]
    assert {one["ruleId"] for one in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == URN
    assert "logicalLocations" not in run["results"][1]["locations"][0]


def test_every_rule_is_described_in_sarif() -> None:
    (run,) = sarif([], "1")["runs"]
    described = {rule["id"]: rule["helpUri"] for rule in run["tool"]["driver"]["rules"]}
    assert set(described) == set(BY_ID)
    page = Path(__file__).resolve().parents[2] / "docs" / "policies.md"
    headings = page.read_text(encoding="utf-8").splitlines()
    assert [link for link in described.values() if f"## {link.partition('#')[2]}" not in headings] == []


def secret(value: Any) -> dict[str, Any]:
    return {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": value}


@cases
def test_a_secret_is_covered_wherever_it_was(properties: Any) -> None:
    secrets = Secrets()
    secrets.learn(properties)
    assert secrets.hidden("has the taint hunter2:NoSchedule") == f"has the taint {HIDDEN}:NoSchedule"


def test_what_is_no_secret_stays() -> None:
    secrets = Secrets()
    secrets.learn({"name": "hunter2", "count": secret(3.0), "flag": secret("on")})
    assert secrets.hidden("on hunter2, 3 nodes") == "on hunter2, 3 nodes"


def test_a_secret_inside_of_a_word_is_not_that_secret() -> None:
    secrets = Secrets()
    secrets.learn(secret("gpu"))
    assert secrets.hidden("gpus of pool 'gpu'") == f"gpus of pool '{HIDDEN}'"


def test_of_two_secrets_the_longer_is_covered_first() -> None:
    secrets = Secrets()
    secrets.learn([secret("red"), secret("red-team")])
    assert secrets.hidden("red-team") == HIDDEN
