"""The catalogue of AKS agrees with itself, with Azure's SDK, with the gate's table and with figures known elsewhere."""

from __future__ import annotations

import re
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from facts import catalog
from facts.catalog import Machine, Resources
from facts.catalog.aks import nodes
from facts.catalog.tables import by_key, rows
from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Upgrade
from facts.concepts.pool import Pool
from policies.readers.aks.clusters import read_agent_pool
from policies.readers.aks.facts import gpus_of_size
from tests.components import specs

AKS = catalog.of("aks")
GPU_NAMES = list(AKS.machines.accelerators)


def sdk_sizes() -> frozenset[str]:
    """VM sizes with GPUs that some service's models in the installed SDK name."""
    # Found, not imported: the package registers hundreds of modules that load when anything looks at them.
    package = find_spec("pulumi_azure_native")
    assert package is not None
    assert package.origin is not None
    enums = Path(package.origin).parent / "discovery" / "_enums.py"
    return frozenset(re.findall(r'= "(Standard_N[CDV]\w+)"', enums.read_text(encoding="utf-8")))


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_a_spot_pool_has_one_machine_type_unless_its_nodes_are_provisioned_one_by_one(gpu: str) -> None:
    for count in AKS.machines.gpu_counts(gpu):
        smallest = AKS.machines.having(gpu, count)[:1]
        assert AKS.machines.spot_mix(gpu, count, "managed") == smallest
        mixed = AKS.machines.spot_mix(gpu, count, "node-auto-provisioning")
        assert mixed[:1] == smallest
        assert len(mixed) <= 5
        assert {machine.gpus for machine in mixed} == {count}


def test_one_t4_is_in_machines_of_three_sizes() -> None:
    mixed = AKS.machines.spot_mix("nvidia-t4", 1, "node-auto-provisioning")
    assert [machine.vcpus for machine in mixed] == [4, 8, 16]
    assert not AKS.machines.mixes_types("managed")


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        # https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/nc-rtxpro6000-bse-v6-series
        ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", 1),
        ("Standard_NC320lds_xl_RTXPRO6000BSE_v6", 2),
        ("Standard_NV6ads_A10_v5", 1),  # a part of a GPU is one device
        ("Standard_ND40rs_v2", 8),
    ],
)
def test_the_gate_counts_gpus_of_sizes_that_the_catalogue_leaves_out(name: str, gpus: int) -> None:
    assert AKS.machines.get(name) is None
    assert gpus_of_size(name) == gpus


@pytest.mark.parametrize("name", sorted(sdk_sizes()))
def test_the_gpu_sizes_that_the_sdk_names_are_known_or_left_out_on_purpose(name: str) -> None:
    fraction = re.fullmatch(r"Standard_NV(6|12|18|24)ads_A10_v5", name)
    retired = re.fullmatch(r"Standard_(NC\d+r?s?(_v[23])?|ND\d+r?s(_v2)?|NV\d+s?(_v3)?)", name)
    assert (AKS.machines.get(name) is None) == bool(fraction or retired)


def test_burstable_machines_are_marked() -> None:
    shared = {name for name in AKS.machines.types if (machine := AKS.machines.get(name)) and machine.shared_core}
    assert shared == {name for name in AKS.machines.types if name.startswith("Standard_B")}


def test_partitions_are_of_a100_h100_and_h200() -> None:
    partitioned = {gpu for gpu, accelerator in AKS.machines.accelerators.items() if accelerator.partitions}
    memories = ("a100-40gb", "a100-80gb", "h100-nvl-94gb", "h100-80gb", "h200-141gb")
    assert partitioned == {f"nvidia-{each}" for each in memories}


def test_a_region_has_three_zones_or_none() -> None:
    assert AKS.regions["westus"] == ("westus-0",)
    for region, known in AKS.regions.items():
        assert known in (tuple(f"{region}-{number}" for number in (1, 2, 3)), (AKS.outside_zones(region),))


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_a_gpu_is_in_the_zones_of_the_regions_with_a_price_for_it(gpu: str) -> None:
    types = {machine.type for count in AKS.machines.gpu_counts(gpu) for machine in AKS.machines.having(gpu, count)}
    sold = {region for region, type in by_key("aks", "machine_prices", "region", "type") if type in types}
    assert set(AKS.gpu_zones(gpu) or ()) == {zone for region in sold for zone in AKS.regions[region]}


@pytest.mark.parametrize("family", ["Dasv5", "Dadsv5", "Easv5", "Dasv6", "Dadsv6", "Easv6"])
def test_no_price_of_an_amd_machine_is_a_windows_price(family: str) -> None:
    """The source mixes them in, and only they are above the Intel sibling's."""
    sibling = family.replace("a", "", 1)
    table = by_key("aks", "family_prices", "region", "family")
    regions = [region for region, name in table if name == family]
    assert len(regions) > 20
    for region in regions:
        own, other = (float(table[region, name]["vcpu_on_demand"]) for name in (family, sibling))
        assert own <= other


def test_price_tables_name_only_known_regions_and_families() -> None:
    families = {row["family"] for table in ("machines", "other_machines") for row in rows("aks", table)}
    for region, family in by_key("aks", "family_prices", "region", "family"):
        assert family in families
        assert region in AKS.regions
    for region, _ in by_key("aks", "disk_prices", "region", "gib"):
        assert region in AKS.regions


