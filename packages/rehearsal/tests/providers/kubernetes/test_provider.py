"""The simulated Kubernetes provider against a real API server."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.kubeconfig import kubeconfig, plugin_user
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.kubernetes_cluster import Resource, config_map, interrupted, workload
from packages.rehearsal.tests.providers.driver import with_one_unknown
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.base import ProviderError, has_unknown
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.kubernetes.helm import RELEASE
from rehearsal.providers.kubernetes.manifest import DELETION_PROPAGATION

pytestmark = pytest.mark.rehearsal

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


@pytest.fixture
def namespace(provider: SimulatedKubernetes, control_plane: ControlPlane, request: pytest.FixtureRequest) -> str:
    """A namespace per test, the provider's default."""
    name: str = request.node.name.replace("_", "-").lower()[:60].strip("-")
    Resource(provider, "kubernetes:core/v1:Namespace").create({"metadata": {"name": name}})
    provider.configure({"kubeconfig": control_plane.kubeconfig.read_text(), "namespace": name})
    return name


def test_create_update_delete(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, "kubernetes:core/v1:ServiceAccount")
    state = thing.create({"metadata": {"name": "robot", "labels": {"a": "1", "b": "2"}}})
    assert thing.id == f"{namespace}/robot"
    assert "managedFields" not in state["metadata"]
    assert state["metadata"]["uid"]

    changed = {"metadata": {"name": "robot", "labels": {"a": "1", "c": "3"}}}
    diff = thing.diff(changed)
    assert diff.changes == ("metadata.labels.b", "metadata.labels.c")
    assert diff.replaces == ()
    first = thing.preview(changed)["metadata"]["labels"]
    assert first == {"a": "1", "b": "2", "c": "3"}, "only the update takes over what the creation set"
    assert thing.refresh().state["metadata"]["labels"] == {"a": "1", "b": "2"}, "a preview changes nothing"
    assert thing.update(changed)["metadata"]["labels"] == {"a": "1", "c": "3"}

    thing.delete()
    assert thing.refresh().id == ""


def test_deleting_what_no_longer_exists_is_no_error(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, CONFIG_MAP)
    thing.create(config_map("once"))
    thing.delete()
    thing.delete()


def test_a_generated_name_survives_updates_and_no_replacement(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, CONFIG_MAP, name="settings")
    first = thing.create(config_map(a="1"))["metadata"]["name"]
    assert first.startswith("settings-")
    assert len(first) == len("settings-") + 8

    diff = thing.diff(config_map(a="2"))
    assert diff.replaces == ("data.a",)
    assert not diff.delete_before_replace, "the successor has another name, so it can come first"
    assert thing.check(config_map(a="2"))["metadata"]["name"] == first


def test_an_object_with_its_own_name_is_deleted_before_replaced(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, DEPLOYMENT)
    thing.create({**workload("web", replicas=0)})
    other = workload("web", {"app": "other"}, replicas=0)
    diff = thing.diff(other)
    assert set(diff.replaces) == {"spec.selector.matchLabels.app"}
    assert diff.delete_before_replace
    with pytest.raises(ProviderError, match="field is immutable"):
        thing.update(other)


def test_a_wrong_manifest_fails_with_the_servers_words(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, DEPLOYMENT)
    with pytest.raises(ProviderError, match=r'Deployment .*/web: .*unknown field "spec\.replica"'):
        thing.preview(workload("web", replica=2))
    wrong = workload("web")
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    with pytest.raises(ProviderError, match="`selector` does not match template `labels`"):
        thing.preview(wrong)


def test_annotations_that_are_not_simulated_are_refused(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, CONFIG_MAP)
    manifest = config_map("x", {"pulumi.com/waitFor": "condition=Ready"})
    _, failures = provider.check(thing.request(), {}, manifest)
    assert [failure.property for failure in failures] == ['metadata.annotations["pulumi.com/waitFor"]']


def test_previews_of_what_cannot_be_tried_yet_pass(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, CONFIG_MAP)
    assert thing.preview({**config_map("later"), "data": {"from": UNKNOWN}})["data"] == {"from": UNKNOWN}
    elsewhere = config_map("later")
    elsewhere["metadata"]["namespace"] = "not-there-yet"
    assert "uid" not in thing.preview(elsewhere)["metadata"]
    custom = Resource(provider, "kubernetes:example.com/v1:Widget")
    assert custom.preview({"metadata": {"name": "w"}, "spec": {}})["metadata"]["name"] == "w"


