"""Agent pools that exist already keep the size that the autoscaler gave them, and with nodes their version."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from components.clouds.aks.pools import pool_name
from facts.concepts.pool import Pool
from tests import aks_answers, recorder
from tests.components import specs
from tests.components.clouds.aks.test_cluster import CLUSTER, admin_spec, settings
from tests.components.clouds.aks.test_pools import AGENT_POOL, cpu_spec, gpu_spec, run

GET_CLUSTER = "azure-native:containerservice:getManagedCluster"
GET_POOL = "azure-native:containerservice:getAgentPool"
GPU, CPU = gpu_spec("t4-1"), cpu_spec()

fresh = inspect.unwrap(run)  # each test has other answers


def running(name: str, nodes: int, version: str = "1.33.2", **node: Any) -> dict[str, Any]:
    """As Azure answers a pool of ``GPU``, but for ``node``; the size of its disk is a float to the engine."""
    usual = {"vmSize": "standard_nc4as_t4_v3", "osDiskSizeGB": float(GPU.nodes.disk_gb), "availabilityZones": ["1"]}
    answer = {"count": nodes, "currentOrchestratorVersion": version, "osSKU": "Ubuntu", **usual}
    return {"name": name, **answer, **node}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pools that Azure says the cluster has; a test adds them."""
    pools = [running("admin", 1)]

    def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
        assert asked == {"resourceGroupName": "gpu-test", "resourceName": "gpu-test"}
        return {"agentPoolProfiles": pools}

    def pool(asked: Mapping[str, Any]) -> dict[str, Any]:
        return next(pool for pool in pools if pool["name"] == asked["agentPoolName"])

    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, answer)
    monkeypatch.setitem(aks_answers.CALLS, GET_POOL, pool)
    return pools


def sent(pool: Pool, version: str | None) -> Any:
    return fresh(pool, version=version).named(f"{pool.name}-pool").inputs.get("orchestratorVersion")


@pytest.mark.parametrize(
    ("count", "runs", "pin", "expected"),
    [
        (0, "1.33.2", "1.34", "1.34"),
        (1, "1.33.2", "1.34", "1.33.2"),
        (9, "1.33.2", "1.34.1", "1.33.2"),
        (1, "1.34.1", "1.34", "1.34"),
        (1, "1.34.1", "1.34.1", "1.34.1"),
    ],
)
def test_a_gpu_pool_keeps_its_version_while_it_has_nodes(
    cluster: list[dict[str, Any]], count: int, runs: str, pin: str, expected: str
) -> None:
    cluster.append(running(pool_name("t4-1"), count, runs))
    assert sent(GPU, pin) == expected


def test_a_pool_that_is_new_and_one_without_gpus_take_the_version_at_once(cluster: list[dict[str, Any]]) -> None:
    assert sent(GPU, "1.34") == "1.34"
    cluster.append(running(pool_name(CPU.name), 3))
    assert sent(CPU, "1.34") == "1.34"


BOOT = {"enableSecureBoot": True, "enableVTPM": True, "sshAccess": "Disabled"}


@pytest.mark.parametrize(
    ("count", "node", "image", "secure", "vtpm"),
    [
        (0, {"osSKU": "Ubuntu2404", "securityProfile": BOOT}, "Ubuntu", False, True),
        (2, {"osSKU": "Ubuntu2404"}, "Ubuntu2404", False, True),
        (2, {"securityProfile": BOOT}, "Ubuntu", True, True),
        (2, {"securityProfile": {"enableSecureBoot": False, "enableVTPM": False}}, "Ubuntu", False, False),
    ],
)
def test_what_somebody_changed_of_a_gpu_pool_with_nodes_is_not_turned_back(
    cluster: list[dict[str, Any]], count: int, node: dict[str, Any], image: str, secure: bool, vtpm: bool
) -> None:
    """With another one Azure reimages the nodes, jobs and all: https://learn.microsoft.com/azure/aks/upgrade-os-version,
    https://learn.microsoft.com/azure/aks/node-disruption-policy."""
    cluster.append(running(pool_name("t4-1"), count, **node))
    inputs = fresh(GPU).named("t4-1-pool").inputs
    assert inputs["osSKU"] == image
    assert inputs["securityProfile"] == {"enableSecureBoot": secure, "enableVTPM": vtpm}
    assert "orchestratorVersion" not in inputs


