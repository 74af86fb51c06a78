"""Declared training jobs and services: what is made of them, nothing idle runs, and no change ends a job."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from components.cluster import Cluster, ClusterArgs
from components.published_offer import offer
from components.settings import Settings, from_stack_file
from components.workloads import keda
from components.workloads.training_job import TrainingJob, TrainingJobArgs
from facts.jobs.job import AskError, JobRequest, manifests
from facts.jobs.plan import NothingFits, place, training_job
from facts.jobs.sweep import Sweep
from tests import recorder
from tests.components.specs import given
from tests.components.workloads.stacks import CLOUDS, config, only
from tests.stacks import ROOT, run_with

URL = "s3://bucket"
JOB = "kubernetes:batch/v1:Job"
SERVICE = "kubernetes:core/v1:Service"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def settings_of(cloud: str) -> Settings:
    return from_stack_file(ROOT / "examples" / f"{cloud}-research.yaml")


def declared(settings: Settings, name: str = "train", **args: Any) -> recorder.Recording:
    """A cluster with one training job whose image only the registry knows."""

    def program() -> None:
        cluster = Cluster("cluster", ClusterArgs(settings=settings))
        image = pulumi.Output.from_input("registry.example/train:1")
        usual: dict[str, Any] = {"image": image, "command": ("python", "train.py")}
        TrainingJob(name, TrainingJobArgs(cluster=cluster, **{**usual, **args}))

    return recorder.run(program, stack="research")


def only_job(recording: recorder.Recording) -> dict[str, Any]:
    made = recording.only(JOB).inputs
    return {key: made[key] for key in ("metadata", "spec")}


@every_cloud
@pytest.mark.parametrize(
    "shape",
    [{}, {"workers": 2, "spot": True}, {"sweep": Sweep({"lr": ("1", "2")}), "at_once": 1}],
    ids=["one", "workers", "sweep"],
)
def test_it_is_what_gpu_submit_would_make_of_the_same_request(cloud: str, shape: dict[str, Any]) -> None:
    settings = settings_of(cloud)
    asked = JobRequest(name="train", namespace="default", command=("python", "train.py"), **shape)
    there = offer(settings, settings.gpu_pools, (), {"checkpoints": URL})
    by_hand, *services = manifests(training_job(asked, place(there, asked), "registry.example/train:1", there))
    recording = declared(settings, checkpoints=pulumi.Output.from_input(URL), **shape)
    job = only_job(recording)
    assert job["spec"] == {key: each for key, each in by_hand["spec"].items() if key != "ttlSecondsAfterFinished"}
    assert [each.inputs["spec"] for each in recording.of_type(SERVICE)] == [each["spec"] for each in services]


@every_cloud
def test_it_has_its_clouds_notice_and_identity(cloud: str) -> None:
    pod = only_job(declared(settings_of(cloud), checkpoints=URL, spot=True))["spec"]["template"]
    notice = {"gke": 15, "eks": 30, "aks": 25}[cloud]
    assert pod["spec"]["terminationGracePeriodSeconds"] == notice
    assert pod["spec"]["serviceAccountName"] == "trainer"
    assert pod["spec"]["containers"][0]["env"] == [{"name": "CHECKPOINTS", "value": f"{URL}/train"}]
    assert pod["metadata"]["labels"].get("azure.workload.identity/use") == ("true" if cloud == "aks" else None)


@every_cloud
def test_pulumi_neither_waits_for_its_end_nor_ends_it_for_other_pools(cloud: str) -> None:
    made = declared(settings_of(cloud)).only(JOB)
    assert made.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    # A Job that is gone by itself would be made again, and train again.
    assert "ttlSecondsAfterFinished" not in made.inputs["spec"]
    settings = settings_of(cloud)
    fewer = given(settings, gpu_pools=settings.gpu_pools[1:])
    other = declared(fewer).only(JOB)
    before, after = (each.inputs["spec"]["template"]["spec"] for each in (made, other))
    changed = [f"spec.template.spec.{key}" for key in before if before[key] != after[key]]
    assert changed
    assert set(changed) <= {*made.ignore_changes}


@pytest.mark.parametrize(
    ("stack", "spot"),
    # Where spot machines come first, the on-demand ones of the same ladder are for its jobs, too.
    [("eks-karpenter", True), ("eks-karpenter", None), ("eks-karpenter", False), ("gke-research", None)],
)
def test_it_holds_its_node_unless_the_cloud_may_take_that(stack: str, spot: bool | None) -> None:
    made = declared(from_stack_file(ROOT / "examples" / f"{stack}.yaml"), spot=spot).only(JOB)
    template = made.inputs["spec"]["template"]["metadata"]
    assert ("gpucluster.dev/uninterrupted" in template["labels"]) is (spot is False)
    annotations = template["annotations"]
    assert ("karpenter.sh/do-not-disrupt" in annotations) is (spot is False)
    # Pools that come, or are removed, make no other job of it.
    assert "spec.template.metadata.annotations" in made.ignore_changes
    assert 'spec.template.metadata.labels["gpucluster.dev/uninterrupted"]' in made.ignore_changes


def test_without_the_stacks_checkpoints_it_has_none() -> None:
    pod = only_job(declared(settings_of("gke")))["spec"]["template"]["spec"]
    assert "env" not in pod["containers"][0]


def test_what_no_pool_takes_is_refused_before_anything_is_made() -> None:
    with pytest.raises(NothingFits, match="the nearest is"):
        declared(settings_of("gke"), gpus=16)
    with pytest.raises(AskError, match="--name"):
        declared(settings_of("gke"), name="Train_1")


DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
ROUTE = "kubernetes:http.keda.sh/v1beta1:InterceptorRoute"
RELEASE = "kubernetes:helm.sh/v3:Release"


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


@pytest.mark.parametrize(("other", "short"), [("demo", False), ("else", True)])
def test_services_of_one_name_in_two_namespaces_do_not_get_each_others_requests(other: str, short: bool) -> None:
    """KEDA's proxy gives all requests for a host to the route that is older."""
    made = {"name": "demo", "image": "registry.example/serve:1", "gpu": "t4"}
    recording = only("gke", services=[made, {**made, "name": other, "namespace": "blue"}])
    routes = [set(one.inputs["spec"]["rules"][0]["hosts"]) for one in recording.of_type(ROUTE)]
    assert len(routes) == 2
    assert not set.intersection(*routes)
    own, others = sorted(routes, key=lambda hosts: "demo.default.svc.cluster.local" not in hosts)
    assert "demo.default.svc.cluster.local" in own
    assert ("demo" in own, "demo" in others) == (short, False)


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