EXAMPLES = {
    CONFIG_MAP: {**config_map("it", {"pulumi.com/skipAwait": "true"}, a="1"), "immutable": False},
    "kubernetes:core/v1:Secret": {"metadata": {"name": "it"}, "data": {"a": "MQ=="}, "stringData": {"b": "2"}},
    "kubernetes:core/v1:Namespace": {"metadata": {"labels": {"a": "1"}}},
    DEPLOYMENT: workload("it", replicas=0),
    DEPLOYMENT + "Patch": {"kind": "Deployment", "metadata": {"name": "it"}, "spec": {"replicas": 0}},
    RELEASE: {
        "chart": "https://example.com/web-1.tgz",
        "name": "it",
        "namespace": "team",
        "skipAwait": False,
        "verify": False,
        "valueYamlFiles": ["a: 1"],
        "values": {"b": [{"c": 1}]},
    },
}


@pytest.mark.parametrize("type", EXAMPLES)
def test_any_input_may_be_unknown_in_a_preview(provider: SimulatedKubernetes, type: str) -> None:
    manifest: dict[str, Any] = EXAMPLES[type]
    thing = Resource(provider, type)
    before = thing.check(manifest) if type != RELEASE else manifest
    made = Resource(provider, type, inputs=before, state=before, id="default/it")
    for unknown in with_one_unknown(manifest):
        assert has_unknown(thing.preview(unknown))
        assert made.diff(unknown).changes
        assert has_unknown(made.preview(unknown))


def test_what_exists_is_not_taken(provider: SimulatedKubernetes, control_plane: ControlPlane, namespace: str) -> None:
    Resource(provider, CONFIG_MAP).create(config_map("shared", a="1"))
    with pytest.raises(ProviderError, match=r"(?s)already exists.*upsertExistingObjects"):
        Resource(provider, CONFIG_MAP).create(config_map("shared", a="2"))
    settings = {"namespace": namespace, "upsertExistingObjects": "true", "enablePatchForce": True}
    provider.configure({"kubeconfig": control_plane.kubeconfig.read_text(), **settings})
    assert Resource(provider, CONFIG_MAP).create(config_map("shared", a="2"))["data"] == {"a": "2"}


def test_what_a_killed_engine_created_is_changed_after_its_import(
    provider: SimulatedKubernetes, control_plane: ControlPlane, namespace: str
) -> None:
    """The plugin creates under one field manager, whose fields the first update takes over: no conflict, none stays."""
    account, robot = "kubernetes:core/v1:ServiceAccount", {"name": "robot", "labels": {"owner": "us", "old": "1"}}
    Resource(provider, account).create({"metadata": robot})
    imported = Resource(provider, account, id=f"{namespace}/robot")
    assert imported.refresh().state["__fieldManager"].startswith("pulumi-kubernetes-")
    changed = {"metadata": {"name": "robot", "labels": {"owner": "them"}}}
    assert imported.preview(changed)["metadata"]["labels"]["owner"] == "them"
    assert imported.update(changed)["metadata"]["labels"] == {"owner": "them"}
    live = control_plane.api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/robot")
    owners = [(entry["manager"], entry["operation"]) for entry in live["metadata"]["managedFields"]]
    assert owners == [(imported.state["__fieldManager"], "Apply")]


def test_another_managers_field_is_a_conflict_until_forced(
    provider: SimulatedKubernetes, control_plane: ControlPlane, namespace: str
) -> None:
    account = "kubernetes:core/v1:ServiceAccount"
    Resource(provider, account).create({"metadata": {"name": "robot", "labels": {"owner": "us", "ours": "1"}}})
    patch = Resource(provider, account + "Patch")
    metadata: dict[str, Any] = {"name": "robot", "labels": {"owner": "them", "extra": "1"}}
    service_account = {"kind": "ServiceAccount", "metadata": metadata}
    with pytest.raises(ProviderError, match=r"(?s)conflict with.*metadata\.labels\.owner.*pulumi\.com/patchForce"):
        patch.create(service_account)
    metadata["annotations"] = {"pulumi.com/patchForce": "true"}
    assert patch.create(service_account)["metadata"]["labels"] == {"owner": "them", "extra": "1", "ours": "1"}

    patch.delete()
    live = Resource(provider, account, id=patch.id).refresh()
    assert live.state["metadata"]["labels"] == {"ours": "1"}, "a patch takes its own and its adopted fields away"
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/robot"
    owners = {entry["manager"] for entry in control_plane.api.get(path)["metadata"]["managedFields"]}
    assert owners == {"pulumi-kubernetes"}


