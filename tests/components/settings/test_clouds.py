"""What a stack file means on every cloud: the same where the words are the same, its catalogue's where it differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.settings import Settings, SettingsError, from_stack_file, load
from components.settings.fields.check import big_enough
from components.settings.pools.expand import zone_suffix
from components.settings.read import known_account_keys
from facts import catalog
from facts.concepts.pool import GPU_TAINT, POOL_LABEL, SIZE_KEY, Pool, size_taint
from tests import one_stack

each_cloud = pytest.mark.parametrize("cloud", one_stack.CLOUDS)


GROUPS = {"autoscaler": "cluster-autoscaler"}
ANYBODY = [{"name": "all", "cidr": "0.0.0.0/0"}]


def load_stack(cloud: str, **changes: Any) -> Settings:
    return load(own_keys(cloud, **changes), stack="one", project=account(cloud))


def own_keys(cloud: str, **changes: Any) -> dict[str, Any]:
    config = one_stack.config(cloud, **changes)
    return {key.partition(":")[2]: value for key, value in config.items() if key.startswith("gpucluster:")}


def account(cloud: str) -> str:
    return str(one_stack.config(cloud)[catalog.of(cloud).account.key])


def t4(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 3, **changes}]


def problems(cloud: str, **changes: Any) -> dict[str, str]:
    """Key path → the lines about it."""
    with pytest.raises(SettingsError) as refused:
        load_stack(cloud, **changes)
    by_path: dict[str, str] = {}
    for problem in refused.value.problems:
        by_path[problem.path] = by_path.get(problem.path, "") + str(problem)
    return by_path


def of_entry(settings: Settings, entry: str) -> list[Pool]:
    pools: Sequence[Pool] = (*settings.gpu_pools, *settings.cpu_pools)
    return [pool for pool in pools if pool.declared_at == entry]


def test_every_cloud_with_a_catalogue_has_the_one_stack() -> None:
    assert catalog.clouds() == one_stack.CLOUDS


@each_cloud
def test_an_account_is_asked_for_by_the_providers_own_key(cloud: str) -> None:
    known = catalog.of(cloud)
    assert known.account.key in known_account_keys()
    with pytest.raises(SettingsError, match=f"Add the line '{known.account.key}: "):
        load(own_keys(cloud), stack="one", project=None)


@each_cloud
def test_a_stack_file_is_read_with_its_account(cloud: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.one.yaml"
    file.write_text(one_stack.text(cloud))
    settings = from_stack_file(file)
    assert settings == load_stack(cloud)
    assert settings.project == account(cloud)


@each_cloud
def test_the_default_admin_machine_is_good_enough_itself(cloud: str) -> None:
    known = catalog.of(cloud)
    admin = known.machines.get(known.machines.default_admin)
    assert admin is not None
    big_enough(admin, known)


@each_cloud
def test_what_the_file_leaves_out_comes_from_the_catalogue(cloud: str) -> None:
    known, settings = catalog.of(cloud), load_stack(cloud)
    assert {
        name: getattr(settings.network, name) for name in known.choices.default_ranges
    } == known.choices.default_ranges
    assert known.choices.default_ranges.keys() == {"node_cidr", "pod_cidr", "service_cidr"}
    assert settings.autoscaler == known.choices.autoscalers[0]
    assert (settings.unneeded_minutes, settings.addons) == (None, ())
    assert {pool.nodes.image for pool in settings.gpu_pools} == {known.nodes.images[0]}
    assert settings.admin_pool.nodes.machine_type == known.machines.default_admin
    assert {pool.nodes.machine_type for pool in settings.cpu_pools} == {known.machines.default_cpu}


@each_cloud
def test_a_written_range_replaces_the_default_and_stays_apart_from_the_others(cloud: str) -> None:
    network = {"authorizedNetworks": ANYBODY, "nodeCidr": "192.168.0.0/16"}
    assert load_stack(cloud, network=network).network.node_cidr == "192.168.0.0/16"
    service = catalog.of(cloud).choices.default_ranges["service_cidr"]
    assert "overlaps" in problems(cloud, network={**network, "nodeCidr": service})["network.serviceCidr"]


@each_cloud
def test_nodes_that_no_longer_fit_their_range_are_refused(cloud: str) -> None:
    """One node less than the range has room for is accepted; each node takes the addresses that the catalogue says."""
    known = catalog.of(cloud)
    pods_apart = known.choices.default_ranges["pod_cidr"] is not None
    each, size = (1, 64) if pods_apart else (known.nodes.pod_addresses, 2**16)
    room = (size - known.choices.reserved_addresses) // each
    network = {"authorizedNetworks": ANYBODY, "nodeCidr": f"10.0.0.0/{33 - size.bit_length()}"}
    refused = problems(cloud, network=network, availability="zonal", cpuPools=[], gpuPools=t4(maxNodes=room))
    # Where nodes and pods share a range, each zone has a part of it.
    assert (f"has room for {room} nodes" if pods_apart else f"({each} addresses each)") in refused["network.nodeCidr"]
    assert f"may grow to {room + 1}" in refused["network.nodeCidr"]


@each_cloud
def test_pools_have_final_names_labels_and_taints(cloud: str) -> None:
    known, settings = catalog.of(cloud), load_stack(cloud)
    smallest = min(pool.gpus.per_node for pool in settings.gpu_pools)
    for pool in settings.gpu_pools:
        assert pool.nodes.labels[POOL_LABEL] == pool.name
        assert pool.nodes.labels[SIZE_KEY] == str(pool.gpus.per_node)
        assert known.labels.of_gpu(pool.gpus.type).items() <= pool.nodes.labels.items()
        assert GPU_TAINT in pool.nodes.taints
        assert (size_taint(pool.gpus.per_node) in pool.nodes.taints) == (pool.gpus.per_node > smallest)
    for pool in (*settings.gpu_pools, *settings.cpu_pools):
        assert set(known.labels.spot_taints) & set(pool.nodes.taints) == (
            set(known.labels.spot_taints) if pool.scaling.spot else set()
        )
        assert len(set(pool.nodes.taints)) == len(pool.nodes.taints)
    for pool in of_entry(settings, "gpuPools[0]"):
        assert pool.nodes.labels["nvidia.com/gpu"] == "true"
        assert pool.nodes.labels["team"] == "vision"


@each_cloud
def test_a_taint_that_the_cloud_puts_on_spot_nodes_may_be_written_too(cloud: str) -> None:
    written = [
        {"key": each.key, "value": each.value, "effect": each.effect} for each in catalog.of(cloud).labels.spot_taints
    ]
    pools = t4(capacity="spot")
    plain = load_stack(cloud, gpuPools=pools).gpu_pools
    if written:
        repeated = load_stack(cloud, gpuPools=t4(capacity="spot", taints=written)).gpu_pools
        assert repeated == plain
    assert all(len(set(pool.nodes.taints)) == len(pool.nodes.taints) for pool in plain)


@each_cloud
def test_one_pool_or_one_for_each_zone_as_the_cloud_needs(cloud: str) -> None:
    known, settings = catalog.of(cloud), load_stack(cloud)
    for entry, gpu in [(f"gpuPools[{index}]", True) for index in range(2)] + [("cpuPools[0]", False)]:
        for spot in (True, False):
            pools = [pool for pool in of_entry(settings, entry) if pool.scaling.spot is spot]
            if not pools:
                continue
            sizes = len({pool.gpus.per_node for pool in pools if pool.role == "gpu"}) or 1
            if known.machines.pool_per_zone(gpu=gpu, spot=spot, zones=3, autoscaler=settings.autoscaler):
                assert len(pools) == sizes * len({pool.nodes.zones for pool in pools})
                assert all(len(pool.nodes.zones) == 1 for pool in pools)
                assert all(
                    pool.name.endswith("-" + zone_suffix(pool.nodes.zones[0], settings.region)) for pool in pools
                )
            else:
                assert len(pools) == sizes
            assert len({pool.scaling.max_nodes for pool in pools}) == 1, "each zone grows as far as the entry says"


@pytest.mark.parametrize(
    ("autoscaler", "changes", "names"),
    [
        ("karpenter", {"gpusPerNode": [1, 4]}, ["t4-1-spot", "t4-1-ondemand", "t4-4-spot", "t4-4-ondemand"]),
        (
            "cluster-autoscaler",
            {"gpusPerNode": [1, 4]},
            [f"t4-{size}-{capacity}-{zone}" for size in (1, 4) for capacity in ("spot", "ondemand") for zone in "abc"],
        ),
        # On demand in one zone, there is nothing to balance.
        ("cluster-autoscaler", {"zones": ["us-west-2b"]}, ["t4-1-spot-b", "t4-1-ondemand"]),
    ],
)
def test_gpus_are_one_pool_per_zone_where_zones_are_balanced_behind_the_autoscaler(
    autoscaler: str, changes: dict[str, Any], names: list[str]
) -> None:
    pools = t4(capacity="spot-with-fallback", **changes)
    settings = load_stack("eks", gpuPools=pools, cpuPools=[], autoscaling={"autoscaler": autoscaler})
    assert sorted(pool.name for pool in settings.gpu_pools) == sorted(names)
    assert settings.max_nodes == settings.admin_pool.scaling.min_nodes + 3 * len(names)


@pytest.mark.parametrize(
    ("zone", "region", "suffix"),
    [
        ("us-west-2a", "us-west-2", "a"),
        ("us-central1-a", "us-central1", "a"),
        ("eastus-1", "eastus", "1"),
        ("us-west-2-lax-1a", "us-west-2", "lax-1a"),
    ],
)
def test_a_zones_suffix_is_what_it_adds_to_its_region(zone: str, region: str, suffix: str) -> None:
    assert zone_suffix(zone, region) == suffix


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_zone_suffixes_distinguish_the_zones_of_every_region(cloud: str) -> None:
    for region, zones in catalog.of(cloud).regions.items():
        suffixes = {zone_suffix(zone, region) for zone in zones}
        assert len(suffixes) == len(zones), region
        assert all(suffix.replace("-", "").isalnum() for suffix in suffixes), region


@each_cloud
def test_a_spot_pool_mixes_what_the_catalogue_says_and_an_on_demand_pool_nothing(cloud: str) -> None:
    known = catalog.of(cloud)
    for pool in load_stack(cloud).gpu_pools:
        mix = known.machines.spot_mix(pool.gpus.type, pool.gpus.per_node, known.choices.autoscalers[0])
        mixed = tuple(machine.type for machine in mix)
        assert pool.nodes.machine_types == (mixed if pool.scaling.spot else (pool.nodes.machine_type,))
        first = known.machines.having(pool.gpus.type, pool.gpus.per_node)[0].type
        assert pool.nodes.machine_type == pool.nodes.machine_types[0] == first


def test_named_types_are_planned_with_the_smallest_whatever_their_order() -> None:
    types = ["g4dn.4xlarge", "g4dn.xlarge", "g4dn.2xlarge"]
    pools = t4(capacity="spot-with-fallback", machineType=types)
    spot, on_demand = load_stack("eks", zones=["us-west-2a"], gpuPools=pools).gpu_pools
    assert spot.nodes.machine_types == ("g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge")
    assert spot.nodes.machine_type == "g4dn.xlarge"
    # The fallback is for when no spot node is to be had, and no mixture makes that likelier.
    assert (on_demand.nodes.machine_type, on_demand.nodes.machine_types) == ("g4dn.xlarge", ("g4dn.xlarge",))
    assert spot.nodes.hourly_usd == load_stack("eks", zones=["us-west-2a"], gpuPools=t4(
        capacity="spot", machineType="g4dn.xlarge")).gpu_pools[0].nodes.hourly_usd  # fmt: skip


def test_a_cpu_pools_fallback_has_one_type_too() -> None:
    types = ["m5a.xlarge", "m5.xlarge", "m6i.2xlarge"]
    cpu = [{"name": "c", "maxNodes": 2, "capacity": "spot-with-fallback", "machineType": types}]
    spot, on_demand = load_stack("eks", cpuPools=cpu).cpu_pools
    assert sorted(spot.nodes.machine_types) == sorted(types)
    assert on_demand.nodes.machine_types == (spot.nodes.machine_type,)


def test_a_growing_spot_admin_pool_of_mixed_machines() -> None:
    types = ["m4.2xlarge", "m4.4xlarge", "m5.2xlarge", "m5a.4xlarge", "c4.2xlarge", "c5.4xlarge"]
    pool = {"capacity": "spot", "machineType": types, "maxNodes": 20, "diskGb": 100}
    settings = load_stack("eks", autoscaling=GROUPS, adminPool=pool)
    admin = settings.admin_pool
    assert (admin.scaling.spot, admin.scaling.min_nodes, admin.scaling.max_nodes) == (True, 3, 20)
    assert admin.nodes.machine_type == "c4.2xlarge"
    assert sorted(admin.nodes.machine_types) == sorted(types)
    fixed = load_stack("eks", autoscaling=GROUPS, adminPool={**pool, "maxNodes": 3})
    assert settings.max_nodes - fixed.max_nodes == 17


def test_nodes_that_the_autoscaler_may_add_to_the_admin_pool_count_in_the_maximum_only() -> None:
    growing, fixed = (load_stack("eks", autoscaling=GROUPS, adminPool={"maxNodes": most}) for most in (20, 3))
    price = growing.admin_pool.nodes.hourly_usd
    assert growing.cost_idle_hourly == fixed.cost_idle_hourly
    assert growing.cost_max_hourly is not None
    assert fixed.cost_max_hourly is not None
    assert price is not None
    assert growing.cost_max_hourly - fixed.cost_max_hourly == pytest.approx(17 * price)


@each_cloud
@pytest.mark.parametrize("availability", ["zonal", "regional"])
def test_the_way_out_is_one_per_zone_where_the_stack_is_regional(cloud: str, availability: str) -> None:
    assert load_stack(cloud, availability=availability).nat_per_zone is (availability == "regional")


def test_a_written_nat_decides_and_counts_in_the_costs() -> None:
    def idle(nat: str) -> float:
        settings = load_stack("eks", availability="zonal", network={"privateEndpoint": True, "nat": nat})
        assert settings.nat_per_zone is (nat == "per-zone")
        assert settings.cost_idle_hourly is not None, settings.unpriced
        return settings.cost_idle_hourly

    three, one = (catalog.of("eks").prices.nat(1, gateways) for gateways in (3, 1))
    assert three is not None
    assert one is not None
    assert one.usd < three.usd
    assert idle("per-zone") - idle("single") == pytest.approx(three.usd - one.usd)


def test_idle_minutes_of_a_pool_and_of_the_stack_stay_apart() -> None:
    settings = load_stack("eks", autoscaling={"unneededMinutes": 10}, gpuPools=t4(unneededMinutes=1440))
    assert settings.unneeded_minutes == 10
    assert {pool.scaling.unneeded_minutes for pool in settings.gpu_pools} == {1440}
    assert {pool.scaling.unneeded_minutes for pool in settings.cpu_pools} == {None}


def test_a_pool_per_zone_takes_names_only_of_zones_that_have_its_gpu() -> None:
    """The V100 is in two of the region's zones; a name that the third would have is free."""
    pools = [{"name": "v", "gpu": "nvidia-v100-32gb", "gpusPerNode": 8, "capacity": "spot", "maxNodes": 1}]
    cpu = [{"name": "v-8-a", "maxNodes": 1}]
    names = [pool.name for pool in load_stack("eks", autoscaling=GROUPS, gpuPools=pools, cpuPools=cpu).gpu_pools]
    assert names == ["v-8-b", "v-8-c"]
    by_path = problems("eks", autoscaling=GROUPS, gpuPools=pools, cpuPools=[{**cpu[0], "name": "v-8-b"}])
    assert "v-8-b" in by_path["cpuPools[0].name"]


def test_names_of_zones_are_free_where_the_autoscaler_needs_no_pool_per_zone() -> None:
    changes = {"gpuPools": t4(capacity="spot"), "cpuPools": [{"name": "t4-1-b", "maxNodes": 1}]}
    assert "cpuPools[0].name" in problems("eks", autoscaling=GROUPS, **changes)
    assert load_stack("eks", **changes).cpu_pools[0].name == "t4-1-b"


def test_the_same_words_make_the_same_pools_on_every_cloud() -> None:
    """Names of on-demand pools, sizes, maxima, preferences and the contract's labels do not depend on the cloud."""

    def shape(settings: Settings) -> list[tuple[object, ...]]:
        pools = [pool for pool in (*settings.gpu_pools, *settings.cpu_pools) if not pool.scaling.spot]
        return [
            (
                pool.name,
                pool.scaling.min_nodes,
                pool.scaling.max_nodes,
                pool.scaling.preference,
                pool.declared_at,
                pool.nodes.labels.get(SIZE_KEY),
            )
            for pool in pools
        ]

    shapes = [shape(load_stack(cloud)) for cloud in one_stack.CLOUDS]
    assert shapes[0]
    assert all(other == shapes[0] for other in shapes)
