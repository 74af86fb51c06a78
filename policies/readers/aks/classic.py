"""Reads the AKS resources of the Azure Classic provider, by their names in Azure's own API.

https://www.pulumi.com/registry/packages/azure/api-docs/containerservice/kubernetesclusternodepool/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, flag, items, mapping, text
from policies.readers.aks.clusters import (
    RESIZED,
    UPDATED,
    last_of,
    read_agent_pool,
    read_capacity_reservation,
    read_dedicated_host,
    read_scale_set,
    read_setting,
    read_virtual_machine,
)
from policies.readers.aks.clusters import read_cluster as read_managed_cluster
from policies.readers.resource import Declared, Item, Reader, Referrer

_POOL_NAMES: Final[Mapping[str, str]] = {
    "autoScalingEnabled": "enableAutoScaling",
    "enableHostEncryption": "enableEncryptionAtHost",
    "enableNodePublicIp": "enableNodePublicIP",
    "hostEncryptionEnabled": "enableEncryptionAtHost",
    "nodeCount": "count",
    "nodePublicIpEnabled": "enableNodePublicIP",
    "priority": "scaleSetPriority",
    "zones": "availabilityZones",
}


def read_pool(declared: Declared) -> Iterable[Item]:
    """``azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool``."""
    pool = _native_pool(declared.properties)
    if flag(pool.get("enableAutoScaling")) is True and pool.get("count") is None:
        # The provider then starts the pool with its minimum:
        # https://github.com/hashicorp/terraform-provider-azurerm/blob/main/internal/services/containers/kubernetes_cluster_node_pool_resource.go
        pool["count"] = coalesce(pool.get("minCount"), 0)
    cluster = text(pool.get("kubernetesClusterId"))
    names = {
        "agentPoolName": pool.get("name"),
        "resourceName": last_of(cluster),
    }
    yield from read_agent_pool(replace(declared, properties={**pool, **names}))


def read_cluster(declared: Declared) -> Iterable[Item]:
    """``azure:containerservice/kubernetesCluster:KubernetesCluster``; its default pool runs the system pods."""
    inputs = declared.properties
    pool = mapping(inputs.get("defaultNodePool"))
    native = {
        "resourceName": inputs.get("name"),
        "location": inputs.get("location"),
        "autoScalerProfile": inputs.get("autoScalerProfile"),
        "diskEncryptionSetID": inputs.get("diskEncryptionSetId"),
        "disableLocalAccounts": inputs.get("localAccountDisabled"),
        "networkProfile": inputs.get("networkProfile"),
        "nodeProvisioningProfile": inputs.get("nodeProvisioningProfile"),
        "addonProfiles": {
            "aciConnectorLinux": {"enabled": inputs.get("aciConnectorLinux") is not None},
            "httpApplicationRouting": {"enabled": inputs.get("httpApplicationRoutingEnabled")},
            "ingressApplicationGateway": {
                "enabled": (gateway := inputs.get("ingressApplicationGateway")) is not None,
                "config": {"applicationGatewayId": at(gateway, "gatewayId")},
            },
        },
        "ingressProfile": _routing(inputs.get("webAppRouting")),
        "serviceMeshProfile": _mesh(inputs.get("serviceMeshProfile")),
        "apiServerAccessProfile": {
            "enablePrivateCluster": inputs.get("privateClusterEnabled"),
            "authorizedIPRanges": at(inputs, "apiServerAccessProfile", "authorizedIpRanges"),
        },
        "securityProfile": {
            "azureKeyVaultKms": {
                "enabled": inputs.get("keyManagementService") is not None,
                "keyId": at(inputs, "keyManagementService", "keyVaultKeyId"),
            }
        },
        "agentPoolProfiles": [pool if pool is UNKNOWN else {**_native_pool(pool), "mode": "System"}],
    }
    yield from read_managed_cluster(replace(declared, properties=native))


def _routing(routing: Any) -> Any:
    if routing is None or routing is UNKNOWN:
        return routing
    nginx = {"defaultIngressControllerType": at(routing, "defaultNginxController")}
    return {"webAppRouting": {"enabled": True, "nginx": nginx}}


def _mesh(mesh: Any) -> Any:
    gateway = {"enabled": at(mesh, "externalIngressGatewayEnabled"), "mode": "External"}
    return {"istio": {"components": {"ingressGateways": [gateway]}}}


def read_machine(declared: Declared) -> Iterable[Item]:
    """``azure:compute/linuxVirtualMachine:LinuxVirtualMachine`` and its like."""
    inputs = declared.properties
    size = inputs.get("size", inputs.get("vmSize"))
    yield from read_virtual_machine(replace(declared, properties={**inputs, "hardwareProfile": {"vmSize": size}}))


def read_machines(declared: Declared) -> Iterable[Item]:
    """``azure:compute/linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet`` and its like."""
    inputs = declared.properties
    size = inputs.get("sku", inputs.get("skuName"))
    native = {
        **inputs,
        "sku": {"name": size, "capacity": inputs.get("instances")},
        "virtualMachineProfile": {"priority": inputs.get("priority"), "networkProfile": _network(inputs)},
    }
    yield from read_scale_set(replace(declared, properties=native))


def _network(inputs: Mapping[str, Any]) -> Any:
    """The interfaces of a scale set's machines, each with its addresses, in the words of the API."""
    interfaces = [
        interface
        if interface is UNKNOWN
        else {
            "ipConfigurations": [
                {"publicIPAddressConfiguration": next(iter(items(at(address, "publicIpAddresses"))), None)}
                for address in items(at(interface, "ipConfigurations"))
            ]
        }
        for interface in items(inputs.get("networkInterfaces"))
    ]
    return {"networkInterfaceConfigurations": interfaces}


READERS: Final[Mapping[str, Reader]] = {
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": read_pool,
    "azure:containerservice/kubernetesCluster:KubernetesCluster": read_cluster,
    "azure:compute/capacityReservation:CapacityReservation": read_capacity_reservation,
    "azure:compute/dedicatedHost:DedicatedHost": read_dedicated_host,
    "azure:monitoring/autoscaleSetting:AutoscaleSetting": read_setting,
    "azure:compute/virtualMachine:VirtualMachine": read_machine,
    "azure:compute/linuxVirtualMachine:LinuxVirtualMachine": read_machine,
    "azure:compute/windowsVirtualMachine:WindowsVirtualMachine": read_machine,
    "azure:compute/linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet": read_machines,
    "azure:compute/windowsVirtualMachineScaleSet:WindowsVirtualMachineScaleSet": read_machines,
    "azure:compute/orchestratedVirtualMachineScaleSet:OrchestratedVirtualMachineScaleSet": read_machines,
}

REFERRERS: Final[Mapping[str, Referrer]] = {
    "azure:compute/*VirtualMachineScaleSet": RESIZED,
    "azure:containerservice/kubernetesCluster:KubernetesCluster": UPDATED,
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": UPDATED,
}


def _native_pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    return {_POOL_NAMES.get(key, key): value for key, value in pool.items()}
