"""GPU machines by other doors: other providers, templates, and controllers in Kubernetes."""

from __future__ import annotations

import json
from typing import Any

from tests.policies.corpus.case import Resource, allowed, blocked, resource

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


def custom(token: str, /, **spec: Any) -> Resource:
    """An object of Kubernetes with this specification."""
    return resource(token, metadata={"name": "gpu"}, spec=spec)


BLOCKED = [
    blocked("native-node-group", "gpu-zero-minimum", "The provider of Cloud Control.").of(
        resource(
            "aws-native:eks:Nodegroup",
            clusterName="ml",
            instanceTypes=["g5.xlarge"],
            scalingConfig=SIZES,
            taints=TAINTS,
        )
    ),
    blocked(
        "native-auto-scaling-group", "gpu-taint", "A self-managed group of Cloud Control, its template beside it."
    ).of(
        resource(
            "aws-native:ec2:LaunchTemplate",
            "machine",
            launchTemplateName="gpu-machine",
            launchTemplateData={"instanceType": "g5.xlarge", "userData": "#!/bin/bash\n/etc/eks/bootstrap.sh ml"},
        ),
        resource(
            "aws-native:autoscaling:AutoScalingGroup",
            minSize="0",
            maxSize="4",
            launchTemplate={"launchTemplateName": "gpu-machine", "version": "1"},
        ),
    ),
    blocked("native-instance", "gpu-autoscaled", "A GPU workstation by Cloud Control.").of(
        resource("aws-native:ec2:Instance", instanceType="g6.xlarge")
    ),
    blocked(
        "cloudformation-auto-scaling-group",
        "gpu-zero-minimum",
        "The template that a colleague exported, in YAML with short forms.",
    ).of(resource("aws:cloudformation/stack:Stack", templateBody=STACK_YAML)),
    blocked(
        "cloudformation-minimum-by-parameter",
        "gpu-zero-minimum",
        "The template's default is empty; the program's parameter is not.",
    ).of(
        resource(
            "aws:cloudformation/stack:Stack",
            templateBody=STACK_YAML.replace("Default: 2", "Default: 0"),
            parameters={"Least": "1"},
        )
    ),
    blocked("cloudformation-node-group-without-a-taint", "gpu-taint", "A managed group in a JSON template.").of(
        resource("aws:cloudformation/stack:Stack", templateBody=json.dumps(NODE_GROUP_TEMPLATE))
    ),
    blocked(
        "cloud-control-node-group", "gpu-zero-minimum", "Any resource by its type's name and its state as JSON."
    ).of(
        resource(
            "aws:cloudcontrol/resource:Resource",
            typeName="AWS::EKS::Nodegroup",
            desiredState=json.dumps(
                {"InstanceTypes": ["p5.48xlarge"], "ScalingConfig": {"MinSize": 1, "MaxSize": 2, "DesiredSize": 1}}
            ),
        )
    ),
    blocked(
        "pulumi-eks-node-group", "gpu-zero-minimum", "The component library's self-managed group, on all the time."
    ).of(resource("eks:index:NodeGroup", instanceType="g5.xlarge", gpu=True, minSize=1, maxSize=2)),
    blocked("terraform-google-pool", "gpu-zero-minimum", "Google's Terraform provider, not bridged to Pulumi.").of(
        (
            "google:index/containerNodePool:ContainerNodePool",
            "gpu",
            {**TERRAFORM_POOL, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}},
        )
    ),
    blocked("terraform-google-beta-pool-of-lists", "gpu-taint", "The same, where single blocks are lists of one.").of(
        ("google-beta:index/containerNodePool:ContainerNodePool", "gpu", TERRAFORM_POOL)
    ),
    blocked("terraform-aws-group", "gpu-zero-minimum", "Amazon's Terraform provider, not bridged to Pulumi.").of(
        resource(
            "aws:index/eksNodeGroup:EksNodeGroup",
            clusterName="ml",
            instanceTypes=["g5.xlarge"],
            scalingConfig=[SIZES],
            taint=TAINTS,
        )
    ),
    blocked(
        "terraform-azurerm-pool",
        "gpu-zero-minimum",
        "Azure's Terraform provider, not bridged to Pulumi, before version 4.",
    ).of(
        resource(
            "azurerm:index/kubernetesClusterNodePool:KubernetesClusterNodePool",
            vmSize="Standard_NC4as_T4_v3",
            enableAutoScaling=True,
            minCount=1,
            maxCount=2,
        )
    ),
    blocked("arm-deployment", "gpu-zero-minimum", "A template of Azure's with parameters and variables.").of(
        resource("azure-native:resources:Deployment", properties={"mode": "Incremental", "template": ARM})
    ),
    blocked("arm-deployment-nested", "gpu-taint", "A template in a template.").of(
        resource(
            "azure-native:resources:Deployment",
            properties={
                "template": {
                    "resources": [
                        {"type": "Microsoft.Resources/deployments", "name": "x", "properties": {"template": ARM}}
                    ]
                }
            },
        )
    ),
    blocked("arm-classic-deployment", "gpu-taint", "The template as text, the size by a parameter of the program.").of(
        resource(
            "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment",
            templateContent=json.dumps(ARM).replace("Standard_NC4as_T4_v3", "Standard_D4s_v5"),
            parametersContent=json.dumps({"size": {"value": "Standard_NC6s_v3"}}),
        )
    ),
    blocked("azapi-agent-pool", "gpu-zero-minimum", "Azure's API by its type's name.").of(
        resource(
            "azapi:index/resource:Resource",
            type="Microsoft.ContainerService/managedClusters/agentPools@2025-09-01",
            name="gpu",
            parentId="/subscriptions/0/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/ml",
            body={"properties": AGENT_POOL},
        )
    ),
    blocked("crossplane-aws-group", "gpu-zero-minimum", "A managed resource of Crossplane.").of(
        custom(
            "kubernetes:eks.aws.upbound.io/v1beta1:NodeGroup",
            forProvider={"instanceTypes": ["g5.xlarge"], "scalingConfig": [SIZES], "taint": TAINTS},
        )
    ),
    blocked("crossplane-google-pool", "gpu-taint", "A namespaced managed resource of Crossplane 2.").of(
        custom("kubernetes:container.gcp.m.upbound.io/v1beta1:NodePool", forProvider=TERRAFORM_POOL)
    ),
    blocked("crossplane-azure-pool", "gpu-zero-minimum", "A managed resource of Crossplane.").of(
        custom(
            "kubernetes:containerservice.azure.upbound.io/v1beta2:KubernetesClusterNodePool",
            forProvider={"vmSize": "Standard_NC4as_T4_v3", "autoScalingEnabled": True, "minCount": 1, "maxCount": 2},
        )
    ),
    blocked("config-connector-pool", "gpu-zero-minimum", "Google's controller for its own cloud.").of(
        custom(
            "kubernetes:container.cnrm.cloud.google.com/v1beta1:ContainerNodePool",
            clusterRef={"name": "ml"},
            **{**TERRAFORM_POOL, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}},
        )
    ),
    blocked("ack-node-group", "gpu-taint", "Amazon's controllers for Kubernetes.").of(
        custom(
            "kubernetes:eks.services.k8s.aws/v1alpha1:Nodegroup",
            name="gpu",
            clusterName="ml",
            instanceTypes=["g5.xlarge"],
            scalingConfig=SIZES,
        )
    ),
    blocked("aso-agent-pool", "gpu-zero-minimum", "Azure's service operator.").of(
        custom(
            "kubernetes:containerservice.azure.com/v1api20240901:ManagedClustersAgentPool",
            owner={"name": "ml"},
            **AGENT_POOL,
        )
    ),
    blocked("capi-single-machine", "gpu-autoscaled", "One machine of Cluster API that no set owns.").of(
        ("kubernetes:infrastructure.cluster.x-k8s.io/v1beta2:AWSMachine", "gpu-machine", MACHINE),
        resource(
            "kubernetes:cluster.x-k8s.io/v1beta1:Machine",
            metadata={"name": "gpu"},
            spec={"clusterName": "ml", "infrastructureRef": INFRASTRUCTURE},
        ),
    ),
]

