"""What GKE adds to a pool and to a cluster. The machines: ``machines.yaml``."""

from __future__ import annotations

from typing import Any

import pytest

from facts.catalog import of
from facts.concepts.kubernetes import quantity
from packages.rehearsal.tests.providers.gke.account import CLUSTER, POOL, Google, cluster, cpu_pool, gpu, gpu_pool
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.gke.system import system_objects
from rehearsal.simulation import SimulatedNodeGroup

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
ACCELERATOR = "cloud.google.com/gke-accelerator"
EVERYTHING: Properties = {
    "datapathProvider": "ADVANCED_DATAPATH",
    "monitoringConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "DCGM"]},
    "addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": True}},
}


def group(google: Google, pool: Properties) -> SimulatedNodeGroup:
    google.create(POOL, pool)
    return google.fleet.groups[pool["name"]]


def effective(state: Properties) -> Any:
    return state["nodeConfig"]["effectiveTaints"]


def test_spot_is_cheaper_than_on_demand(google: Google) -> None:
    google.cluster()
    spot = group(google, gpu_pool())
    on_demand = group(google, gpu_pool(name="on-demand", nodeConfig={"spot": False}))
    assert 0 < (spot.nodes.hourly_usd or 0) < (on_demand.nodes.hourly_usd or 0)


FLEX_START = {"spot": False, "flexStart": True, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}


@pytest.mark.parametrize(("config", "strategy"), [({}, "SURGE"), (FLEX_START, "SHORT_LIVED")])
def test_flex_start_nodes_have_an_upgrade_strategy_of_their_own(
    google: Google, config: Properties, strategy: str
) -> None:
    google.cluster()
    surge = {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}
    management = {"autoRepair": not config, "autoUpgrade": True}
    pool = gpu_pool(nodeConfig=config, upgradeSettings=surge, management=management)
    made = google.create(POOL, pool)
    assert at(google.read(POOL, made.id, pool).inputs or {}, "upgradeSettings.strategy") == strategy
    without = {key: value for key, value in pool.items() if key != "upgradeSettings"}
    assert google.read(POOL, made.id, without).inputs == without, "what is left out is no change"


def test_gke_adds_its_gpu_taint_beside_a_cpu_pool(google: Google) -> None:
    google.cluster()
    google.create(POOL, cpu_pool())
    assert effective(google.create(POOL, gpu_pool(nodeConfig={"taints": []})).state) == [GPU_TAINT]


def test_gke_adds_no_taint_where_all_pools_have_gpus(google: Google) -> None:
    google.cluster()
    alone = google.create(POOL, gpu_pool(nodeConfig={"taints": []}))
    assert effective(alone.state) == []
    google.create(POOL, cpu_pool())
    # Never added later: https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/703
    changed = google.update(POOL, alone, gpu_pool(nodeConfig={"taints": [], "labels": {"team": "speech"}}))
    assert effective(changed) == []


def test_an_added_taint_stays_when_the_pool_changes(google: Google) -> None:
    google.cluster()
    admin = google.create(POOL, cpu_pool())
    tainted = google.create(POOL, gpu_pool(nodeConfig={"taints": []}))
    google.delete(POOL, admin)
    changed = gpu_pool(nodeConfig={"taints": [], "labels": {"team": "text"}})
    assert effective(google.update(POOL, tainted, changed)) == [GPU_TAINT]


def test_a_declared_taint_is_not_doubled(google: Google) -> None:
    google.cluster()
    google.create(POOL, cpu_pool())
    assert effective(google.create(POOL, gpu_pool()).state) == [GPU_TAINT]


def test_the_default_pool_runs_unless_it_is_removed(google: Google) -> None:
    google.cluster(removeDefaultNodePool=False, nodeConfig={"machineType": "e2-standard-4"})
    assert google.fleet.groups["default-pool"].nodes.machine_type == "e2-standard-4"
    assert google.fleet.groups["default-pool"].initial_nodes == 1


def test_a_removed_default_pool_leaves_nothing(google: Google) -> None:
    google.cluster()
    assert google.fleet.groups == {}


