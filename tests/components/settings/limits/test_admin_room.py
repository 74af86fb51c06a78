"""What runs on the admin pool for people fits beside the cluster's own pods and costs what it keeps; edges."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from components.outputs import cost
from components.settings import Settings, SettingsError, load
from components.settings.fields.problems import Problem
from components.settings.limits import common, run
from components.settings.limits.common import warnings
from components.settings.sections.tools import Prometheus
from components.settings.sections.workloads import SharedVolume, Workloads
from facts import catalog
from tests import one_stack, recorder
from tests.components.settings.test_stack_cases import FILES, check, problems, with_changes
from tests.components.specs import admin_pool, cluster_settings, declare, given, gpu_pool

SERVICES = [{"name": "demo", "image": "registry.example/serve:1"}]
ALL_TOOLS = {"services": SERVICES, "monitoring": {}, "queue": {}, "notebook": {}, "dashboard": {}}
ALL = Workloads.model_validate(ALL_TOOLS)
STACK = {
    "cloud": "gke",
    "region": "us-central1",
    "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
    "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
}


def settings_problems(settings: Settings) -> tuple[Problem, ...]:
    """What no cloud supports."""
    return run(common.CHECKS, settings).problems


def refused(machine: str, nodes: int, workloads: Workloads) -> list[str]:
    pool = admin_pool(machine_types=(machine,), nodes=nodes)
    return [problem.path for problem in settings_problems(cluster_settings(admin_pool=pool, workloads=workloads))]


# One node of an otherwise empty cluster: what its own pods leave of an e2-medium (940m) is 74m, of two they leave 361m:
# the per-node ones come twice, and so do DNS and konnectivity-agent.
@pytest.mark.parametrize(
    ("machine", "nodes", "workloads", "paths"),
    [
        ("e2-medium", 1, {}, []),
        ("e2-medium", 1, ALL_TOOLS, ["workloads.services"]),
        ("e2-medium", 1, {"dashboard": {}}, []),
        ("e2-medium", 1, {"queue": {}}, ["workloads.queue"]),
        ("e2-medium", 1, {"services": SERVICES}, ["workloads.services"]),
        ("e2-medium", 2, {"services": SERVICES}, []),
        ("e2-standard-4", 1, ALL_TOOLS, []),
        ("e2-medium", 8, ALL_TOOLS, []),
    ],
)
def test_what_does_not_fit_is_refused(machine: str, nodes: int, workloads: dict[str, Any], paths: list[str]) -> None:
    assert refused(machine, nodes, Workloads.model_validate(workloads)) == paths


@pytest.mark.parametrize(
    ("machine", "gpu_nodes", "volume", "paths"),
    [
        # One GPU node more is a second DNS pod (270m) and a second konnectivity-agent (15m).
        ("e2-custom-2-10240", 0, False, []),
        ("e2-custom-2-10240", 1, False, ["workloads.services"]),
        ("e2-standard-4", 8, True, []),
        # 4 vCPUs have room for the tools and 8 pods of DNS, but not for 9.
        ("e2-standard-4", 127, True, []),
        ("e2-standard-4", 128, True, ["workloads.services"]),
    ],
)
def test_pods_of_larger_clusters_precede_tools(machine: str, gpu_nodes: int, volume: bool, paths: list[str]) -> None:
    pool = admin_pool(machine_types=(machine,), nodes=1)
    tools = ALL.model_copy(update={"shared_volume": SharedVolume() if volume else None})
    pools = (gpu_pool(max_nodes=gpu_nodes),) if gpu_nodes else ()
    settings = cluster_settings(admin_pool=pool, gpu_pools=pools, workloads=tools)
    assert [problem.path for problem in settings_problems(settings)] == paths


def test_without_tools_the_admin_pool_may_grow_for_them() -> None:
    def problems(most: int) -> list[str]:
        pool, gpus = admin_pool(max_nodes=most), (gpu_pool(max_nodes=80),)
        return [problem.path for problem in settings_problems(cluster_settings(admin_pool=pool, gpu_pools=gpus))]

    assert problems(1) == ["adminPool.maxNodes"]
    assert problems(2) == []


@pytest.mark.parametrize("gpu_nodes", [80, 125, 400])
def test_the_maximum_that_the_message_proposes_is_the_smallest_that_is_accepted(gpu_nodes: int) -> None:
    def problems(most: int) -> list[Problem]:
        pool, gpus = admin_pool(max_nodes=most), (gpu_pool(max_nodes=gpu_nodes),)
        settings = cluster_settings(admin_pool=pool, gpu_pools=gpus)
        return list(settings_problems(settings))

    (problem,) = problems(1)
    proposed = int(re.findall(r"adminPool.maxNodes: (\d+)", str(problem))[0])
    assert problems(proposed) == []
    assert [each.path for each in problems(proposed - 1)] == ["adminPool.maxNodes"]


AKS = {
    "cloud": "aks",
    "region": "eastus",
    "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
    "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
    "workloads": ALL_TOOLS,
}
SUBSCRIPTION = "12345678-1234-1234-1234-123456789012"


def test_tools_that_fit_beside_what_is_certain_are_accepted_with_a_warning() -> None:
    """Of AKS's metrics-server, 100m are certain, and a cluster showed 312m: 182m more than the default machine has."""
    (text,) = warnings(load(AKS, stack="dev", project=SUBSCRIPTION, day=date(2026, 11, 25)))
    assert "request 950m CPU" in text
    assert "may leave 768m" in text
    machine, nodes = re.findall(r"adminPool.machineType: (\w+), or adminPool.nodes: (\d)", text)[0]
    for remedy in ({"machineType": machine}, {"nodes": int(nodes)}):
        assert warnings(load({**AKS, "adminPool": remedy}, stack="dev", project=SUBSCRIPTION)) == []


