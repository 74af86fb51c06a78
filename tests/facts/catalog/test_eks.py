"""The AWS catalogue agrees with itself and with Amazon's own listings as moto keeps them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from pydantic_core import PydanticCustomError

from components.settings import SettingsError, load
from components.settings.fields.check import big_enough
from facts import catalog
from facts.catalog import CloudCatalog, Machine
from facts.catalog.eks import nodes
from facts.catalog.eks.cloud import CATALOG
from facts.catalog.eks.nodes import network_interfaces
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS
from facts.catalog.gpu_machines import gpu_machines
from policies.readers.eks.facts import gpus_of

# Declared, so that the type checker holds the catalogue against the protocol.
EKS: CloudCatalog = CATALOG
GPU_NAMES = list(EKS.machines.accelerators)
SIZES = [(gpu, count) for gpu in GPU_NAMES for count in EKS.machines.gpu_counts(gpu)]
COMMERCIAL = [region for region in RegionsAndZonesBackend.zones if not region.startswith(("cn-", "us-gov-"))]
# https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
WITHOUT_CONTROL_PLANE = {"use1-az3", "usw1-az2", "cac1-az3"}
# What Amazon's listing calls each GPU, and its MiB less what error correction takes.
LISTED_AS = {
    "nvidia-t4": ("T4", 16384),
    "nvidia-t4g": ("T4g", 16384),
    "nvidia-a10g": ("A10G", 22888),
    "nvidia-l4": ("L4", 22888),
    "nvidia-l40s": ("L40S", 45776),
    "nvidia-rtx-pro-4500": ("RTX PRO 4500", 32768),
    "nvidia-rtx-pro-6000": ("RTX PRO Server 6000", 98304),
    "nvidia-v100-32gb": ("V100", 32768),
    "nvidia-a100-40gb": ("A100", 40960),
    "nvidia-a100-80gb": ("A100", 81920),
    "nvidia-h100-80gb": ("H100", 81920),
    "nvidia-h200-141gb": ("H200", 144384),
    "nvidia-b200": ("B200", 183359),
    "nvidia-b300": ("B300", 275040),
    "aws-inferentia2": ("Inferentia2", 32768),
    "aws-trainium1": ("Trainium", 32768),
    # It lists too much: a chip has 96 GiB.
    # https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html
    "aws-trainium2": ("Trainium2", 524288),
}
# Machine → its RDMA devices.
RDMA = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
    "p6-b300.48xlarge": 16,
}


def moto(*path: str) -> Any:
    """A file of moto's copy of Amazon's listings, ``None`` if there is no such file."""
    file = (files("moto.ec2") / "resources").joinpath(*path)
    return json.loads(gzip.decompress(file.read_bytes())) if file.is_file() else None


@cache
def listing() -> dict[str, Any]:
    """Machine type → what ``DescribeInstanceTypes`` says of it."""
    return moto("instance_types.json.gz")


@cache
def offerings(region: str, kind: str = "availability-zone") -> dict[str, set[str]] | None:
    """Machine type → zones, ``None`` for a region without a listing."""
    offers = moto("instance_type_offerings", kind, f"{region}.json.gz")
    if offers is None:
        return None
    zones: dict[str, set[str]] = {}
    for offer in offers:
        zones.setdefault(offer["InstanceType"], set()).add(offer["Location"])
    return zones


def listed_nvidia() -> dict[str, list[dict[str, Any]]]:
    gpus = {name: entry.get("GpuInfo", {}).get("Gpus", ()) for name, entry in listing().items()}
    nvidia = {name: [gpu for gpu in each if gpu["Manufacturer"] == "NVIDIA"] for name, each in gpus.items()}
    return {name: each for name, each in nvidia.items() if each}


def ours(name: str) -> dict[str, Any]:
    """A machine of the catalogue in Amazon's figures."""
    machine = EKS.machines.get(name)
    assert machine is not None
    return {
        "type": machine.type,
        "vcpus": machine.vcpus,
        "memory": machine.memory_gib * 1024,
        "burstable": machine.shared_core,
        "blocks": machine.blocks,
        "disks": machine.local_ssds,
        "disks_gb": machine.local_gb,
        "gpus": machine.gpus,
        "gpu": LISTED_AS[machine.gpu] if machine.gpu else None,
        "architecture": {"amd64": "x86_64", "arm64": "arm64"}[machine.arch],
        "spot": bool(machine.gpus),
    }


