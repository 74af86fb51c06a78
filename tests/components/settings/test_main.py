"""What a workflow is told about a stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.settings import __main__ as command


def test_a_stack_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["Pulumi.prod.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == ["cloud=gke", "region=us-central1"]


def test_a_bad_stack_is_an_error_and_prints_no_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text("config:\n  gpucluster:cloud: gek\n")
    assert command.main([str(file)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "gke" in printed.err
