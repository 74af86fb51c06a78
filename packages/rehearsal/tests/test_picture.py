"""The README's picture: drawn from a run's figures, the same each time, and checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rehearsal import picture

PICTURES = ("rehearsal.svg", "rehearsal-dark.svg")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the committed figures and pictures."""
    for name in (picture.FIGURES.name, *PICTURES):
        shutil.copy(picture.FIGURES.with_name(name), tmp_path / name)
    monkeypatch.setattr(picture, "FIGURES", tmp_path / picture.FIGURES.name)
    return tmp_path


def run() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(picture.FIGURES.read_text())
    return content


def test_the_committed_pictures_follow_from_the_committed_figures(folder: Path) -> None:
    assert picture.main(["--check"]) == 0


@pytest.mark.parametrize("name", PICTURES)
def test_an_outdated_picture_is_named(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text("<svg/>")
    assert picture.main(["--check"]) == 1
    assert capsys.readouterr().err == f"docs/{name} out of date: run `make docs`\n"
    assert (picture.main([]), picture.main(["--check"])) == (0, 0)


def test_both_pictures_have_the_pools_and_the_verdict() -> None:
    for name in PICTURES:
        texts = {element.text for element in ElementTree.parse(picture.FIGURES.with_name(name)).iter()}
        assert {pool["name"] for pool in run()["pools"]} < texts
        assert f"Rehearsal of dev: pass, {len(run()['checks'])} of {len(run()['checks'])} checks" in texts


def test_figures_of_a_report_are_taken(folder: Path, tmp_path: Path) -> None:
    checks = [{"passed": True, "title": "a"}, {"passed": False, "title": "b"}]
    report = run() | {"checks": checks, "verdict": "fail", "logs": "/tmp/logs"}
    source = tmp_path / "report.json"
    source.write_text(json.dumps(report))
    assert picture.main(["--from", str(source)]) == 0
    assert run()["checks"] == [{"passed": True}, {"passed": False}]
    assert "logs" not in run()