def test_the_program_says_the_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr("pulumi.warn", lambda text, *_: texts.append(text))
    settings = load(AKS, stack="dev", project=SUBSCRIPTION)
    recorder.run(declare(settings))
    assert texts == warnings(settings)


@pytest.mark.parametrize(("uncertain", "paths"), [(182, []), (181, ["workloads.services"])])
def test_only_what_is_uncertain_is_not_refused(
    uncertain: int, paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, settings = catalog.of("aks"), load(AKS, stack="dev", project=SUBSCRIPTION)
    pods = tuple(
        replace(pod, uncertain_milli_cpu=uncertain if pod.uncertain_milli_cpu else 0) for pod in known.nodes.system_pods
    )
    changed = replace(known, nodes=replace(known.nodes, system_pods=pods))
    monkeypatch.setattr(catalog, "of", lambda _: changed)
    assert [problem.path for problem in settings_problems(settings)] == paths


def test_the_machine_that_an_eks_stack_gets_unless_it_says_otherwise_holds_all_tools() -> None:
    known = catalog.of("eks")
    machine = known.machines.get(known.machines.default_admin)
    assert machine is not None
    asked = [request for tool in ALL.tools.values() for request in tool.asked]
    system = [pod.request for pod in known.nodes.system_pods]
    room = known.nodes.allocatable(machine)
    assert sum(each.milli_cpu for each in (*asked, *system)) <= room.milli_cpu
    assert sum(each.memory_mib for each in (*asked, *system)) <= room.memory_mib


def stack(**workloads: object) -> Settings:
    return load({**STACK, "workloads": workloads}, stack="s", project="my-project")


def test_volumes_that_stay_are_part_of_what_an_idle_stack_costs() -> None:
    idle = stack().cost_idle_hourly
    small, large = (stack(monitoring={"diskGb": size}).cost_idle_hourly for size in (50, 500))
    assert idle is not None
    assert small is not None
    assert large is not None
    assert idle < small < large
    price = catalog.of("gke").prices.disk("us-central1", 500)
    assert price is not None
    assert large - idle == pytest.approx(price.usd)
    assert stack(dashboard={}).cost_idle_hourly == idle


def test_volumes_that_people_make_are_told_of() -> None:
    assert not [note for note in cost(stack())["notes"] if "home" in note]
    assert [note for note in cost(stack(notebook={"homeGb": 33}))["notes"] if "33 GB" in note]


def test_an_alertmanager_asks_for_room_of_its_own() -> None:
    with_alertmanager = Prometheus.model_validate({"alertmanagerSecret": "alerts"})
    assert sum(each.milli_cpu for each in with_alertmanager.asked) > sum(each.milli_cpu for each in Prometheus().asked)


ZONES = ["us-central1-a", "us-central1-b", "us-central1-c"]


def loaded(**changes: Any) -> Settings:
    config: dict[str, Any] = {
        "cloud": "gke",
        "region": "us-central1",
        "zones": ZONES,
        "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
        "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
        **changes,
    }
    return load(config, stack="dev", project="my-project", day=date(2026, 11, 25))


@pytest.mark.parametrize(
    ("zones", "minimum", "maximum", "accepted"),
    [
        (3, 0, 1, True),
        (3, 1, 2, False),
        (3, 1, 3, True),
        (3, 3, 3, True),
        (3, 4, 5, False),
        (3, 4, 6, True),
        (1, 2, 2, True),
    ],
)
def test_a_minimum_is_what_nodes_in_every_zone_make(zones: int, minimum: int, maximum: int, accepted: bool) -> None:
    pool = {"name": "web", "minNodes": minimum, "maxNodes": maximum, "zones": ZONES[:zones]}
    if accepted:
        assert loaded(cpuPools=[pool]).cpu_pools[0].scaling.min_nodes == minimum
        return
    with pytest.raises(SettingsError, match="the same number in every zone") as refused:
        loaded(cpuPools=[pool])
    # What it says instead is accepted.
    (problem,) = refused.value.problems
    fewer = problem.remedy.partition("[")[2].rstrip("]").split(", ")
    assert loaded(cpuPools=[{**pool, "zones": fewer}]).cpu_pools[0].scaling.min_nodes == minimum


@pytest.mark.parametrize(
    ("autoscaler", "labels", "groups", "refused"),
    [
        ("cluster-autoscaler", 35, 1, {}),
        ("cluster-autoscaler", 60, 1, {"gpuPools[0].labels": "Remove"}),
        ("karpenter", 60, 1, {}),
        ("cluster-autoscaler", 1, 28, {}),
        ("cluster-autoscaler", 1, 29, {"gpuPools": "karpenter"}),
        ("karpenter", 1, 29, {}),
    ],
)
def test_karpenter_has_no_tags_and_groups_that_could_be_too_many(
    autoscaler: str, labels: int, groups: int, refused: dict[str, str]
) -> None:
    case: dict[str, Any] = {
        "pool": {"labels": {f"label-{number}": "x" for number in range(labels)}},
        "keys": {
            "autoscaling": {"autoscaler": autoscaler},
            "cpuPools": [{"name": f"c{number}", "maxNodes": 1} for number in range(groups)],
        },
        "refused": refused,
    }
    check(problems(with_changes(FILES["eks"]["base"], case), "us-west-2"), case)


@pytest.mark.parametrize(("prefix", "refused"), [(20, False), (27, False), (28, True), (30, True)])
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_range_too_small_for_the_clusters_own_services_is_refused(cloud: str, prefix: int, refused: bool) -> None:
    settings = cluster_settings(cloud=cloud)
    changed = given(settings, network=settings.network.model_copy(update={"service_cidr": f"10.8.0.0/{prefix}"}))
    of_range = [problem for problem in settings_problems(changed) if problem.path == "network.serviceCidr"]
    assert bool(of_range) is refused
