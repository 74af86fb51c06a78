"""Node auto-provisioning: what the simulated Azure says of machines and nodes, and what it refuses beside it."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from rehearsal.simulation import ManagedKarpenter

AUTO = {"nodeProvisioningProfile": {"mode": "Auto", "defaultNodePools": "None"}}
REFUSED = "AllowClusterAutoscalerAndNAP"
LABELS = {"node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3", "karpenter.sh/capacity-type": "spot"}


def karpenter(azure: aks.Microsoft, **changes: Any) -> ManagedKarpenter:
    azure.cluster(**AUTO, **changes)
    return azure.fleet.karpenters["gpu-dev"]


def test_a_cluster_without_it_has_none(azure: aks.Microsoft) -> None:
    azure.cluster()
    assert azure.fleet.karpenters == {}


def test_each_size_is_offered_in_its_zones_and_both_markets(azure: aks.Microsoft) -> None:
    offers = karpenter(azure).offers
    t4 = [offer for offer in offers if offer.nodes.machine_type == "Standard_NC4as_T4_v3"]
    assert [offer.scaling.spot for offer in t4] == [False, True]
    assert {offer.machine.gpus for offer in t4} == {1}
    assert (t4[0].nodes.hourly_usd or 0) >= (t4[1].nodes.hourly_usd or 0) > 0
    assert set(t4[0].nodes.zones) <= {"eastus-1", "eastus-2", "eastus-3"}
    assert {"Standard_D4s_v5", "Standard_ND96isr_H100_v5"} <= {offer.nodes.machine_type for offer in offers}


def test_a_node_is_what_its_node_class_and_machine_say(azure: aks.Microsoft) -> None:
    node = karpenter(azure).node(LABELS, {"osDiskSizeGB": 200, "maxPods": 110})
    assert (node.machine.disk_mib // 1024, node.machine.max_pods, node.gpus) == (174, 110, 1)
    assert (node.gpus_advertised_by, node.renewal) == ("device-plugin", "")
    assert node.nodes.labels["kubernetes.azure.com/scalesetpriority"] == "spot"
    assert node.nodes.labels["kubernetes.azure.com/accelerator"] == "nvidia"
    assert "agentpool" not in node.nodes.labels
    without = azure.fleet.karpenters["gpu-dev"].node(LABELS, {"gpu": {"mode": "None"}})
    assert without.gpus_advertised_by == "daemonset"
    assert without.machine.max_pods == 250


def test_amd_s_gpus_need_a_node_class_for_which_azure_installs_nothing(azure: aks.Microsoft) -> None:
    labels, node = {**LABELS, "node.kubernetes.io/instance-type": "Standard_ND96isr_MI300X_v5"}, karpenter(azure).node
    assert (node(labels, {}).gpus_advertised_by, node(labels, {}).machine.gpus) == ("daemonset", 8)
    assert node(labels, {"gpu": {"mode": "None"}}).gpus_advertised_by == "amd-plugin"


CILIUM = {"networkDataplane": "cilium", "networkPolicy": "cilium"}
READY = {
    "metadata": {"labels": {"kubernetes.azure.com/ebpf-dataplane": "cilium"}},
    "spec": {"startupTaints": [{"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}]},
}


@pytest.mark.parametrize(
    ("template", "problems"),
    [(READY, []), ({**READY, "spec": {}}, ["startup taint"]), ({**READY, "metadata": {}}, ["label"]), ({}, ["", ""])],
)
def test_with_cilium_a_node_pool_plans_with_its_agent(
    azure: aks.Microsoft, monkeypatch: pytest.MonkeyPatch, template: dict[str, Any], problems: list[str]
) -> None:
    pool = {"metadata": {"name": "t4"}, "spec": {"template": template}}
    monkeypatch.setattr(azure.fleet, "list_objects", lambda path: [pool] if path.endswith("/nodepools") else [])
    network = {**aks.cluster()["networkProfile"], **CILIUM}
    assert karpenter(azure, networkProfile=network).agent_taint == "node.cilium.io/agent-not-ready"
    evaluated = [*(azure.provider.problems() or ())]
    assert [part in each for part, each in zip(problems, evaluated, strict=True)] == [True] * len(problems), evaluated
    assert all("NodePool t4" in each for each in evaluated)


def test_without_cilium_or_node_auto_provisioning_nothing_is_evaluated(azure: aks.Microsoft) -> None:
    assert azure.provider.problems() is None
    assert karpenter(azure).agent_taint is None
    assert azure.provider.problems() is None


def test_no_pool_has_the_cluster_autoscaler_beside_it(azure: aks.Microsoft) -> None:
    growing = {**aks.system_pool(), "enableAutoScaling": True, "minCount": 1, "maxCount": 3}
    azure.cluster()
    automatic = {"sku": {"name": "Automatic", "tier": "Standard"}}
    for with_it in (AUTO, automatic):
        azure.refuses(aks.CLUSTER, aks.cluster(**with_it, resourceName="other", agentPoolProfiles=[growing]), REFUSED)
    made = azure.create(aks.POOL, aks.gpu_pool())
    with pytest.raises(Exception, match=REFUSED):
        azure.update(aks.CLUSTER, azure.read(aks.CLUSTER, aks.CLUSTER_ID), aks.cluster(**AUTO))
    azure.delete(aks.POOL, made)
    azure.update(aks.CLUSTER, azure.read(aks.CLUSTER, aks.CLUSTER_ID), aks.cluster(**AUTO))
    assert "gpu-dev" in azure.fleet.karpenters
    with pytest.raises(Exception, match=REFUSED):
        azure.create(aks.POOL, aks.gpu_pool())
