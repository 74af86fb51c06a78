"""GPU machines by other doors: other providers, templates, and controllers in Kubernetes."""

from __future__ import annotations

import json
from typing import Any

from tests.policies.corpus.case import Case

SIZES = {"minSize": 1, "maxSize": 4, "desiredSize": 1}
TAINTS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
TERRAFORM_POOL = {
    "cluster": "ml",
    "location": "europe-west4-a",
    "autoscaling": [{"minNodeCount": 1, "maxNodeCount": 3}],
    "nodeConfig": [{"machineType": "n1-standard-8", "guestAccelerator": [{"type": "nvidia-tesla-t4", "count": 1}]}],
}
AGENT_POOL = {"vmSize": "Standard_NC24ads_A100_v4", "enableAutoScaling": True, "minCount": 1, "maxCount": 2, "count": 1}

STACK_YAML = """
Parameters:
  Kind: {Type: String, Default: g6.xlarge}
  Least: {Type: Number, Default: 2}
Resources:
  Machine:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceType: !Ref Kind
        UserData: !Base64 "/etc/eks/bootstrap.sh ml --register-with-taints=nvidia.com/gpu=present:NoSchedule"
  Workers:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: !Ref Least
      MaxSize: "8"
      LaunchTemplate:
        LaunchTemplateId: !Ref Machine
        Version: !GetAtt Machine.LatestVersionNumber
      Tags:
        - {Key: kubernetes.io/cluster/ml, Value: owned, PropagateAtLaunch: true}
"""
NODE_GROUP_TEMPLATE = {
    "Resources": {
        "Workers": {
            "Type": "AWS::EKS::Nodegroup",
            "Properties": {
                "ClusterName": {"Ref": "Cluster"},
                "InstanceTypes": ["g5.xlarge"],
                "ScalingConfig": {"MinSize": 0, "MaxSize": 4, "DesiredSize": 0},
                "Labels": {"Team": "ml"},
            },
        }
    }
}
ARM = {
    "parameters": {"size": {"type": "string", "defaultValue": "Standard_NC4as_T4_v3"}},
    "variables": {"least": 1},
    "resources": [
        {
            "type": "Microsoft.ContainerService/managedClusters/agentPools",
            "apiVersion": "2025-09-01",
            "name": "ml/gpu",
            "properties": {
                "vmSize": "[parameters('size')]",
                "enableAutoScaling": True,
                "minCount": "[variables('least')]",
                "maxCount": 4,
                "count": 1,
            },
        }
    ],
}
MACHINE = {"metadata": {"name": "gpu"}, "spec": {"instanceType": "g5.xlarge"}}
INFRASTRUCTURE = {"kind": "AWSMachine", "name": "gpu", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"}


def one(id: str, story: str, token: str, properties: Any, rule: str | None = None, unjudged: str = "") -> Case:
    return Case(id=id, story=story, resources=((token, "gpu", properties),), rule=rule, unjudged=unjudged)


def custom(spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "gpu"}, "spec": spec}


