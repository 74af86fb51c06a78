"""What a good stack file becomes, where each rule flips, and that no error hides another; namespaces."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import operator
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from components.settings import Settings, SettingsError, docs, from_stack_file, load
from components.settings.docs import type_name
from components.settings.fields.check import big_enough, system_requests
from components.settings.fields.types import Section
from components.settings.sections.access import Access
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from components.settings.sections.services import InferenceService
from components.settings.sections.stack_file import StackFile
from components.settings.sections.teams import Team
from components.settings.sections.workloads import Identity, SharedVolume
from facts import catalog
from facts.catalog import Resources, SystemPod
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT, Pool, size_taint
from tests.stacks import CONTROL_PLANES, EXISTING, OWN_MACHINES

ROOT = Path(__file__).resolve().parents[3]
STACKS = [*sorted(ROOT.glob("Pulumi.*.yaml")), *sorted((ROOT / "examples").glob("*.yaml"))]

GOOD: Mapping[str, Any] = {
    "cloud": "gke",
    "region": "us-central1",
    "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
    "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
}


def good(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(dict(GOOD)), **changes}


def pool(**changes: Any) -> dict[str, Any]:
    return {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, **changes}


def loaded(config: Mapping[str, Any]) -> Settings:
    return load(config, stack="dev", project="my-project")


def refused(config: Mapping[str, Any]) -> dict[str, str]:
    """Key path → the whole line about it."""
    with pytest.raises(SettingsError) as error:
        loaded(config)
    return {problem.path: str(problem) for problem in error.value.problems}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("gpucluster:maintenance: {start: 2:00}", "'2:00' is not a full hour"),
        ("gpucluster:maintenance: {start: 02:00}", ""),
        ("gpucluster:labels: {team: no, stage: on, shift: y}", ""),
        ("gpucluster:labels: {team: =}", "'=' is not a valid label value"),
        ("gpucluster:security: {deletionProtection: yes}", "'yes' is not true or false"),
        ("gpucluster:security: {deletionProtection: True}", ""),
        ("gpucluster:gpuPools: [{name: t4, gpu: nvidia-t4, maxNodes: 0x2}]", ""),
    ],
)
def test_values_are_read_as_the_engine_reads_them(line: str, problem: str, tmp_path: Path) -> None:
    """`pulumi config --json` has ``2:00``, ``no``, ``on``, ``y``, ``=`` and ``yes`` as texts."""
    key = line.partition(": ")[0]
    config = {f"gpucluster:{name}": value for name, value in GOOD.items() if f"gpucluster:{name}" != key}
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(yaml.safe_dump({"config": {"gcp:project": "my-project", **config}}) + f"  {line}\n")
    with pytest.raises(SettingsError, match=re.escape(problem)) if problem else nullcontext():
        from_stack_file(file)


@pytest.mark.parametrize(
    "file",
    [file for file in STACKS if file not in (OWN_MACHINES, CONTROL_PLANES, EXISTING)],
    ids=lambda file: file.stem,
)
def test_every_shipped_stack_is_valid_and_priced(file: Path) -> None:
    settings = from_stack_file(file)
    assert settings.unpriced == ()
    assert settings.cost_idle_hourly is not None
    assert settings.cost_max_hourly is not None
    assert settings.cost_idle_hourly < settings.cost_max_hourly
    keys = {"nvi": "nvidia.com/gpu", "aws": "aws.amazon.com/neuron", "amd": "amd.com/gpu", "goo": "google.com/tpu"}
    assert all(
        one.scaling.min_nodes == 0 and keys[one.gpus.type[:3]] == one.nodes.taints[0].key for one in settings.gpu_pools
    )
    networks = settings.network.authorized_networks
    assert all(network.cidr.startswith(("192.0.2.", "198.51.100.", "203.0.113.")) for network in networks)


def test_defaults() -> None:
    settings = loaded(good())
    assert settings.cluster_name == "gpu-dev"
    assert settings.zones == catalog.of("gke").regions["us-central1"]
    assert not settings.regional
    assert settings.kubernetes.channel == "regular"
    assert settings.autoscaling_profile == "optimize-utilization"
    admin = settings.admin_pool
    assert (admin.nodes.machine_type, admin.nodes.zones, admin.scaling.min_nodes) == (
        "e2-custom-2-10240",
        settings.zones[:1],
        1,
    )
    (spec,) = settings.gpu_pools
    assert (spec.name, spec.nodes.machine_type, spec.gpus.accelerator) == ("t4-1", "n1-standard-4", "nvidia-tesla-t4")
    assert (spec.scaling.spot, spec.nodes.disk_gb, spec.nodes.image, spec.gpus.drivers, spec.gpus.driver_version) == (
        False, 100, "cos", "managed", "default",
    )  # fmt: skip
    own = {"gpucluster.dev/pool": "t4-1", "gpucluster.dev/gpu": "nvidia-t4", "gpucluster.dev/gpus-per-node": "1"}
    assert spec.nodes.labels == {"nvidia.com/gpu.present": "true", **own}
    assert spec.nodes.taints == (GPU_TAINT,)


def test_regional_admin_pool_is_in_every_zone() -> None:
    zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
    admin = loaded(good(availability="regional", zones=zones, adminPool={"nodes": 2})).admin_pool
    assert (admin.nodes.zones, admin.scaling.min_nodes) == (tuple(zones), 6)


def test_sizes_become_pools_and_only_larger_ones_carry_the_size_taint() -> None:
    pools = [
        pool(gpusPerNode=[4, 2], taints=[{"key": "team", "value": "a", "effect": "NoExecute"}]),
        pool(name="l4", gpu="nvidia-l4", gpusPerNode=4),
    ]
    specs = {spec.name: spec for spec in loaded(good(gpuPools=pools)).gpu_pools}
    team = Taint("team", "a", "NoExecute")
    expected = {"t4-2": (GPU_TAINT, team), "t4-4": (GPU_TAINT, size_taint(4), team), "l4-4": (GPU_TAINT, size_taint(4))}
    assert {name: spec.nodes.taints for name, spec in specs.items()} == expected


def test_a_fallback_of_cpu_nodes_starts_at_none_and_costs_more() -> None:
    written = _cpu(capacity="spot-with-fallback", minNodes=1, zones=["us-central1-a"])
    spot, on_demand = loaded(good(cpuPools=[written])).cpu_pools
    expected = [("cpu-spot", True, 0, 1), ("cpu-ondemand", False, 1, 0)]
    assert [(p.name, p.scaling.spot, p.scaling.preference, p.scaling.min_nodes) for p in (spot, on_demand)] == expected
    assert (spot.nodes.hourly_usd or 0) < (on_demand.nodes.hourly_usd or 0)


def test_pool_lands_in_the_stacks_zones_that_have_its_gpu() -> None:
    def spec(**changes: Any) -> Pool:
        (only,) = loaded(good(gpuPools=[pool(name="v", gpu="nvidia-p100", **changes)])).gpu_pools
        return only

    assert spec().nodes.zones == ("us-central1-c", "us-central1-f")
    # Named zones are trusted: a cloud adds GPUs to zones faster than a table can follow.
    assert spec(zones=["us-central1-a"]).nodes.zones == ("us-central1-a",)


def test_costs_add_up() -> None:
    settings = loaded(good(cpuPools=[_cpu(minNodes=1, maxNodes=3, zones=["us-central1-a"])]))
    known = catalog.of("gke")
    fee = known.prices.control_plane
    assert fee is not None
    (gpu,), (cpu,), admin = settings.gpu_pools, settings.cpu_pools, settings.admin_pool
    assert gpu.nodes.hourly_usd is not None
    assert cpu.nodes.hourly_usd is not None
    assert admin.nodes.hourly_usd is not None
    nat = {nodes: price.usd for nodes in (2, 6) if (price := known.prices.nat(nodes, 1))}
    assert settings.cost_idle_hourly == pytest.approx(fee.usd + nat[2] + admin.nodes.hourly_usd + cpu.nodes.hourly_usd)
    pools = 3 * cpu.nodes.hourly_usd + 2 * gpu.nodes.hourly_usd
    assert settings.cost_max_hourly == pytest.approx(fee.usd + nat[6] + admin.nodes.hourly_usd + pools)
    assert settings.max_nodes == 6


def test_budget_flips_at_the_maximum_cost() -> None:
    cost = loaded(good()).cost_max_hourly
    assert cost is not None
    assert loaded(good(budget={"maxHourlyUsd": cost})).budget_hourly_usd == cost
    assert set(refused(good(budget={"maxHourlyUsd": cost - 0.01}))) == {"budget.maxHourlyUsd"}


def test_pod_range_flips_with_one_node_too_many() -> None:
    network = {**GOOD["network"], "podCidr": "10.4.0.0/22"}
    assert loaded(good(network=network, gpuPools=[pool(maxNodes=3)])).max_nodes == 4
    assert set(refused(good(network=network, gpuPools=[pool(maxNodes=4)]))) == {"network.podCidr"}


@pytest.mark.parametrize(
    ("machine", "accepted"),
    [
        ("e2-custom-2-10240", True),
        ("e2-custom-2-9984", False),  # 4.875 GiB per vCPU
        ("e2-standard-4", True),  # 16 GiB in all
        ("e2-standard-2", False),
        ("e2-highmem-2", True),
        ("e2-medium", False),  # shared core
        ("n1-highmem-2", True),
        ("c3-standard-4", True),
    ],
)
def test_admin_machine_flips_at_the_memory_that_system_pods_need(machine: str, accepted: bool) -> None:
    config = good(adminPool={"machineType": machine})
    if accepted:
        assert loaded(config).admin_pool.nodes.machine_type == machine
    else:
        assert set(refused(config)) == {"adminPool.machineType"}


@pytest.mark.parametrize(("extra_milli_cpu", "extra_mib"), [(0, 0), (1, 0), (0, 1)])
def test_admin_machine_flips_when_system_pods_no_longer_fit(extra_milli_cpu: int, extra_mib: int) -> None:
    machine = catalog.of("gke").machines.get("e2-custom-2-10240")
    assert machine is not None
    known = catalog.of("gke")
    room, need = known.nodes.allocatable(machine), system_requests(known.nodes)
    rest = Resources(
        milli_cpu=room.milli_cpu - need.milli_cpu + extra_milli_cpu,
        memory_mib=room.memory_mib // 2 - need.memory_mib + extra_mib,
    )

    more = SystemPod(name="more", request=rest, per_node=True)
    crowded = replace(known, nodes=replace(known.nodes, system_pods=(*known.nodes.system_pods, more)))
    if extra_milli_cpu or extra_mib:
        with pytest.raises(ValueError, match=f"leaves {room.milli_cpu}m CPU and {room.memory_mib} MiB"):
            big_enough(machine, crowded)
    else:
        big_enough(machine, crowded)


def test_address_range_of_everybody_is_accepted_when_written() -> None:
    everybody = {"authorizedNetworks": [{"name": "all", "cidr": "0.0.0.0/0"}]}
    assert loaded(good(network=everybody)).network.authorized_networks[0].cidr == "0.0.0.0/0"


@pytest.mark.parametrize(
    ("cidrs", "accepted"),
    [
        (["17.0.0.0/8"], True),
        (["17.0.0.0/8", "18.0.0.0/32"], False),
        (["0.0.0.0/1", "128.0.0.0/1"], False),
        (["0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2"], False),
        (["0.0.0.0/2", "0.0.0.0/0"], True),
    ],
)
def test_ranges_that_together_are_the_internet_say_so(cidrs: list[str], accepted: bool) -> None:
    network = {"authorizedNetworks": [{"name": "a", "cidr": cidr} for cidr in cidrs]}
    file = yaml.safe_load(OWN_MACHINES.read_text())["config"]
    own = {key.removeprefix("gpucluster:"): value for key, value in file.items()}
    for config in (good(network=network), {**own, "network": network}):
        if accepted:
            loaded(config)
        else:
            assert "0.0.0.0/0 if the whole internet" in refused(config)["network.authorizedNetworks"]


def test_a_private_control_plane_is_on_no_internet_whatever_is_listed() -> None:
    network = {"privateEndpoint": True, "authorizedNetworks": [{"name": "a", "cidr": "0.0.0.0/1"}]}
    config = good(cloud="eks", region="us-west-2", network=network)
    assert load(config, stack="dev", project="us-west-2").network.private_endpoint


def test_another_way_in_needs_no_authorized_network() -> None:
    assert loaded(good(network={"dnsEndpoint": True})).network.authorized_networks == ()


@pytest.mark.parametrize("name", ["p" * 38, "p" * 39])
def test_pool_name_flips_at_40_characters_with_its_size(name: str) -> None:
    config = good(gpuPools=[pool(name=name)])
    if len(f"{name}-1") <= 40:
        assert loaded(config).gpu_pools[0].name == f"{name}-1"
    else:
        assert set(refused(config)) == {"gpuPools[0].name"}


@pytest.mark.parametrize("stack", ["dev", "Dev_1", "a.b-c", "x" * 100, "ünï"])
def test_default_cluster_name_is_valid_for_any_stack(stack: str) -> None:
    name = load(GOOD, stack=stack, project="my-project").cluster_name
    assert loaded(good(clusterName=name)).cluster_name == name


def test_the_engines_json_text_means_the_same() -> None:
    as_text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in GOOD.items()}
    defaults = {"zones": "[]", "clusterName": "", "kubernetes": "{}", "cpuPools": "[]", "budget": "{}", "labels": "{}"}
    assert loaded({**defaults, **as_text}) == loaded(GOOD)


# The key that a mistake is reported at → the way to a key of the file, and its wrong value.
MISTAKES: dict[str, list[Any]] = {
    "availability": ["availability", "everywhere"],
    "clusterName": ["clusterName", "My Cluster"],
    "kubernetes.channel": ["kubernetes", {"channel": "fast"}],
    "network.nodeCidr": ["network", "nodeCidr", "ten"],
    "network.authorizedNetworks[0].cidr": ["network", "authorizedNetworks", 0, "cidr", "ten"],
    "security.deletionProtection": ["security", {"deletionProtection": 1}],
    "adminPool.nodes": ["adminPool", {"nodes": 0}],
    "gpuPools[0].gpu": ["gpuPools", 0, "gpu", "t4"],
    "gpuPools[0].maxNodes": ["gpuPools", 0, "maxNodes", 0],
    "gpuPools[0].minNodes": ["gpuPools", 0, "minNodes", 1],
    "gpuPools[0].drivr": ["gpuPools", 0, "drivr", "managed"],
    "gpuPools[0].labels.kubernetes.io/os": ["gpuPools", 0, "labels", {"kubernetes.io/os": "linux"}],
    "gpuPools[1].gpusPerNode": ["gpuPools", 1, "gpusPerNode", 5],
    "gpuPools[2].name": ["gpuPools", 2, "name", "t4"],
    "cpuPools[0].machineType": ["cpuPools", 0, "machineType", "e2"],
    "labels.Team": ["labels", {"Team": "ml"}],
    "nodePools": ["nodePools", []],
}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(MISTAKES, 2)))
def test_no_mistake_hides_another(one: str, other: str) -> None:
    pools = [pool(), pool(name="l4", gpu="nvidia-l4"), pool(name="v", gpu="nvidia-v100")]
    config = good(gpuPools=pools, cpuPools=[_cpu()])
    loaded(config)
    for *way, last, value in (MISTAKES[one], MISTAKES[other]):
        functools.reduce(operator.getitem, way, config)[last] = value
    assert set(refused(config)) == {one, other}


def test_project_schema_and_model_have_the_same_keys_and_defaults() -> None:
    schema: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]
    every = {**ExistingStackFile.model_fields, **OwnStackFile.model_fields, **StackFile.model_fields}
    fields = {field.alias or name: field for name, field in every.items()}
    assert set(schema) == set(fields)
    for key, field in fields.items():
        kind = type_name(field.annotation).split()[0]
        intro, empty, type = {"list": ("List: ", [], None), "mapping": ("Mapping: ", {}, None)}.get(
            kind, ("", "", "string")
        )
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        optional = key == "existingCluster"  # an empty mapping is not the same as none
        empty = "" if optional else empty
        assert schema[key]["description"] == f"{intro}{field.description}"
        assert schema[key].get("type") == type
        assert schema[key]["default"] == (default if isinstance(default, str) else empty)


def test_configuration_reference_is_up_to_date() -> None:
    assert docs.main(["--check"]) == 0


def _cpu(**changes: Any) -> dict[str, Any]:
    return {"name": "cpu", "machineType": "e2-standard-4", "maxNodes": 2, **changes}


SECTIONS: dict[type[Section], dict[str, Any]] = {
    Access: {"name": "a", "who": "somebody", "role": "developer", "namespaces": ["{}"]},
    Team: {"name": "{}", "gpus": 1},
    SharedVolume: {"namespace": "{}"},
    InferenceService: {"name": "a", "image": "a", "namespace": "{}"},
    Identity: {"serviceAccount": "{}/trainer", "read": ["a"]},
}

OWN = ("research", "1-research", "kube", "gkeep", "a" * 63)
SYSTEM = "kube-system kube-anything gke-managed-system gmp-system aks-command monitoring kueue-system"
REFUSED = (*SYSTEM.split(), "Research", "a_b", "a" * 64)


def naming(section: type[Section], namespace: str) -> Section:
    written = {
        key: [each.format(namespace) for each in value] if isinstance(value, list) else value
        for key, value in SECTIONS[section].items()
    }
    texts = {key: value.format(namespace) for key, value in written.items() if isinstance(value, str)}
    return section.model_validate({**written, **texts})


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("namespace", OWN)
def test_a_namespace_of_your_own_is_taken(section: type[Section], namespace: str) -> None:
    assert namespace in str(naming(section, namespace))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("namespace", REFUSED)
def test_one_of_the_cluster_or_of_nobody_is_refused_with_what_to_write(section: type[Section], namespace: str) -> None:
    with pytest.raises(ValidationError) as refused:
        naming(section, namespace)
    [problem] = refused.value.errors()
    assert "Write " in problem.get("ctx", {})["remedy"]


ONE_OF_EACH_FLOOR: Mapping[str, Any] = {
    "clusterName": "Research",  # a field
    "identities": [{"serviceAccount": "kube-system/x", "read": ["papers"]}],  # a section
    "gpuPools": [
        {
            "name": "t4",
            "gpu": "nvidia-t4",
            "maxNode": 2,
            "mps": {"clientsPerGpu": 4},
            "drivers": "daemonset",
            "mig": "1g",
        },
        {"name": "v100", "gpu": "nvidia-v100", "maxNodes": 2, "placement": "compact"},  # a limit of its cloud
    ],
}


def test_problems_of_all_floors_come_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        loaded(good(**ONE_OF_EACH_FLOOR))
    paths = {problem.path for problem in error.value.problems}
    assert {"clusterName", "identities[0].serviceAccount", "gpuPools[0].maxNode", "gpuPools[1].placement"} <= paths
    assert "gpuPools[0].mig" in paths, "of one pool, too: a row that needs no invalid key"
    assert str(error.value).endswith("More may follow once these are corrected.")


def test_what_needs_an_invalid_key_waits_and_the_last_line_says_so() -> None:
    pools = [pool(placement="compact")]
    with pytest.raises(SettingsError) as error:
        loaded(good(region="us-wst1", gpuPools=pools))
    assert [problem.path for problem in error.value.problems] == ["region"]
    assert error.value.more
    assert set(refused(good(gpuPools=pools))) == {"gpuPools[0].placement"}


def test_a_file_whose_every_check_was_run_does_not_say_that_more_may_follow() -> None:
    with pytest.raises(SettingsError) as error:
        loaded(good(budget={"maxHourlyUsd": 0.01}))
    assert not error.value.more
    assert "More may follow" not in str(error.value)


def test_an_invalid_key_hides_no_equal_names_and_is_judged_as_no_default() -> None:
    """The default number of nodes and machine type of an invalid entry are nobody's: no limit is checked with them."""
    paths = refused(good(gpuPools=[pool(gpu="t4", maxNodes=0), pool(gpu="nvidia-l4")], budget={"maxHourlyUsd": 100}))
    assert set(paths) == {"gpuPools[0].gpu", "gpuPools[0].maxNodes", "gpuPools[1].name"}
