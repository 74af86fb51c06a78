"""The result of a run as a file: all that the run prints, once, with its level, and without a secret; and as SARIF.

Its schema is Microsoft's, from @microsoft/jest-sarif 1.0.0-beta.0 (MIT): lib/schemas/sarif-2.1.0-rtm.5.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from policies.engine_values import HIDDEN, Secrets
from policies.result import Finding, Result, plain, sarif
from policies.rules.table import BY_ID
from policies.scan import main
from tests.stacks import ROOT

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


@pytest.mark.parametrize(
    "properties",
    [
        {"taints": [{"key": "team", "value": secret("hunter2")}]},
        {"taints": secret([{"key": "team", "value": "hunter2"}])},
        secret({"deep": {"er": [["hunter2"]]}}),
    ],
)
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


POOLS = "urn:pulumi:dev::gpucluster::gcp:container/nodePool:NodePool::"
FILE = """\
config:
  gpucluster:cloud: gke
  gpucluster:gpuPools:
    - name: t4
      gpu: nvidia-t4
    - {name: t4-big, gpu: nvidia-t4}
  gpucluster:cpuPools: [{name: general}]
"""
FINDINGS = [
    Finding("gpu-taint", "mandatory", "found", f"{POOLS}t4-1-pool", "it lacks the taint", "Add the taint."),
    Finding("gpu-taint", "advisory", "found", f"{POOLS}t4-big-4", "it lacks the taint", "Add the taint."),
    Finding("private-nodes", "advisory", "open", f"{POOLS}general", "whether they are private", "Make them private."),
    Finding(
        "gpu-zero-minimum", "mandatory", "exempted", f"{POOLS}t4x", "keeps 1 node", "Set 0.", "Exempt until 2027-01-31"
    ),
    Finding("unjudged", "mandatory", "found", "", "the type is unknown", "Use another type."),
]


@pytest.fixture
def scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    for name, value in {"SERVER_URL": "https://github.com", "REPOSITORY": "o/r", "SHA": "abc"}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    Path("Pulumi.dev.yaml").write_text(FILE)
    path = tmp_path / "gate.sarif"
    path.write_text(json.dumps(sarif(FINDINGS, "1.2.3")))
    assert main(["gate.sarif", "dev"]) == 0
    return json.loads(path.read_text())


def test_the_file_is_valid_by_the_schema_of_sarif(scanned: Any) -> None:
    schema = Draft4Validator(json.loads((ROOT / "tests" / "policies" / "sarif-2.1.0-rtm.5.json").read_text()))
    assert [error.message for error in schema.iter_errors(scanned)] == []
    scanned["runs"][0]["results"][0]["level"] = "mandatory"
    assert not schema.is_valid(scanned)


def test_a_result_is_at_the_line_of_its_pool_else_at_the_file_s_first(scanned: Any) -> None:
    results = scanned["runs"][0]["results"]
    physical = [result["locations"][0]["physicalLocation"] for result in results]
    assert {place["artifactLocation"]["uri"] for place in physical} == {"Pulumi.dev.yaml"}
    assert [place["region"]["startLine"] for place in physical] == [4, 6, 7, 1, 1]
    names = [name["fullyQualifiedName"] for name in results[0]["locations"][0]["logicalLocations"]]
    assert names == ["gpucluster:gpuPools.t4", f"{POOLS}t4-1-pool"]


def test_a_rule_has_its_texts_and_a_link_that_opens(scanned: Any) -> None:
    (run,) = scanned["runs"]
    rule = next(rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "gpu-zero-minimum")
    assert rule["helpUri"] == "https://github.com/o/r/blob/abc/docs/policies.md#gpu-zero-minimum"
    assert rule["shortDescription"]["text"] == "GPU node groups scale to zero"
    assert rule["help"]["text"].startswith("Set the minimum to 0")
    assert run["automationDetails"]["id"] == "gate/dev/", "results of other stacks stay"
    assert len({result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]}) == 5


def test_without_a_result_of_the_gate_the_command_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "gate.sarif"), "dev"]) == 1
    assert "the gate wrote no result" in capsys.readouterr().err