def amazons(name: str) -> dict[str, Any]:
    """The same as Amazon lists it; where it offers several, the one that the catalogue has."""
    listed = listing()[name]
    gpus = [*listed.get("GpuInfo", {}).get("Gpus", ()), *listed.get("NeuronInfo", {}).get("NeuronDevices", ())]
    (gpu,) = [(each["Name"], each["MemoryInfo"]["SizeInMiB"]) for each in gpus] or [None]
    assert "on-demand" in listed["SupportedUsageClasses"]
    architecture, spot = ours(name)["architecture"], ours(name)["spot"]
    return {
        "type": name,
        "vcpus": listed["VCpuInfo"]["DefaultVCpus"],
        "memory": listed["MemoryInfo"]["SizeInMiB"],
        "burstable": listed["BurstablePerformanceSupported"],
        "blocks": "capacity-block" in listed["SupportedUsageClasses"],
        "disks": sum(disk["Count"] for disk in listed.get("InstanceStorageInfo", {}).get("Disks", ())),
        "disks_gb": listed.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "gpus": sum(each["Count"] for each in gpus),
        "gpu": gpu,
        "architecture": architecture if architecture in listed["ProcessorInfo"]["SupportedArchitectures"] else None,
        "spot": spot and "spot" in listed["SupportedUsageClasses"],
    }


def test_every_machine_is_as_amazon_lists_it() -> None:
    assert len(EKS.machines.types) > 300
    assert {name: ours(name) for name in EKS.machines.types} == {name: amazons(name) for name in EKS.machines.types}


def test_the_rdma_devices_of_whole_machines_are_those_that_amazon_lists() -> None:
    assert {each.type: each.rdma_devices for each in EKS.machines.with_rdma} == RDMA
    for machine in EKS.machines.with_rdma:
        assert machine.gpu is not None
        assert machine.gpus == max(EKS.machines.gpu_counts(machine.gpu))
        listed = listing()[machine.type]["NetworkInfo"]
        assert machine.rdma_devices == listed["EfaInfo"]["MaximumEfaInterfaces"]


@pytest.mark.parametrize("name", RDMA)
def test_every_interface_is_on_a_card_that_has_it(name: str) -> None:
    cards = {each["NetworkCardIndex"]: each for each in listing()[name]["NetworkInfo"]["NetworkCards"]}
    planned = network_interfaces(name, RDMA[name])
    assert len({(card, index) for card, index, _ in planned}) == len(planned) == RDMA[name] + 1
    for card, index, kind in planned:
        assert index < cards[card]["MaximumNetworkInterfaces"]
        assert kind in cards[card]["InterfaceTypes"]


def test_every_gpu_has_its_name_in_amazons_listing() -> None:
    assert set(GPU_NAMES) == set(LISTED_AS), "LISTED_AS above has a row for each GPU of facts/catalog/eks/data/gpus.csv"


def test_no_machine_with_whole_nvidia_gpus_is_missing() -> None:
    assert {name for name, gpus in listed_nvidia().items() if gpus[0]["Count"]} - set(EKS.machines.types) == set()


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_every_gpu_has_a_shared_name_and_its_memory(gpu: str) -> None:
    listed_gib = 96 if gpu == "aws-trainium2" else LISTED_AS[gpu][1] / 1024
    # Error correction takes a part of GDDR memory, never more than a tenth.
    assert listed_gib * 0.97 <= catalog.GPUS[gpu].memory_gib <= listed_gib * 1.1


def test_labels_tell_gpus_apart_and_are_valid_values() -> None:
    values = [EKS.labels.of_gpu(gpu) for gpu in GPU_NAMES if gpu.startswith("nvidia-")]
    assert all(list(value) == ["k8s.amazonaws.com/accelerator"] for value in values)
    names = [value["k8s.amazonaws.com/accelerator"] for value in values]
    assert len(set(names)) == len(names)
    assert names == [EKS.machines.accelerators[gpu].name for gpu in GPU_NAMES if gpu.startswith("nvidia-")]


def test_with_the_label_the_autoscaler_would_wait_for_nvidia_gpus_on_nodes_with_other_chips() -> None:
    others = [gpu for gpu in GPU_NAMES if not gpu.startswith("nvidia-")]
    assert "aws-trainium1" in others
    assert {gpu: EKS.labels.of_gpu(gpu) for gpu in others} == {gpu: {} for gpu in others}


def test_families_with_withdrawn_gpus_are_not_sold() -> None:
    families = {name.partition(".")[0] for name in listing()}
    assert families.isdisjoint({"p2", "p3", "g3", "g3s"})


