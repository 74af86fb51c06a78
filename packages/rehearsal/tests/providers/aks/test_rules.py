"""Each server-side rule: the happy path passes it, one changed field breaks exactly it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from facts.catalog import of
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks.account import (
    IDENTITY_ID,
    POOL,
    SUBSCRIPTION,
    Microsoft,
    cluster,
    encryption_set,
    gpu_pool,
    network,
    role,
    subnet,
    system_pool,
    window,
)
from rehearsal.providers.aks.cloud import Rules, Subscription
from rehearsal.providers.aks.cluster_rules import CLUSTER_RULES
from rehearsal.providers.aks.identity import ENCRYPTION_RULES, ROLE_RULES
from rehearsal.providers.aks.maintenance import MAINTENANCE_RULES
from rehearsal.providers.aks.network import ADDRESS_RULES, NAT_RULES, NETWORK_RULES, SUBNET_RULES
from rehearsal.providers.aks.pool_rules import POOL_RULES, count_at_creation
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.rules import broken as first_broken
from rehearsal.providers.store import Store

PRINCIPAL = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
KEY_URL = f"https://vault.vault.azure.net/keys/disks/{'0123456789abcdef' * 2}"

HAPPY: dict[int, Properties] = {
    id(POOL_RULES): gpu_pool(),
    id(CLUSTER_RULES): {**cluster(), "location": "eastus"},
    id(NETWORK_RULES): network(),
    id(SUBNET_RULES): subnet(),
    id(NAT_RULES): {"natGatewayName": "nat", "sku": {"name": "Standard"}, "zones": ["1"]},
    id(ADDRESS_RULES): {"sku": {"name": "Standard"}, "publicIPAllocationMethod": "Static"},
    id(ROLE_RULES): role(principalId=PRINCIPAL, roleAssignmentName=PRINCIPAL),
    id(ENCRYPTION_RULES): encryption_set(),
    id(MAINTENANCE_RULES): window(),
}

SYSTEM: Properties = {
    "mode": "System",
    "count": 1,
    "vmSize": "Standard_D2s_v5",
    "nodeTaints": [],
    "scaleSetPriority": "Regular",
    "scaleSetEvictionPolicy": None,
    "spotMaxPrice": None,
    "gpuProfile": None,
    "minCount": 1,
    "maxCount": 3,
}
REGULAR: Properties = {"scaleSetPriority": "Regular", "scaleSetEvictionPolicy": None, "spotMaxPrice": None}
CPU: Properties = {"vmSize": "Standard_D4s_v5", "gpuProfile": None}

BROKEN: list[tuple[Rules, str, Properties]] = [
    (
        POOL_RULES,
        "system-pool-not-empty",
        {**SYSTEM, "count": 0, "enableAutoScaling": None, "minCount": None, "maxCount": None},
    ),
    (POOL_RULES, "system-pool-not-empty", {**SYSTEM, "minCount": 0}),
    (POOL_RULES, "pool-count-range", {"maxCount": 1001}),
    (POOL_RULES, "pool-count-range", {"count": -1}),
    (POOL_RULES, "autoscaling-needs-limits", {"maxCount": None}),
    (POOL_RULES, "autoscaling-needs-limits", {"minCount": 5}),
    (POOL_RULES, "autoscaling-needs-limits", {"maxCount": 0}),
    (POOL_RULES, "autoscaling-needs-limits", {"enableAutoScaling": False}),
    (POOL_RULES, "spot-not-system", {**SYSTEM, "scaleSetPriority": "Spot"}),
    (POOL_RULES, "eviction-needs-spot", {"scaleSetPriority": "Regular", "spotMaxPrice": None}),
    (POOL_RULES, "eviction-needs-spot", {"scaleSetPriority": "Regular", "scaleSetEvictionPolicy": None}),
    (POOL_RULES, "eviction-needs-spot", {"spotMaxPrice": 0}),
    (POOL_RULES, "vm-size-exists", {"vmSize": "Standard_NC6s_v3"}),
    (POOL_RULES, "vm-size-exists", {"vmSize": None}),
    (POOL_RULES, "system-pool-size", {**SYSTEM, "osType": "Windows", "osSKU": "Windows2022"}),
    (POOL_RULES, "mig-capable-size", {"gpuInstanceProfile": "MIG1g"}),
    (POOL_RULES, "gpu-profile-needs-gpus", {"vmSize": "Standard_D4s_v5"}),
    (POOL_RULES, "linux-gpu-image", {"osSKU": "Windows2022"}),
    (POOL_RULES, "linux-gpu-image", {"osSKU": "Ubuntu", "osType": "Windows"}),
    (POOL_RULES, "linux-gpu-image", {"osSKU": "AzureLinux", "vmSize": "Standard_NC144lds_xl_RTXPRO6000BSE_v6"}),
    (POOL_RULES, "secure-boot-signed-driver", {"securityProfile.enableSecureBoot": True}),
    (POOL_RULES, "secure-boot-signed-driver", {"securityProfile.enableSecureBoot": True, "osSKU": "Ubuntu"}),
    (POOL_RULES, "max-pods", {"maxPods": 9}),
    (POOL_RULES, "max-pods", {"maxPods": 251}),
    (POOL_RULES, "os-disk-size", {"osDiskSizeGB": 29}),
    (POOL_RULES, "zones-need-scale-sets", {"type": "AvailabilitySet"}),
    (POOL_RULES, "zones-need-scale-sets", {"availabilityZones": ["eastus-1"]}),
    (POOL_RULES, "zones-need-scale-sets", {"availabilityZones": ["1", "1"]}),
    (POOL_RULES, "labels-valid", {"nodeLabels": {"a b": "c"}}),
    (POOL_RULES, "labels-valid", {"nodeLabels": {"team": "a" * 64}}),
    (POOL_RULES, "labels-valid", {"nodeLabels": {"kubernetes.azure.com/mode": "user"}}),
    (POOL_RULES, "taints-valid", {"nodeTaints": ["dedicated=ml"]}),
    (POOL_RULES, "taints-valid", {"nodeTaints": ["a=b:NoSchedule", "a=c:NoSchedule"]}),
    (POOL_RULES, "taints-valid", {"nodeTaints": ["kubernetes.azure.com/mode=x:NoSchedule"]}),
    (POOL_RULES, "taints-valid", {"nodeTaints": ["-a=b:NoSchedule"]}),
    (POOL_RULES, "system-pool-taints", {**SYSTEM, "nodeTaints": ["dedicated=ml:NoSchedule"]}),
    (POOL_RULES, "eviction-needs-spot", {"spotMaxPrice": 0.000001}),
    (POOL_RULES, "system-pool-pods", {**SYSTEM, "maxPods": 29}),
    (POOL_RULES, "surge-form", {**REGULAR, "upgradeSettings": {"maxSurge": "some"}}),
    (POOL_RULES, "surge-or-unavailable", {**REGULAR, "upgradeSettings": {"maxSurge": "0"}}),
    (POOL_RULES, "surge-or-unavailable", {**REGULAR, "upgradeSettings": {"maxSurge": "0%", "maxUnavailable": "0"}}),
    (POOL_RULES, "surge-or-unavailable", {**REGULAR, "upgradeSettings": {"maxSurge": "1", "maxUnavailable": "1"}}),
    (POOL_RULES, "system-pool-available", {**SYSTEM, "upgradeSettings": {"maxSurge": "0", "maxUnavailable": "1"}}),
    (POOL_RULES, "spot-without-surge", {"upgradeSettings": {"maxSurge": "1"}}),
    (POOL_RULES, "spot-not-reserved", {"capacityReservationGroupID": "/subscriptions/s/resourceGroups/g"}),
    (POOL_RULES, "pool-version-offered", {"orchestratorVersion": "1.9"}),
    (CLUSTER_RULES, "cluster-location", {"location": "atlantis"}),
    (CLUSTER_RULES, "dns-prefix", {"dnsPrefix": None}),
    (CLUSTER_RULES, "dns-prefix", {"fqdnSubdomain": "gpu"}),
    (CLUSTER_RULES, "dns-prefix", {"dnsPrefix": "a" * 55}),
    (CLUSTER_RULES, "dns-prefix", {"dnsPrefix": "gpu-"}),
    (CLUSTER_RULES, "cluster-system-pool", {"agentPoolProfiles": []}),
    (CLUSTER_RULES, "cluster-system-pool", {"agentPoolProfiles": [system_pool(mode="User")]}),
    (CLUSTER_RULES, "cluster-system-pool", {"agentPoolProfiles": [system_pool(), system_pool()]}),
    (CLUSTER_RULES, "version-offered", {"kubernetesVersion": "1.9"}),
    (CLUSTER_RULES, "version-offered", {"kubernetesVersion": "1.33"}),
    (CLUSTER_RULES, "identity-or-principal", {"identity": None}),
    (CLUSTER_RULES, "identity-or-principal", {"identity.userAssignedIdentities": [IDENTITY_ID, IDENTITY_ID]}),
    (CLUSTER_RULES, "identity-or-principal", {"identity.type": "SystemAssigned"}),
    (
        CLUSTER_RULES,
        "identity-or-principal",
        {"identity": {"type": "SystemAssigned"}, "identityProfile": {"kubeletidentity": {"resourceId": IDENTITY_ID}}},
    ),
    (CLUSTER_RULES, "authorized-ranges-public", {"apiServerAccessProfile.enablePrivateCluster": True}),
    (CLUSTER_RULES, "authorized-ranges-public", {"apiServerAccessProfile.authorizedIPRanges": ["10.0.0.1/8"]}),
    (CLUSTER_RULES, "authorized-ranges-public", {"apiServerAccessProfile.authorizedIPRanges": ["203.0.113.1"] * 201}),
    (CLUSTER_RULES, "private-zone-form", {"apiServerAccessProfile.privateDNSZone": "/x/privatelink.westus.azmk8s.io"}),
    (
        CLUSTER_RULES,
        "private-zone-form",
        {"apiServerAccessProfile": {"privateDNSZone": "none", "enablePrivateClusterPublicFQDN": False}},
    ),
    (CLUSTER_RULES, "local-accounts-need-entra", {"aadProfile": None}),
    (CLUSTER_RULES, "local-accounts-need-entra", {"aadProfile.managed": False}),
    (CLUSTER_RULES, "local-accounts-need-entra", {"enableRBAC": False}),
    (CLUSTER_RULES, "workload-identity-needs-issuer", {"oidcIssuerProfile": None}),
    (CLUSTER_RULES, "network-ranges", {"networkProfile.podCidr": "10.8.0.0/16"}),
    (CLUSTER_RULES, "network-ranges", {"networkProfile.serviceCidr": "10.8.0.1/20"}),
    (CLUSTER_RULES, "network-ranges", {"networkProfile.serviceCidr": "11.0.0.0/12"}),
    (CLUSTER_RULES, "network-ranges", {"networkProfile.dnsServiceIP": "10.9.0.10"}),
    (CLUSTER_RULES, "network-ranges", {"networkProfile.dnsServiceIP": "10.8.0.1"}),
    (CLUSTER_RULES, "overlay-needs-azure-plugin", {"networkProfile.networkPlugin": "kubenet"}),
    (CLUSTER_RULES, "overlay-needs-azure-plugin", {"networkProfile.networkPluginMode": None}),
    (CLUSTER_RULES, "overlay-needs-azure-plugin", {"networkProfile.networkPolicy": "cilium"}),
    (CLUSTER_RULES, "outbound-type", {"networkProfile.outboundType": "managedNATGateway"}),
    (
        CLUSTER_RULES,
        "outbound-type",
        {
            "networkProfile.outboundType": "userAssignedNATGateway",
            "agentPoolProfiles": [system_pool(vnetSubnetID=None)],
        },
    ),
    (CLUSTER_RULES, "outbound-type", {"networkProfile.natGatewayProfile": {"idleTimeoutInMinutes": 4}}),
    (
        CLUSTER_RULES,
        "outbound-type",
        {"networkProfile.outboundType": "userAssignedNATGateway", "networkProfile.loadBalancerProfile": {"x": 1}},
    ),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"scaleDownUnneededTime": "ten"}}),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"scaleDownUnneededTime": "1h"}}),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"maxNodeProvisionTime": "600s"}}),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"scanInterval": "1m"}}),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"skipNodesWithSystemPods": "no"}}),
    (CLUSTER_RULES, "autoscaler-profile-values", {"autoScalerProfile": {"scaleDownUtilizationThreshold": "1.1"}}),
    (CLUSTER_RULES, "secrets-key", {"securityProfile.azureKeyVaultKms": {"enabled": True, "keyId": KEY_URL[:-33]}}),
    (
        CLUSTER_RULES,
        "secrets-key",
        {"securityProfile.azureKeyVaultKms": {"enabled": True, "keyId": KEY_URL, "keyVaultNetworkAccess": "Private"}},
    ),
    (CLUSTER_RULES, "long-term-support", {"supportPlan": "AKSLongTermSupport"}),
    (CLUSTER_RULES, "long-term-support", {"sku": {"name": "Base", "tier": "Premium"}}),
    (NETWORK_RULES, "network-ranges-valid", {"addressSpace": {"addressPrefixes": []}}),
    (NETWORK_RULES, "network-ranges-valid", {"addressSpace": {"addressPrefixes": ["10.0.0.0/30"]}}),
    (NETWORK_RULES, "network-ranges-valid", {"addressSpace": {"addressPrefixes": ["10.0.0.1/16"]}}),
    (SUBNET_RULES, "subnet-range-valid", {"addressPrefix": None}),
    (SUBNET_RULES, "subnet-range-valid", {"addressPrefix": "10.0.0.0/30"}),
    (NAT_RULES, "nat-one-zone", {"zones": ["1", "2"]}),
    (NAT_RULES, "nat-needs-sku", {"sku": None}),
    (ADDRESS_RULES, "standard-address-static", {"publicIPAllocationMethod": "Dynamic"}),
    (ROLE_RULES, "role-definition-form", {"roleDefinitionId": "Contributor"}),
    (ROLE_RULES, "principal-form", {"principalId": "me"}),
    (ROLE_RULES, "assignment-name-form", {"roleAssignmentName": "mine"}),
    (ENCRYPTION_RULES, "key-url-versioned", {"activeKey": {"keyUrl": KEY_URL[:-33]}}),
    (ENCRYPTION_RULES, "encryption-set-identity", {"identity": None}),
    (ENCRYPTION_RULES, "encryption-set-identity", {"identity": {"type": "UserAssigned"}}),
    (MAINTENANCE_RULES, "window-given", {"maintenanceWindow": None}),
    (MAINTENANCE_RULES, "window-one-schedule", {"maintenanceWindow.schedule": {}}),
    (MAINTENANCE_RULES, "window-one-schedule", {"maintenanceWindow.schedule.daily": {"intervalDays": 1}}),
    (
        MAINTENANCE_RULES,
        "window-one-schedule",
        {"configName": "default", "maintenanceWindow.schedule": {"daily": {"intervalDays": 1}}},
    ),
]

# What stays within each rule's edge.
ALLOWED: list[tuple[Rules, Properties]] = [
    (POOL_RULES, SYSTEM),
    (POOL_RULES, {**SYSTEM, "nodeTaints": ["CriticalAddonsOnly=true:NoSchedule", "a=b:PreferNoSchedule"]}),
    (POOL_RULES, {**REGULAR, "maxCount": 1000}),
    (POOL_RULES, {"minCount": 4, "maxCount": 4}),
    (POOL_RULES, {"minCount": None, "maxCount": None, "enableAutoScaling": False}),
    (POOL_RULES, {"spotMaxPrice": 0.5}),
    (POOL_RULES, {**CPU, "osSKU": "AzureLinux"}),
    (POOL_RULES, {"vmSize": "Standard_NC24ads_A100_v4", "gpuInstanceProfile": "MIG1g"}),
    (POOL_RULES, {"maxPods": 10}),
    (POOL_RULES, {"maxPods": 250}),
    (POOL_RULES, {"osDiskSizeGB": 0}),
    (POOL_RULES, {"osDiskSizeGB": 30}),
    (POOL_RULES, {"nodeTaints": ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule", "a:NoExecute"]}),
    (POOL_RULES, {"spotMaxPrice": 0.00001}),
    (POOL_RULES, {**SYSTEM, "maxPods": 30, "upgradeSettings": {"maxSurge": "1", "maxUnavailable": "0"}}),
    (POOL_RULES, {**REGULAR, "upgradeSettings": {"maxSurge": "0", "maxUnavailable": "1"}}),
    (POOL_RULES, {**REGULAR, "upgradeSettings": {"maxSurge": "10%"}}),
    (POOL_RULES, {"upgradeSettings": {"maxUnavailable": "1"}}),
    (POOL_RULES, {"orchestratorVersion": "1.34"}),
    (CLUSTER_RULES, {"dnsPrefix": "a" * 54}),
    (CLUSTER_RULES, {"identity": {"type": "SystemAssigned"}}),
    (CLUSTER_RULES, {"apiServerAccessProfile": {"enablePrivateCluster": True}}),
    (CLUSTER_RULES, {"apiServerAccessProfile.authorizedIPRanges": ["203.0.113.1"] * 200}),
    (CLUSTER_RULES, {"disableLocalAccounts": False, "aadProfile": None}),
    (CLUSTER_RULES, {"networkProfile.serviceCidr": "11.0.0.0/13", "networkProfile.dnsServiceIP": "11.0.0.10"}),
    (CLUSTER_RULES, {"networkProfile.networkPolicy": "cilium", "networkProfile.networkDataplane": "cilium"}),
    (CLUSTER_RULES, {"networkProfile.outboundType": "userAssignedNATGateway"}),
    (CLUSTER_RULES, {"autoScalerProfile": {"scanInterval": "30s", "newPodScaleUpDelay": "10s"}}),
    (CLUSTER_RULES, {"autoScalerProfile": {"scaleDownDelayAfterAdd": "0m", "maxNodeProvisionTime": "10m"}}),
    (CLUSTER_RULES, {"autoScalerProfile": {"expander": "priority", "scaleDownUtilizationThreshold": "0.5"}}),
    (CLUSTER_RULES, {"securityProfile.azureKeyVaultKms": {"enabled": True, "keyId": KEY_URL}}),
    (
        CLUSTER_RULES,
        {
            "kubernetesVersion": "1.33",
            "supportPlan": "AKSLongTermSupport",
            "sku": {"name": "Base", "tier": "Premium"},
        },
    ),
    (NETWORK_RULES, {"addressSpace": {"addressPrefixes": ["10.0.0.0/29"]}}),
    (SUBNET_RULES, {"addressPrefix": None, "addressPrefixes": ["10.0.0.0/29"]}),
    (ADDRESS_RULES, {"sku": {"name": "Basic"}, "publicIPAllocationMethod": "Dynamic"}),
    (ENCRYPTION_RULES, {"identity": {"type": "UserAssigned", "userAssignedIdentities": [IDENTITY_ID]}}),
    (MAINTENANCE_RULES, {"configName": "default"}),
    (MAINTENANCE_RULES, {"maintenanceWindow.schedule": {"daily": {"intervalDays": 1}}}),
]


@pytest.fixture
def cloud(tmp_path: Path) -> Subscription:
    store = Store(tmp_path, "azure-native")
    return Subscription(store, None, lambda: of("aks"), {"subscriptionId": SUBSCRIPTION})


def changed(rules: Rules, changes: Properties) -> Properties:
    inputs: Any = copy.deepcopy(HAPPY[id(rules)])
    for path, value in changes.items():
        *parents, last = path.split(".")
        block = inputs
        for parent in parents:
            block = block.setdefault(parent, {})
        block[last] = value
    return inputs


@pytest.mark.parametrize("rules", [rules for rules, _ in {id(each[0]): each for each in ALLOWED}.values()])
def test_the_happy_path_breaks_no_rule(cloud: Subscription, rules: Rules) -> None:
    assert first_broken(rules.rules, HAPPY[id(rules)], cloud) is None


@pytest.mark.parametrize(("rules", "changes"), ALLOWED)
def test_what_is_within_the_limits_passes(cloud: Subscription, rules: Rules, changes: Properties) -> None:
    assert first_broken(rules.rules, changed(rules, changes), cloud) is None


@pytest.mark.parametrize(("rules", "rule", "changes"), BROKEN, ids=lambda each: each if isinstance(each, str) else "")
def test_one_change_breaks_one_rule(cloud: Subscription, rules: Rules, rule: str, changes: Properties) -> None:
    inputs = changed(rules, changes)
    assert [each.id for each in rules.rules if each.check(inputs, cloud)] == [rule]


def test_a_broken_rule_reads_like_azures_answer(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r'^Status=400 Code="InvalidParameter" Message='):
        Microsoft(tmp_path).preview(POOL, gpu_pool(maxPods=9))


def test_every_rule_is_broken_once() -> None:
    for rules in (each for each, *_ in {id(each[0]): each for each in BROKEN}.values()):
        named = {name for book, name, _ in BROKEN if book is rules}
        assert {rule.id for rule in rules.rules} == named


@pytest.mark.parametrize(("rules", "rule", "changes"), BROKEN, ids=lambda each: each if isinstance(each, str) else "")
def test_a_rule_waits_for_values_that_only_the_update_knows(
    cloud: Subscription, rules: Rules, rule: str, changes: Properties
) -> None:
    inputs = changed(rules, changes)
    (broken,) = [each for each in rules.rules if each.id == rule]
    for path in broken.reads:
        inputs[path.partition(".")[0]] = UNKNOWN
    assert first_broken([broken], inputs, cloud) is None


@pytest.mark.parametrize(("count", "refused"), [(0, False), (4, False), (5, True), (None, False)])
def test_a_new_pools_count_is_within_its_limits(count: int | None, refused: bool) -> None:
    assert bool(count_at_creation(gpu_pool(count=count))) is refused


def test_a_new_pool_without_a_count_has_one_node() -> None:
    assert count_at_creation(gpu_pool(count=None, minCount=2))
    assert count_at_creation(gpu_pool(count=None, minCount=None, maxCount=None, enableAutoScaling=None)) is None