def test_refresh_finds_drift_and_only_drift(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, DEPLOYMENT)
    thing.create(workload("web", replicas=0))
    inputs = thing.inputs
    assert thing.refresh().inputs == inputs, "1000m in the program and 1 in the server are the same"

    hand = Resource(provider, DEPLOYMENT + "Patch", inputs={"kind": "Deployment"})
    forced = {"name": "web", "annotations": {"pulumi.com/patchForce": "true"}}
    spec = {"replicas": 0, "paused": True, "revisionHistoryLimit": 3}
    hand.create({"kind": "Deployment", "metadata": forced, "spec": spec})
    assert thing.refresh().inputs == inputs, "fields the program does not speak of are not drift"
    hand.update({**hand.inputs, "spec": {"replicas": 1}})
    refreshed = thing.refresh().inputs
    assert refreshed is not None
    assert refreshed["spec"]["replicas"] == 1
    assert "spec.replicas" in thing.diff(workload("web", replicas=0)).changes


def test_import_by_id(provider: SimulatedKubernetes, namespace: str) -> None:
    Resource(provider, CONFIG_MAP).create(config_map("known", a="1"))
    imported = Resource(provider, CONFIG_MAP, id=f"{namespace}/known").refresh()
    metadata = {"name": "known", "namespace": namespace}
    assert imported.inputs == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def test_secrets_compare_by_what_the_server_stores(provider: SimulatedKubernetes, namespace: str) -> None:
    thing = Resource(provider, "kubernetes:core/v1:Secret")
    state = thing.create({"metadata": {"name": "token"}, "stringData": {"a": "b"}})
    assert state["data"] == {"a": "Yg=="}
    assert thing.diff({"metadata": {"name": "token"}, "data": {"a": "Yg=="}}).changes == ()
    assert thing.diff({"metadata": {"name": "token"}, "stringData": {"a": "c"}}).replaces == ("data.a",)


def test_a_daemon_set_without_nodes_is_ready(provider: SimulatedKubernetes, namespace: str) -> None:
    state = Resource(provider, "kubernetes:apps/v1:DaemonSet").create(workload("driver"))
    assert state["status"]["desiredNumberScheduled"] == 0


def test_a_deployment_that_cannot_run_says_why_and_stays_in_the_state(
    control_plane: ControlPlane, provider: SimulatedKubernetes, namespace: str
) -> None:
    events = f"/api/v1/namespaces/{namespace}/events?fieldSelector=reason%3DFailedScheduling"
    made = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"

    def failing() -> bool:
        status = (control_plane.api.find(made) or {}).get("status", {})
        return "observedGeneration" in status and bool(control_plane.api.list(events))

    message = r"(?s)waiting for pods to become ready \(0 of 1\).*no nodes available"
    with interrupted(provider, failing), pytest.raises(ProviderError, match=message) as caught:
        Resource(provider, DEPLOYMENT).create(workload("web"), timeout=3600)
    assert caught.value.partial is not None
    assert caught.value.partial.id == f"{namespace}/web"
    assert caught.value.partial.state["metadata"]["uid"]


