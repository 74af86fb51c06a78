"""The engine, the official SDK and the simulated Kubernetes provider together, against a real API server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.engine_project import Project
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.server import serve

_API_SERVER = shutil.which("kube-apiserver")
pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(
        _API_SERVER is None or shutil.which("pulumi") is None,
        reason="kube-apiserver or pulumi is not on PATH (make tools builds them)",
    ),
]

PROGRAM = """
import json, pulumi, pulumi_kubernetes as k8s

values = json.load(open("values.json"))
cluster = k8s.Provider("cluster", kubeconfig=pulumi.Output.secret(open("kubeconfig").read()))
options = pulumi.ResourceOptions(provider=cluster)
namespace = k8s.core.v1.Namespace("team", opts=options)
settings = k8s.core.v1.ConfigMap(
    "settings", metadata={"namespace": namespace.metadata.name}, data={"color": values["color"]}, opts=options
)
password = k8s.core.v1.Secret(
    "password", metadata={"namespace": namespace.metadata.name}, string_data={"word": "s3cret"}, opts=options
)
labels = {"app": "driver"}
driver = k8s.apps.v1.DaemonSet(
    "driver",
    metadata={"namespace": namespace.metadata.name, "labels": {"settings": settings.metadata.name}},
    spec={
        "selector": {"match_labels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "busybox", **values.get("container", {})}]},
        },
    },
    opts=options,
)
manifests = k8s.yaml.ConfigGroup("manifests", yaml=[values["yaml"]], opts=pulumi.ResourceOptions(provider=cluster))
pulumi.export("namespace", namespace.metadata.name)
pulumi.export("uid", driver.metadata.uid)
"""
YAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml, namespace: default}\ndata: {a: b}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    assert _API_SERVER is not None
    directory = tmp_path_factory.mktemp("project")
    provider = SimulatedKubernetes()
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=Path(_API_SERVER).parent) as control_plane:
        server = serve(provider)
        (directory / "kubeconfig").write_text(control_plane.kubeconfig.read_text())
        yield Project.create(directory, PROGRAM, {provider: server.port})
        server.stop()


def _values(**changes: Any) -> dict[str, Any]:
    return {"color": "red", "yaml": YAML, **changes}


def test_a_stack_comes_changes_and_goes(project: Project) -> None:
    project.write(**_values())
    project.preview()
    made = project.up()
    assert "warning" not in made
    (config_map,) = [each for each in project.resources("kubernetes:core/v1:ConfigMap") if "settings" in each["urn"]]
    (secret,) = project.resources("kubernetes:core/v1:Secret")
    assert "ciphertext" in secret["outputs"]["data"]
    assert "ciphertext" in secret["inputs"]["stringData"]
    project.run("up", "--stack=test", "--yes", "--skip-preview", "--expect-no-changes")
    project.run("refresh", "--stack=test", "--preview-only", "--expect-no-changes")

    project.write(**_values(container={"comand": ["sleep"]}))
    wrong = project.preview(refused=True)
    assert ".comand: field not declared in schema" in wrong

    project.write(**_values(color="blue"))
    changed = project.up()
    assert "+-1 replaced" in changed
    (replaced,) = [each for each in project.resources("kubernetes:core/v1:ConfigMap") if "settings" in each["urn"]]
    assert replaced["id"] != config_map["id"]

    project.destroy()
    assert project.resources("kubernetes:core/v1:ConfigMap") == []
