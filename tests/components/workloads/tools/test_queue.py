"""A queue: a flavor for each pool with all its GPUs, nothing but Jobs that name it, and `gpu submit` names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from components.published_offer import offer
from components.settings import from_stack_file
from components.settings.sections.tools import Queue
from components.workloads.queue import cluster_queue, flavors_of, values
from facts.concepts.offer import QUEUE, from_config_map, to_config_map
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import QUEUE_LABEL, JobRequest, manifests
from facts.jobs.plan import place, training_job
from tests.components.settings.test_clouds import load_stack
from tests.components.workloads import stacks
from tests.components.workloads.tools.stacks import CLOUDS, RELEASE, releases, with_all
from tests.stacks import ROOT

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
API = "kubernetes:kueue.x-k8s.io/v1beta2"


@every_cloud
def test_each_pool_is_a_flavor_with_all_its_gpus(cloud: str) -> None:
    recording = with_all(cloud)
    pools = recording.stack_outputs["pools"]
    flavors = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in recording.of_type(f"{API}:ResourceFlavor")}
    assert set(flavors) == set(pools)
    for name, flavor in flavors.items():
        kind = {
            "gpucluster.dev/gpu": pools[name]["gpu"],
            "gpucluster.dev/gpus-per-node": f"{pools[name]['gpusPerNode']:.0f}",
        }
        alone = sum(kind.items() <= each["labels"].items() for each in pools.values()) == 1
        assert flavor["nodeLabels"] == {**kind, **({"gpucluster.dev/pool": name} if alone else {})}
        # A job that does not say so itself goes to no larger node, no shared GPU and no spot machine that has a taint.
        assert [each["key"] for each in flavor["tolerations"]] == ["nvidia.com/gpu"]
        others = {each["key"] for each in pools[name]["taints"]} - {"nvidia.com/gpu"}
        assert {each["key"] for each in flavor.get("nodeTaints", ())} == others
    assert any("nodeTaints" in flavor for flavor in flavors.values())
    (group,) = recording.only(f"{API}:ClusterQueue").inputs["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["nvidia.com/gpu"]
    quotas = {each["name"]: int(each["resources"][0]["nominalQuota"]) for each in group["flavors"]}
    assert quotas == {name: pool["max"] * pool["gpusPerNode"] for name, pool in pools.items()}
    assert [*quotas] == sorted(quotas, key=lambda name: pools[name]["hourlyUsd"] / pools[name]["gpusPerNode"])


def admitted(flavors: Sequence[Mapping[str, Any]], pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The flavors that Kueue may give: those with what the pod selects, of keys that the flavor has.

    https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/pkg/scheduler/flavorassigner/flavorassigner.go#L1224
    """

    def takes(flavor: Mapping[str, Any]) -> bool:
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        asked = {each["key"]: each["values"] for each in term["matchExpressions"]}
        return all(label in asked.get(key, [label]) for key, label in flavor["nodeLabels"].items())

    return [flavor for flavor in flavors if takes(flavor)]


@pytest.mark.parametrize(("cloud", "pool_count"), [("gke", 2), ("eks", 2 * 3), ("aks", 2)])
@pytest.mark.parametrize("gpus", [1, 4])
def test_every_flavor_leaves_each_fallback_and_zone_open_to_the_job(cloud: str, pool_count: int, gpus: int) -> None:
    """Kueue gives the same flavor over and over, also where the cloud has no machine of that pool:
    https://github.com/kubernetes-sigs/kueue/issues/2560."""
    settings = load_stack(cloud, **({"autoscaling": {"autoscaler": "cluster-autoscaler"}} if cloud == "eks" else {}))
    pools = {pool.name: pool for pool in settings.gpu_pools}
    flavors = [flavor["spec"] for flavor in flavors_of(settings.gpu_pools)]
    assert len(flavors) > 2 * pool_count
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    asked = JobRequest(gpu="t4", gpus=gpus, name="train", namespace="default")
    job = training_job(asked, place(offered, asked), "image", offered)
    assigned = admitted(flavors, manifests(job)[0]["spec"]["template"]["spec"])
    assert len(assigned) == len(job.pools) == pool_count
    for flavor in assigned:
        closed = [name for name in job.pools if not flavor["nodeLabels"].items() <= pools[name].nodes.labels.items()]
        assert closed == []


