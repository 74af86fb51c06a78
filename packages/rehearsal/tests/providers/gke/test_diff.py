"""Which changes replace a resource, which update it in place, and which are none."""

from __future__ import annotations

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.gke.account import (
    CLUSTER,
    NETWORK,
    POOL,
    SUBNETWORK,
    Google,
    cluster,
    gpu,
    gpu_pool,
    subnetwork,
)
from rehearsal.providers.base import Properties
from rehearsal.providers.differences import parse_path


@pytest.mark.parametrize(
    ("new", "path"),
    [
        (gpu_pool(nodeConfig={"machineType": "n1-standard-8"}), "nodeConfig.machineType"),
        (gpu_pool(nodeConfig={"labels": {"team": "speech"}}), "nodeConfig.labels.team"),
        (
            gpu_pool(nodeConfig={"taints": [{"key": "nvidia.com/gpu", "value": "yes", "effect": "NO_SCHEDULE"}]}),
            "nodeConfig.taints[0].value",
        ),
        (gpu_pool(nodeConfig={"taints": []}), "nodeConfig.taints[0]"),
        (gpu_pool(nodeConfig={"diskSizeGb": 200}), "nodeConfig.diskSizeGb"),
        (gpu_pool(autoscaling={"totalMaxNodeCount": 9, "locationPolicy": "ANY"}), "autoscaling.totalMaxNodeCount"),
        (gpu_pool(nodeLocations=["us-central1-b"]), "nodeLocations[0]"),
        (gpu_pool(upgradeSettings={"maxUnavailable": 1}), "upgradeSettings.maxUnavailable"),
    ],
)
def test_pool_changes_made_in_place(google: Google, new: Properties, path: str) -> None:
    difference = google.diff(POOL, gpu_pool(), new)
    assert path in difference.changes
    assert difference.replaces == ()


@pytest.mark.parametrize(
    ("new", "path"),
    [
        (gpu_pool(nodeConfig={"spot": False}), "nodeConfig.spot"),
        (
            gpu_pool(nodeConfig={"guestAccelerators": [gpu("nvidia-tesla-t4", 2, "DEFAULT")]}),
            "nodeConfig.guestAccelerators[0].count",
        ),
        (gpu_pool(nodeConfig={"guestAccelerators": []}), "nodeConfig.guestAccelerators[0]"),
        (gpu_pool(nodeConfig={"serviceAccount": UNKNOWN}), "nodeConfig.serviceAccount"),
        (
            gpu_pool(nodeConfig={"shieldedInstanceConfig": {"enableSecureBoot": True}}),
            "nodeConfig.shieldedInstanceConfig.enableSecureBoot",
        ),
        (gpu_pool(initialNodeCount=1), "initialNodeCount"),
        (gpu_pool(name="other"), "name"),
        (gpu_pool(maxPodsPerNode=32), "maxPodsPerNode"),
    ],
)
def test_pool_changes_that_replace(google: Google, new: Properties, path: str) -> None:
    difference = google.diff(POOL, gpu_pool(), new)
    assert path in difference.replaces


def test_a_replacement_of_the_same_name_deletes_first(google: Google) -> None:
    assert google.diff(POOL, gpu_pool(), gpu_pool(nodeConfig={"spot": False})).delete_before_replace
    assert not google.diff(POOL, gpu_pool(), gpu_pool(name="other")).delete_before_replace
    auto_named = gpu_pool(name=None)
    assert not google.diff(POOL, auto_named, gpu_pool(name=None, nodeConfig={"spot": False})).delete_before_replace