def test_a_removed_default_pool_does_not_taint_gpu_pools(google: Google) -> None:
    google.cluster()
    assert effective(google.create(POOL, gpu_pool(nodeConfig={"taints": []})).state) == []


def test_inline_pools(google: Google) -> None:
    created = google.cluster(nodePools=[{"name": "inline", "nodeCount": 1}], removeDefaultNodePool=False)
    assert set(google.fleet.groups) == {"inline"}
    google.delete(CLUSTER, created)
    assert google.fleet.groups == {}


def test_an_inline_pool_obeys_the_rules_of_pools(google: Google) -> None:
    with pytest.raises(Exception, match="Machine type 'e9' is not known to this rehearsal"):
        google.preview(CLUSTER, cluster(nodePools=[{"name": "inline", "nodeConfig": {"machineType": "e9"}}]))


def test_a_cluster_brings_its_system_pods(google: Google) -> None:
    google.cluster()
    names = {item["metadata"]["name"] for item in google.fleet.clusters["gpu-dev"]["system_objects"]}
    assert {"kube-dns", "metrics-server", "konnectivity-agent", "fluentbit-gke", "kube-proxy", "pdcsi-node"} <= names


@cases
def test_what_a_cluster_asks_for_brings_its_pods(changes: Properties, there: list[str], not_there: list[str]) -> None:
    names = {item["metadata"]["name"] for item in system_objects(cluster(**changes))}
    assert names.issuperset(there)
    assert names.isdisjoint(not_there)


def test_system_pods_keep_off_gpu_nodes_unless_they_are_daemons() -> None:
    for item in system_objects(EVERYTHING):
        if item["kind"] != "Deployment":
            continue
        for toleration in item["spec"]["template"]["spec"].get("tolerations", []):
            assert toleration.get("key") not in (None, "nvidia.com/gpu")