@pytest.mark.parametrize(("gpu", "count"), SIZES)
def test_machines_of_a_size_are_the_smallest_first(gpu: str, count: int) -> None:
    machines = EKS.machines.having(gpu, count)
    assert list(machines) == sorted(machines, key=lambda machine: (machine.vcpus, machine.memory_gib))
    assert all(EKS.machines.with_gpus(machine.type, gpu, count + 1) is None for machine in machines)


@pytest.mark.parametrize(("gpu", "count"), SIZES)
def test_the_machine_that_settings_derive_is_sold_on_demand(gpu: str, count: int) -> None:
    region = {"trn2.3xlarge": "ap-southeast-4", "trn2.48xlarge": "us-east-2"}
    first = EKS.machines.having(gpu, count)[0]
    assert EKS.prices.machine(region.get(first.type, "us-east-1"), first, spot=False) is not None


@pytest.mark.parametrize(("gpu", "count"), SIZES)
def test_what_fits_the_first_spot_machine_fits_each(gpu: str, count: int) -> None:
    first, *others = EKS.machines.spot_mix(gpu, count, "karpenter")
    assert first.type.endswith(".metal") == ((gpu, count) == ("nvidia-t4", 8))
    assert len(others) <= 4
    room = EKS.nodes.allocatable(first)
    for other in others:
        assert (other.gpu, other.gpus) == (gpu, count)
        assert EKS.nodes.allocatable(other).milli_cpu >= room.milli_cpu
        assert EKS.nodes.allocatable(other).memory_mib >= room.memory_mib


def test_a_spot_pool_of_the_common_gpus_has_a_choice() -> None:
    for gpu in ("nvidia-t4", "nvidia-a10g", "nvidia-l4", "nvidia-l40s"):
        assert len(EKS.machines.spot_mix(gpu, 1, "karpenter")) >= 4
    assert EKS.machines.spot_mix("nvidia-l4", 3, "karpenter") == ()
    # Sold on spot, as DescribeInstanceTypes says (``SupportedUsageClasses``), and the only one of its size.
    assert [machine.type for machine in EKS.machines.spot_mix("nvidia-t4", 8, "karpenter")] == ["g4dn.metal"]


@pytest.mark.parametrize(("gpu", "count"), SIZES)
def test_what_plans_with_one_machine_mixes_none_of_another_size(gpu: str, count: int) -> None:
    mixed, wide = (EKS.machines.spot_mix(gpu, count, autoscaler) for autoscaler in ("cluster-autoscaler", "karpenter"))
    assert len({(machine.vcpus, machine.memory_gib) for machine in mixed}) <= 1
    assert mixed[:1] == wide[:1]
    assert set(mixed) <= set(wide)


def test_regions_and_zones_are_amazons() -> None:
    listed = {region: RegionsAndZonesBackend.zones[region] for region in COMMERCIAL}
    usable = {
        region: [zone for zone in zones if zone.zone_id not in WITHOUT_CONTROL_PLANE]
        for region, zones in listed.items()
    }
    expected = {region: tuple(zone.name for zone in zones) for region, zones in usable.items()}
    assert dict(EKS.regions) == expected


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_zones_are_those_that_offer_the_machine_and_a_gpu_is_where_any_of_its_machines_is(gpu: str) -> None:
    machines = [machine for count in EKS.machines.gpu_counts(gpu) for machine in EKS.machines.having(gpu, count)]
    offers = [(zones, offerings(region) or {}) for region, zones in EKS.regions.items()]
    offered = {m.type: {zone for zones, by in offers for zone in by.get(m.type, {}) if zone in zones} for m in machines}
    assert {machine.type: set(EKS.machine_zones(machine) or ()) for machine in machines} == offered
    assert set(EKS.gpu_zones(gpu) or ()) == set.union(*offered.values())


@pytest.mark.slow
@pytest.mark.parametrize("autoscaler", EKS.choices.autoscalers)
def test_settings_put_each_size_only_where_its_machines_are_sold(autoscaler: str) -> None:
    for region, offered in ((region, offerings(region)) for region in EKS.regions):
        for gpu, size in SIZES if offered else ():
            pool = {"name": "p", "gpu": gpu, "gpusPerNode": size, "capacity": "spot", "maxNodes": 1}
            keys = {"cloud": "eks", "region": region, "gpuPools": [pool], "autoscaling": {"autoscaler": autoscaler}}
            network = {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]}
            first, refused = EKS.machines.having(gpu, size)[0].type, ""
            try:
                pools = load({**keys, "network": network}, stack="s", project=region).gpu_pools
            except SettingsError as error:
                pools, refused = (), str(error)
            assert offered
            sold = offered.get(first, set()) & {*EKS.regions[region]}
            assert bool(sold) == bool(pools), refused
            assert (f"no zone of {region} is known to have {gpu} (machine type {first})" in refused) == (not sold)
            for each in pools:
                assert all(offered[name] & {*each.nodes.zones} for name in each.nodes.machine_types)
                if autoscaler == "karpenter" and region in EKS.own_zone_names:
                    assert each.nodes.zones == EKS.regions[region]
                else:
                    assert {*each.nodes.zones} <= offered[each.nodes.machine_type]


