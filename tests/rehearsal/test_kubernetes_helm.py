"""Helm releases against a real API server with one simulated node."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.control_plane import ControlPlane
from rehearsal.fleet.nodes import ClusterFacts, permanent_node
from rehearsal.providers.base import UNKNOWN, ProviderError
from rehearsal.providers.kubernetes import KubernetesProvider
from rehearsal.providers.kubernetes.helm import RELEASE, karpenter
from rehearsal.simulation import Machine, NodeGroup
from tests.rehearsal.kubernetes_cluster import Resource

_API_SERVER = shutil.which("kube-apiserver")
pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(_API_SERVER is None, reason="kube-apiserver is not on PATH (make tools builds it)"),
]

DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
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
    assert _API_SERVER is not None
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=Path(_API_SERVER).parent) as running:
        group = NodeGroup("admin", "demo", Machine("m6i.large", 2, 8), ("us-west-2a",), autoscaled=False)
        node = permanent_node(group, ClusterFacts("demo", "us-west-2", "1.35.0"), "us-west-2a")
        running.api.create("/api/v1/nodes", node)
        yield running


@pytest.fixture
def provider(control_plane: ControlPlane) -> KubernetesProvider:
    found = KubernetesProvider()
    found.configure({"kubeconfig": control_plane.kubeconfig.read_text()})
    return found


@pytest.fixture
def release(provider: KubernetesProvider) -> Iterator[Resource]:
    found = Resource(provider, RELEASE, "scaler")
    yield found
    if found.id:
        found.delete()


def inputs(**values: Any) -> dict[str, Any]:
    """One replica that Helm waits for: the chart's own strategy would let it go on without any."""
    settings = {"clusterName": "demo", **values.pop("settings", {})}
    return {
        "chart": karpenter.SOURCE,
        "version": "1.8.8",
        "name": "karpenter",
        "namespace": "kube-system",
        "timeout": 30,
        "values": {
            "replicas": 1,
            "strategy": {"rollingUpdate": {"maxUnavailable": 0}},
            "settings": settings,
            **values,
        },
    }


def test_install_upgrade_uninstall(control_plane: ControlPlane, release: Resource) -> None:
    api = control_plane.api
    state = release.create(inputs())
    assert release.id == "kube-system/karpenter"
    assert (state["status"]["status"], state["status"]["revision"]) == ("deployed", 1)
    assert "kube-system/karpenter" in state["resourceNames"]["Deployment/apps/v1"]
    deployment = api.get(f"{DEPLOYMENTS}/karpenter")
    assert deployment["status"]["readyReplicas"] == 1, "installed means that its pods run"
    assert deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"

    changed = inputs(settings={"interruptionQueue": "q"}, serviceAccount={"name": "robot"})
    assert release.diff(inputs()).changes == ()
    diff = release.diff(changed)
    assert set(diff.changes) == {"values.settings.interruptionQueue", "values.serviceAccount"}
    assert diff.replaces == ()
    assert release.update(changed)["status"]["revision"] == 2
    account = "/api/v1/namespaces/kube-system/serviceaccounts"
    assert api.find(f"{account}/robot")
    assert api.find(f"{account}/karpenter") is None, "what the chart no longer makes goes"

    release.delete()
    assert api.find(f"{DEPLOYMENTS}/karpenter") is None
    assert release.refresh().id == ""
    assert api.find(f"{DEFINITIONS}/ec2nodeclasses.karpenter.k8s.aws"), "Helm never removes a kind"