def test_system_pods_ask_for_what_the_catalogue_says() -> None:
    """Settings size the admin pool by the catalogue; the rehearsal must ask for the same."""
    running = [each for each in system_objects(EVERYTHING) if each["kind"] in ("Deployment", "DaemonSet")]
    containers = {each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"] for each in running}
    requests = {name: each[0]["resources"]["requests"] for name, each in containers.items()}
    known = {pod.name: pod.request for pod in (*of("gke").nodes.system_pods, *of("gke").nodes.volume_pods)}
    shared = known.keys() & requests.keys()
    assert len(shared) >= 12
    for name in shared:
        assert requests[name]["cpu"] == f"{known[name].milli_cpu}m", name
        assert requests[name].get("memory", "0Mi") == f"{known[name].memory_mib}Mi", name


def test_the_catalogue_counts_every_pod_that_google_runs_on_a_gpu_node() -> None:
    """What jobs are offered of a node is less by these: one that is not counted makes a job wait for ever."""
    nodes = {"cloud.google.com/gke-os-distribution": "cos", "kubernetes.io/os": "linux", ACCELERATOR: "nvidia-tesla-t4"}
    nodes["iam.gke.io/gke-metadata-server-enabled"] = "true"
    totals: dict[str, list[str]] = {"cpu": [], "memory": []}
    for item in system_objects(EVERYTHING):
        if item["kind"] == "DaemonSet" and _lands(item["spec"]["template"]["spec"], nodes):
            requests = item["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
            for resource, amounts in totals.items():
                amounts.append(requests.get(resource, "0"))
    assert len(totals["cpu"]) >= 10
    google = of("gke")
    pods = (*google.nodes.system_pods, *google.nodes.gpu_node_pods, *google.nodes.volume_pods)
    counted = [pod.request for pod in pods if pod.per_node]
    assert sum(map(quantity, totals["cpu"])) * 1000 <= sum(each.milli_cpu for each in counted)
    assert sum(map(quantity, totals["memory"])) <= 1024 * 1024 * sum(each.memory_mib for each in counted)


def _lands(pod: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a daemon's pod is for nodes with these labels; all of them tolerate everything."""
    terms = at(pod, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms") or [{}]
    expressions = [each for term in terms for each in term.get("matchExpressions", ())]
    fits = {
        "Exists": lambda each: each["key"] in labels,
        "DoesNotExist": lambda each: each["key"] not in labels,
        "In": lambda each: labels.get(each["key"]) in each["values"],
    }
    return (pod.get("nodeSelector") or {}).items() <= labels.items() and all(
        fits[each["operator"]](each) for each in expressions
    )


def test_callers_get_their_own_copy_of_the_system_objects() -> None:
    system_objects({})[0]["metadata"]["name"] = "spoilt"
    assert system_objects({})[0]["metadata"]["name"] != "spoilt"


def test_a_minimum_raised_later_makes_no_node(google: Google) -> None:
    google.cluster()

    def sized(minimum: int) -> Properties:
        scaling = {"totalMinNodeCount": minimum, "totalMaxNodeCount": 4}
        return cpu_pool(nodeCount=None, initialNodeCount=1, autoscaling=scaling)

    made = google.create(POOL, sized(1))
    google.update(POOL, made, sized(3))
    assert google.fleet.groups["admin"].scaling.min_nodes == 1


def test_the_autoscaler_takes_reservations_then_any_spot_then_the_cheapest_on_demand(google: Google) -> None:
    google.cluster()

    def rank(name: str, **config: Any) -> tuple[float | None, float]:
        made = group(google, gpu_pool(name=name, nodeConfig=config))
        return made.rank, made.nodes.hourly_usd or 0

    def named(value: str) -> Properties:
        key = "compute.googleapis.com/reservation-name"
        return {"consumeReservationType": "SPECIFIC_RESERVATION", "key": key, "values": [value]}

    reserved = rank("reserved", spot=False, reservationAffinity=named("june"))
    shared = rank("shared", spot=False, reservationAffinity=named("projects/other/reservations/june"))
    dear = rank("dear", guestAccelerators=[gpu("nvidia-tesla-v100", 1)])
    cheap = rank("cheap")
    on_demand = rank("on-demand", spot=False)
    dear_on_demand = rank("dear-on-demand", spot=False, machineType="n1-standard-16")
    # Among spot pools Google does not promise the cheapest, so the dearest is taken.
    ranked = sorted([cheap, on_demand, dear, dear_on_demand, reserved])
    assert ranked == [reserved, dear, cheap, on_demand, dear_on_demand]
    # The autoscaler looks for reservations in its own project only.
    assert shared == on_demand


@pytest.mark.parametrize(("spot", "policy"), [(True, "ANY"), (False, "BALANCED")])
def test_the_location_policy_that_google_picks(google: Google, spot: bool, policy: str) -> None:
    google.cluster()
    made = google.create(POOL, gpu_pool(autoscaling={"totalMaxNodeCount": 2}, nodeConfig={"spot": spot}))
    assert made.state["autoscaling"]["locationPolicy"] == policy
    assert (made.inputs or {})["autoscaling"] == {"totalMaxNodeCount": 2}


def test_nodes_are_not_newer_than_their_control_plane_and_at_most_two_minors_older(google: Google) -> None:
    google.cluster(minMasterVersion="1.34")
    google.create(POOL, cpu_pool(name="older", version="1.32.2-gke.1"))
    google.refuses(POOL, cpu_pool(name="oldest", version="1.31.9-gke.1"), "at most two minor versions older")
    google.create(POOL, cpu_pool(name="same", version="1.34"))
    google.refuses(POOL, cpu_pool(name="newer", version="1.35.0-gke.1"), "must not be newer than the master's")


def test_the_control_plane_is_apart_from_the_subnetwork(google: Google) -> None:
    access = {"enablePrivateNodes": True, "masterIpv4CidrBlock": "10.0.1.0/28"}
    with pytest.raises(ProviderError, match=r"10\.0\.1\.0/28 overlaps with 10\.0\.0\.0/20"):
        google.cluster(privateClusterConfig=access)


@pytest.mark.parametrize(("declared", "gib"), [({"diskSizeGb": 50}, 18), ({"bootDisk": {"sizeGb": 200}}, 93), ({}, 43)])
def test_a_node_has_the_ephemeral_storage_of_its_boot_disk(google: Google, declared: Properties, gib: int) -> None:
    google.cluster()
    assert group(google, gpu_pool(nodeConfig=declared)).machine.disk_mib // 1024 == gib