@pytest.mark.parametrize(
    ("type", "old", "new", "replaces"),
    [
        (CLUSTER, cluster(), cluster(location="us-central1-b"), ["location"]),
        (CLUSTER, cluster(), cluster(network="other"), ["network"]),
        (CLUSTER, cluster(), cluster(initialNodeCount=2), ["initialNodeCount"]),
        (CLUSTER, cluster(), cluster(deletionProtection=True), []),
        (CLUSTER, cluster(), cluster(releaseChannel={"channel": "RAPID"}), []),
        (CLUSTER, cluster(), cluster(clusterAutoscaling={"autoscalingProfile": "OPTIMIZE_UTILIZATION"}), []),
        (
            CLUSTER,
            cluster(nodePools=[{"name": "a"}]),
            cluster(nodePools=[{"name": "a"}, {"name": "b"}]),
            ["nodePools[1]"],
        ),
        (CLUSTER, cluster(nodePools=[{"name": "a"}]), cluster(nodePools=[{"name": "a", "nodeCount": 2}]), []),
        (
            CLUSTER,
            cluster(),
            cluster(ipAllocationPolicy=None),
            ["ipAllocationPolicy.clusterSecondaryRangeName", "ipAllocationPolicy.servicesSecondaryRangeName"],
        ),
        (SUBNETWORK, subnetwork(), subnetwork(ipCidrRange="10.0.0.0/19"), []),
        (SUBNETWORK, subnetwork(), subnetwork(ipCidrRange="10.0.0.0/21"), ["ipCidrRange"]),
        (SUBNETWORK, subnetwork(), subnetwork(ipCidrRange="10.1.0.0/20"), ["ipCidrRange"]),
        (SUBNETWORK, subnetwork(), subnetwork(privateIpGoogleAccess=False), []),
        (SUBNETWORK, subnetwork(), subnetwork(network="other"), ["network"]),
        (NETWORK, {"name": "n"}, {"name": "n", "autoCreateSubnetworks": False}, ["autoCreateSubnetworks"]),
        (NETWORK, {"name": "n"}, {"name": "n", "routingMode": "GLOBAL"}, []),
    ],
)
def test_what_replaces(google: Google, type: str, old: Properties, new: Properties, replaces: list[str]) -> None:
    difference = google.diff(type, old, new)
    assert difference.changes
    assert list(difference.replaces) == replaces


@pytest.mark.parametrize(
    ("type", "old", "new"),
    [
        (SUBNETWORK, subnetwork(), subnetwork(network="projects/demo-project/global/networks/net")),
        (
            SUBNETWORK,
            subnetwork(),
            subnetwork(network="https://www.googleapis.com/compute/v1/projects/demo-project/global/networks/net"),
        ),
        (POOL, gpu_pool(), gpu_pool(nodeConfig={"preemptible": False})),
        (POOL, gpu_pool(), gpu_pool(nodeConfig={"tags": []})),
        (
            POOL,
            gpu_pool(nodeLocations=["us-central1-a", "us-central1-b"]),
            gpu_pool(nodeLocations=["us-central1-b", "us-central1-a"]),
        ),
        (CLUSTER, cluster(), cluster(enableShieldedNodes=True)),
    ],
)
def test_spellings_that_mean_the_same(google: Google, type: str, old: Properties, new: Properties) -> None:
    assert google.diff(type, old, new).changes == ()


@pytest.mark.parametrize(
    "ignored",
    ["nodeConfig", "nodeConfig.labels", "nodeConfig.labels.team", 'nodeConfig["labels"]', "nodeConfig.labels.*"],
)
def test_ignored_changes(google: Google, ignored: str) -> None:
    new = gpu_pool(nodeConfig={"labels": {"team": "speech"}})
    assert google.diff(POOL, gpu_pool(), new, (ignored,)).changes == ()
    assert google.diff(POOL, gpu_pool(), new, ("nodeConfig.label", "autoscaling")).changes == (
        "nodeConfig.labels.team",
    )


def test_ignored_elements(google: Google) -> None:
    new = gpu_pool(nodeConfig={"taints": [{"key": "nvidia.com/gpu", "value": "no", "effect": "NO_SCHEDULE"}]})
    for path in ("nodeConfig.taints[*].value", "nodeConfig.taints[0]", "nodeConfig.taints[*]"):
        assert google.diff(POOL, gpu_pool(), new, (path,)).changes == ()


def test_keys_that_need_quotes(google: Google) -> None:
    old = gpu_pool(nodeConfig={"labels": {"gpucluster.dev/pool": "a"}})
    new = gpu_pool(nodeConfig={"labels": {"gpucluster.dev/pool": "b"}})
    path = 'nodeConfig.labels["gpucluster.dev/pool"]'
    assert google.diff(POOL, old, new).changes == (path,)
    assert google.diff(POOL, old, new, (path,)).changes == ()
    assert google.diff(POOL, old, new, ("nodeConfig.labels",)).changes == ()


def test_a_key_is_no_index() -> None:
    assert parse_path('a["0"][0].b') == ("a", "0", 0, "b")