def test_its_kinds_are_served_and_validated(provider: KubernetesProvider, release: Resource) -> None:
    release.create(inputs())
    node_class = Resource(provider, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    for path, value, said in (
        (("spec", "role"), "nodes", "exactly one of role and instanceProfile"),
        (("spec", "instanceprofile"), "nodes", "field not declared in schema"),
        (("spec", "subnetSelectorTerms"), [], "should have at least 1 items"),
        (("spec", "amiSelectorTerms"), [{"alias": "ubuntu@latest"}], "should match"),
        (("spec", "tags"), {"karpenter.sh/nodepool": "x"}, "by itself"),
    ):
        wrong = copy.deepcopy(NODE_CLASS)
        wrong[path[0]][path[1]] = value
        with pytest.raises(ProviderError, match=said):
            node_class.preview(wrong)
    node_class.create(NODE_CLASS)
    node_class.delete()
    assert node_class.refresh().id == ""


def test_kinds_that_are_there_are_left_alone(control_plane: ControlPlane, release: Resource) -> None:
    release.create(inputs())
    path = f"{DEFINITIONS}/nodepools.karpenter.sh"
    before = control_plane.api.get(path)["metadata"]["resourceVersion"]
    release.delete()
    release.create(inputs())
    assert control_plane.api.get(path)["metadata"]["resourceVersion"] == before


def test_helm_waits_for_as_many_pods_as_the_strategy_does(release: Resource) -> None:
    """Two controllers never share a node, and there is one node."""
    none_spared = inputs(replicas=2, strategy={"rollingUpdate": {"maxUnavailable": 0}})
    with pytest.raises(ProviderError) as caught:
        release.create({**none_spared, "timeout": 3})
    assert caught.value.partial is not None
    release.id, release.inputs, release.state = caught.value.partial.id, none_spared, caught.value.partial.state
    release.delete()
    one_spared = inputs(replicas=2, strategy={"rollingUpdate": {"maxUnavailable": 1}})
    assert release.create({**one_spared, "timeout": 3})["status"]["status"] == "deployed"


def test_what_is_not_ready_in_time_stays_as_a_failed_release(release: Resource) -> None:
    nowhere = inputs(nodeSelector={"no": "node"})
    nowhere["timeout"] = 1
    with pytest.raises(ProviderError, match=r"(?s)failed to initialize completely.*pods to become ready") as caught:
        release.create(nowhere)
    assert caught.value.partial is not None
    release.id, release.inputs, release.state = caught.value.partial.id, nowhere, caught.value.partial.state
    assert release.state["status"]["status"] == "failed"
    assert release.update(inputs())["status"]["status"] == "deployed", "the next update mends it"


def test_atomic_undoes_what_failed(control_plane: ControlPlane, release: Resource) -> None:
    with pytest.raises(ProviderError, match="undone"):
        release.create({**inputs(nodeSelector={"no": "node"}), "timeout": 1, "atomic": True})
    assert control_plane.api.find(f"{DEPLOYMENTS}/karpenter") is None
    release.create(inputs())


def test_a_name_in_use_and_foreign_objects_are_refused(provider: KubernetesProvider, release: Resource) -> None:
    release.create(inputs())
    with pytest.raises(ProviderError, match="cannot re-use a name that is still in use"):
        Resource(provider, RELEASE).create(inputs())
    with pytest.raises(ProviderError, match="invalid ownership metadata"):
        Resource(provider, RELEASE).create({**inputs(fullnameOverride="karpenter"), "name": "other"})


def test_drift_shows_and_another_name_replaces(release: Resource) -> None:
    release.create(inputs())
    assert release.refresh().inputs == release.inputs
    renamed = release.diff({**inputs(), "name": "other"})
    assert (renamed.replaces, renamed.delete_before_replace) == (("name",), False)


def test_import(provider: KubernetesProvider, release: Resource) -> None:
    release.create(inputs())
    found = Resource(provider, RELEASE, id=release.id).refresh()
    assert found.inputs is not None
    assert (found.inputs["version"], found.inputs["values"]) == ("1.8.8", inputs()["values"])


def test_previews_and_checks(provider: KubernetesProvider) -> None:
    thing = Resource(provider, RELEASE, "scaler")
    assert thing.preview(inputs(settings={"clusterEndpoint": UNKNOWN}))["status"] is UNKNOWN
    unnamed = {key: value for key, value in inputs().items() if key not in ("name", "namespace", "timeout")}
    checked = thing.check(unnamed)
    assert checked["name"].startswith("scaler-")
    assert (checked["namespace"], checked["timeout"]) == ("default", 300)
    _, failures = provider.check(thing.request(), {}, {**inputs(), "chart": "redis", "postrender": "sed"})
    assert [each.property for each in failures] == ["postrender", "chart"]