ALLOWED = [
    allowed("native-cpu-group", "CPU nodes of Cloud Control.").of(
        resource("aws-native:eks:Nodegroup", instanceTypes=["m7i.large"], scalingConfig=SIZES)
    ),
    allowed("cloudformation-bucket", "A template without machines.").of(
        resource(
            "aws:cloudformation/stack:Stack",
            templateBody="Resources: {Models: {Type: AWS::S3::Bucket, Properties: {BucketName: gpu-models}}}",
        )
    ),
    allowed("alarm-on-gpus", "An alarm that names a machine type.").of(
        resource(
            "aws:cloudwatch/metricAlarm:MetricAlarm",
            dimensions={"InstanceType": "g5.xlarge"},
            alarmDescription="idle gpu",
        )
    ),
    allowed("policy-that-forbids-gpu-machines", "A policy of the organization.").of(
        resource(
            "aws:organizations/policy:Policy",
            content='{"Condition": {"StringLike": {"ec2:InstanceType": ["p5.48xlarge"]}}}',
        )
    ),
    allowed("subnet-for-gpus", "A subnet's name.").of(resource("aws:ec2/subnet:Subnet", tags={"Name": "gpu-a"})),
    allowed("quota-of-gpus", "A quota by flavor.").of(
        custom(
            "kubernetes:kueue.x-k8s.io/v1beta1:ResourceFlavor",
            nodeLabels={"node.kubernetes.io/instance-type": "g5.xlarge"},
        )
    ),
    allowed("a-web-server", "A machine that nobody reads.").of(
        resource("digitalocean:index/droplet:Droplet", size="s-2vcpu-4gb")
    ),
    allowed("a-server-named-after-gpus", "A machine's name is no machine type.").of(
        resource("hcloud:index/server:Server", name="gpu-scheduler", serverType="cx22", labels={"for": "gpu"})
    ),
    allowed("a-name", "A random name.").of(resource("random:index/randomPet:RandomPet", prefix="gpu")),
]