@pytest.mark.parametrize(("replicas", "beyond"), [(2, 0), (3, 1)])
def test_replicas_on_reserved_machines_cost_nothing_more(replicas: int, beyond: int) -> None:
    pool = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 4, "zones": ["us-central1-a"], "hourlyUsd": 1}
    pool |= {"reservation": {"name": "mine", "nodes": 2}, "capacity": ["reserved", "on-demand"]}
    written = {"name": "demo", "image": "registry.example/serve:1", "max": 4}
    idle = []
    for floor in (0, replicas):
        services = {"services": [{**written, "min": floor}]}
        changed = config("gke", workloads=services, identities=None, gpuPools=[pool], teams=None)
        idle.append(run_with(changed, "research").stack_outputs["cost"]["idleHourlyUsd"])
    assert round(idle[1] - idle[0], 2) == beyond


BLOCK = {"name": "cr-0123456789abcdef0", "zone": "us-west-2b", "first": "2099-03-01", "last": "2099-03-08"}
ENDING = {
    "gke": {"gpu": "nvidia-l4", "capacity": "flex-start", "flexStart": {"maxRunHours": 2}, "zones": ["us-central1-a"]},
    "eks": {"gpu": "aws-trainium1", "gpusPerNode": 16, "capacity": "capacity-block", "reservation": BLOCK},
}


@pytest.mark.parametrize(
    ("cloud", "service", "says"),
    [
        ("gke", {"min": 1, "gpu": "l4"}, "its nodes end: pool-1 2 hours after their start"),
        ("gke", {"min": 0, "gpu": "l4"}, ""),
        ("gke", {"min": 1, "gpu": "t4"}, ""),
        ("eks", {"min": 1, "gpu": "trainium1"}, "its nodes end: pool-16 at 2099-03-08T11:00:00Z"),
    ],
)
def test_a_replica_that_always_runs_on_nodes_that_end_is_warned_about(
    cloud: str, service: dict[str, Any], says: str
) -> None:
    written = {"name": "demo", "image": "registry.example/serve:1", **service}
    stays = {"name": "stays", "gpu": "nvidia-t4", "maxNodes": 2}
    pools = [{"name": "pool", "maxNodes": 2, **ENDING[cloud]}, stays]
    network = {"zones": ["us-west-2a", "us-west-2b"]} if cloud == "eks" else {}
    changed = config(cloud, workloads={"services": [written]}, identities=None, gpuPools=pools, teams=None, **network)
    text = recorder.warnings(lambda: run_with(changed, "research"))
    assert says in text
    assert ("its nodes end" in text) == bool(says)


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


@pytest.mark.parametrize("changes", [{"gpus": 8}, {"spot": False}], ids=str)
def test_a_service_that_fits_no_pool_is_reported_with_its_key(changes: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"workloads.services: demo: no pool fits"):
        with_service("gke", **changes)


def test_a_service_is_told_that_shares_of_a_gpu_are_the_reason() -> None:
    pool = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "timeSharing": {"clientsPerGpu": 2}}
    written = {"name": "demo", "image": "registry.example/serve:1", "gpus": 2}
    changed = config("gke", workloads={"services": [written]}, identities=None, gpuPools=[pool], teams=None)
    with pytest.raises(Exception, match=r"at most 1 GPU per pod \(its GPUs are shared\), not 2"):
        run_with(changed, "research")
