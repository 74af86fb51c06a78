"""The README's picture: drawn from a run's figures, the same each time, and checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rehearsal import picture

LIGHT = picture.COLOURS["rehearsal.svg"]
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


def texts(content: dict[str, Any]) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(picture.draw(content, LIGHT)).iter()]


def test_the_committed_pictures_follow_from_the_committed_figures(folder: Path) -> None:
    assert picture.main(["--check"]) == 0


@pytest.mark.parametrize("name", PICTURES)
def test_an_outdated_picture_is_named(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text("<svg/>")
    assert picture.main(["--check"]) == 1
    assert capsys.readouterr().err == f"docs/{name} out of date: run `make docs`\n"
    assert (picture.main([]), picture.main(["--check"])) == (0, 0)


def test_each_pool_has_a_row_with_its_peak_and_maximum() -> None:
    shown = texts(run())
    for pool in run()["pools"]:
        assert pool["name"] in shown
        assert f"peak {max(run()['overTime']['nodes'][pool['name']])}, max {pool['maxNodes']}" in shown


def test_a_failed_run_without_any_pod_is_drawn_as_failed() -> None:
    failed = run() | {"verdict": "fail", "checks": [3, 29], "stack": "a<b"}
    nothing = {key: [0.0] for key in ("seconds", "pendingPods", "runningPods", "nodesHourlyUsd")}
    failed["overTime"] = nothing | {"nodes": {pool["name"]: [0] for pool in failed["pools"]}}
    assert {"FAIL · 3 of 29 checks", "make rehearse STACK=a<b", "peak $0.00"} <= set(texts(failed))


def test_figures_of_a_report_are_taken(folder: Path, tmp_path: Path) -> None:
    report = run() | {"checks": [{"passed": True}, {"passed": False}], "verdict": "fail", "logs": "/tmp/logs"}
    source = tmp_path / "report.json"
    source.write_text(json.dumps(report))
    assert picture.main(["--from", str(source)]) == 0
    assert run()["checks"] == [1, 2]
    assert "logs" not in run()
