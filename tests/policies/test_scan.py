"""The gate's findings as SARIF of a stack file: valid by the standard's schema, at the line of the pool, with links.

The schema is Microsoft's, from @microsoft/jest-sarif 1.0.0-beta.0 (MIT): lib/schemas/sarif-2.1.0-rtm.5.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from policies.result import Finding, sarif
from policies.scan import main
from tests.stacks import ROOT

URN = "urn:pulumi:dev::gpucluster::gcp:container/nodePool:NodePool::"
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
    Finding("gpu-taint", "mandatory", "found", f"{URN}t4-1-pool", "it lacks the taint", "Add the taint."),
    Finding("gpu-taint", "advisory", "found", f"{URN}t4-big-4", "it lacks the taint", "Add the taint."),
    Finding("private-nodes", "advisory", "open", f"{URN}general", "whether they are private", "Make them private."),
    Finding(
        "gpu-zero-minimum", "mandatory", "exempted", f"{URN}t4x", "keeps 1 node", "Set 0.", "Exempt until 2027-01-31"
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
    assert names == ["gpucluster:gpuPools.t4", f"{URN}t4-1-pool"]


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
