"""The clouds' resources as other tools spell them: unbridged Terraform, Crossplane, Config Connector, ACK and ASO.

One row for each type token: the readers' type, where the fields are, and which are named otherwise. Fields are
Terraform's (https://registry.terraform.io/browse/providers) or the API's:

- Terraform: https://www.pulumi.com/docs/iac/concepts/providers/any-terraform-provider/
- Crossplane, in ``spec.forProvider``: https://docs.crossplane.io/latest/managed-resources/managed-resources/
- Config Connector: https://cloud.google.com/config-connector/docs/reference/overview
- ACK: https://aws-controllers-k8s.github.io/docs/api-reference
- Azure Service Operator: https://azure.github.io/azure-service-operator/reference/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.unknown import at, coalesce
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, of_terraform, respelled

# Terraform's blocks that may occur several times → the bridged providers' plurals.
_LISTS: Final = {
    "blockDeviceMapping": "blockDeviceMappings",
    "guestAccelerator": "guestAccelerators",
    "launchTemplateConfig": "launchTemplateConfigs",
    "networkInterface": "networkInterfaces",
    "nodePool": "nodePools",
    "override": "overrides",
    "resourceLimit": "resourceLimits",
    "selector": "selectors",
    "tag": "tags",
    "tagSpecification": "tagSpecifications",
    "taint": "taints",
}
# The readers' name of the cluster that a pool is in → where controllers refer to its object.
_REFERENCES: Final = {
    "cluster": (("clusterRef", "name"), ("clusterSelector", "name"), ("clusterRef", "external")),
    "clusterName": (("clusterNameRef", "name"), ("clusterRef", "from", "name")),
    "kubernetesClusterId": (("kubernetesClusterIdRef", "name"),),
    "resourceName": (("owner", "name"),),
}
# azurerm called it so before version 4.
_OLD: Final = {"enableAutoScaling": "autoScalingEnabled", "enableNodePublicIp": "nodePublicIpEnabled"}
_COMPUTE: Final = (
    *("LinuxVirtualMachine", "WindowsVirtualMachine", "VirtualMachine"),
    *("LinuxVirtualMachineScaleSet", "WindowsVirtualMachineScaleSet", "OrchestratedVirtualMachineScaleSet"),
)

# The readers' type → its types in Terraform, in Crossplane, and in the cloud's own controller.
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws:autoscaling/group:Group": (
        "aws:index/autoscalingGroup:AutoscalingGroup",
        "kubernetes:autoscaling.aws.*:AutoscalingGroup",
    ),
    "aws:autoscaling/tag:Tag": ("aws:index/autoscalingGroupTag:AutoscalingGroupTag",),
    "aws:ec2/fleet:Fleet": ("aws:index/ec2Fleet:Ec2Fleet",),
    "aws:ec2/instance:Instance": (
        "aws:index/instance:Instance",
        "kubernetes:ec2.aws.*:Instance",
        "kubernetes:ec2.services.k8s.aws/*:Instance",
    ),
    "aws:ec2/launchConfiguration:LaunchConfiguration": ("aws:index/launchConfiguration:LaunchConfiguration",),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        "aws:index/launchTemplate:LaunchTemplate",
        "kubernetes:ec2.aws.*:LaunchTemplate",
    ),
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": ("aws:index/spotInstanceRequest:SpotInstanceRequest",),
    "aws:eks/cluster:Cluster": (
        "aws:index/eksCluster:EksCluster",
        "kubernetes:eks.aws.*:Cluster",
        "kubernetes:eks.services.k8s.aws/*:Cluster",
    ),
    "aws:eks/fargateProfile:FargateProfile": ("aws:index/eksFargateProfile:EksFargateProfile",),
    "aws:eks/nodeGroup:NodeGroup": (
        "aws:index/eksNodeGroup:EksNodeGroup",
        "kubernetes:eks.aws.*:NodeGroup",
        "kubernetes:eks.services.k8s.aws/*:Nodegroup",
    ),
    "aws:iam/accessKey:AccessKey": ("aws:index/iamAccessKey:IamAccessKey",),
    "azure-native:compute:VirtualMachine": ("kubernetes:compute.azure.com/*:VirtualMachine",),
    "azure-native:compute:VirtualMachineScaleSet": ("kubernetes:compute.azure.com/*:VirtualMachineScaleSet",),
    "azure-native:containerservice:AgentPool": ("kubernetes:containerservice.azure.com/*:ManagedClustersAgentPool",),
    "azure-native:containerservice:ManagedCluster": ("kubernetes:containerservice.azure.com/*:ManagedCluster",),
    "azure:containerservice/kubernetesCluster:KubernetesCluster": (
        "azurerm:index/kubernetesCluster:KubernetesCluster",
        "kubernetes:containerservice.azure.*upbound.io/*:KubernetesCluster",
    ),
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": (
        "azurerm:index/kubernetesClusterNodePool:KubernetesClusterNodePool",
        "kubernetes:containerservice.azure.*upbound.io/*:KubernetesClusterNodePool",
    ),
    **{
        f"azure:compute/{kind[0].lower()}{kind[1:]}:{kind}": (
            f"azurerm:index/{kind[0].lower()}{kind[1:]}:{kind}",
            f"kubernetes:compute.azure.*upbound.io/*:{kind}",
        )
        for kind in _COMPUTE
    },
    "gcp:compute/instance:Instance": (
        "google*:index/computeInstance:ComputeInstance",
        "kubernetes:compute.gcp.*upbound.io/*:Instance",
        "kubernetes:compute.cnrm.cloud.google.com/*:ComputeInstance",
    ),
    "gcp:compute/instanceTemplate:InstanceTemplate": (
        "google*:index/computeInstanceTemplate:ComputeInstanceTemplate",
        "google*:index/computeRegionInstanceTemplate:ComputeRegionInstanceTemplate",
        "kubernetes:compute.gcp.*upbound.io/*:InstanceTemplate",
        "kubernetes:compute.cnrm.cloud.google.com/*:ComputeInstanceTemplate",
    ),
    "gcp:container/cluster:Cluster": (
        "google*:index/containerCluster:ContainerCluster",
        "kubernetes:container.gcp.*upbound.io/*:Cluster",
        "kubernetes:container.cnrm.cloud.google.com/*:ContainerCluster",
    ),
    "gcp:container/nodePool:NodePool": (
        "google*:index/containerNodePool:ContainerNodePool",
        "kubernetes:container.gcp.*upbound.io/*:NodePool",
        "kubernetes:container.cnrm.cloud.google.com/*:ContainerNodePool",
    ),
    "gcp:serviceaccount/key:Key": ("google*:index/serviceAccountKey:ServiceAccountKey",),
}
# The readers' type → their names of fields that are called otherwise in all its spellings.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "aws:eks/cluster:Cluster": {"resourcesVPCConfig": "vpcConfig"},
    "aws:eks/nodeGroup:NodeGroup": {"name": "nodeGroupName"},
}
# The readers' type → their name of the field that an object in Kubernetes has as ``azureName`` or as its own name.
_OWN_NAME: Final[Mapping[str, str]] = {
    "azure-native:compute:VirtualMachine": "vmName",
    "azure-native:compute:VirtualMachineScaleSet": "vmScaleSetName",
    "azure-native:containerservice:AgentPool": "agentPoolName",
    "azure-native:containerservice:ManagedCluster": "resourceName",
}


def _spelled(type_token: str, pattern: str) -> Spelling:
    names = _OLD if type_token.startswith("azure:") else _NAMES.get(type_token, {})
    crossplane = ".aws." in pattern or "upbound.io" in pattern
    body = ("spec", "forProvider") if crossplane else ("spec",) if pattern.startswith("kubernetes:") else ()

    def spelled(declared: Declared) -> Iterable[Declared]:
        fields = of_terraform(at(declared.properties, *body), _LISTS)
        if isinstance(fields, Mapping):
            values = {
                name: coalesce(fields.get(name), *(at(fields, *path) for path in paths))
                for name, paths in _REFERENCES.items()
            }
            if type_token in _OWN_NAME:
                name = coalesce(fields.get("azureName"), at(declared.properties, "metadata", "name"))
                values[_OWN_NAME[type_token]] = name
            known = {name: value for name, value in values.items() if value is not None}
            yield respelled(declared, type_token, {**fields, **known}, names)

    return spelled


def _ack_template(declared: Declared) -> Iterable[Declared]:
    spec = declared.properties.get("spec")
    data = coalesce(at(spec, "launchTemplateData"), at(spec, "data"))
    if isinstance(data, Mapping):
        name = coalesce(at(spec, "launchTemplateName"), at(spec, "name"))
        yield respelled(declared, "aws:ec2/launchTemplate:LaunchTemplate", {**data, "name": name})


SPELLINGS: Final[Mapping[str, Spelling]] = {
    **{pattern: _spelled(token, pattern) for token, patterns in _TYPES.items() for pattern in patterns},
    "kubernetes:ec2.services.k8s.aws/*:LaunchTemplate": _ack_template,
}