def test_a_disk_is_billed_as_the_next_larger_size() -> None:
    sizes = {gib: AKS.prices.disk("eastus", gib) for gib in (32, 33, 64, 65, 100, 128)}
    assert sizes[33] == sizes[64] != sizes[32]
    assert sizes[65] == sizes[100] == sizes[128] != sizes[64]
    month = sizes[128]
    assert month is not None
    assert 730 * month.usd == pytest.approx(19.71)


def test_a_way_out_costs_the_same_whatever_goes_through_it() -> None:
    gateway = AKS.prices.nat(1, 1)
    assert gateway is not None
    assert gateway.usd == pytest.approx(0.05)
    assert AKS.prices.nat(100, 1) == gateway
    # The load balancer that outlives a zone, however many zones there are.
    balancer = AKS.prices.nat(1, 3)
    assert balancer is not None
    assert balancer.usd == pytest.approx(0.03)
    assert AKS.prices.nat(1, 2) == balancer


def test_no_more_is_offered_than_node_auto_provisioning_expects() -> None:
    """Karpenter on Azure plans with less than a node has: for a pod of 25 GiB it starts no Standard_NC4as_T4_v3."""
    machine = AKS.machines.get("Standard_NC4as_T4_v3")
    assert machine is not None
    left = AKS.nodes.allocatable(machine)
    assert left.memory_mib > 25_000
    assert AKS.nodes.offered(machine, "managed") == left
    # 28 GiB less 7.5 % (2151 MiB), a quarter, a fifth, a tenth and 6 % of 4, 4, 8 and 12 GiB (3399 MiB), and 750 MiB.
    expected = Resources(milli_cpu=left.milli_cpu, memory_mib=22_372)
    assert AKS.nodes.offered(machine, "node-auto-provisioning") == expected


def test_reserved_memory_is_the_smaller_of_two_rules() -> None:
    small, large = (Machine(type="x", family="x", vcpus=4, memory_gib=gib) for gib in (8, 64))
    eviction = 100
    # A quarter of the memory, and 20 MiB for each of 110 pods and 50 MiB more; a 64th and 162 MiB are the kernel's.
    assert nodes.allocatable(small) == Resources(milli_cpu=3860, memory_mib=6 * 1024 - eviction - 290)
    assert nodes.allocatable(large) == Resources(milli_cpu=3860, memory_mib=64 * 1024 - 2250 - eviction - 1186)


def test_spot_taints_are_those_that_the_gate_knows() -> None:
    from policies.readers.resource import Declared

    inputs = {"scaleSetPriority": "Spot", "vmSize": "Standard_NC4as_T4_v3", "resourceName": "c", "agentPoolName": "a"}
    (group,) = read_agent_pool(Declared("t", "n", "urn", inputs))
    assert isinstance(group, NodeGroup)
    spot = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")
    assert group.nodes.taints == AKS.labels.spot_taints == (spot,)


# Machines of 2 and 4 vCPUs.
CPUS = partial(specs.cpu_pool, machine_types=("Standard_D2s_v5",), max_nodes=3)
T4 = partial(specs.gpu_pool, machine_types=("Standard_NC4as_T4_v3",), capacity_type="on-demand", max_nodes=2)


@pytest.mark.parametrize(
    ("pool", "vcpus"),
    [
        # One node, and one more while it is upgraded.
        (specs.admin_pool(machine_types=("Standard_D2s_v5",)), 4),
        (CPUS(), 8),
        (CPUS(upgrade=Upgrade(max_surge=2)), 10),
        (CPUS(upgrade=Upgrade(max_unavailable=1)), 6),
        (CPUS(capacity_type="spot"), 6),
        (T4(), 8),
        (T4(upgrade=Upgrade(drain_minutes=5)), 8),
        (T4(upgrade=Upgrade(max_surge=1)), 12),
    ],
)
def test_quota_has_room_for_the_nodes_that_an_upgrade_adds(pool: Pool, vcpus: int) -> None:
    needed = {quota.name: quota.needed for quota in AKS.account.quotas("eastus", [pool], 1) if quota.unit == "vCPUs"}
    assert set(needed.values()) == {vcpus}


@pytest.mark.parametrize(
    ("size", "family"),
    [
        ("Standard_NC4as_T4_v3", "Standard NCASv3_T4 Family"),
        ("Standard_ND96asr_v4", "Standard NDASv4_A100 Family"),
        ("Standard_ND96amsr_A100_v4", "standard NDAMSv4_A100Family"),
        ("Standard_ND96isr_H100_v5", "standardNDSH100v5Family"),
        ("Standard_ND96isr_H200_v5", "standardNDISRH200V5Family"),
    ],
)
def test_families_have_the_names_of_azures_api_blanks_included(size: str, family: str) -> None:
    """https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/azure/azure_instance_types.go"""
    pool = specs.gpu_pool(machine_types=(size,), capacity_type="on-demand")
    assert family in {quota.name for quota in AKS.account.quotas("eastus", [pool], 1)}
