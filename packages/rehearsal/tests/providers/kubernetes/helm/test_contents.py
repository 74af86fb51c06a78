"""The images of charts whose archives are at hand, and what Helm does with a chart's digest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from account.registry import digest_of
from facts.catalog.pins import Installed, pinned_chart
from packages.account.tests.test_registry import Registry, served
from rehearsal.providers.kubernetes.helm.charts import FOLDER, locate
from rehearsal.providers.kubernetes.helm.contents import ChartChanged, contents

__all__ = ["served"]
HELM = shutil.which("helm")
needs_helm = pytest.mark.skipif(HELM is None, reason="helm is not on PATH (make tools builds it)")
REPOSITORY = "https://a.example/charts"
INPUTS: dict[str, Any] = {
    "chart": "web",
    "version": "1.2.3",
    "name": "web",
    "namespace": "web",
    "repositoryOpts": {"repo": REPOSITORY},
    "values": {"tag": "7"},
}
RELEASE = ("kubernetes:helm.sh/v3:Release", INPUTS)
DIGEST = f"sha256:{'a' * 64}"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: "a.example/web:{{ .Values.tag }}"}, {name: b, image: "a.example/b:1@DIGEST"}]}
""".replace("DIGEST", DIGEST)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chart, folder = tmp_path / "web", tmp_path / "charts"
    (chart / "templates").mkdir(parents=True)
    folder.mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.2.3\n")
    (chart / "templates" / "pod.yaml").write_text(POD)
    monkeypatch.setenv(FOLDER, str(folder))
    with tarfile.open(folder / "web-1.2.3.tgz", "w:gz") as tar:
        tar.add(chart, "web")
    return folder / "web-1.2.3.tgz"


@needs_helm
def test_the_images_of_a_chart_at_hand_are_listed(archive: Path) -> None:
    found = contents([RELEASE], Path(str(HELM)), {})
    assert [row for row in found.rows if row.kind == "image"] == [
        Installed("image", "a.example/b:1", DIGEST, "named by chart web"),
        Installed("image", "a.example/web:7", "", "named by chart web"),
    ]
    assert found.unread == ()


def test_charts_that_are_not_at_hand_are_named(archive: Path) -> None:
    assert contents([RELEASE], None, {}).unread == ("web 1.2.3",)
    archive.unlink()
    assert contents([RELEASE], Path("/nowhere"), {}).unread == ("web 1.2.3",)


@needs_helm
def test_an_archive_that_is_not_the_pinned_one_is_refused_with_both_hashes(archive: Path) -> None:
    is_now = f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    assert contents([RELEASE], Path(str(HELM)), {("chart", f"{REPOSITORY}/web:1.2.3"): is_now}).unread == ()
    with pytest.raises(ChartChanged) as refused:
        contents([RELEASE], Path(str(HELM)), {("chart", f"{REPOSITORY}/web:1.2.3"): DIGEST})
    assert is_now in str(refused.value)
    assert DIGEST in str(refused.value)


def test_a_rehearsal_finds_a_chart_with_a_digest(archive: Path) -> None:
    chart = locate({"chart": f"oci://a.example/charts/web@{DIGEST}", "version": "1.2.3"}, None)
    assert chart is not None
    assert chart.path == archive


@needs_helm
@pytest.mark.parametrize("same", [True, False])
def test_helm_installs_a_chart_of_a_registry_by_its_digest_alone(same: bool, archive: Path, served: Registry) -> None:
    def put(content: bytes, media_type: str, path: str) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        headers = {"Docker-Content-Digest": digest, "Content-Type": media_type}
        for name in (digest, "1.2.3"):
            served.answers[f"/v2/charts/web/{path}/{name}"] = (200, headers, content)
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    chart = f"oci://{served.host}/charts/web"
    config = put(b'{"name":"web","version":"1.2.3"}', "application/vnd.cncf.helm.config.v1+json", "blobs")
    layer = put(archive.read_bytes(), "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "blobs")
    content = {"schemaVersion": 2, "config": config, "layers": [layer]}
    put(json.dumps(content).encode(), "application/vnd.oci.image.manifest.v1+json", "manifests")
    key = ("chart", f"{chart}:1.2.3")
    pinned = pinned_chart(chart, "1.2.3", {key: digest_of(Installed("chart", key[1]))})
    if not same:  # somebody has pushed another chart with this version
        content["annotations"] = {"a": "b"}
        put(json.dumps(content).encode(), "application/vnd.oci.image.manifest.v1+json", "manifests")
    made = subprocess.run(
        [str(HELM), "template", "web", pinned, "--version", "1.2.3", "--plain-http", "--set", "tag=7"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.defpath, **{f"HELM_{kind}_HOME": str(archive.parent) for kind in ("CACHE", "CONFIG", "DATA")}},
    )
    assert ("a.example/web:7" in made.stdout) is same
    assert ("chart reference digest mismatch" in made.stderr) is not same
