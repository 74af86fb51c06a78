"""Helm releases against a real API server with one simulated node."""

from __future__ import annotations

import copy
import functools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.parts import Nodes, Scaling
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.kubernetes_cluster import Resource, interrupted
from packages.rehearsal.tests.providers.kubernetes.helm.charts import write_chart
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.providers.base import ProviderError
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.kubernetes.helm import RELEASE
from rehearsal.providers.kubernetes.helm.chart_placeholders import known_charts, placeholder
from rehearsal.simulation import NodeShape, SimulatedNodeGroup
from rehearsal.tools.modules import KARPENTER_AWS
from tests.components.workloads.tools.stacks import with_all

_HELM = shutil.which("helm")
pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(_HELM is None, reason="helm is not on PATH (make tools builds it)"),
]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KNOWN_KINDS = ("kubernetes:keda.sh/", "kubernetes:http.keda.sh/", "kubernetes:kueue.x-k8s.io/")
NODE_CLASS: dict[str, Any] = {
    "metadata": {"name": "default"},
    "spec": {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "instanceProfile": "nodes",
        "subnetSelectorTerms": [{"id": "subnet-0a"}],
        "securityGroupSelectorTerms": [{"id": "sg-0a"}],
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi", "encrypted": True}}],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    },
}


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    assert _HELM is not None
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=Path(_HELM).parent) as running:
        nodes: Nodes = Nodes(machine_types=("m6i.large",), zones=("us-west-2a",), labels={})
        group = SimulatedNodeGroup("admin", "demo", NodeShape(2, 8), nodes, Scaling(autoscaled=False, max_nodes=0))
        node = NodeTemplate(group, ClusterFacts("demo", "us-west-2", "1.35.0")).node("us-west-2a")
        running.api.create("/api/v1/nodes", node)
        yield running


def configured(control_plane: ControlPlane) -> SimulatedKubernetes:
    """One more plugin process: an interruption is the old one's."""
    assert _HELM is not None
    simulated = SimulatedKubernetes(tools=Path(_HELM).parent)
    simulated.configure({"kubeconfig": control_plane.kubeconfig.read_text()})
    return simulated


@pytest.fixture
def provider(control_plane: ControlPlane) -> SimulatedKubernetes:
    return configured(control_plane)


@pytest.fixture
def release(control_plane: ControlPlane, provider: SimulatedKubernetes) -> Iterator[Resource]:
    resource = Resource(provider, RELEASE, "web")
    yield resource
    if resource.id:
        resource.provider = configured(control_plane)
        resource.delete()


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    return write_chart(tmp_path / "web")


