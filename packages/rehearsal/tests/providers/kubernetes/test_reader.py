"""The engine as a pipeline's reader: previews, and what a refresh needs of the cluster, at a real API server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.access import CLUSTER_RESOURCE_VIEWER, READER, bindings
from components.clouds.base import Subject
from components.settings.sections.access import Access
from gpucluster.commands.account import refresh_flags
from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from packages.rehearsal.tests.providers.kubernetes.helm.charts import write_chart
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.server import serve

_HELM = shutil.which("helm")
pytestmark = [
    *REAL_ENGINE,
    pytest.mark.skipif(_HELM is None, reason="helm is not on PATH (make tools builds it)"),
]

PROGRAM = """
import json, os, pulumi, pulumi_kubernetes as k8s

values = json.load(open("values.json"))
cluster = k8s.Provider("cluster", kubeconfig=pulumi.Output.secret(open("kubeconfig").read()))
options = pulumi.ResourceOptions(provider=cluster)
path = os.path.abspath("chart")
chart = k8s.helm.v3.Release("web", name="web", namespace="default", chart=path, skip_await=True, opts=options)
k8s.core.v1.Secret("word", metadata={"name": "word"}, string_data={"word": "s3cret"}, opts=options)
after = pulumi.ResourceOptions(provider=cluster, depends_on=[chart])
k8s.core.v1.ConfigMap("settings", metadata={"name": "settings"}, data={"color": values["color"]}, opts=after)
labels = {"app": "idle"}
k8s.apps.v1.Deployment(
    "idle",
    metadata={"name": "idle"},
    spec={
        "replicas": 0,
        "selector": {"match_labels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}},
    },
    opts=options,
)
"""
CONFIG_MAP = "/api/v1/namespaces/default/configmaps/settings"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PREVIEW = ("preview", "--stack=test", "--suppress-progress", "--diff")


# A cloud's credential plugin, which answers with the token of who is logged in.
PLUGIN = """\
#!/bin/sh
cat <<END
{{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{{"token":"$(cat '{token}')"}}}}
END
"""


def log_in(project: Project, name: str) -> None:
    shutil.copy(project.directory / name, project.directory / "token")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    assert _HELM is not None
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=Path(_HELM).parent) as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, plane: ControlPlane) -> Iterator[Project]:
    """The stack, made by the cluster's administrator; from then on a reader is logged in.

    The kubeconfig itself stays, as it names a credential plugin: a refresh logs in with that of the state.
    """
    assert _HELM is not None
    directory = tmp_path_factory.mktemp("project")
    plugin = directory / "plugins" / "gke-gcloud-auth-plugin"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN.format(token=directory / "token"))
    plugin.chmod(0o755)
    provider = SimulatedKubernetes([plugin.parent], tools=Path(_HELM).parent)
    server = serve(provider)
    config = yaml.safe_load(plane.kubeconfig.read_text())
    plugin_api = {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "IfAvailable"}
    config["users"][0]["user"] = {"exec": {**plugin_api, "command": plugin.name}}
    (directory / "kubeconfig").write_text(yaml.safe_dump(config))
    write_chart(directory / "chart")
    project = Project.create(directory, PROGRAM, {provider: server.port})
    project.write(color="red")
    for entry in (Access(name="admin", who="admin", role="admin"), Access(name="reader", who="reader", role="reader")):
        (directory / entry.name).write_text(_token(plane.api, entry))
    log_in(project, "admin")
    project.up()
    log_in(project, "reader")
    yield project
    server.stop()


def _token(api: Api, entry: Access) -> str:
    """Of a service account that has the entry's role."""
    subject = Subject(kind="User", name=f"system:serviceaccount:default:{entry.name}")
    for manifest in (CLUSTER_RESOURCE_VIEWER, READER, *bindings(entry, subject)):
        api.apply_manifest(manifest)
    api.create(ACCOUNTS, {"metadata": {"name": entry.name}})
    probe = {"group": "", "resource": "configmaps", "verb": "get", "namespace": "default"}
    eventually("the binding holds", lambda: api.permits(subject.name, (), probe))
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token: str = api.create(f"{ACCOUNTS}/{entry.name}/token", asked)["status"]["token"]
    return token


def test_a_preview_needs_no_right_to_write_and_reads_no_secret(project: Project) -> None:
    assert "6 unchanged" in project.run(*PREVIEW)
    project.write(color="blue")
    assert '"red" => "blue"' in project.run(*PREVIEW)
    project.write(color="red")


def test_a_refresh_of_charts_and_secrets_is_forbidden(project: Project) -> None:
    refused = project.run(*PREVIEW, "--refresh", refused=True)
    assert re.search(r'secrets.* is forbidden: User "system:serviceaccount:default:reader" cannot list', refused)


def test_a_refresh_without_them_finds_what_differs_in_the_cluster_and_its_plan_restores_it(
    project: Project, plane: ControlPlane
) -> None:
    plane.api.merge(CONFIG_MAP, {"data": {"color": "green"}})
    plan = project.directory / "plan.json"
    shown = project.run(*PREVIEW, *refresh_flags(secrets=False), f"--save-plan={plan}")
    assert '"green" => "red"' in shown
    assert "1 to replace" in shown
    log_in(project, "admin")
    project.run("up", "--stack=test", "--yes", "--suppress-progress", f"--plan={plan}", *refresh_flags(secrets=False))
    assert plane.api.get(CONFIG_MAP)["data"] == {"color": "red"}
    log_in(project, "reader")