@pytest.mark.parametrize(("count", "image"), [(0, "AzureLinux"), (1, "Ubuntu")])
def test_another_image_waits_until_a_gpu_pool_is_empty(
    cluster: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, count: int, image: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi, "info", said.append)
    cluster.append(running(pool_name("t4-1"), count, "1.33.2", securityProfile=BOOT | {"enableSecureBoot": False}))
    assert fresh(gpu_spec("t4-1", image="azurelinux"), version="1.34").named("t4-1-pool").inputs["osSKU"] == image
    waits = "pool t4-1 has nodes (1): run `up` again when it has none to change Kubernetes version and image"
    assert said == [waits] * (count > 0)


STATIC = {"cpuManagerPolicy": "static"}


@pytest.mark.parametrize(
    ("changes", "node", "replaced"),
    [
        ({}, {}, False),
        ({}, {"scaleSetPriority": None, "gpuProfile": None, "gpuInstanceProfile": None}, False),
        ({}, {"scaleSetPriority": "Regular", "gpuProfile": {"driver": "Install"}}, False),
        ({"machine_types": ("Standard_NC16as_T4_v3",)}, {}, True),
        ({"disk_gb": 512}, {}, True),
        ({"capacity_type": "spot"}, {"scaleSetPriority": "Regular"}, True),
        ({"zones": ("eastus-2",)}, {}, True),
        ({"drivers": "none"}, {"gpuProfile": {"driver": "Install"}}, True),
        # What Azure leaves out (but of raw) or chooses is no reason: a pool that stays would be sent another size.
        ({"drivers": "none"}, {"gpuProfile": None}, False),
        ({}, {"kubeletDiskType": "OS", "enableUltraSSD": False, "spotMaxPrice": -1.0, "kubeletConfig": None}, False),
        ({}, {"maxPods": 30.0, "enableEncryptionAtHost": False, "podSubnetID": "/subscriptions/x/subnets/y"}, False),
        ({"raw": {"gpuInstanceProfile": "MIG1g"}}, {"gpuInstanceProfile": "MIG1g"}, False),
        ({"raw": {"gpuInstanceProfile": "MIG1g"}}, {"gpuInstanceProfile": "MIG2g"}, True),
        ({"raw": {"enableFIPS": True}}, {"enableFIPS": False}, True),
        ({"raw": {"enableFIPS": True}}, {"enableFIPS": True}, False),
        ({"raw": {"kubeletDiskType": "Temporary"}}, {"kubeletDiskType": "OS"}, True),
        ({"raw": {"kubeletConfig": STATIC}}, {}, True),
        ({"raw": {"kubeletConfig": STATIC}}, {"kubeletConfig": {**STATIC, "podMaxPids": 8192.0}}, False),
        ({"raw": {"kubeletConfig": STATIC}}, {"kubeletConfig": {"cpuManagerPolicy": "none"}}, True),
        ({}, {"kubeletConfig": STATIC}, True),
        (
            {"raw": {"proximityPlacementGroupID": "/a/resourceGroups/B"}},
            {"proximityPlacementGroupID": "/A/RESOURCEGROUPS/b"},
            False,
        ),
        ({"raw": {"nodePublicIPPrefixID": "/a/b"}}, {}, False),
        ({}, {"gpuInstanceProfile": "MIG1g"}, True),
        ({}, {"capacityReservationGroupID": "/subscriptions/x/resourceGroups/y"}, True),
    ],
)
def test_a_gpu_pool_that_is_replaced_has_nothing_of_its_nodes(
    cluster: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    node: dict[str, Any],
    replaced: bool,
) -> None:
    """An image that the new machines need would be missing, a patch version or machines refused after the old pool is
    gone."""
    said: list[str] = []
    monkeypatch.setattr(pulumi, "info", said.append)
    cluster.append(running(pool_name("t4-1"), 2, "1.33.2", **node))
    inputs = fresh(gpu_spec("t4-1", image="azurelinux", **changes), version="1.34").named("t4-1-pool").inputs
    new, old = (0, "1.34", "AzureLinux"), (2, "1.33.2", "Ubuntu")
    assert (inputs["count"], inputs["orchestratorVersion"], inputs["osSKU"]) == (new if replaced else old)
    assert len(said) == (not replaced)


