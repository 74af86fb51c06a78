"""Node auto-provisioning on AKS: pools as objects of the Karpenter that Azure runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from facts.concepts.pool import Pool
from tests import recorder
from tests.components.clouds.aks.test_cluster import CLUSTER, admin_spec
from tests.components.clouds.aks.test_pools import AGENT_POOL, cpu_spec, gpu_spec
from tests.components.clouds.aks.test_pools import run as run_with
from tests.components.specs import changed

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.azure.com/v1beta1:AKSNodeClass"
SIZES = ("Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")


def run(*pools: Pool, **changes: Any) -> recorder.Recording:
    return run_with(*pools, autoscaler="node-auto-provisioning", **changes)


def spec_of(token: str, pool: Pool, **changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = run(pool, **changes).only(token).inputs["spec"]
    return spec


def test_azure_runs_it_without_pools_of_its_own_and_no_autoscaler_beside_it() -> None:
    recording = run(gpu_spec(), cpu_spec(), admin=admin_spec(min_nodes=2))
    cluster = recording.only(CLUSTER).inputs
    assert cluster["nodeProvisioningProfile"] == {"mode": "Auto", "defaultNodePools": "None"}
    assert "autoScalerProfile" not in cluster
    (admin,) = cluster["agentPoolProfiles"]
    assert (admin["enableAutoScaling"], admin["count"], admin["mode"]) == (False, 2, "System")
    # The admin pool is read; there is no other agent pool, and no order for another autoscaler's expander.
    assert not recording.of_type(AGENT_POOL)
    assert not [each for each in recording.of_type("kubernetes:core/v1:ConfigMap") if "priority-expander" in str(each)]
    assert "nodeProvisioningProfile" not in run_with(gpu_spec()).only(CLUSTER).inputs


def test_a_pool_is_a_node_pool_with_its_labels_taints_machines_and_limits() -> None:
    pool = gpu_spec("t4-1-spot", capacity_type="spot", machine_types=SIZES, max_nodes=3, zones=("eastus-1", "eastus-2"))
    spec = spec_of(NODE_POOL, pool)
    template = spec["template"]
    assert template["metadata"]["labels"] == pool.nodes.labels
    taints = [(one["key"], one["value"], one["effect"]) for one in template["spec"]["taints"]]
    assert taints == [(taint.key, taint.value, taint.effect) for taint in pool.nodes.taints]
    assert {one["key"]: one["values"] for one in template["spec"]["requirements"]} == {
        "node.kubernetes.io/instance-type": [*SIZES],
        "topology.kubernetes.io/zone": ["eastus-1", "eastus-2"],
        "karpenter.sh/capacity-type": ["spot"],
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
    }
    expected = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "t4-1-spot"}
    assert template["spec"]["nodeClassRef"] == expected
    assert spec["limits"] == {"nodes": "3", "nvidia.com/gpu": "3"}


def test_with_cilium_a_node_waits_for_its_agent() -> None:
    """https://github.com/Azure/karpenter-provider-azure/issues/1442"""
    template = spec_of(NODE_POOL, gpu_spec(), dataplane="cilium")["template"]
    assert template["metadata"]["labels"] == {
        **gpu_spec().nodes.labels,
        "kubernetes.azure.com/ebpf-dataplane": "cilium",
    }
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
    assert template["spec"]["startupTaints"] == [taint]
    assert "startupTaints" not in spec_of(NODE_POOL, gpu_spec())["template"]["spec"]


def test_a_busy_gpu_node_stays_and_an_idle_one_goes() -> None:
    spec = spec_of(NODE_POOL, gpu_spec(unneeded_minutes=7))
    assert spec["template"]["spec"]["expireAfter"] == "Never"
    assert "terminationGracePeriod" not in spec["template"]["spec"]
    disruption = spec["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == ("WhenEmpty", "7m")
    budgets = {reason: one["nodes"] for one in disruption["budgets"] for reason in one["reasons"]}
    assert budgets == {"Empty": "100%", "Drifted": "0", "Underutilized": "0"}


def test_first_choices_weigh_more_than_their_fallback() -> None:
    recording = run(gpu_spec("a", preference=1), gpu_spec("b", capacity_type="spot"))
    weights = {one.inputs["metadata"]["name"]: one.inputs["spec"]["weight"] for one in recording.of_type(NODE_POOL)}
    assert weights == {"b": 100, "a": 99}


def test_nodes_are_in_the_cluster_s_subnet_encrypted_at_host_and_tagged() -> None:
    assert spec_of(NODE_CLASS, gpu_spec(disk_gb=200), labels={"team": "ml"}) == {
        "imageFamily": "Ubuntu",
        "osDiskSizeGB": 200,
        "maxPods": 110,
        "vnetSubnetID": "cluster-subnet-id",
        "security": {"encryptionAtHost": True},
        "tags": {"team": "ml"},
    }


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        (lambda pool: changed(pool, drivers="none"), "gpu", {"mode": "None"}),
        (lambda pool: gpu_spec(image="azurelinux"), "imageFamily", "AzureLinux"),
        (lambda pool: gpu_spec(raw={"fipsMode": "FIPS"}), "fipsMode", "FIPS"),
        (
            lambda pool: gpu_spec(raw={"security": {"trustedLaunch": {"vtpm": True}}}),
            "security",
            {"encryptionAtHost": True, "trustedLaunch": {"vtpm": True}},
        ),
    ],
)
def test_a_node_class_has_what_its_pool_asks_for(changed: Callable[[Pool], Pool], field: str, value: object) -> None:
    assert spec_of(NODE_CLASS, changed(gpu_spec()))[field] == value