@pytest.mark.parametrize(
    ("autoscaler", "zones"), [("karpenter", ("us-east-1a", "us-east-1c")), ("cluster-autoscaler", ("us-east-1c",))]
)
def test_karpenter_may_use_zones_that_only_another_account_lacks(autoscaler: str, zones: tuple[str, ...]) -> None:
    # The account of the listing calls use1-az6 us-east-1c; that of moto's zones calls it us-east-1a.
    assert (offerings("us-east-1") or {})["trn1.2xlarge"] == {"us-east-1c", "us-east-1f"}
    assert (offerings("us-east-1", "availability-zone-id") or {})["trn1.2xlarge"] == {"use1-az5", "use1-az6"}
    assert {zone.zone_id: zone.name for zone in RegionsAndZonesBackend.zones["us-east-1"]}["use1-az6"] == "us-east-1a"
    keys = {
        "cloud": "eks",
        "region": "us-east-1",
        "zones": ["us-east-1a", "us-east-1c"],
        "gpuPools": [{"name": "p", "gpu": "aws-trainium1", "maxNodes": 1}],
        "autoscaling": {"autoscaler": autoscaler},
        "network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
    }
    assert load(keys, stack="s", project="us-east-1").gpu_pools[0].nodes.zones == zones


@pytest.mark.parametrize("name", [EKS.machines.default_admin, EKS.machines.default_cpu])
def test_default_machines_exist_in_the_zones_of_most_regions(name: str) -> None:
    listed = {region: zones for region in EKS.regions if (zones := offerings(region)) is not None}
    lacking = {region for region, zones in listed.items() if not set(EKS.regions[region]) <= zones.get(name, set())}
    assert lacking <= {"ap-southeast-3", "ap-southeast-4", "eu-south-2"}


@pytest.mark.parametrize(
    ("name", "carries"),
    [
        (EKS.machines.default_admin, True),
        ("m6i.large", True),
        ("t3.large", True),
        ("c6i.large", False),
        ("t3.medium", False),
    ],
)
def test_an_admin_machine_carries_the_system_pods(name: str, carries: bool) -> None:
    machine = EKS.machines.get(name)
    assert machine is not None
    if carries:
        big_enough(machine, EKS)
        return
    with pytest.raises(PydanticCustomError, match=name):
        big_enough(machine, EKS)


def node(vcpus: int, memory_gib: float) -> Machine:
    return Machine(type="x", family="x", vcpus=vcpus, memory_gib=memory_gib)


@pytest.mark.parametrize(("vcpus", "pods"), [(2, 110), (29, 110), (30, 250), (192, 250)])
def test_pods_per_node_step_up_at_30_vcpus(vcpus: int, pods: int) -> None:
    assert nodes.max_pods(node(vcpus, 64)) == pods
    reserved = 255 + 11 * pods + 100
    assert EKS.nodes.allocatable(node(vcpus, 64)).memory_mib == int(64 * 1024 * 0.925 - reserved)
    assert pods <= EKS.nodes.pod_addresses


def test_a_machine_smaller_than_its_reservations_leaves_nothing() -> None:
    assert EKS.nodes.allocatable(node(2, 0.5)).memory_mib == 0


def test_a_graviton_has_64_mib_less_as_karpenter_plans_it() -> None:
    # 8192 - 64 less 7.5 %, 11 MiB for each of 110 pods, 255 and 100.
    assert EKS.nodes.allocatable(replace(node(4, 8), arch="arm64")).memory_mib == 5953
    assert EKS.nodes.allocatable(node(4, 8)).memory_mib == 6012


@pytest.mark.parametrize("gpu", GPU_NAMES)
def test_larger_machines_of_a_family_cost_more(gpu: str) -> None:
    machines = [machine for count in EKS.machines.gpu_counts(gpu) for machine in EKS.machines.having(gpu, count)]
    priced = [(m, price.usd) for m in machines if (price := EKS.prices.machine("us-east-1", m, spot=False))]
    for machine, usd in priced:
        for other, more in priced:
            if other.family == machine.family and (other.vcpus, other.gpus) > (machine.vcpus, machine.gpus):
                assert more > usd or other.gpus < machine.gpus


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-west-1"])
def test_the_default_machines_and_their_disks_have_a_price_on_demand(region: str, spot: bool) -> None:
    for name in (EKS.machines.default_admin, EKS.machines.default_cpu, "g4dn.xlarge", "g5.xlarge"):
        machine = EKS.machines.get(name)
        assert machine is not None
        assert (EKS.prices.machine(region, machine, spot=spot) is None) == spot
    assert EKS.prices.disk(region, 100) is not None


