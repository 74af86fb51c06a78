"""What AKS adds to a pool and to a cluster, and the size of a pool. More of the machines: ``machines.yaml``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from facts.catalog import of
from facts.concepts.kubernetes import Taint
from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.tables import cases
from rehearsal.fleet.machine_types import allocatable
from rehearsal.providers.aks.nodes import MIG_SLICES, SPOT_TAINT
from rehearsal.providers.aks.rules import count_at_creation
from rehearsal.providers.aks.system import system_objects
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.simulation import SimulatedNodeGroup

SPOT = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")
REGULAR: Properties = {"scaleSetPriority": None, "scaleSetEvictionPolicy": None, "spotMaxPrice": None}
A100: Properties = {"vmSize": "Standard_NC48ads_A100_v4", **REGULAR}


def group(azure: aks.Microsoft, **changes: Any) -> SimulatedNodeGroup:
    azure.cluster()
    azure.create(aks.POOL, aks.gpu_pool(**changes))
    return azure.fleet.groups["t4spot"]


@pytest.mark.parametrize("declared", [[], [SPOT_TAINT]])
def test_spot_nodes_are_tainted_and_labelled_declared_or_not(azure: aks.Microsoft, declared: list[str]) -> None:
    made = group(azure, nodeTaints=declared)
    assert made.nodes.taints == (SPOT,)
    answer = azure.read(aks.POOL, f"{aks.CLUSTER_ID}/agentPools/t4spot")
    assert answer.state["nodeTaints"] == [SPOT_TAINT]
    assert answer.state["nodeLabels"]["kubernetes.azure.com/scalesetpriority"] == "spot"
    # What AKS added is no input of the program's, so a refresh finds no drift.
    assert (answer.inputs or {})["nodeTaints"] == declared


@pytest.mark.parametrize("declared", [True, False])
def test_an_update_leaves_the_labels_alone_that_it_names(azure: aks.Microsoft, declared: bool) -> None:
    azure.cluster()
    spot = "kubernetes.azure.com/scalesetpriority"
    labels = {"team": "vision", **({spot: "spot"} if declared else {})}
    pool = azure.create(aks.POOL, aks.gpu_pool(nodeLabels=labels))
    assert azure.fleet.groups["t4spot"].nodes.labels[spot] == "spot"
    azure.update(aks.POOL, pool, aks.gpu_pool(nodeLabels=labels, maxCount=9))
    assert (spot in azure.fleet.groups["t4spot"].nodes.labels) == declared
    assert azure.read(aks.POOL, pool.id).state["nodeLabels"] == labels


@pytest.mark.parametrize(("profile", "offered"), [(None, None), *((name, 2 * n) for name, n in MIG_SLICES.items())])
def test_the_autoscaler_does_not_know_of_slices(azure: aks.Microsoft, profile: str | None, offered: int | None) -> None:
    made = group(azure, gpuInstanceProfile=profile, **A100)
    assert made.machine.gpus == 2
    assert made.offered_gpus == offered


def test_the_pool_that_comes_with_the_cluster(azure: aks.Microsoft) -> None:
    azure.cluster(agentPoolProfiles=[aks.system_pool(enableAutoScaling=True, count=1, minCount=1, maxCount=3)])
    made = azure.fleet.groups["system"]
    assert (made.scaling.autoscaled, made.scaling.min_nodes, made.scaling.max_nodes) == (True, 1, 3)
    assert made.nodes.labels["kubernetes.azure.com/mode"] == "system"


def test_a_changed_cluster_changes_its_pool(azure: aks.Microsoft) -> None:
    created = azure.cluster()
    azure.update(aks.CLUSTER, created, aks.cluster(agentPoolProfiles=[aks.system_pool(count=2)]))
    assert azure.fleet.groups["system"].scaling.min_nodes == 2


def test_a_changed_pool_changes_its_machines(azure: aks.Microsoft) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool())
    azure.update(aks.POOL, pool, aks.gpu_pool(maxCount=9, nodeLabels={"team": "speech"}))
    made = azure.fleet.groups["t4spot"]
    assert made.scaling.max_nodes == 9
    assert made.nodes.labels["team"] == "speech"


@pytest.mark.parametrize("size", ["Standard_D2s_v5", "Standard_NC4as_T4_v3", "Standard_ND96isr_H100_v5"])
def test_nodes_leave_for_pods_what_the_catalogue_says(azure: aks.Microsoft, size: str) -> None:
    machine = of("aks").machines.get(size)
    assert machine is not None
    expected = of("aks").nodes.allocatable(machine)
    gpus = {} if machine.gpus else {"gpuProfile": None}
    actual = allocatable(group(azure, vmSize=size, maxPods=110, **gpus).machine)
    assert (actual.cpu_millicores, actual.memory_mib, actual.pods) == (expected.milli_cpu, expected.memory_mib, 110)


def test_more_pods_cost_memory_up_to_a_quarter(azure: aks.Microsoft) -> None:
    def reserved(pods: int | None, size: str) -> int:
        azure.create(aks.POOL, aks.gpu_pool(agentPoolName="x", vmSize=size, maxPods=pods, gpuProfile=None))
        machine = azure.fleet.groups["x"].machine
        azure.delete(aks.POOL, azure.read(aks.POOL, f"{aks.CLUSTER_ID}/agentPools/x"))
        return machine.reserved_memory_mib or 0

    azure.cluster()
    # Overlay's own limit is 250 pods: https://learn.microsoft.com/azure/aks/node-resource-reservations
    assert reserved(None, "Standard_D16s_v5") - reserved(110, "Standard_D16s_v5") == 20 * (250 - 110)
    assert reserved(110, "Standard_D16s_v5") - reserved(30, "Standard_D16s_v5") == 20 * (110 - 30)
    # The quarter, the eviction threshold, and what the kernel takes of 8 GiB.
    assert reserved(250, "Standard_D2s_v5") == 8 * 1024 // 4 + 100 + 290


def test_pods_per_node_without_overlay(azure: aks.Microsoft) -> None:
    profile = {"networkPlugin": "azure", "serviceCidr": "10.8.0.0/20"}
    azure.cluster(networkProfile=profile)
    assert azure.fleet.groups["system"].machine.max_pods == 30


def test_spot_costs_no_more_than_on_demand(azure: aks.Microsoft) -> None:
    spot = group(azure)
    azure.create(aks.POOL, aks.gpu_pool(agentPoolName="t4", **REGULAR))
    assert 0 < (spot.nodes.hourly_usd or 0) <= (azure.fleet.groups["t4"].nodes.hourly_usd or 0) < 10


def test_a_cluster_brings_its_system_pods(azure: aks.Microsoft) -> None:
    azure.cluster()
    facts = azure.fleet.clusters["gpu-dev"]
    assert (facts["region"], facts["zones"]) == ("eastus", ("eastus-1", "eastus-2", "eastus-3"))
    assert facts["system_objects"][:-1] == system_objects(aks.cluster())


@cases
def test_parts_of_the_system_come_with_what_they_are_for(changes: Properties, absent: str) -> None:
    assert absent in {each["metadata"]["name"] for each in system_objects(aks.cluster())}
    assert absent not in {each["metadata"]["name"] for each in system_objects(aks.cluster(**changes))}


def test_a_cluster_that_names_no_network_has_azures_own_pods() -> None:
    names = {each["metadata"]["name"] for each in system_objects(aks.cluster(networkProfile=None))}
    assert {"azure-cns", "azure-ip-masq-agent"} <= names


def test_system_pods_keep_off_gpu_nodes_unless_they_are_daemons() -> None:
    for each in system_objects(aks.cluster()):
        if each["kind"] == "Deployment":
            tolerations = each["spec"]["template"]["spec"]["tolerations"]
            assert [toleration.get("key") for toleration in tolerations] == ["CriticalAddonsOnly"]
        elif each["kind"] == "DaemonSet":
            assert {"operator": "Exists", "effect": "NoSchedule"} in each["spec"]["template"]["spec"]["tolerations"]


def test_every_deployment_of_two_may_lose_one() -> None:
    objects = system_objects(aks.cluster())
    budgets = [each["spec"]["selector"]["matchLabels"] for each in objects if each["kind"] == "PodDisruptionBudget"]
    guarded = Counter(each["k8s-app"] for each in budgets)
    twice = {each["metadata"]["name"] for each in objects if each.get("spec", {}).get("replicas") == 2}
    assert guarded == Counter(twice)


def test_system_pods_ask_for_what_the_catalogue_says() -> None:
    requested: dict[str, tuple[int, int]] = {}
    for each in system_objects(aks.cluster()):
        if each["kind"] in ("Deployment", "DaemonSet"):
            (container,) = each["spec"]["template"]["spec"]["containers"]
            requests, replicas = container["resources"]["requests"], each["spec"].get("replicas", 1)
            cpu = int(requests["cpu"].removesuffix("m"))
            memory = int(requests.get("memory", "0Mi").removesuffix("Mi"))
            name = each["metadata"]["name"].removesuffix("-controller-manager")
            requested[name] = (replicas * cpu, replicas * memory)
    known = {pod.name: (pod.request.milli_cpu, pod.request.memory_mib) for pod in of("aks").nodes.system_pods}
    assert {**requested, "node-reaper": (10, 64)} == known


@pytest.mark.parametrize(("count", "refused"), [(0, False), (4, False), (5, True), (None, False)])
def test_a_new_pools_count_is_within_its_limits(count: int | None, refused: bool) -> None:
    assert bool(count_at_creation(aks.gpu_pool(count=count))) is refused


def test_a_new_pool_without_a_count_has_one_node() -> None:
    assert count_at_creation(aks.gpu_pool(count=None, minCount=2))
    assert count_at_creation(aks.gpu_pool(count=None, minCount=None, maxCount=None, enableAutoScaling=None)) is None


@cases
def test_a_node_has_its_pools_or_sizes_disk(azure: aks.Microsoft, declared: int | None, vm_size: str, gib: int) -> None:
    assert group(azure, vmSize=vm_size, osDiskSizeGB=declared).machine.disk_mib // 1024 == gib


PLACE = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
GET_CLUSTER = "azure-native:containerservice:getManagedCluster"
GET_POOL = "azure-native:containerservice:getAgentPool"
FIXED: dict[str, Any] = {"enableAutoScaling": False, "minCount": None, "maxCount": None}


def growing(**changes: Any) -> dict[str, Any]:
    return aks.system_pool(**{"enableAutoScaling": True, "minCount": 1, "maxCount": 5, **changes})


def has(azure: aks.Microsoft, **nodes: int) -> None:
    """What the autoscaler made of pools, by name."""
    of_nodes = [{"agentpool": pool} for pool, count in nodes.items() for _ in range(count)]
    azure.fleet.objects["/api/v1/nodes"] = [{"metadata": {"labels": labels}} for labels in of_nodes]


@pytest.mark.parametrize("nodes", [0, 2])
@pytest.mark.parametrize("sent", [None, 0, 1, 2, 3])
def test_an_update_sends_the_size_an_autoscaled_pool_has(azure: aks.Microsoft, nodes: int, sent: int | None) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool())
    has(azure, t4spot=nodes, other=7)
    if sent in (None, nodes):
        azure.update(aks.POOL, pool, aks.gpu_pool(maxCount=9, count=sent))
        assert azure.fleet.groups["t4spot"].scaling.max_nodes == 9
    else:
        with pytest.raises(ProviderError, match=r'Status=400 Code="InvalidParameter" Message="Cannot manually scale'):
            azure.update(aks.POOL, pool, aks.gpu_pool(maxCount=9, count=sent))
        assert azure.fleet.groups["t4spot"].scaling.max_nodes == 4


@pytest.mark.parametrize(("sent", "refused"), [(1, True), (3, False)])
def test_so_for_a_pool_inside_a_cluster(azure: aks.Microsoft, sent: int, refused: bool) -> None:
    created = azure.cluster(agentPoolProfiles=[growing()])
    has(azure, system=3)
    changed = aks.cluster(agentPoolProfiles=[growing(count=sent)], tags={"day": "two"})
    if refused:
        with pytest.raises(ProviderError, match="Cannot manually scale AgentPool 'system'"):
            azure.update(aks.CLUSTER, created, changed)
    else:
        azure.update(aks.CLUSTER, created, changed)
    assert azure.read(aks.CLUSTER, aks.CLUSTER_ID).state.get("tags") == (None if refused else {"day": "two"})


def test_a_pool_without_autoscaling_has_the_declared_size(azure: aks.Microsoft) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool(**FIXED, count=1))
    has(azure, t4spot=1)
    azure.update(aks.POOL, pool, aks.gpu_pool(**FIXED, count=3))
    assert azure.read(aks.POOL, pool.id).state["count"] == 3


def test_a_look_up_tells_the_pools_and_their_sizes(azure: aks.Microsoft) -> None:
    for token in (GET_CLUSTER, GET_POOL):
        with pytest.raises(ProviderError, match="Status=404 "):
            azure.provider.invoke(token, {**PLACE, "agentPoolName": "t4spot"})
    azure.cluster(agentPoolProfiles=[growing()])
    with pytest.raises(ProviderError, match="Status=404 "):
        azure.provider.invoke(GET_POOL, {**PLACE, "agentPoolName": "t4spot"})
    pool = azure.create(aks.POOL, aks.gpu_pool())
    has(azure, t4spot=2)
    profiles = azure.provider.invoke(GET_CLUSTER, PLACE)["agentPoolProfiles"]
    # Nobody took the system pool below its minimum.
    assert {profile["name"]: profile["count"] for profile in profiles} == {"system": 1, "t4spot": 2}
    assert azure.provider.invoke(GET_POOL, {**PLACE, "agentPoolName": "t4spot"})["count"] == 2
    refreshed = azure.read(aks.POOL, pool.id, aks.gpu_pool(count=0)).inputs
    assert refreshed is not None
    assert refreshed["count"] == 2