def test_waiting_is_skipped_shortened_and_interrupted(
    control_plane: ControlPlane, provider: SimulatedKubernetes, namespace: str
) -> None:
    skipped = workload("skipped")
    skipped["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    assert Resource(provider, DEPLOYMENT).create(skipped)["metadata"]["name"] == "skipped"

    short = workload("short")
    short["metadata"]["annotations"] = {"pulumi.com/timeoutSeconds": "1"}
    with pytest.raises(ProviderError, match="not ready after 1 s"):
        Resource(provider, DEPLOYMENT).create(short, timeout=0)

    made = f"/apis/apps/v1/namespaces/{namespace}/deployments/interrupted"
    with (
        interrupted(provider, lambda: control_plane.api.find(made)),
        pytest.raises(ProviderError, match="interrupted, waiting for"),
    ):
        Resource(provider, DEPLOYMENT).create(workload("interrupted"), timeout=3600)


def test_the_deletion_of_few_kinds_is_not_waited_for(provider: SimulatedKubernetes, namespace: str) -> None:
    """https://github.com/pulumi/pulumi-kubernetes/issues/3154"""
    metadata = {"name": "held", "finalizers": ["example.com/hold"], "annotations": {"pulumi.com/skipAwait": "true"}}
    for type, manifest in ((DEPLOYMENT, workload("held")), (CONFIG_MAP, {})):
        held = Resource(provider, type)
        held.create({**manifest, "metadata": metadata})
        refused = pytest.raises(ProviderError, match=r"still there after 1 s \(finalizers: .*example\.com/hold")
        with refused if type == CONFIG_MAP else nullcontext():
            held.delete(timeout=1)


def test_what_runs_pods_is_gone_after_them(
    provider: SimulatedKubernetes, control_plane: ControlPlane, namespace: str
) -> None:
    """Unless it says otherwise."""
    for name, otherwise in (
        ("as-declared", {}),
        ("before", {DELETION_PROPAGATION: "background"}),
        ("without", {DELETION_PROPAGATION: "Orphan"}),
    ):
        manifest = workload(name, replicas=1)
        manifest["metadata"]["annotations"] = otherwise
        manifest["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
        runs = Resource(provider, "kubernetes:apps/v1:ReplicaSet")
        runs.create(manifest)
        pods = f"/api/v1/namespaces/{namespace}/pods"
        eventually("a pod", lambda: control_plane.api.list(pods, labelSelector=f"app={name}"))  # noqa: B023
        with nullcontext() if otherwise else pytest.raises(ProviderError, match="finalizers: foregroundDeletion"):
            runs.delete(timeout=2)


def test_a_service_waits_for_a_pod_and_a_headless_one_does_not(provider: SimulatedKubernetes, namespace: str) -> None:
    service = "kubernetes:core/v1:Service"
    spec = {"selector": {"app": "none"}, "ports": [{"port": 80}]}
    headless = {"metadata": {"name": "headless"}, "spec": {**spec, "clusterIP": "None"}}
    assert Resource(provider, service).create(headless)["spec"]["clusterIP"] == "None"
    with pytest.raises(ProviderError, match="waiting for a ready pod that the service's selector matches"):
        Resource(provider, service).create({"metadata": {"name": "web"}, "spec": spec}, timeout=1)


def test_custom_resources_follow_their_definition(provider: SimulatedKubernetes, namespace: str) -> None:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x_kubernetes_preserve_unknown_fields": True}},
    }
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    crd = Resource(provider, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")
    state = crd.create(definition)
    stored = state["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert stored["x_kubernetes_preserve_unknown_fields"] is True
    widget = Resource(provider, "kubernetes:example.com/v1:Widget")
    assert widget.create({"metadata": {"name": "one"}, "spec": {"size": 3}})["spec"] == {"size": 3}
    assert widget.id == f"{namespace}/one"
    crd.delete()
    assert widget.refresh().id == "", "a kind that is gone takes its objects along"
    widget.delete()


def test_an_exec_plugin_authenticates(control_plane: ControlPlane, tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "gke-gcloud-auth-plugin"
    plugin.parent.mkdir()
    plugin.write_text(
        '#!/bin/sh\necho \'{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",'
        f'"status":{{"token":"{control_plane.user_token}"}}}}\'\n'
    )
    plugin.chmod(0o755)
    kubeconfig = yaml.safe_load(control_plane.kubeconfig.read_text())
    plugin_api = {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "IfAvailable"}
    kubeconfig["users"][0]["user"] = {"exec": {**plugin_api, "command": plugin.name, "provideClusterInfo": True}}
    with_plugin, without = SimulatedKubernetes([plugin.parent]), SimulatedKubernetes()
    for each in (with_plugin, without):
        each.configure({"kubeconfig": yaml.safe_dump(kubeconfig)})
    Resource(with_plugin, CONFIG_MAP).create(config_map("by-exec"))
    with pytest.raises(ProviderError, match="gke-gcloud-auth-plugin is not installed"):
        Resource(without, CONFIG_MAP, id="default/by-exec").refresh()


def test_a_cluster_whose_credential_plugin_is_missing_is_an_unreachable_one(tmp_path: Path) -> None:
    """So a preview passes, and an update says why it does not."""
    access = kubeconfig("c", {"server": "https://127.0.0.1:1"}, plugin_user("gke-gcloud-auth-plugin", [], ""))
    unreachable = SimulatedKubernetes([tmp_path])
    unreachable.configure({"kubeconfig": access})
    assert Resource(unreachable, CONFIG_MAP).preview(config_map("x"))["metadata"]["name"] == "x"
    with pytest.raises(ProviderError, match="gke-gcloud-auth-plugin is not installed"):
        Resource(unreachable, CONFIG_MAP).create(config_map("x"))


def test_an_unreachable_cluster(tmp_path: Path, control_plane: ControlPlane) -> None:
    kubeconfig = yaml.safe_load(control_plane.kubeconfig.read_text())
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    unreachable = SimulatedKubernetes()
    unreachable.configure({"kubeconfig": yaml.safe_dump(kubeconfig)})
    thing = Resource(unreachable, CONFIG_MAP, id="default/x")
    assert Resource(unreachable, CONFIG_MAP).preview(config_map("x"))["metadata"]["name"] == "x"
    for call in (thing.refresh, thing.delete):
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9 does not answer.*PULUMI_K8S_DELETE_UNREACHABLE"):
            call()
    with pytest.raises(ProviderError, match="does not answer"):
        Resource(unreachable, CONFIG_MAP).create(config_map("x"))

    unreachable.configure({"kubeconfig": yaml.safe_dump(kubeconfig), "deleteUnreachable": True})
    thing.delete()
    assert thing.refresh().id == ""