def test_the_list_price_of_a_disk() -> None:
    # A month of 100 GiB at 8 cents: https://aws.amazon.com/ebs/pricing
    disk = EKS.prices.disk("us-east-1", 100)
    assert disk is not None
    assert 730 * disk.usd == pytest.approx(8)


# Region → the ratios of its prices to those of us-east-1, which show a typing error; the dearest of all is Brazil.
RATIOS = {"us-west-2": (1, 1), "us-east-2": (1, 1), "eu-west-1": (1, 1.25), "ap-south-1": (0.7, 1.3)}


@pytest.mark.parametrize("region", EKS.regions)
def test_a_region_costs_about_as_much_as_us_east_1(region: str) -> None:
    low, high = RATIOS.get(region, (1, 1.701))
    for name in EKS.machines.types:
        machine = EKS.machines.get(name)
        assert machine is not None
        here, there = (EKS.prices.machine(place, machine, spot=False) for place in (region, "us-east-1"))
        if here is not None and there is not None:
            assert low <= round(here.usd / there.usd, 4) <= high, name


def test_gateways_cost_each() -> None:
    one, three = EKS.prices.nat(1, 1), EKS.prices.nat(50, 3)
    assert one is not None
    assert three is not None
    # 730 hours of one gateway alone: https://basavytix.com/blog/aws-nat-gateway-pricing
    assert 730 * (one.usd - 0.005) == pytest.approx(32.85)
    assert three.usd == pytest.approx(3 * one.usd)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("autoscaler", EKS.choices.autoscalers)
@pytest.mark.parametrize("zones", [1, 2])
def test_only_pools_of_its_autoscaler_are_one_per_zone(gpu: bool, spot: bool, zones: int, autoscaler: str) -> None:
    expected = gpu and (spot or zones > 1) and autoscaler == "cluster-autoscaler"
    assert EKS.machines.pool_per_zone(gpu=gpu, spot=spot, zones=zones, autoscaler=autoscaler) == expected


# The gate knows every machine with an NVIDIA GPU, parts of one and ARM included: Kubernetes sees a part as one.


@pytest.mark.parametrize("name", sorted(listed_nvidia()))
def test_the_gate_counts_the_gpus_that_amazon_lists(name: str) -> None:
    (gpu,) = listed_nvidia()[name]
    assert gpus_of(name) == (gpu["Count"] or gpu["LogicalGpuCount"])


def test_the_gate_lists_nothing_else_but_machines_withdrawn_or_sold_in_racks() -> None:
    unlisted = {name.partition(".")[0] for name in gpu_machines("eks") if name not in listing()}
    assert unlisted == {"p2", "p3", "g3", "g3s", "p6e-gb200", "p6e-gb300"}


def test_a_node_takes_no_more_pods_than_it_has_addresses_for() -> None:
    """https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go, with prefixes."""
    ours, amazons = {}, {}
    for name in filter(nodes.takes_prefixes, EKS.machines.types):
        machine, network = EKS.machines.get(name), listing()[name]["NetworkInfo"]
        assert machine is not None
        each = network["Ipv4AddressesPerInterface"] - 1
        addresses = network["MaximumNetworkInterfaces"] * each * nodes.ADDRESSES_PER_PREFIX + 2
        ours[name] = nodes.max_pods(machine)
        amazons[name] = min(addresses, 250 if machine.vcpus >= 30 else 110)
    assert len(ours) > 300
    assert ours == amazons


def test_addresses_come_in_prefixes_on_nitro_alone() -> None:
    known = EKS.machines.types
    on_xen = {type for type in known if listing()[type].get("Hypervisor") == "xen"}
    assert {type for type in known if not nodes.takes_prefixes(type)} == on_xen


def test_support_of_every_version_that_the_program_installs_is_known() -> None:
    """https://github.com/endoflife-date/endoflife.date/blob/master/products/amazon-eks.md."""
    supported = catalog.of("eks").choices.supported
    assert {*supported} == {*KARPENTERS} == {*CLUSTER_AUTOSCALERS}
    assert (str(supported["1.36"].extended), str(supported["1.36"].until)) == ("2027-08-02", "2028-08-02")
