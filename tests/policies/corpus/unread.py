"""What no reader takes and what looks like GPUs all the same, or may do anything: it is named."""

from __future__ import annotations

from tests.policies.corpus.elsewhere import custom, one

UNJUDGED = [
    one(
        "command-gcloud",
        "A pool by the cloud's command line.",
        "command:local:Command",
        {"create": "gcloud container node-pools create big --accelerator type=nvidia-l4,count=1 --num-nodes 2"},
        unjudged="it runs a command, and it mentions 'nvidia-l4'",
    ),
    one(
        "command-of-a-file",
        "A script of which only the name is known.",
        "command:remote:Command",
        {"create": "./setup.sh"},
        unjudged="it runs a command",
    ),
    one(
        "dynamic-resource",
        "A provider in the program itself.",
        "pulumi-python:dynamic:Resource",
        {"size": "a2-highgpu-1g"},
        unjudged="it is a dynamic resource, which runs code of the program, and it mentions 'a2-highgpu-1g'",
    ),
    one(
        "cloudformation-by-address",
        "A template that lies in a bucket.",
        "aws:cloudformation/stack:Stack",
        {"templateUrl": "https://bucket.s3.amazonaws.com/workers.yaml"},
        unjudged="its template is not in this program",
    ),
    one(
        "arm-by-address",
        "A template that lies elsewhere.",
        "azure-native:resources:Deployment",
        {"properties": {"templateLink": {"uri": "https://example.test/aks.json"}}},
        unjudged="its template is not in this program",
    ),
    one(
        "cloudformation-notebook",
        "Another service of the same cloud, in a template.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": "Resources: {N: {Type: AWS::SageMaker::Model, Properties: {InstanceType: ml.g5.xlarge}}}"},
        unjudged="'ml.g5.xlarge'",
    ),
    one(
        "droplet-with-gpus",
        "Another cloud's machine.",
        "digitalocean:index/droplet:Droplet",
        {"size": "gpu-h100x1-80gb", "image": "ubuntu"},
        unjudged="'gpu-h100x1-80gb'",
    ),
    one(
        "oracle-pool",
        "Another cloud's node pool.",
        "oci:ContainerEngine/nodePool:NodePool",
        {"nodeShape": "BM.GPU.H100.8", "nodeConfigDetails": {"size": 2}},
        unjudged="'BM.GPU.H100.8'",
    ),
    one(
        "google-native",
        "The provider made from Google's API, which has had no release since 2023.",
        "google-native:container/v1:NodePool",
        {"clusterId": "ml", "config": {"accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]}},
        unjudged="'nvidia-l4'",
    ),
    one(
        "gardener-shoot",
        "A cluster by Gardener.",
        "kubernetes:core.gardener.cloud/v1beta1:Shoot",
        custom({"provider": {"workers": [{"minimum": 1, "machine": {"type": "g4dn.xlarge"}}]}}),
        unjudged="'g4dn.xlarge'",
    ),
    one(
        "openshift-machine-set",
        "OpenShift's own kind of machine set.",
        "kubernetes:machine.openshift.io/v1beta1:MachineSet",
        custom({"replicas": 1, "template": {"spec": {"providerSpec": {"value": {"instanceType": "g5.xlarge"}}}}}),
        unjudged="'g5.xlarge'",
    ),
    one(
        "kops-instance-group",
        "A group by kOps.",
        "kubernetes:kops.k8s.io/v1alpha2:InstanceGroup",
        custom({"machineType": "p4d.24xlarge", "minSize": 1}),
        unjudged="'p4d.24xlarge'",
    ),
    one(
        "crossplane-composite",
        "A platform's own kind, whose composition is elsewhere.",
        "kubernetes:platform.example.org/v1:XWorkers",
        custom({"size": "Standard_NC24ads_A100_v4", "nodes": 2}),
        unjudged="'Standard_NC24ads_A100_v4'",
    ),
    one(
        "capi-cluster-class",
        "A cluster of a ClusterClass: its machines are described there.",
        "kubernetes:cluster.x-k8s.io/v1beta1:Cluster",
        custom({"topology": {"class": "ml", "workers": {"machineDeployments": [{"class": "gpu", "replicas": 2}]}}}),
        unjudged="its machines come from a ClusterClass",
    ),
    one(
        "managed-notebook-with-gpus",
        "A service's own machine type and accelerator.",
        "gcp:workbench/instance:Instance",
        {"gceSetup": {"machineType": "n1-standard-8", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4"}]}},
        unjudged="'NVIDIA'",
    ),
]
