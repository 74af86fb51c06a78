"""Clusters and pools of one name in several regions, accounts or resource groups are several, on any cloud."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read, read_stack
from policies.readers.resource import Declared
from policies.rules.clusters import system_pods_home
from policies.rules.idle import permanent_pods

GKE, GKE_POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
EKS, EKS_POOL = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
AKS, AKS_POOL = "azure-native:containerservice:ManagedCluster", "azure-native:containerservice:AgentPool"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


def resource(type_token: str, urn: str, place: dict[str, Any], provider: dict[str, Any], /, **more: Any) -> Declared:
    return Declared(type_token, urn, f"urn:{urn}", {**more, **place}, provider=provider)


def gke(suffix: str, *where: dict[str, Any], home: bool) -> list[Declared]:
    resources = [
        resource(GKE, f"c{suffix}", *where, name="ml", removeDefaultNodePool=True),
        resource(
            GKE_POOL,
            f"gpu{suffix}",
            *where,
            name="gpu",
            cluster="ml",
            autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": 2},
            nodeConfig={"guestAccelerators": [{"type": "nvidia-l4", "count": 1}], "taints": [GPU_TAINT]},
        ),
    ]
    system = resource(GKE_POOL, f"cpu{suffix}", *where, name="cpu", cluster="ml", nodeCount=1, nodeConfig={})
    return [*resources, system] if home else resources


def eks(suffix: str, *where: dict[str, Any], home: bool) -> list[Declared]:
    sizes = {"minSize": 0, "maxSize": 2, "desiredSize": 0}
    common: dict[str, Any] = {"clusterName": "ml"}
    group = {"nodeGroupName": "gpu", "instanceTypes": ["g5.xlarge"], "scalingConfig": sizes, "taints": [GPU_TAINT]}
    cluster = resource(EKS, f"c{suffix}", *where, name="ml")
    resources = [cluster, resource(EKS_POOL, f"gpu{suffix}", *where, **common, **group)]
    on = {"minSize": 1, "maxSize": 2, "desiredSize": 1}
    cpus = {"nodeGroupName": "cpu", "instanceTypes": ["m5.large"], "scalingConfig": on}
    system = resource(EKS_POOL, f"cpu{suffix}", *where, **common, **cpus)
    return [*resources, system] if home else resources


def aks(suffix: str, *where: dict[str, Any], home: bool) -> list[Declared]:
    # Azure wants a system pool: where it is not to be a home, it is tainted.
    system = {"name": "system", "mode": "System", "vmSize": "Standard_D2s_v5", "count": 1}
    profile = system if home else {**system, "nodeTaints": ["team=web:NoSchedule"]}
    return [
        resource(AKS, f"c{suffix}", *where, resourceName="ml", agentPoolProfiles=[profile]),
        resource(
            AKS_POOL,
            f"gpu{suffix}",
            *where,
            resourceName="ml",
            agentPoolName="gpu",
            vmSize="Standard_NC4as_T4_v3",
            enableAutoScaling=True,
            count=0,
            minCount=0,
            maxCount=2,
            nodeTaints=["nvidia.com/gpu=present:NoSchedule"],
        ),
    ]


@pytest.mark.parametrize(
    ("program", "here", "there"),
    [
        (gke, ({"location": "us-central1"}, {}), ({"location": "europe-west4"}, {})),
        (gke, ({"location": "us-central1", "project": "a"}, {}), ({"location": "us-central1", "project": "b"}, {})),
        (gke, ({"location": "us-central1"}, {"project": "a"}), ({"location": "us-central1"}, {"project": "b"})),
        (eks, ({}, {"region": "us-west-2"}), ({}, {"region": "eu-west-1"})),
        (eks, ({"region": "us-west-2"}, {}), ({"region": "eu-west-1"}, {})),
        (eks, ({}, {"profile": "a"}), ({}, {"profile": "b"})),
        (eks, ({}, {"assumeRoles": [{"roleArn": "a"}]}), ({}, {"assumeRoles": [{"roleArn": "b"}]})),
        (aks, ({"resourceGroupName": "a"}, {}), ({"resourceGroupName": "b"}, {})),
        (aks, ({}, {"subscriptionId": "a"}), ({}, {"subscriptionId": "b"})),
    ],
)
def test_one_name_in_two_places(program: Any, here: Any, there: Any) -> None:
    stack = read_stack([*program("1", *here, home=True), *program("2", *there, home=False)])
    assert sorted(group.resource for group in stack.groups if group.gpus.per_node) == ["urn:gpu1", "urn:gpu2"]
    (homeless,) = system_pods_home(stack)
    assert homeless.resource == "urn:c2", "the other's CPU nodes are no home"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"region": "us-west-2"}, {"region": "us-west-2"}),
        ({"region": "us-west-2"}, {}),
        ({"region": UNKNOWN}, {"region": "eu-west-1"}),
        ({"profile": "a", "region": "us-west-2"}, {"region": "us-west-2"}),
        ({"skipMetadataApiCheck": True}, {"skipMetadataApiCheck": False}),
    ],
)
def test_what_may_be_one_place_is_one(first: dict[str, Any], second: dict[str, Any]) -> None:
    cluster, gpus = eks("", {}, first, home=False)
    cpus = eks("", {}, second, home=True)[2]
    other = resource(EKS, "other", {}, {}, name="other")
    assert system_pods_home(read_stack([cluster, other, gpus, cpus])) == []


def test_a_provider_tells_the_region_of_what_names_none() -> None:
    items = [read(one)[0] for one in eks("", {}, {"region": "us-west-2"}, home=False)]
    assert [item.region for item in items if isinstance(item, (Cluster, NodeGroup))] == ["us-west-2", "us-west-2"]


KUBECONFIG = (
    "clusters: [{{name: c, cluster: {{server: 'https://{}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n"
)
SERVER = {"replicas": 8, "template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}
TO_ZERO = {"scaleTargetRef": {"name": "llm"}, "triggers": [{"type": "prometheus"}]}


@pytest.mark.parametrize(
    ("here", "there", "pods"),
    [
        ({}, {}, 0),
        ({"kubeconfig": KUBECONFIG.format("a")}, {"kubeconfig": KUBECONFIG.format("a"), "burst": 9}, 0),
        ({"kubeconfig": KUBECONFIG.format("a")}, {"kubeconfig": KUBECONFIG.format("a"), "namespace": "b"}, 8),
        ({"kubeconfig": UNKNOWN}, {"kubeconfig": UNKNOWN}, 0),
        ({"kubeconfig": KUBECONFIG.format("a")}, {"kubeconfig": UNKNOWN}, 0),
        ({"kubeconfig": KUBECONFIG.format("a")}, {"kubeconfig": KUBECONFIG.format("b")}, 8),
        ({"kubeconfig": KUBECONFIG.format("a")}, {}, 8),
    ],
)
def test_a_scaler_takes_no_pods_away_in_another_cluster(here: dict[str, Any], there: dict[str, Any], pods: int) -> None:
    named = {"metadata": {"name": "llm"}}
    server = resource("kubernetes:apps/v1:Deployment", "server", named, here, spec=SERVER)
    scaler = resource("kubernetes:keda.sh/v1alpha1:ScaledObject", "scaler", named, there, spec=TO_ZERO)
    stack = read_stack([server, scaler])
    assert permanent_pods(stack.workloads[0], stack) == pods


IN_CONTEXT = KUBECONFIG.format("a").replace("cluster: c}", "cluster: c, namespace: ml}") + "current-context: c\n"
GROUP, RELEASE = "kubernetes:yaml/v2:ConfigGroup", "kubernetes:helm.sh/v3:Release"


@pytest.mark.parametrize(
    ("holder", "inputs", "provider", "namespace"),
    [
        (GROUP, {}, {}, "default"),
        (GROUP, {}, {"namespace": "ml"}, "ml"),
        (GROUP, {}, {"kubeconfig": IN_CONTEXT}, "ml"),
        (GROUP, {}, {"kubeconfig": IN_CONTEXT, "namespace": "web"}, "web"),
        (GROUP, {}, {"kubeconfig": UNKNOWN}, "default"),
        (RELEASE, {"namespace": "ml"}, {"namespace": "web"}, "ml"),
    ],
)
def test_an_object_without_a_namespace_is_in_its_holders(
    holder: str, inputs: dict[str, Any], provider: dict[str, Any], namespace: str
) -> None:
    held = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm"}, "spec": SERVER}
    group = resource(holder, "group", inputs, provider, objs=[held], chart="any", values={"extraObjects": [held]})
    (server,) = [each for each in read_stack(linked([group])).workloads if each.name == "llm"]
    assert server.namespace == namespace
