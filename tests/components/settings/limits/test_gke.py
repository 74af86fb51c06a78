"""What GKE can do and what not, at the edge."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from components.settings import Settings, SettingsError, load
from tests.components.settings.test_clouds import problems

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
    ("version", "channel", "problem"),
    [
        ("1.30", "regular", "GKE no longer supports Kubernetes 1.30"),
        ("1.31.9", "extended", "GKE no longer supports Kubernetes 1.31.9"),
        ("1.33", "regular", "in extended support"),
        ("1.33.4", "stable", "in extended support"),
        ("1.33", "extended", None),
        ("1.34", "regular", None),
        ("1.39", "rapid", None),
    ],
)
def test_a_version_is_one_that_its_channel_still_has(version: str, channel: str, problem: str | None) -> None:
    kubernetes = {"version": version, "channel": channel}
    if problem is None:
        assert loaded(kubernetes=kubernetes).kubernetes.version == version
        return
    with pytest.raises(SettingsError, match=problem) as refused:
        loaded(kubernetes=kubernetes)
    assert [each.path for each in refused.value.problems] == ["kubernetes.version"]


def test_the_extended_channel_is_not_of_eks() -> None:
    assert loaded(kubernetes={"channel": "extended"}).kubernetes.channel == "extended"
    assert problems("eks", kubernetes={"channel": "extended"}).keys() == {"kubernetes.channel"}


def reserving(name: str, zones: list[str]) -> dict[str, Any]:
    return {"gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "reservation": name, "zones": zones}]}


@pytest.mark.parametrize(
    "name",
    [
        "june",
        "projects/other/reservations/june",
        "june/reservationBlocks/block-1",
        "june/reservationBlocks/block-1/reservationSubBlocks/sub-2",
        "projects/other/reservations/june/reservationBlocks/block-1",
        "projects/other/reservations/june/reservationBlocks/block-1/reservationSubBlocks/sub-2",
    ],
)
def test_a_reservation_may_be_shared_or_a_block(name: str) -> None:
    (pool,) = loaded(**reserving(name, ZONES[:1])).gpu_pools
    assert pool.gpus.reservation == name


@pytest.mark.parametrize(
    "name",
    ["June", "projects/other/june", "june/reservationSubBlocks/sub-2", "june/block-1"],
)
def test_what_is_no_name_of_a_reservation_is_refused_once(name: str) -> None:
    with pytest.raises(SettingsError, match="is not the name of a reservation") as refused:
        loaded(**reserving(name, ZONES[:1]))
    assert len(refused.value.problems) == 1


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
def test_a_minimum_is_one_that_as_many_nodes_in_every_zone_make(
    zones: int, minimum: int, maximum: int, accepted: bool
) -> None:
    pool = {"name": "web", "minNodes": minimum, "maxNodes": maximum, "zones": ZONES[:zones]}
    if accepted:
        assert loaded(cpuPools=[pool]).cpu_pools[0].min_nodes == minimum
        return
    with pytest.raises(SettingsError, match="the same number in every zone") as refused:
        loaded(cpuPools=[pool])
    # What it says instead is accepted.
    (problem,) = refused.value.problems
    fewer = problem.remedy.partition("[")[2].rstrip("]").split(", ")
    assert loaded(cpuPools=[{**pool, "zones": fewer}]).cpu_pools[0].min_nodes == minimum


@pytest.mark.parametrize(
    ("private", "cidr", "accepted"),
    [
        (True, "10.20.0.0/16", True),
        (True, "100.64.0.0/10", True),
        (True, "8.8.8.0/24", False),
        (True, "0.0.0.0/0", False),
        (True, "10.0.0.0/7", False),
        (False, "8.8.8.0/24", True),
    ],
)
def test_a_private_endpoint_is_reached_from_private_ranges(private: bool, cidr: str, accepted: bool) -> None:
    network = {
        "privateEndpoint": private,
        "dnsEndpoint": True,
        "authorizedNetworks": [{"name": "us", "cidr": cidr}],
        "nodeCidr": "10.0.0.0/20",
    }
    if accepted:
        assert loaded(network=network).network.private_endpoint is private
        return
    with pytest.raises(SettingsError, match=f"{cidr} is public"):
        loaded(network=network)


@pytest.mark.parametrize(
    ("network", "accepted"),
    [
        ({"privateEndpoint": True}, False),
        ({"privateEndpoint": True, "dnsEndpoint": True}, True),
        ({"dnsEndpoint": True}, True),
        ({"dnsEndpoint": True, "authorizedNetworks": [{"name": "us", "cidr": "203.0.113.0/24"}]}, True),
    ],
)
def test_a_control_plane_is_reached_by_one_way_at_least_from_where_it_is_made(
    network: dict[str, object], accepted: bool
) -> None:
    if accepted:
        assert loaded(network=network).network.dns_endpoint
        return
    with pytest.raises(
        SettingsError, match=r"network\.privateEndpoint: .* reachable only from the network.*dnsEndpoint: true"
    ):
        loaded(network=network)


@pytest.mark.parametrize(("gpu", "per_node", "accepted"), [("nvidia-l4", 1, False), ("nvidia-h200-141gb", 8, True)])
def test_flex_start_is_compact_on_the_largest_machines_only(gpu: str, per_node: int, accepted: bool) -> None:
    pool = {"name": "near", "gpu": gpu, "gpusPerNode": per_node, "maxNodes": 2, "zones": ["us-central1-b"]}
    pool |= {"capacity": "flex-start", "flexStart": {"maxRunHours": 5}, "placement": "compact"}
    if accepted:
        assert loaded(gpuPools=[pool]).gpu_pools[0].compact
        return
    with pytest.raises(SettingsError, match="flex-start does not place g2-standard"):
        loaded(gpuPools=[pool])
