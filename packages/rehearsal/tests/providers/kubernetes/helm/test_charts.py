"""Where a chart comes from, what is said when it is nowhere, and what stands for charts that are not here."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.rehearsal.tests.providers.kubernetes.helm.charts import write_chart
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.kubernetes.helm import chart_placeholders as writer
from rehearsal.providers.kubernetes.helm.chart_placeholders import known_charts, placeholder
from rehearsal.providers.kubernetes.helm.charts import FOLDER, ChartError, LocalChart, locate
from rehearsal.tools.modules import KARPENTER_AWS

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
def test_what_is_not_here_is_named_with_a_way(inputs: dict[str, Any], property: str, message: str, tools: Path) -> None:
    with pytest.raises(ChartError, match=message) as caught:
        locate(inputs, tools)
    assert caught.value.property == property


def test_a_folder_of_the_user_that_is_none_is_named(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "/nowhere")
    with pytest.raises(ChartError, match="CHARTS=/nowhere is no folder"):
        locate({"chart": KARPENTER.published, "version": NUMBER}, tools)


KUEUE_KINDS = {
    "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig", "ResourceFlavor",
}  # fmt: skip
KUEUE = "oci://registry.k8s.io/kueue/charts/kueue"
_TEMPLATE = """\
{{- /* a comment
of two lines */ -}}
{{- if .Values.crds }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: colours.paint.example
  labels: {{- include "labels" . | nindent 4 }}
spec:
  group: paint.example
  names:
    kind: Colour
    plural: colours
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: prose
        type: object
        properties:
          description: {type: string, description: prose}
          shade: {type: integer}
  - name: v1beta1
    schema:
      openAPIV3Schema: {type: object}
{{- end }}
"""
_HELM = shutil.which("helm")


def inputs(published: str, **other: Any) -> dict[str, Any]:
    return {"chart": published, "version": known_charts()[published].version, **other}


@pytest.mark.parametrize("published", known_charts())
def test_an_empty_chart_stands_for_a_known_one(published: str) -> None:
    known = known_charts()[published]
    repository, _, name = published.rpartition("/")
    by = inputs(published)
    if not published.startswith("oci://"):
        by = {"chart": name, "version": known.version, "repositoryOpts": {"repo": repository}}
    chart = locate(by, None)
    assert chart is not None
    assert (chart.name, chart.version, chart.empty) == (name, known.version, True)
    assert not (chart.path / "templates").exists()


def test_another_version_is_refused_with_the_one_that_is_known() -> None:
    with pytest.raises(ChartError, match=r"0\.19\.2 takes, not 9\.9\.9: write 0\.19\.2, or .*CHARTS=DIR") as caught:
        locate({**inputs(KUEUE), "version": "9.9.9"}, None)
    assert caught.value.property == "version"


def test_the_users_own_copy_is_the_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    write_chart(tmp_path / "kueue", "kueue", known_charts()[KUEUE].version)
    chart = locate(inputs(KUEUE), None)
    assert chart is not None
    assert (chart.path, chart.empty) == (tmp_path / "kueue", False)


def test_kinds_that_a_chart_brings_can_be_made_without_it() -> None:
    definitions = [yaml.safe_load(file.read_text()) for file in (placeholder(KUEUE) / "crds").iterdir()]
    assert {each["spec"]["names"]["kind"] for each in definitions} == KUEUE_KINDS
    for each in definitions:
        assert each["metadata"]["name"] == f"{each['spec']['names']['plural']}.kueue.x-k8s.io"
        assert [version["name"] for version in each["spec"]["versions"]] == ["v1beta2"]


@pytest.mark.rehearsal
@pytest.mark.skipif(_HELM is None, reason="helm is not on PATH (make tools builds it)")
@cases
def test_helm_refuses_what_the_chart_does_not_take(values: dict[str, Any], message: str | None, tmp_path: Path) -> None:
    assert _HELM is not None
    (tmp_path / "values.json").write_text(json.dumps(values))
    command = [_HELM, "template", "x", str(placeholder(KUEUE)), "--values", str(tmp_path / "values.json")]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert (done.returncode == 0) == (message is None), done.stderr
    assert (message or "") in done.stderr


def test_what_is_known_is_read_from_a_charts_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_chart(tmp_path / "web", "web", "1.2.3")
    (source / "values.yaml").write_text("a: {b: 1, c: []}\nd: {}\ne: {f: {g: x}}\nh:\n")
    (source / "crds").mkdir(exist_ok=True)
    (source / "templates" / "colours.yaml").write_text(_TEMPLATE)
    below = write_chart(source / "charts" / "store", "store", "0.1.0")
    (below / "values.yaml").write_text("size: 5\n")
    (known,) = [tmp_path / "known"]
    known.mkdir()
    monkeypatch.setattr(writer, "KNOWN", known)
    arguments = [str(source), "https://example.org/charts/", "--open", "e.f", "--kinds", "Colour"]
    assert writer.main(arguments) == 0
    written = json.loads((known / "web.json").read_text())
    assert (written["published"], written["version"]) == ("https://example.org/charts/web", "1.2.3")
    (kind,) = written["kinds"]
    expected = {"type": "object", "properties": {"description": {"type": "string"}, "shade": {"type": "integer"}}}
    assert kind.pop("schema") == expected
    expected = {"group": "paint.example", "version": "v1", "kind": "Colour", "plural": "colours", "scope": "Namespaced"}
    assert kind == expected
    assert written["values"] == {
        "a": {"b": "scalar", "c": "list"},
        "d": "mapping",
        "e": {"f": "mapping"},
        "h": "any",
        "store": {"size": "scalar"},
    }