@pytest.mark.parametrize(("namespace", "expected"), [("research", ["own-1"]), ("default", ["all-1"])])
@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_a_pool_for_a_team_is_a_flavor_for_it_alone(cloud: str, namespace: str, expected: list[str]) -> None:
    entry = {"gpu": "nvidia-t4", "maxNodes": 2}
    pools = [{**entry, "name": "own", "teams": ["research"]}, {**entry, "name": "all"}]
    settings = load_stack(cloud, gpuPools=pools, teams=[{"name": "research", "gpus": 2}])
    flavors = list(flavors_of(settings.gpu_pools))
    names = {str(flavor["spec"]): flavor["metadata"]["name"] for flavor in flavors}
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    asked = JobRequest(name="train", namespace=namespace)
    job = training_job(asked, place(offered, asked), "image", offered)
    assigned = admitted([flavor["spec"] for flavor in flavors], manifests(job)[0]["spec"]["template"]["spec"])
    assert [names[str(flavor)] for flavor in assigned] == expected


TWO_SLICES = [
    {"name": name, "gpu": "google-tpu-v6e", "gpusPerNode": 4, "topology": "4x4", "maxNodes": 4, "capacity": capacity}
    for name, capacity in (("a", "on-demand"), ("b", "spot"))
]
TWO_FABRICS = [
    {"name": name, "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "capacity": "on-demand", "fabric": "rdma"}
    | {"zones": [f"us-west-2{zone}"], "maxNodes": 2}
    for name, zone in (("a", "a"), ("b", "b"))
]


@pytest.mark.parametrize(
    ("cloud", "pools", "asked", "expected"),
    [
        ("gke", TWO_SLICES, {"gpu": "tpu-v6e", "gpus": 4, "workers": 4}, ["b-4"]),
        ("eks", TWO_FABRICS, {"gpu": "h100", "gpus": 8, "workers": 2}, ["a-8"]),
        # One worker needs no fabric.
        ("eks", TWO_FABRICS, {"gpu": "h100", "gpus": 8}, ["a-8", "b-8"]),
    ],
)
def test_a_job_for_one_of_two_pools_counts_against_no_other(
    cloud: str, pools: list[dict[str, Any]], asked: dict[str, Any], expected: list[str]
) -> None:
    settings = load_stack(
        cloud, gpuPools=pools, **({"zones": ["us-central1-b"], "adminPool": {"maxNodes": 2}} if cloud == "gke" else {})
    )
    flavors = [{**flavor["spec"], "name": flavor["metadata"]["name"]} for flavor in flavors_of(settings.gpu_pools)]
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    request = JobRequest(**asked, name="train", namespace="default")
    (job, *_) = manifests(training_job(request, place(offered, request), "image", offered))
    assigned = admitted(flavors, job["spec"]["template"]["spec"])
    assert [flavor["name"] for flavor in assigned] == expected


@pytest.mark.parametrize(
    ("pools", "asked"), [(TWO_FABRICS, {"gpu": "h100", "gpus": 8, "workers": 2}), (TWO_FABRICS, {"gpu": "h100"})]
)
def test_what_a_job_requests_is_of_its_pools_or_does_not_count(
    pools: list[dict[str, Any]], asked: dict[str, Any]
) -> None:
    """Kueue admits no job with another resource: ``resource vpc.amazonaws.com/efa unavailable in ClusterQueue``."""
    settings = load_stack("eks", gpuPools=pools)
    configuration = yaml.safe_load(values(Queue(), settings.gpu_pools)["managerConfig"]["controllerManagerConfigYaml"])
    uncounted = tuple(configuration["resources"]["excludeResourcePrefixes"])
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    request = JobRequest(**asked, name="train", namespace="default")
    (job, *_) = manifests(training_job(request, place(offered, request), "image", offered))
    groups = cluster_queue(settings.gpu_pools)["spec"]["resourceGroups"]
    covered = {resource for group in groups for resource in group["coveredResources"]}
    for container in job["spec"]["template"]["spec"]["containers"]:
        counted = {each for each in container["resources"]["limits"] if not each.startswith(uncounted)}
        assert counted == covered
    assert "hugepages-2Mi".startswith(uncounted)


@pytest.mark.parametrize(("fabric", "counts"), [({"fabric": "rdma"}, False), ({}, True)])
def test_a_job_that_claims_the_devices_of_a_fabric_is_admitted(fabric: dict[str, str], counts: bool) -> None:
    """``DeviceClass mrdma.google.com is not mapped in DRA configuration``, says Kueue, as long as it counts claims:
    https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/pkg/dra/claims.go#L217."""
    pool = {"name": "a", "gpu": "nvidia-h200-141gb", "gpusPerNode": 8, "capacity": "spot", "maxNodes": 2, **fabric}
    settings = load_stack("gke", gpuPools=[pool])
    assert any(each.nodes.fabric is not None and each.nodes.fabric.claimed for each in settings.gpu_pools) is not counts
    configuration = yaml.safe_load(values(Queue(), settings.gpu_pools)["managerConfig"]["controllerManagerConfigYaml"])
    gates = configuration.get("featureGates", {})
    assert set(gates.values()) == (set() if counts else {False})
    assert ("KueueDRARejectWorkloadsWhenDRADisabled" in gates) is not counts


def test_reserved_machines_are_counted_before_spot_ones_of_the_same_size_only() -> None:
    reservation = {"name": "r", "zone": "us-central1-a", "nodes": 1}
    pools = [
        {"name": "l4", "gpu": "nvidia-l4", "gpusPerNode": [1, 8], "capacity": "spot", "maxNodes": 1},
        {"name": "own", "gpu": "nvidia-l4", "gpusPerNode": 8, "capacity": "reserved", "reservation": reservation},
    ]
    pools[1]["maxNodes"] = 1
    settings = load_stack("gke", gpuPools=pools)
    (group,) = cluster_queue(settings.gpu_pools)["spec"]["resourceGroups"]
    assert [each["name"] for each in group["flavors"]] == ["l4-1", "own-8", "l4-8"]
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    names = [[pool.name for pool in fit.pools] for fit in fits(offered, PodRequest(gpu="l4"))]
    assert names == [["l4-1"], ["own-8", "l4-8"]]


@every_cloud
def test_queues_come_after_what_serves_them(cloud: str) -> None:
    recording = with_all(cloud)
    (release,) = [each for each in recording.of_type(RELEASE) if each.inputs["name"] == "kueue"]
    shared = recording.only(f"{API}:ClusterQueue")
    assert release.urn in shared.depends_on
    assert shared.urn in recording.only(f"{API}:LocalQueue").depends_on


@every_cloud
def test_no_job_is_touched_that_names_no_queue(cloud: str) -> None:
    written = releases(with_all(cloud))["kueue"]["values"]["managerConfig"]["controllerManagerConfigYaml"]
    configuration = yaml.safe_load(written)
    assert configuration["manageJobsWithoutQueueName"] is False
    assert configuration["integrations"] == {"frameworks": ["batch/job"]}
    # A job that has run is not put back for a pod that is replaced.
    assert configuration["waitForPodsReady"]["recoveryTimeout"] == "0s"


@pytest.mark.parametrize(("capacity", "longest"), [("spot", "1h"), ("flex-start", "168h")])
def test_the_wait_for_a_machine_that_is_lent_is_not_broken_off(capacity: str, longest: str) -> None:
    pools = [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1}]
    pools += [{"name": "l4", "gpu": "nvidia-l4", "maxNodes": 1, "capacity": capacity}]
    asked = releases(stacks.run("gke", workloads={"queue": {}}, identities=None, gpuPools=pools))["kueue"]["values"]
    configuration = yaml.safe_load(asked["managerConfig"]["controllerManagerConfigYaml"])
    assert configuration["waitForPodsReady"]["timeout"] == longest