BLOCKED = [
    one(
        "native-node-group",
        "The provider of Cloud Control.",
        "aws-native:eks:Nodegroup",
        {"clusterName": "ml", "instanceTypes": ["g5.xlarge"], "scalingConfig": SIZES, "taints": TAINTS},
        "gpu-zero-minimum",
    ),
    Case(
        id="native-auto-scaling-group",
        story="A self-managed group of Cloud Control, its template beside it.",
        resources=(
            (
                "aws-native:ec2:LaunchTemplate",
                "machine",
                {
                    "launchTemplateName": "gpu-machine",
                    "launchTemplateData": {
                        "instanceType": "g5.xlarge",
                        "userData": "#!/bin/bash\n/etc/eks/bootstrap.sh ml",
                    },
                },
            ),
            (
                "aws-native:autoscaling:AutoScalingGroup",
                "gpu",
                {
                    "minSize": "0",
                    "maxSize": "4",
                    "launchTemplate": {"launchTemplateName": "gpu-machine", "version": "1"},
                },
            ),
        ),
        rule="gpu-taint",
    ),
    one(
        "native-instance",
        "A GPU workstation by Cloud Control.",
        "aws-native:ec2:Instance",
        {"instanceType": "g6.xlarge"},
        "gpu-autoscaled",
    ),
    one(
        "cloudformation-auto-scaling-group",
        "The template that a colleague exported, in YAML with short forms.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": STACK_YAML},
        "gpu-zero-minimum",
    ),
    one(
        "cloudformation-minimum-by-parameter",
        "The template's default is empty; the program's parameter is not.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": STACK_YAML.replace("Default: 2", "Default: 0"), "parameters": {"Least": "1"}},
        "gpu-zero-minimum",
    ),
    one(
        "cloudformation-node-group-without-a-taint",
        "A managed group in a JSON template.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": json.dumps(NODE_GROUP_TEMPLATE)},
        "gpu-taint",
    ),
    one(
        "cloud-control-node-group",
        "Any resource by its type's name and its state as JSON.",
        "aws:cloudcontrol/resource:Resource",
        {
            "typeName": "AWS::EKS::Nodegroup",
            "desiredState": json.dumps(
                {"InstanceTypes": ["p5.48xlarge"], "ScalingConfig": {"MinSize": 1, "MaxSize": 2, "DesiredSize": 1}}
            ),
        },
        "gpu-zero-minimum",
    ),
    one(
        "pulumi-eks-node-group",
        "The component library's self-managed group, on all the time.",
        "eks:index:NodeGroup",
        {"instanceType": "g5.xlarge", "gpu": True, "minSize": 1, "maxSize": 2},
        "gpu-zero-minimum",
    ),
    one(
        "terraform-google-pool",
        "Google's Terraform provider, not bridged to Pulumi.",
        "google:index/containerNodePool:ContainerNodePool",
        {**TERRAFORM_POOL, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}},
        "gpu-zero-minimum",
    ),
    one(
        "terraform-google-beta-pool-of-lists",
        "The same, where single blocks are lists of one.",
        "google-beta:index/containerNodePool:ContainerNodePool",
        TERRAFORM_POOL,
        "gpu-taint",
    ),
    one(
        "terraform-aws-group",
        "Amazon's Terraform provider, not bridged to Pulumi.",
        "aws:index/eksNodeGroup:EksNodeGroup",
        {"clusterName": "ml", "instanceTypes": ["g5.xlarge"], "scalingConfig": [SIZES], "taint": TAINTS},
        "gpu-zero-minimum",
    ),
    one(
        "terraform-azurerm-pool",
        "Azure's Terraform provider, not bridged to Pulumi, before version 4.",
        "azurerm:index/kubernetesClusterNodePool:KubernetesClusterNodePool",
        {"vmSize": "Standard_NC4as_T4_v3", "enableAutoScaling": True, "minCount": 1, "maxCount": 2},
        "gpu-zero-minimum",
    ),
    one(
        "arm-deployment",
        "A template of Azure's with parameters and variables.",
        "azure-native:resources:Deployment",
        {"properties": {"mode": "Incremental", "template": ARM}},
        "gpu-zero-minimum",
    ),
    one(
        "arm-deployment-nested",
        "A template in a template.",
        "azure-native:resources:Deployment",
        {
            "properties": {
                "template": {
                    "resources": [
                        {"type": "Microsoft.Resources/deployments", "name": "x", "properties": {"template": ARM}}
                    ]
                }
            }
        },
        "gpu-taint",
    ),
    one(
        "arm-classic-deployment",
        "The template as text, the size by a parameter of the program.",
        "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment",
        {
            "templateContent": json.dumps(ARM).replace("Standard_NC4as_T4_v3", "Standard_D4s_v5"),
            "parametersContent": json.dumps({"size": {"value": "Standard_NC6s_v3"}}),
        },
        "gpu-taint",
    ),
    one(
        "azapi-agent-pool",
        "Azure's API by its type's name.",
        "azapi:index/resource:Resource",
        {
            "type": "Microsoft.ContainerService/managedClusters/agentPools@2025-09-01",
            "name": "gpu",
            "parentId": "/subscriptions/0/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/ml",
            "body": {"properties": AGENT_POOL},
        },
        "gpu-zero-minimum",
    ),
    one(
        "crossplane-aws-group",
        "A managed resource of Crossplane.",
        "kubernetes:eks.aws.upbound.io/v1beta1:NodeGroup",
        custom({"forProvider": {"instanceTypes": ["g5.xlarge"], "scalingConfig": [SIZES], "taint": TAINTS}}),
        "gpu-zero-minimum",
    ),
    one(
        "crossplane-google-pool",
        "A namespaced managed resource of Crossplane 2.",
        "kubernetes:container.gcp.m.upbound.io/v1beta1:NodePool",
        custom({"forProvider": TERRAFORM_POOL}),
        "gpu-taint",
    ),
    one(
        "crossplane-azure-pool",
        "A managed resource of Crossplane.",
        "kubernetes:containerservice.azure.upbound.io/v1beta2:KubernetesClusterNodePool",
        custom(
            {
                "forProvider": {
                    "vmSize": "Standard_NC4as_T4_v3",
                    "autoScalingEnabled": True,
                    "minCount": 1,
                    "maxCount": 2,
                }
            }
        ),
        "gpu-zero-minimum",
    ),
    one(
        "config-connector-pool",
        "Google's controller for its own cloud.",
        "kubernetes:container.cnrm.cloud.google.com/v1beta1:ContainerNodePool",
        custom({**TERRAFORM_POOL, "clusterRef": {"name": "ml"}, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}}),
        "gpu-zero-minimum",
    ),
    one(
        "ack-node-group",
        "Amazon's controllers for Kubernetes.",
        "kubernetes:eks.services.k8s.aws/v1alpha1:Nodegroup",
        custom({"name": "gpu", "clusterName": "ml", "instanceTypes": ["g5.xlarge"], "scalingConfig": SIZES}),
        "gpu-taint",
    ),
    one(
        "aso-agent-pool",
        "Azure's service operator.",
        "kubernetes:containerservice.azure.com/v1api20240901:ManagedClustersAgentPool",
        custom({"owner": {"name": "ml"}, **AGENT_POOL}),
        "gpu-zero-minimum",
    ),
    Case(
        id="capi-single-machine",
        story="One machine of Cluster API that no set owns.",
        resources=(
            ("kubernetes:infrastructure.cluster.x-k8s.io/v1beta2:AWSMachine", "gpu-machine", MACHINE),
            (
                "kubernetes:cluster.x-k8s.io/v1beta1:Machine",
                "gpu",
                {"metadata": {"name": "gpu"}, "spec": {"clusterName": "ml", "infrastructureRef": INFRASTRUCTURE}},
            ),
        ),
        rule="gpu-autoscaled",
    ),
]

