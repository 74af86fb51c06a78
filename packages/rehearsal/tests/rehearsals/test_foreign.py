"""Other Pulumi programs, rehearsed as they are: what they declare is all that is known of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse
from packages.rehearsal.tests.tables import cases
from rehearsal.engine.stack import ROOT
from rehearsal.sandbox import client

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = ROOT / "examples" / "other-programs"


def rehearsed(folder: Path) -> tuple[int, str, dict[str, Any]]:
    process = rehearse("rehearse", "dev", "--program", str(folder))
    output, _ = process.communicate(timeout=LONGEST)
    name = f"{folder.name}-dev"
    assert client.processes(REPORTS / name) == {}
    return process.returncode, output, json.loads((REPORTS / name / "report.json").read_text())


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@cases
def test_another_program_scales_its_pool_from_zero_and_back(cloud: str, not_simulated: list[str]) -> None:
    folder = EXAMPLES / cloud
    before = contents(folder)
    code, output, report = rehearsed(folder)
    assert (code, report["verdict"]) == (0, "pass"), output
    ids = [check["id"].partition(":")[0] for check in report["checks"]]
    expected = ["gate", "up", "gpu-pools", "up", "second-up-no-changes", "no-drift", "zero"]
    assert ids == [*expected, *(["cloud-problems"] if cloud.startswith("eks") else []), "destroy", "nothing-left"]
    assert [subject for subject in report["scope"]["notRehearsed"] if ":" in subject] == not_simulated
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["plain", "logged-in"])
def test_a_program_without_a_network_passes_for_who_is_logged_in_with_gcloud(name: str) -> None:
    """Programs of the kind that public examples show; their nodes are public, so their gate only advises against it."""
    code, output, report = rehearsed(PROGRAMS / name)
    assert (code, report["verdict"]) == (0, "pass"), output


def test_a_program_without_a_gpu_pool_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: net\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  gcp:project: ml\n  gcp:region: europe-west4\n")
    (tmp_path / "__main__.py").write_text("import pulumi_gcp as gcp\ngcp.compute.Network('net')\n")
    code, output, report = rehearsed(tmp_path)
    assert code == 1
    assert report["reasons"] == ["gpu-pools: none in 1 resource. docs/gating-your-own-program.md lists what is read"], (
        output
    )


def test_a_program_that_lacks_a_package_is_explained(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: net\nruntime: python\n")
    (tmp_path / "__main__.py").write_text("import pulumi_nothing\n")
    code, _, report = rehearsed(tmp_path)
    assert code == 1
    (reason,) = report["reasons"]
    assert "pulumi preview failed: the program imports 'pulumi_nothing', which its Python environment" in reason