@every_cloud
def test_control_planes_reach_its_webhook_as_they_reach_kubelets(cloud: str) -> None:
    values = releases(with_all(cloud))["kueue"]["values"]
    configuration = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert {port["targetPort"] for port in values["webhookService"]["ports"]} == {configuration["webhook"]["port"]}
    assert configuration["webhook"]["port"] == 10250


def submitted(namespace: str, **request: Any) -> dict[str, Any]:
    settings = from_stack_file(ROOT / "examples" / "research-lab.yaml")
    offered = from_config_map(to_config_map(offer(settings, settings.gpu_pools, (), {})))
    asked = JobRequest(**request, name="train", namespace=namespace)
    return manifests(training_job(asked, place(offered, asked), "image", offered))[0]


def test_a_job_of_the_command_waits_in_the_queue_of_its_namespace_and_no_other_does() -> None:
    assert submitted("default")["metadata"]["labels"][QUEUE_LABEL] == QUEUE
    assert QUEUE_LABEL not in submitted("elsewhere")["metadata"]["labels"]


TEAMS = [{"name": "vision", "gpus": 2}, {"name": "speech", "gpus": 16}]
MIXED = [
    {"name": "t4", "gpu": "nvidia-t4", "gpusPerNode": [1, 4], "maxNodes": 2, "capacity": "on-demand"},
    {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 3, "capacity": "spot"},
    {"name": "v6e", "gpu": "google-tpu-v6e", "gpusPerNode": 1, "maxNodes": 4, "capacity": "on-demand"},
]