ALLOWED = [
    one(
        "native-cpu-group",
        "CPU nodes of Cloud Control.",
        "aws-native:eks:Nodegroup",
        {"instanceTypes": ["m7i.large"], "scalingConfig": SIZES},
    ),
    one(
        "cloudformation-bucket",
        "A template without machines.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": "Resources: {Models: {Type: AWS::S3::Bucket, Properties: {BucketName: gpu-models}}}"},
    ),
    one(
        "alarm-on-gpus",
        "An alarm that names a machine type.",
        "aws:cloudwatch/metricAlarm:MetricAlarm",
        {"dimensions": {"InstanceType": "g5.xlarge"}, "alarmDescription": "idle gpu"},
    ),
    one(
        "policy-that-forbids-gpu-machines",
        "A policy of the organization.",
        "aws:organizations/policy:Policy",
        {"content": '{"Condition": {"StringLike": {"ec2:InstanceType": ["p5.48xlarge"]}}}'},
    ),
    one("subnet-for-gpus", "A subnet's name.", "aws:ec2/subnet:Subnet", {"tags": {"Name": "gpu-a"}}),
    one(
        "quota-of-gpus",
        "A quota by flavor.",
        "kubernetes:kueue.x-k8s.io/v1beta1:ResourceFlavor",
        custom({"nodeLabels": {"node.kubernetes.io/instance-type": "g5.xlarge"}}),
    ),
    one("a-web-server", "A machine that nobody reads.", "digitalocean:index/droplet:Droplet", {"size": "s-2vcpu-4gb"}),
    one(
        "a-server-named-after-gpus",
        "A machine's name is no machine type.",
        "hcloud:index/server:Server",
        {"name": "gpu-scheduler", "serverType": "cx22", "labels": {"for": "gpu"}},
    ),
    one("a-name", "A random name.", "random:index/randomPet:RandomPet", {"prefix": "gpu"}),
]
