"""What no reader takes and what looks like GPUs all the same, or may do anything: it is named."""

from __future__ import annotations

from tests.policies.corpus.case import allowed, resource, undecided
from tests.policies.corpus.elsewhere import custom

UNJUDGED = [
    undecided(
        "command-gcloud", "it runs a command, and it mentions 'nvidia-l4'", "A pool by the cloud's command line."
    ).of(
        resource(
            "command:local:Command",
            create="gcloud container node-pools create big --accelerator type=nvidia-l4,count=1 --num-nodes 2",
        )
    ),
    undecided("command-of-a-file", "it runs a command", "A script of which only the name is known.").of(
        resource("command:remote:Command", create="./setup.sh")
    ),
    undecided(
        "dynamic-resource",
        "it is a dynamic resource, which runs code of the program, and it mentions 'a2-highgpu-1g'",
        "A provider in the program itself.",
    ).of(resource("pulumi-python:dynamic:Resource", size="a2-highgpu-1g")),
    undecided(
        "cloudformation-by-address", "its template is not in this program", "A template that lies in a bucket."
    ).of(resource("aws:cloudformation/stack:Stack", templateUrl="https://bucket.s3.amazonaws.com/workers.yaml")),
    undecided("arm-by-address", "its template is not in this program", "A template that lies elsewhere.").of(
        resource(
            "azure-native:resources:Deployment", properties={"templateLink": {"uri": "https://example.test/aks.json"}}
        )
    ),
    undecided("cloudformation-notebook", "'ml.g5.xlarge'", "Another service of the same cloud, in a template.").of(
        resource(
            "aws:cloudformation/stack:Stack",
            templateBody="Resources: {N: {Type: AWS::SageMaker::Model, Properties: {InstanceType: ml.g5.xlarge}}}",
        )
    ),
    undecided("droplet-with-gpus", "'gpu-h100x1-80gb'", "Another cloud's machine.").of(
        resource("digitalocean:index/droplet:Droplet", size="gpu-h100x1-80gb", image="ubuntu")
    ),
    undecided("oracle-pool", "'BM.GPU.H100.8'", "Another cloud's node pool.").of(
        resource("oci:ContainerEngine/nodePool:NodePool", nodeShape="BM.GPU.H100.8", nodeConfigDetails={"size": 2})
    ),
    *(
        undecided(f"model-word-{package}", f"'{word}'", "A cloud that no table of ours lists, by the GPU's model.").of(
            resource(f"{package}:{kind}", **properties)
        )
        for package, kind, word, properties in (
            ("ovh", "CloudProject/kubeNodePool:KubeNodePool", "l40s", {"flavorName": "l40s-90", "minNodes": 1}),
            ("vultr", "index/kubernetesNodePools:KubernetesNodePools", "a100", {"plan": "vcg-a100-1c-6g-4vram"}),
            ("exoscale", "index/sksNodepool:SksNodepool", "gpua30", {"instanceType": "gpua30.medium", "size": 1}),
            ("civo", "index/kubernetesNodePool:KubernetesNodePool", "l40s", {"size": "an.g1.l40s.kube.x1"}),
            ("scaleway", "kubernetes/pool:Pool", "H100", {"nodeType": "H100-1-80G", "size": 1}),
        )
    ),
    undecided(
        "google-native", "'nvidia-l4'", "The provider made from Google's API, which has had no release since 2023."
    ).of(
        resource(
            "google-native:container/v1:NodePool",
            clusterId="ml",
            config={"accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}]},
        )
    ),
    undecided("gardener-shoot", "'g4dn.xlarge'", "A cluster by Gardener.").of(
        custom(
            "kubernetes:core.gardener.cloud/v1beta1:Shoot",
            provider={"workers": [{"minimum": 1, "machine": {"type": "g4dn.xlarge"}}]},
        )
    ),
    undecided("openshift-machine-set", "'g5.xlarge'", "OpenShift's own kind of machine set.").of(
        custom(
            "kubernetes:machine.openshift.io/v1beta1:MachineSet",
            replicas=1,
            template={"spec": {"providerSpec": {"value": {"instanceType": "g5.xlarge"}}}},
        )
    ),
    undecided("kops-instance-group", "'p4d.24xlarge'", "A group by kOps.").of(
        custom("kubernetes:kops.k8s.io/v1alpha2:InstanceGroup", machineType="p4d.24xlarge", minSize=1)
    ),
    undecided(
        "crossplane-composite", "'Standard_NC24ads_A100_v4'", "A platform's own kind, whose composition is elsewhere."
    ).of(custom("kubernetes:platform.example.org/v1:XWorkers", size="Standard_NC24ads_A100_v4", nodes=2)),
    undecided(
        "capi-cluster-class",
        "its machines come from a ClusterClass",
        "A cluster of a ClusterClass: its machines are described there.",
    ).of(
        custom(
            "kubernetes:cluster.x-k8s.io/v1beta1:Cluster",
            topology={"class": "ml", "workers": {"machineDeployments": [{"class": "gpu", "replicas": 2}]}},
        )
    ),
    undecided("managed-notebook-with-gpus", "'NVIDIA'", "A service's own machine type and accelerator.").of(
        resource(
            "gcp:workbench/instance:Instance",
            gceSetup={"machineType": "n1-standard-8", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4"}]},
        )
    ),
]

ALLOWED = [
    allowed("model-word-in-a-name", "A CPU pool that is named after the GPUs that its pods feed.").of(
        resource(
            "ovh:CloudProject/kubeNodePool:KubeNodePool",
            name="feeds-l40s",
            flavorName="b3-8",
            description="for the a100",
        )
    ),
    allowed("model-word-elsewhere", "A load balancer of layer four, and a database's size.").of(
        resource("openstack:loadbalancer/pool:Pool", "lb", protocol="l4", lbMethod="ROUND_ROBIN"),
        resource("example:index/database:Database", "db", size="t4-small"),
    ),
]