def test_another_image_of_a_pool_without_gpus_is_sent_at_once(cluster: list[dict[str, Any]]) -> None:
    cluster.append(running(CPU.name, 3, osSKU="AzureLinux"))
    assert fresh(CPU).named("cpu-pool").inputs["osSKU"] == "Ubuntu"


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        ("enableFIPS", {"enableFIPS": True}),
        ("localDNSProfile", {"localDNSProfile": {"mode": "Required"}}),
        ("securityProfile.sshAccess", {"securityProfile": {"sshAccess": "Disabled"}}),
    ],
)
def test_what_reimages_nodes_by_raw_is_previewed_as_a_replacement_of_a_gpu_pool(key: str, raw: dict[str, Any]) -> None:
    assert key in fresh(gpu_spec("t4-1", raw=raw)).named("t4-1-pool").replace_on_changes
    assert key not in fresh(GPU).named("t4-1-pool").replace_on_changes
    assert key not in fresh(cpu_spec(raw=raw)).named("cpu-pool").replace_on_changes


PROXY = {"httpProxyConfig": {"httpProxy": "http://proxy:3128", "noProxy": ["localhost"]}}
AUTHORITY = {"securityProfile": {"customCATrustCertificates": ["LS0t"]}}
BLOBS = {"storageProfile": {"blobCSIDriver": {"enabled": True}}}


@pytest.mark.parametrize(
    ("before", "after", "count", "waiting"),
    [
        ({}, PROXY, 2, ["httpProxyConfig"]),
        ({}, PROXY, 0, []),
        (PROXY, {"httpProxyConfig": {"httpProxy": "http://proxy:8080"}}, 2, ["httpProxyConfig"]),
        (PROXY, PROXY, 2, []),
        ({}, AUTHORITY, 2, ["securityProfile.customCATrustCertificates"]),
        ({}, {"bootstrapProfile": {"artifactSource": "Cache"}}, 2, ["bootstrapProfile"]),
        ({}, BLOBS, 2, []),
    ],
)
def test_what_reimages_the_nodes_of_all_pools_waits_while_a_gpu_pool_has_some(
    cluster: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    before: dict[str, Any],
    after: dict[str, Any],
    count: int,
    waiting: list[str],
) -> None:
    """https://learn.microsoft.com/azure/aks/node-disruption-policy"""
    said: list[str] = []
    monkeypatch.setattr(pulumi, "info", said.append)
    cluster.extend([running(pool_name("t4-1"), count), running(CPU.name, 3)])
    stack = {"project": "00000000-0000-0000-0000-000000000000", "gpu_pools": (GPU,), "cpu_pools": (CPU,)}
    first, second = (settings(**stack, raw=raw) for raw in (before, after))
    deployed = recorder.run(specs.declare(first, (GPU,)))
    said.clear()
    updated = recorder.run(specs.declare(second, (GPU,)), deployed=deployed).only(CLUSTER)
    assert [path for path in updated.ignore_changes if path in waiting] == waiting
    assert len(updated.ignore_changes) == len(waiting)
    assert [text.partition(": ")[0] for text in said] == [f"raw.{path}" for path in waiting]
    assert all(f"t4-1 ({count}): run `up` again" in text for text in said)


