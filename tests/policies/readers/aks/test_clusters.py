"""Every way to declare GPU nodes with Azure's providers is read, with the API's own defaults."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import Cluster, NodeGroup, NotEvaluated
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.aks.facts import gpus_of_size
from policies.readers.resource import Declared, Item
from policies.readers.taints import parse_taint
from policies.rules.security import control_plane_access, no_local_accounts

POOL: dict[str, Any] = {
    "agentPoolName": "t4",
    "resourceName": "ml",
    "vmSize": "Standard_NC64as_T4_v3",
    "enableAutoScaling": True,
    "count": 0,
    "minCount": 0,
    "maxCount": 3,
    "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
    "nodeLabels": {"team": "ml"},
    "availabilityZones": ["1", "2"],
}
SPOT = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")


def items(type_token: str, properties: dict[str, Any]) -> tuple[Item, ...]:
    return read(Declared(type_token, "x", "urn:x", properties))


def pool(**changes: Any) -> NodeGroup:
    (item,) = items("azure-native:containerservice:AgentPool", {**POOL, **changes})
    assert isinstance(item, NodeGroup)
    return item


def cluster(**changes: Any) -> Cluster:
    item = items("azure-native:containerservice:ManagedCluster", changes)[0]
    assert isinstance(item, Cluster)
    return item


def test_an_agent_pool() -> None:
    group = pool()
    assert (group.name, group.cluster, group.gpus_per_node) == ("t4", "ml", 4)
    assert (group.autoscaled, group.min_nodes, group.max_nodes, group.initial_nodes) == (True, 0, 3, 0)
    assert (group.taints, group.spot, group.zones, group.private) == ((GPU_TAINT,), False, ("1", "2"), True)
    assert isinstance(group.labels, dict)
    assert group.labels["team"] == "ml"
    assert group.labels["kubernetes.azure.com/accelerator"] == "nvidia"
    assert group.labels["kubernetes.azure.com/scalesetpriority"] is None


@pytest.mark.parametrize(
    "type_token",
    [
        "azure-native:containerservice/v20200901:AgentPool",
        "azure-native:containerservice/v20240402preview:AgentPool",
        "azure-native_containerservice_v20250901:containerservice:AgentPool",
    ],
)
def test_a_version_in_the_token_changes_nothing(type_token: str) -> None:
    assert items(type_token, POOL) == (pool(),)


def test_a_spot_pool_has_a_taint_and_a_label_of_its_own() -> None:
    group = pool(scaleSetPriority="Spot")
    assert (group.spot, group.taints) == (True, (GPU_TAINT, SPOT))
    assert isinstance(group.labels, dict)
    assert group.labels["kubernetes.azure.com/scalesetpriority"] == "spot"
    declared_too = pool(scaleSetPriority="Spot", nodeTaints=[str(SPOT)])
    assert declared_too.taints == (SPOT,)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"count": None}, "initial_nodes", 1),
        ({"minCount": "1"}, "min_nodes", 1),
        ({"minCount": None}, "min_nodes", 0),
        ({"mode": "System"}, "min_nodes", 1),
        ({"mode": "System", "minCount": 3}, "min_nodes", 3),
        ({"mode": "System", "minCount": UNKNOWN}, "min_nodes", UNKNOWN),
        ({"mode": UNKNOWN, "minCount": 0}, "min_nodes", UNKNOWN),
        ({"mode": "System"}, "for_system_pods", True),
        ({"mode": "User"}, "for_system_pods", False),
        ({"maxCount": None}, "max_nodes", None),
        ({"enableAutoScaling": UNKNOWN}, "autoscaled", UNKNOWN),
        ({"enableNodePublicIP": True}, "private", False),
        ({"vmSize": UNKNOWN}, "gpus_per_node", UNKNOWN),
        ({"nodeTaints": UNKNOWN}, "taints", UNKNOWN),
        ({"nodeTaints": [UNKNOWN]}, "taints", UNKNOWN),
        ({"nodeLabels": UNKNOWN}, "labels", UNKNOWN),
        ({"scaleSetPriority": UNKNOWN}, "spot", UNKNOWN),
    ],
)
def test_defaults_and_unknown_values(changes: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(pool(**changes), field) == value


@pytest.mark.parametrize(
    ("size", "gpus"),
    [
        ("Standard_NC4as_T4_v3", 1),
        ("standard_nc64as_t4_v3", 4),
        ("Standard_NC24ads_A100_v4", 1),
        ("Standard_NC24s_v3", 4),
        ("Standard_NC12_Promo", 2),
        ("Standard_NCC40ads_H100_v5", 1),
        ("Standard_ND96isr_H200_v5", 8),
        ("Standard_NV6ads_A10_v5", 1),
        ("Standard_ND640xyz_v7", 1),
        ("Standard_NV4as_v4", 0),
        ("Standard_NV28adms_V710_v5", 0),
        ("Standard_ND96isr_MI300X_v5", 0),
        ("Standard_NG8ads_V620_v1", 0),
        ("Standard_NP10s", 0),
        ("Standard_D8s_v5", 0),
        (None, 0),
    ],
)
def test_gpus_of_a_size(size: str | None, gpus: int) -> None:
    assert gpus_of_size(size) == gpus


@pytest.mark.parametrize(
    ("entry", "taint"),
    [
        ("a/b=c:NoSchedule", Taint("a/b", "c", "NoSchedule")),
        ("a:NoExecute", Taint("a", "", "NoExecute")),
        ("a=:PreferNoSchedule", Taint("a", "", "PreferNoSchedule")),
        ("a=c:NoScedule", None),
        ("a=c", None),
    ],
)
def test_taints_are_texts(entry: str, taint: Taint | None) -> None:
    assert parse_taint(entry) == taint


def test_a_cluster_and_its_inline_pools() -> None:
    profiles = [{"name": "system", "mode": "System", "vmSize": "Standard_D2s_v5", "count": 1}, UNKNOWN]
    inline_items = items(
        "azure-native:containerservice:ManagedCluster",
        {
            "resourceName": "ml",
            "location": "West Europe",
            "diskEncryptionSetID": "/set",
            "securityProfile": {"azureKeyVaultKms": {"enabled": True, "keyId": "https://vault/key"}},
            "agentPoolProfiles": profiles,
        },
    )
    made, system, unknown = inline_items
    assert isinstance(made, Cluster)
    assert (made.name, made.region, made.secrets_key) == ("ml", "westeurope", "https://vault/key")
    assert isinstance(system, NodeGroup)
    assert (system.name, system.cluster, system.gpus_per_node, system.disk_key) == ("system", "ml", 0, "/set")
    assert isinstance(unknown, NodeGroup)
    assert unknown.gpus_per_node is unknown.taints is unknown.min_nodes is UNKNOWN


@pytest.mark.parametrize(
    ("access", "open_api"),
    [
        (None, True),
        ({"enablePrivateCluster": True}, False),
        ({"authorizedIPRanges": ["192.0.2.0/24"]}, False),
        ({"authorizedIPRanges": []}, True),
        ({"authorizedIPRanges": UNKNOWN}, UNKNOWN),
    ],
)
def test_who_reaches_the_api_server(access: Any, open_api: Any) -> None:
    made = cluster(apiServerAccessProfile=access)
    assert made.open_api is open_api
    violations = control_plane_access(made)
    assert [violation.not_evaluated for violation in violations] == {True: [False], False: [], UNKNOWN: [True]}[
        open_api
    ]


@pytest.mark.parametrize(("disabled", "broken"), [(True, 0), (False, 1), (None, 1)])
def test_local_accounts(disabled: Any, broken: int) -> None:
    assert len(no_local_accounts(cluster(disableLocalAccounts=disabled))) == broken


def test_single_machines_are_one_group_per_size() -> None:
    manual = [{"size": "Standard_NC6s_v3", "count": 2}, {"size": "Standard_NC12s_v3", "count": 1}]
    scale = {"manual": manual, "autoscale": {"size": "Standard_NC24s_v3", "minCount": 1, "maxCount": 4}}
    machine_items = items(
        "azure-native:containerservice:AgentPool", {**POOL, "vmSize": None, "virtualMachinesProfile": {"scale": scale}}
    )
    sizes = [
        (g.gpus_per_node, g.autoscaled, g.min_nodes, g.initial_nodes) for g in machine_items if isinstance(g, NodeGroup)
    ]
    assert sizes == [(1, False, 0, 2), (2, False, 0, 1), (4, True, 1, 0)]


def test_a_scale_set_with_the_autoscalers_tags_is_a_group() -> None:
    tags = {
        "min": "0",
        "max": "5",
        "k8s.io_cluster-autoscaler_node-template_taint_nvidia.com_gpu": "present:NoSchedule",
    }
    (group,) = items(
        "azure-native:compute:VirtualMachineScaleSet",
        {"sku": {"name": "Standard_NC6s_v3", "capacity": 0}, "tags": tags},
    )
    assert isinstance(group, NodeGroup)
    assert (group.kind, group.min_nodes, group.max_nodes, group.taints) == ("pool", 0, 5, (GPU_TAINT,))


@pytest.mark.parametrize("size", ["Standard_NC6s_v3", UNKNOWN])
def test_other_scale_sets_are_machines(size: Any) -> None:
    (group,) = items(
        "azure-native:compute:VirtualMachineScaleSet", {"sku": {"name": size, "capacity": 2}, "tags": UNKNOWN}
    )
    assert isinstance(group, NodeGroup)
    assert (group.kind, group.initial_nodes) == ("machine", 2)


def test_the_generic_resource_speaks_the_api() -> None:
    body = {key: value for key, value in POOL.items() if key not in ("agentPoolName", "resourceName")}
    generic = {
        "resourceProviderNamespace": "Microsoft.ContainerService",
        "parentResourcePath": "managedClusters/ml",
        "resourceType": "agentPools",
        "resourceName": "t4",
        "properties": body,
    }
    assert items("azure-native:resources:Resource", generic) == (pool(),)
    (other,) = items("azure-native:resources:Resource", {**generic, "resourceType": "deployments"})
    assert isinstance(other, NotEvaluated), "it mentions a GPU size, and nobody knows what it makes of it"


def test_the_classic_provider_says_the_same_in_its_own_words() -> None:
    classic = {
        **{key: POOL[key] for key in ("vmSize", "minCount", "maxCount", "nodeTaints", "nodeLabels")},
        "name": "t4",
        "kubernetesClusterId": "/subscriptions/s/managedClusters/ml",
        "autoScalingEnabled": True,
        "nodeCount": 0,
        "zones": ["1", "2"],
    }
    assert items("azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool", classic) == (pool(),)
    made, default = items(
        "azure:containerservice/kubernetesCluster:KubernetesCluster",
        {"name": "ml", "privateClusterEnabled": True, "defaultNodePool": {"name": "d", "vmSize": "Standard_D2s_v5"}},
    )
    assert isinstance(made, Cluster)
    assert (made.name, made.open_api, made.local_accounts) == ("ml", False, True)
    assert isinstance(default, NodeGroup)
    assert (default.name, default.min_nodes, default.initial_nodes) == ("d", 1, 1)