def quotas(queue: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """Flavor and resource → the quota of its own."""
    return {
        (flavor["name"], each["name"]): int(each["nominalQuota"])
        for group in queue["resourceGroups"]
        for flavor in group["flavors"]
        for each in flavor["resources"]
    }


def limits(queue: Mapping[str, Any]) -> set[str | None]:
    """How much of the last group is borrowed; ``None``: anything."""
    return {
        each.get("borrowingLimit") for flavor in queue["resourceGroups"][-1]["flavors"] for each in flavor["resources"]
    }


def test_a_team_reserves_no_more_gpus_in_the_queue_than_its_quota_on_all_pools_together() -> None:
    """Kueue looks at no ResourceQuota, and its own quotas are of a flavor, so each GPU also counts as the team's:
    https://kueue.sigs.k8s.io/docs/tasks/manage/share_quotas_across_flavors/."""
    recording = stacks.run("gke", workloads={"queue": {}}, identities=None, teams=TEAMS, gpuPools=MIXED)
    written = releases(recording)["kueue"]["values"]["managerConfig"]["controllerManagerConfigYaml"]
    resources = yaml.safe_load(written)["resources"]
    assert resources["transformations"] == [
        {"input": "nvidia.com/gpu", "strategy": "Retain", "outputs": {"team.gpucluster.dev/nvidia.com.gpu": 1}},
        {"input": "google.com/tpu", "strategy": "Retain", "outputs": {"team.gpucluster.dev/google.com.tpu": 1}},
    ]
    names = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in recording.of_type(f"{API}:ClusterQueue")}
    assert set(names) == {"gpu", "gpu-vision", "gpu-speech"}
    cohorts = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in recording.of_type(f"{API}:Cohort")}
    assert set(cohorts) == set(names)
    pools = quotas(cohorts["gpu"])
    assert sum(count for (_, resource), count in pools.items() if resource == "nvidia.com/gpu") == 2 * 1 + 2 * 4 + 3
    counted = [("teams.gpucluster.dev", f"team.gpucluster.dev/{each}") for each in ("nvidia.com.gpu", "google.com.tpu")]
    for name, spec in names.items():
        assert spec["cohortName"] == name
        own = quotas(spec)
        # All borrow the pools' GPUs, or the queue that has them would always come first.
        assert {key: own.pop(key) for key in pools} == dict.fromkeys(pools, 0)
        assert own == dict(zip(counted, (13, 4) if name == "gpu" else (0, 0), strict=True))
    for team, most in (("vision", 2), ("speech", 16)):
        cohort = cohorts[f"gpu-{team}"]
        assert cohort["parentName"] == "gpu"
        assert quotas(cohort) == dict.fromkeys(counted, most)
        # A quota of the queue's own would hide behind those of pools why a job waits.
        assert limits(names[f"gpu-{team}"]) == {None}
    # It is not lent: of the team's own quota, nobody takes more.
    assert limits(cohorts["gpu-vision"]) == limits(cohorts["gpu-speech"]) == limits(names["gpu"]) == {"0"}
    selectors = {name: spec["namespaceSelector"] for name, spec in names.items()}
    of_vision = {"matchLabels": {"kubernetes.io/metadata.name": "vision"}}
    assert selectors["gpu-vision"] == of_vision
    # An administrator's own LocalQueues may name the queue of all.
    assert selectors["gpu"] == {}
    flavors = {each.inputs["metadata"]["name"] for each in recording.of_type(f"{API}:ResourceFlavor")}
    assert flavors == {"t4-1", "t4-4", "l4-1", "v6e-1", "teams.gpucluster.dev"}


def test_each_team_has_a_queue_of_its_own_in_one_cohort() -> None:
    recording = stacks.run("gke", workloads={"queue": {}}, identities=None, teams=TEAMS[:1])
    queues = {each.inputs["metadata"]["namespace"]: each for each in recording.of_type(f"{API}:LocalQueue")}
    assert set(queues) == {"default", "vision"}
    assert {each.inputs["metadata"]["name"] for each in queues.values()} == {QUEUE}
    named = {namespace: each.inputs["spec"]["clusterQueue"] for namespace, each in queues.items()}
    assert named == {"default": "gpu", "vision": "gpu-vision"}
    namespace = recording.called("kubernetes:core/v1:Namespace", "vision")
    assert namespace.urn in recording.before(queues["vision"])
    # Kueue refuses another ClusterQueue for a LocalQueue, and a protected stack its replacement.
    assert {each.ignore_changes for each in queues.values()} == {("spec.clusterQueue",)}
    # During an update nothing has the pools' GPUs twice, and the shared queue always has some: Ctrl-C may end it.
    cohort, quota = (recording.called(f"{API}:Cohort", name) for name in ("gpu", "gpu-vision"))
    shared = recording.called(f"{API}:ClusterQueue", "gpu")
    assert cohort.urn in recording.before(shared)
    assert shared.urn in recording.before(quota)
    assert quota.urn in recording.before(queues["vision"])
    (pools,) = [each for each in recording.resources if each.name == "offer-pools"]
    assert json.loads(pools.inputs["data"]["offer.json"])["queued"] == ["default", "vision"]