@pytest.mark.parametrize(("count", "channel"), [(2, "Unmanaged"), (0, "NodeImage")])
def test_nodes_that_patch_themselves_do_so_until_gpu_pools_are_empty(
    monkeypatch: pytest.MonkeyPatch, cluster: list[dict[str, Any]], count: int, channel: str
) -> None:
    cluster.append(running(pool_name("t4-1"), count))
    answer = {"agentPoolProfiles": cluster, "autoUpgradeProfile": {"nodeOSUpgradeChannel": "Unmanaged"}}
    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, answer)
    inputs = recorder.run(specs.declare(settings(gpu_pools=(GPU,)), (GPU,))).only(CLUSTER).inputs
    assert inputs["autoUpgradeProfile"] == {"upgradeChannel": "stable", "nodeOSUpgradeChannel": channel}


def test_nothing_is_asked_about_versions_where_none_is_pinned(cluster: list[dict[str, Any]]) -> None:
    recording = fresh(GPU)
    # Once, for the sizes.
    assert recording.calls.count(GET_CLUSTER) == 1
    assert "orchestratorVersion" not in recording.named("t4-1-pool").inputs


@pytest.mark.parametrize(("nodes", "minimum"), [(0, 0), (2, 0), (2, 1), (2, 3), (9, 0)])
def test_the_size_that_is_sent_is_the_pools_own(cluster: list[dict[str, Any]], nodes: int, minimum: int) -> None:
    cluster.append(running("cpu", nodes))
    resource = fresh(cpu_spec(min_nodes=minimum, max_nodes=4)).named("cpu-pool")
    assert [resource.inputs[key] for key in ("minCount", "count", "maxCount")] == [minimum, nodes, 4]
    # Ignored, the size that some earlier update recorded would be sent.
    assert resource.ignore_changes == ()


def test_gpu_pools_that_are_new_start_empty_beside_one_that_runs(cluster: list[dict[str, Any]]) -> None:
    cluster.append(running(pool_name("t4-1"), 2))
    recording = fresh(GPU, gpu_spec("t4-4", size=4))
    assert [recording.named(f"{name}-pool").inputs["count"] for name in ("t4-1", "t4-4")] == [2, 0]


def test_a_preview_with_a_new_pool_knows_the_sizes_of_the_others(cluster: list[dict[str, Any]]) -> None:
    # A pool waits for the one before it, and the answer about it with the pool.
    cluster.append(running("cpu", 2))
    assert fresh(GPU, CPU, new=[AGENT_POOL]).named("cpu-pool").inputs["count"] == 2


def test_an_autoscaled_admin_pool_keeps_its_size_and_a_fixed_one_has_its_own(cluster: list[dict[str, Any]]) -> None:
    cluster[0]["count"] = 5
    for admin, count in ((admin_spec(nodes=2, max_nodes=9), 5), (admin_spec(nodes=2), 2)):
        (profile,) = fresh(admin=admin).only(CLUSTER).inputs["agentPoolProfiles"]
        assert profile["count"] == count


def refusing(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    def refuse(asked: Mapping[str, Any]) -> dict[str, Any]:
        raise LookupError(words)

    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, refuse)


def test_of_a_cluster_that_does_not_exist_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, 'Status=404 Code="ResourceGroupNotFound" Message="Resource group could not be found."')
    recording = fresh(GPU)
    assert GET_CLUSTER in recording.calls
    assert GET_POOL not in recording.calls
    assert recording.named("t4-1-pool").inputs["count"] == 0


def test_what_azure_does_not_say_is_not_taken_for_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, 'Status=403 Code="AuthorizationFailed" Message="… does not have authorization …"')
    with pytest.raises(Exception, match="AuthorizationFailed"):
        fresh(GPU)