def helm(control_plane: ControlPlane, *arguments: str) -> str:
    """What somebody with the program in a terminal does and sees."""
    assert _HELM is not None
    command = [_HELM, *arguments, "--kubeconfig", str(control_plane.kubeconfig)]
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def inputs(chart: Path, values: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    usual = {"chart": str(chart), "name": "web", "timeout": int(PATIENCE), "skipCrds": True}
    return {**usual, "values": values or {}, **more}


def fail(release: Resource, properties: dict[str, Any], message: str) -> None:
    """Create or update what fails half-way, and remember it as the engine does."""
    act = release.update if release.id else release.create
    with pytest.raises(ProviderError, match=message) as caught:
        act(properties)
    assert caught.value.partial is not None
    release.id, release.inputs, release.state = caught.value.partial.id, properties, caught.value.partial.state


def test_install_upgrade_uninstall(control_plane: ControlPlane, release: Resource, chart: Path) -> None:
    api = control_plane.api
    state = release.create(inputs(chart, {"replicas": 1}))
    assert release.id == "default/web"
    assert state["version"] == "1.2.3"
    where = {"name": "web", "namespace": "default", "revision": 1, "status": "deployed"}
    assert state["status"] == {**where, "chart": "web", "version": "1.2.3", "appVersion": "0.9.0"}
    assert state["resourceNames"] == {"ConfigMap/v1": ["web-red"], "Deployment.apps/apps/v1": ["default/web"]}
    assert api.get(f"{DEPLOYMENTS}/web")["status"]["readyReplicas"] == 1, "installed means that its pods run"
    (listed,) = json.loads(helm(control_plane, "list", "--output", "json"))
    assert (listed["name"], listed["status"], listed["chart"]) == ("web", "deployed", "web-1.2.3")

    changed = inputs(chart, {"replicas": 1, "colour": "blue"})
    assert release.diff(inputs(chart, {"replicas": 1})).changes == ()
    diff = release.diff(changed)
    assert (diff.changes, diff.replaces) == (("values.colour",), ())
    assert release.update(changed)["status"]["revision"] == 2
    assert api.find(f"{CONFIG_MAPS}/web-blue")
    assert api.find(f"{CONFIG_MAPS}/web-red") is None, "what the chart no longer makes goes"

    release.delete()
    assert api.find(f"{DEPLOYMENTS}/web") is None
    assert release.refresh().id == ""
    assert json.loads(helm(control_plane, "list", "--all", "--output", "json")) == []


def serve_everything(control_plane: ControlPlane) -> None:
    """Let the API server list what each definition defines, as it has wherever a controller watches that.

    It deletes a definition only after its objects, for which it has to serve them. If it begins to with the deletion, a
    loaded one fails ("storage is (re)initializing"), tries again with its outdated copy of the definition, and then
    waits for a change that has come already: until it looks at everything anew, after 5 minutes.
    https://github.com/kubernetes/apiextensions-apiserver/blob/v0.34.4/pkg/controller/finalizer/crd_finalizer.go
    """
    for definition in control_plane.api.list(DEFINITIONS):
        spec = definition["spec"]
        for version in spec["versions"]:
            control_plane.api.list(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}")


def test_karpenters_real_charts(control_plane: ControlPlane, provider: SimulatedKubernetes, release: Resource) -> None:
    """Its definitions, served and validated; its controller's objects, accepted by the API server.

    Nothing is awaited: Karpenter is ready when its program is, and there is no AWS for it here.
    """
    controller, definitions = (
        {"chart": each.published, "version": KARPENTER_AWS.stamped("{number}", each.module), "name": each.name}
        for each in KARPENTER_AWS.charts
    )
    crds = Resource(provider, RELEASE, "definitions")
    crds.create({**definitions, "namespace": "kube-system", "timeout": int(PATIENCE)})
    values = {"replicas": 1, "settings": {"clusterName": "demo"}}
    unawaited = {"namespace": "kube-system", "skipAwait": True, "skipCrds": True, "values": values}
    release.create({**controller, **unawaited})
    assert release.state["resourceNames"]["Deployment.apps/apps/v1"] == ["kube-system/karpenter"]
    node_class = Resource(provider, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    # A preview passes over a kind that is not served yet; creating waits for it.
    node_class.create(NODE_CLASS)
    node_class.delete()
    node_class.id = ""
    for path, value, message in (
        (("spec", "role"), "nodes", "instanceProfile"),
        (("spec", "instanceprofile"), "nodes", "unknown field"),
        (("spec", "subnetSelectorTerms"), [], "subnetSelectorTerms"),
        (("spec", "amiSelectorTerms"), [{"alias": "ubuntu@latest"}], "alias"),
        (("spec", "tags"), {"karpenter.sh/nodepool": "x"}, "restricted"),
    ):
        wrong = copy.deepcopy(NODE_CLASS)
        wrong[path[0]][path[1]] = value
        with pytest.raises(ProviderError, match=message):
            node_class.preview(wrong)
    serve_everything(control_plane)
    crds.delete()


def test_objects_for_absent_charts_are_validated(control_plane: ControlPlane, provider: SimulatedKubernetes) -> None:
    """KEDA's and Kueue's kinds, served by what is known of their charts, and the program's objects of them."""
    declared = [each for each in with_all("gke").resources if each.type.startswith(KNOWN_KINDS)]
    for published in known_charts():
        for file in (placeholder(published) / "crds").iterdir():
            control_plane.api.create(DEFINITIONS, yaml.safe_load(file.read_text()))
    for each in declared:
        # A preview passes over a kind that is not served yet; creating waits for it.
        Resource(provider, each.type, each.name).create(each.inputs)
    assert len({each.type for each in declared}) == 5
    manifests = {each.inputs["kind"]: each for each in declared}
    for kind, keys, value, message in (
        ("ScaledObject", ("triggers",), None, "triggers: Required value"),
        ("ScaledObject", ("coolDownPeriod",), 60, "unknown field"),
        ("InterceptorRoute", ("target", "portName"), "http", "exactly one of 'port' or 'portName'"),
        ("InterceptorRoute", ("scalingMetric", "concurrency"), None, "at least one of 'concurrency' or 'requestRate'"),
        ("ClusterQueue", ("queueingStrategy",), "Random", "Unsupported value"),
        ("LocalQueue", ("queue",), "gpus", "unknown field"),
    ):
        right = manifests[kind]
        wrong = copy.deepcopy(right.inputs)
        *outer, last = keys
        place = functools.reduce(dict.__getitem__, outer, wrong["spec"])
        place[last] = value
        if value is None:
            del place[last]
        wrong["metadata"]["name"] = "wrong"
        with pytest.raises(ProviderError, match=message):
            Resource(provider, right.type, "wrong").preview(wrong)


def test_what_is_not_ready_in_time_stays_as_a_failed_release(release: Resource, chart: Path) -> None:
    nowhere = inputs(chart, {"replicas": 1, "nodeSelector": {"no": "node"}}, timeout=10)
    message = r"failed to initialize completely.*deadline exceeded \(.* is not ready: default/web"
    fail(release, nowhere, message)
    assert release.state["status"]["status"] == "failed"
    fail(release, {**nowhere, "timeout": 1}, r'"default/web" failed to initialize completely')
    assert release.update(inputs(chart, {"replicas": 1}))["status"]["status"] == "deployed", "the next update mends it"


def test_nobody_waits_with_skip_await(release: Resource, chart: Path) -> None:
    nowhere = inputs(chart, {"replicas": 1, "nodeSelector": {"no": "node"}}, skipAwait=True)
    assert release.create(nowhere)["status"]["status"] == "deployed"


def test_an_interrupted_release_has_failed_and_the_next_update_mends_it(
    control_plane: ControlPlane, provider: SimulatedKubernetes, release: Resource, chart: Path
) -> None:
    nowhere = inputs(chart, {"replicas": 1, "nodeSelector": {"no": "node"}}, timeout=3600)
    with interrupted(provider, lambda: control_plane.api.find(f"{DEPLOYMENTS}/web")):
        fail(release, nowhere, "context canceled")
    assert release.state["status"]["status"] == "failed"
    release.provider = configured(control_plane)
    assert release.update(inputs(chart, {"replicas": 1}))["status"]["status"] == "deployed"


def test_atomic_undoes_what_failed(control_plane: ControlPlane, release: Resource, chart: Path) -> None:
    nowhere = inputs(chart, {"replicas": 1, "nodeSelector": {"no": "node"}}, timeout=2, atomic=True)
    with pytest.raises(ProviderError, match="uninstalled due to atomic") as caught:
        release.create(nowhere)
    assert caught.value.partial is None
    assert control_plane.api.find(f"{DEPLOYMENTS}/web") is None
    release.create(inputs(chart))


@pytest.mark.parametrize("skip", [True, False])
def test_definitions_may_be_skipped(control_plane: ControlPlane, release: Resource, chart: Path, skip: bool) -> None:
    release.create(inputs(chart, skipCrds=skip))
    assert (control_plane.api.find(f"{DEFINITIONS}/colours.example.org") is None) is skip
    release.delete()
    assert (control_plane.api.find(f"{DEFINITIONS}/colours.example.org") is None) is skip, "Helm never removes them"
    release.id = ""


def test_a_namespace_is_made_only_when_asked_for(release: Resource, chart: Path) -> None:
    with pytest.raises(ProviderError, match='namespaces "apart" not found'):
        release.create(inputs(chart, namespace="apart"))
    release.create(inputs(chart, namespace="apart", createNamespace=True))
    assert release.id == "apart/web"


def test_values_lie_over_those_of_files(control_plane: ControlPlane, release: Resource, chart: Path) -> None:
    files = ["colour: green\nsize: big\n", "colour: black\n"]
    state = release.create(inputs(chart, {"size": "huge"}, valueYamlFiles=files))
    assert control_plane.api.get(f"{CONFIG_MAPS}/web-black")["data"] == {"size": "huge"}
    assert (state["values"], "valueYamlFiles" in state) == ({"colour": "black", "size": "huge"}, False)
    _, failures = release.provider.check(release.request(), {}, inputs(chart, valueYamlFiles=["a: [", "b: 1"]))
    assert [each.property for each in failures] == ["valueYamlFiles[0]"]


def test_a_name_in_use_and_others_are_refused(provider: SimulatedKubernetes, release: Resource, chart: Path) -> None:
    release.create(inputs(chart))
    with pytest.raises(ProviderError, match="cannot re-use a name that is still in use") as caught:
        Resource(provider, RELEASE).create(inputs(chart))
    assert caught.value.partial is None, "the release is another resource's"
    Resource(provider, "kubernetes:core/v1:ConfigMap").create({"metadata": {"name": "other-red"}})
    with pytest.raises(ProviderError, match="invalid ownership metadata"):
        Resource(provider, RELEASE).create({**inputs(chart), "name": "other"})


def test_what_a_template_refuses_is_helms_word(release: Resource, chart: Path) -> None:
    (chart / "templates" / "no.yaml").write_text('{{ required "tell me the size" .Values.size }}')
    with pytest.raises(ProviderError, match=r"Helm release default/web: INSTALLATION FAILED: .*tell me the size"):
        release.create(inputs(chart))


def test_somebody_elses_upgrade_is_seen_and_undone(control_plane: ControlPlane, release: Resource, chart: Path) -> None:
    release.create(inputs(chart, {"size": "big"}))
    assert release.refresh().inputs == release.inputs
    assert release.diff(inputs(chart, {"size": "big"})).changes == ()
    helm(control_plane, "upgrade", "web", str(chart), "--set", "size=tiny,colour=grey")
    release.refresh()
    assert release.diff(inputs(chart, {"size": "big"})).changes == ("values.size",)
    release.update(inputs(chart, {"size": "big"}))
    assert control_plane.api.get(f"{CONFIG_MAPS}/web-red")["data"] == {"size": "big"}


def test_a_refresh_drops_what_is_uninstalled(control_plane: ControlPlane, release: Resource, chart: Path) -> None:
    release.create(inputs(chart))
    helm(control_plane, "uninstall", "web")
    with pytest.raises(ProviderError, match="release: not found"):
        release.delete()
    with pytest.raises(ProviderError, match="no deployed releases"):
        release.update(inputs(chart, {"size": "big"}))
    assert release.refresh().id == ""


def test_another_name_or_namespace_is_another_release(release: Resource, chart: Path) -> None:
    release.create(inputs(chart))
    renamed = release.diff({**inputs(chart), "name": "other", "namespace": "apart"})
    assert (set(renamed.replaces), renamed.delete_before_replace) == ({"name", "namespace"}, False)


def test_a_newer_chart_at_the_same_place_is_an_upgrade(release: Resource, chart: Path) -> None:
    release.create(inputs(chart))
    write_chart(chart, version="1.3.0")
    assert release.diff(inputs(chart)).changes == ("version",)
    assert release.update(inputs(chart))["status"]["version"] == "1.3.0"


def test_import(provider: SimulatedKubernetes, release: Resource, chart: Path) -> None:
    release.create(inputs(chart, {"size": "big"}))
    imported = Resource(provider, RELEASE, id=release.id).refresh()
    assert imported.inputs is not None
    assert (imported.inputs["chart"], imported.inputs["version"]) == ("web", "1.2.3")
    assert (imported.inputs["values"], imported.state["status"]["revision"]) == ({"size": "big"}, 1)


def test_previews_and_checks(provider: SimulatedKubernetes, chart: Path) -> None:
    thing = Resource(provider, RELEASE, "scaler")
    preview = thing.preview(inputs(chart, {"size": UNKNOWN}))
    assert (preview["status"], preview["resourceNames"]) == (UNKNOWN, UNKNOWN)
    checked = thing.check({"chart": str(chart)})
    assert checked["name"].startswith("scaler-")
    assert (checked["namespace"], checked["timeout"], checked["version"]) == ("default", 300, "1.2.3")
    assert "timeout" not in thing.check({"chart": str(chart), "skipAwait": True})
    _, failures = provider.check(thing.request(), {}, {"chart": "redis", "version": "1", "dependencyUpdate": True})
    assert [each.property for each in failures] == ["dependencyUpdate", "chart"]


def test_without_the_tools_only_a_preview_works(control_plane: ControlPlane) -> None:
    bare = SimulatedKubernetes()
    bare.configure({"kubeconfig": control_plane.kubeconfig.read_text()})
    published, *_ = KARPENTER_AWS.charts
    version = KARPENTER_AWS.stamped("{number}", published.module)
    properties = {"chart": published.published, "version": version, "name": "k"}
    thing = Resource(bare, RELEASE)
    assert thing.preview(properties)["status"] is UNKNOWN
    with pytest.raises(ProviderError, match="make rehearse"):
        thing.create(properties)
