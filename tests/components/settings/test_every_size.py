"""Every GPU, size and capacity type of each catalogue: read, priced, counted and declared, or refused with a sentence.

Any other exception would be a traceback for the user.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from components import outputs
from components.settings import SettingsError, load
from components.settings.docs import columns
from facts import catalog
from tests.one_stack import WORDS
from tests.stacks import run_with

Config = dict[str, Any]
COLUMNS = [(column.cloud, column.autoscaler) for column in columns()]
CAPACITY = ("on-demand", "spot", "spot-with-fallback", "reserved", "capacity-block", "flex-start")
AZURE = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/gpus/providers"
RESERVATIONS = {
    "gke": "r{}",
    "eks": "cr-0123456789abc{}",
    "aks": AZURE + "/Microsoft.Compute/capacityReservationGroups/{}",
}
pytestmark = pytest.mark.slow
each_column = pytest.mark.parametrize(("cloud", "autoscaler"), COLUMNS)


def entry(cloud: str, gpu: str, size: int, capacity: str, zone: str) -> Config:
    number = 1000 + 16 * list(catalog.of(cloud).machines.accelerators).index(gpu) + size
    pool = {"name": f"{gpu.partition('-')[2]}-{size}-{capacity}", "gpu": gpu, "gpusPerNode": size, "capacity": capacity}
    reservation = {"name": RESERVATIONS[cloud].format(number), "zone": zone}
    if capacity == "capacity-block":
        reservation |= {"first": "2099-03-01", "last": "2099-03-08"}
    reserved = {"reservation": reservation} if capacity in ("reserved", "capacity-block") else {}
    reserved |= {"hourlyUsd": 1} if gpu == "google-tpu7x" else {}
    # Also where no zone is known to have the GPU.
    return {**pool, "maxNodes": 1, "zones": [zone], **reserved}


def stack(cloud: str, autoscaler: str, pools: list[Config], **changes: Any) -> Config:
    region, zones = WORDS[cloud]["region"], WORDS[cloud]["zones"]
    network = {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]}
    own = {"autoscaling": {"autoscaler": autoscaler}} if len(catalog.of(cloud).choices.autoscalers) > 1 else {}
    return {"cloud": cloud, "region": region, "zones": zones, "network": network, "gpuPools": pools, **own, **changes}


def account(cloud: str) -> tuple[str, str]:
    key, _, value = WORDS[cloud]["account"].partition(": ")
    return key, value


@functools.cache
def accepted(cloud: str, autoscaler: str, availability: str) -> tuple[Config, ...]:
    """The entries that settings accept, each alone in a stack."""
    pools = []
    for gpu in catalog.of(cloud).machines.accelerators:
        for size in catalog.of(cloud).machines.gpu_counts(gpu):
            for capacity in CAPACITY:
                pool = entry(cloud, gpu, size, capacity, WORDS[cloud]["zones"][0])
                config = stack(cloud, autoscaler, [pool], availability=availability)
                try:
                    settings = load(config, stack="sizes", project=account(cloud)[1])
                except SettingsError:
                    continue
                made = outputs.of_settings(settings)
                assert len(made["pools"]) == len(made["gpuJobs"]) == (2 if capacity == "spot-with-fallback" else 1)
                assert made["quotas"]
                pools.append(pool)
    return tuple(pools)


@pytest.mark.parametrize("availability", ["zonal", "regional"])
@each_column
def test_every_size_of_every_gpu_has_outputs_or_is_refused(cloud: str, autoscaler: str, availability: str) -> None:
    pools = accepted(cloud, autoscaler, availability)
    sizes = {(pool["gpu"], pool["gpusPerNode"]) for pool in pools}
    known = catalog.of(cloud)
    assert sizes == {(gpu, size) for gpu in known.machines.accelerators for size in known.machines.gpu_counts(gpu)}
    reserved = set() if autoscaler == "node-auto-provisioning" else {"reserved"}
    assert {pool["capacity"] for pool in pools} >= {"on-demand", "spot", "spot-with-fallback", *reserved}


@each_column
def test_a_gpu_whose_size_is_left_out_has_one_gpu_per_node_or_is_refused(cloud: str, autoscaler: str) -> None:
    machines = catalog.of(cloud).machines
    for gpu in catalog.of(cloud).machines.accelerators:
        for capacity in CAPACITY:
            pool = entry(cloud, gpu, 1, capacity, WORDS[cloud]["zones"][0])
            del pool["gpusPerNode"]
            config = stack(cloud, autoscaler, [pool])
            sizes, refused = set(), ""
            try:
                settings = load(config, stack="sizes", project=account(cloud)[1])
                sizes = {pool.gpus.per_node for pool in settings.gpu_pools}
            except SettingsError as error:
                refused = str(error)
            assert sizes == {1} or refused
            assert ("gpuPools[0].gpusPerNode" in refused) == (1 not in machines.gpu_counts(gpu)), refused


@each_column
def test_what_settings_accept_the_program_declares(cloud: str, autoscaler: str) -> None:
    key, value = account(cloud)
    for capacity in {pool["capacity"] for pool in accepted(cloud, autoscaler, "regional")} - {"spot-with-fallback"}:
        every = [pool for pool in accepted(cloud, autoscaler, "regional") if pool["capacity"] == capacity]
        # EKS has at most 30 node groups in a cluster.
        for pools in (every[first : first + 25] for first in range(0, len(every), 25)):
            config = stack(cloud, autoscaler, pools, availability="regional")
            recording = run_with({key: value, **{f"gpucluster:{name}": each for name, each in config.items()}}, "sizes")
            assert len(recording.stack_outputs["pools"]) == len(pools)
