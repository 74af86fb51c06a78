"""A service: nothing runs while nobody asks, one GPU node's pods are moved one at a time, and its floor is paid for."""

from __future__ import annotations

from typing import Any

import pytest

from components.workloads import keda
from tests import recorder
from tests.components.workloads.stacks import CLOUDS, only

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
ROUTE = "kubernetes:http.keda.sh/v1beta1:InterceptorRoute"
RELEASE = "kubernetes:helm.sh/v3:Release"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def with_service(cloud: str, **service: Any) -> recorder.Recording:
    written = {"name": "demo", "image": "registry.example/serve:1", "gpu": "t4", **service}
    return only(cloud, checkpoints={}, services=[written])


def service(recording: recorder.Recording, suffix: str) -> Any:
    return recording.named(f"service-default.demo-{suffix}").inputs


def deployment(recording: recorder.Recording) -> recorder.Registration:
    return recording.named("service-default.demo-pods")


@every_cloud
def test_nothing_runs_while_nobody_asks_and_keda_has_the_last_word(cloud: str) -> None:
    recording = with_service(cloud)
    assert deployment(recording).inputs["spec"]["replicas"] == 0
    # An update would end what KEDA has started.
    assert "spec.replicas" in deployment(recording).ignore_changes
    scaled = recording.only(SCALED).inputs["spec"]
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"], scaled["cooldownPeriod"]) == (0, 1, 600)
    # An update would wait for a node that nobody asks for.
    assert deployment(recording).inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"


@every_cloud
def test_a_request_finds_its_way_by_the_proxy_to_the_pods(cloud: str) -> None:
    recording = with_service(cloud, port=9000)
    front, target = service(recording, "service")["spec"], service(recording, "target")
    route, scaled = recording.only(ROUTE).inputs["spec"], recording.only(SCALED).inputs["spec"]
    pods = deployment(recording).inputs["spec"]["template"]
    assert front == {"type": "ExternalName", "externalName": keda.PROXY}
    assert route["target"] == {"service": target["metadata"]["name"], "port": target["spec"]["ports"][0]["port"]}
    assert target["spec"]["selector"].items() <= pods["metadata"]["labels"].items()
    (port,) = pods["spec"]["containers"][0]["ports"]
    assert (port["name"], port["containerPort"]) == (target["spec"]["ports"][0]["targetPort"], 9000)
    address = recording.stack_outputs["services"]["demo"].removeprefix("http://").partition(":")[0]
    assert address in route["rules"][0]["hosts"]
    (trigger,) = scaled["triggers"]
    assert (trigger["type"], trigger["metadata"]["interceptorRoute"]) == ("external-push", "demo")
    assert scaled["scaleTargetRef"]["name"] == deployment(recording).inputs["metadata"]["name"]


@every_cloud
def test_its_pods_are_moved_one_at_a_time_but_can_be_moved(cloud: str) -> None:
    recording = with_service(cloud)
    budget = service(recording, "budget")["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == deployment(recording).inputs["spec"]["selector"]


@every_cloud
def test_a_replica_has_no_rights_in_the_cluster(cloud: str) -> None:
    pod = deployment(with_service(cloud, checkpoint="finetune")).inputs["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert [one["securityContext"] for one in pod["containers"]] == [{"allowPrivilegeEscalation": False}]


@every_cloud
def test_several_replicas_prefer_different_zones_and_wait_for_none(cloud: str) -> None:
    alone, several = (deployment(with_service(cloud, max=most)).inputs["spec"] for most in (1, 2))
    assert "topologySpreadConstraints" not in alone["template"]["spec"]
    (spread,) = several["template"]["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["maxSkew"]) == ("topology.kubernetes.io/zone", 1)
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    assert spread["labelSelector"] == several["selector"]


@every_cloud
def test_it_is_the_account_that_may_read_the_checkpoint_it_serves(cloud: str) -> None:
    recording = with_service(cloud, checkpoint="finetune")
    pod = deployment(recording).inputs["spec"]["template"]
    assert pod["spec"]["serviceAccountName"] == "trainer"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable == {"name": "CHECKPOINTS", "value": f"{recording.stack_outputs['checkpoints']}/finetune"}
    assert pod["metadata"]["labels"].get("azure.workload.identity/use") == ("true" if cloud == "aks" else None)
    assert "serviceAccountName" not in deployment(with_service(cloud)).inputs["spec"]["template"]["spec"]


@every_cloud
def test_a_warm_floor_costs_and_the_output_says_how_much(cloud: str) -> None:
    cold, warm = (with_service(cloud, min=floor, max=2).stack_outputs["cost"] for floor in (0, 2))
    assert warm["idleHourlyUsd"] > cold["idleHourlyUsd"] == only(cloud).stack_outputs["cost"]["idleHourlyUsd"]
    assert any("minimum replicas" in note for note in warm["notes"])
    assert not any("minimum replicas" in note for note in cold["notes"])


@every_cloud
def test_keda_comes_only_for_services_and_runs_on_the_admin_pool(cloud: str) -> None:
    recording = with_service(cloud)
    releases = {each.inputs["chart"]: each for each in recording.of_type(RELEASE)}
    core, http = (releases[chart.name] for chart in (keda.CHART, keda.HTTP_CHART))
    assert (core.inputs["version"], http.inputs["version"]) == (keda.CHART.version, keda.HTTP_CHART.version)
    assert http.urn in deployment(recording).depends_on
    assert core.urn in http.depends_on
    selectors = [core.inputs["values"], *http.inputs["values"].values()]
    assert all(each["nodeSelector"] == {"gpucluster.dev/role": "admin"} for each in selectors)
    assert keda.CHART.name not in [each.inputs["chart"] for each in only(cloud).of_type(RELEASE)]


def test_a_service_that_fits_no_pool_is_reported_with_its_key() -> None:
    with pytest.raises(Exception, match=r"workloads.services: demo: no pool fits"):
        with_service("gke", gpus=8)
