"""Azure's resources as other tools spell them: unbridged Terraform, Crossplane and the Azure Service Operator.

Their fields are Terraform's (https://registry.terraform.io/providers/hashicorp/azurerm/latest/docs), or the API's
(https://azure.github.io/azure-service-operator/reference/). Where a version of a tool shows a single block as a list of
one, both are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.unknown import at, coalesce
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, of_terraform, respelled

_BLOCKS: Final = ("defaultNodePool", "apiServerAccessProfile", "keyManagementService")
_CLUSTER: Final = "azure:containerservice/kubernetesCluster:KubernetesCluster"
_POOL: Final = "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"
_COMPUTE: Final = (
    "linuxVirtualMachine:LinuxVirtualMachine",
    "windowsVirtualMachine:WindowsVirtualMachine",
    "virtualMachine:VirtualMachine",
    "linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet",
    "windowsVirtualMachineScaleSet:WindowsVirtualMachineScaleSet",
    "orchestratedVirtualMachineScaleSet:OrchestratedVirtualMachineScaleSet",
)


def _terraform(type_token: str) -> Spelling:
    def spelled(declared: Declared) -> Iterable[Declared]:
        yield respelled(declared, type_token, of_terraform(declared.properties, {}, _BLOCKS), _OLD_NAMES)

    return spelled


def _crossplane(type_token: str) -> Spelling:
    """The fields are in ``spec.forProvider``: https://docs.crossplane.io/latest/managed-resources/managed-resources/."""

    def spelled(declared: Declared) -> Iterable[Declared]:
        body = at(declared.properties, "spec", "forProvider")
        if isinstance(body, Mapping):
            flat = of_terraform(body, {}, _BLOCKS)
            cluster = coalesce(flat.get("kubernetesClusterId"), at(flat, "kubernetesClusterIdRef", "name"))
            yield respelled(declared, type_token, {**flat, "kubernetesClusterId": cluster}, _OLD_NAMES)

    return spelled


def _operator(type_token: str, own_name: str) -> Spelling:
    """The API's fields in ``spec``, with ``owner`` for the cluster that a pool is in."""

    def spelled(declared: Declared) -> Iterable[Declared]:
        spec = declared.properties.get("spec")
        if isinstance(spec, Mapping):
            name = coalesce(spec.get("azureName"), at(declared.properties, "metadata", "name"))
            names = {own_name: name}
            if own_name == "agentPoolName":
                names["resourceName"] = at(spec, "owner", "name")
            yield respelled(declared, type_token, {**spec, **names})

    return spelled


# azurerm called it so before version 4.
_OLD_NAMES: Final = {"enableAutoScaling": "autoScalingEnabled", "enableNodePublicIp": "nodePublicIpEnabled"}

SPELLINGS: Final[Mapping[str, Spelling]] = {
    # https://www.pulumi.com/docs/iac/concepts/providers/any-terraform-provider/
    "azurerm:index/kubernetesCluster:KubernetesCluster": _terraform(_CLUSTER),
    "azurerm:index/kubernetesClusterNodePool:KubernetesClusterNodePool": _terraform(_POOL),
    **{f"azurerm:index/{kind}": _terraform(f"azure:compute/{kind}") for kind in _COMPUTE},
    "kubernetes:containerservice.azure.*upbound.io/*:KubernetesCluster": _crossplane(_CLUSTER),
    "kubernetes:containerservice.azure.*upbound.io/*:KubernetesClusterNodePool": _crossplane(_POOL),
    **{
        f"kubernetes:compute.azure.*upbound.io/*:{kind.partition(':')[2]}": _crossplane(f"azure:compute/{kind}")
        for kind in _COMPUTE
    },
    "kubernetes:containerservice.azure.com/*:ManagedCluster": _operator(
        "azure-native:containerservice:ManagedCluster", "resourceName"
    ),
    "kubernetes:containerservice.azure.com/*:ManagedClustersAgentPool": _operator(
        "azure-native:containerservice:AgentPool", "agentPoolName"
    ),
    "kubernetes:compute.azure.com/*:VirtualMachine": _operator("azure-native:compute:VirtualMachine", "vmName"),
    "kubernetes:compute.azure.com/*:VirtualMachineScaleSet": _operator(
        "azure-native:compute:VirtualMachineScaleSet", "vmScaleSetName"
    ),
}
