"""Where a chart comes from, and what is said when it is nowhere."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.providers.kubernetes.helm.charts import write_chart
from rehearsal.providers.kubernetes.helm.charts import FOLDER, ChartError, LocalChart, locate
from rehearsal.tools.modules import KARPENTER_AWS
from tests.tables import cases

KARPENTER, DEFINITIONS = KARPENTER_AWS.charts
NUMBER = KARPENTER_AWS.stamped("{number}", KARPENTER.module)


def pack(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    return archive


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return write_chart(tmp_path / "program" / "web")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    for chart in (KARPENTER, DEFINITIONS):
        pack(write_chart(tmp_path / chart.name, chart.name, NUMBER), folder / KARPENTER_AWS.archive(chart))
    return folder


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "users"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    return folder


def test_a_path_is_a_chart_packed_or_not(web: Path, tmp_path: Path) -> None:
    assert locate({"chart": str(web)}, None) == LocalChart(web, "web", "1.2.3")
    archive = pack(web, tmp_path / "web.tgz")
    assert locate({"chart": str(archive), "version": "9.9.9"}, None) == LocalChart(archive, "web", "1.2.3")


def test_a_relative_path_is_looked_up_in_the_project(web: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(web.parent)
    assert locate({"chart": "web"}, None) == LocalChart(web, "web", "1.2.3")
    repository = {"repo": "https://example.org/charts"}
    with pytest.raises(ChartError, match=r"https://example\.org/charts/web 1 is not here"):
        locate({"chart": "web", "version": "1", "repositoryOpts": repository}, None)


@pytest.mark.parametrize("chart", [KARPENTER, DEFINITIONS], ids=lambda chart: chart.name)
def test_a_published_chart_comes_from_the_tools(chart: Any, tools: Path) -> None:
    inputs = {"chart": chart.published, "version": NUMBER}
    located = locate(inputs, tools)
    assert located == LocalChart(tools / f"{chart.name}-{NUMBER}.tgz", chart.name, NUMBER)
    assert locate(inputs, None) is None, "without tools nobody can tell"


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_of_the_user_comes_before_the_tools(users: Path, tools: Path, tmp_path: Path, packed: bool) -> None:
    release = {"chart": KARPENTER.published, "version": "1.0.0"}
    if packed:
        expected = pack(write_chart(tmp_path / "karpenter-1", "karpenter", "1.0.0"), users / "karpenter-1.0.0.tgz")
    else:
        expected = write_chart(users / "karpenter", "karpenter", "1.0.0")
    assert locate(release, tools) == LocalChart(expected, "karpenter", "1.0.0")
    with pytest.raises(ChartError, match=f"carries .* {NUMBER}, not 1.0.1"):
        locate({**release, "version": "1.0.1"}, tools)


@cases
def test_what_is_not_here_is_named_with_what_to_do(
    inputs: dict[str, Any], property: str, message: str, tools: Path
) -> None:
    with pytest.raises(ChartError, match=message) as caught:
        locate(inputs, tools)
    assert caught.value.property == property


def test_a_folder_of_the_user_that_is_none_is_named(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "/nowhere")
    with pytest.raises(ChartError, match="CHARTS=/nowhere is no folder"):
        locate({"chart": KARPENTER.published, "version": NUMBER}, tools)
