"""Programs with pulumi-aws and a cluster autoscaler of their own: what it looks for, knows, and may do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import CLUSTER, cpu_group, node_group
from tests.policies.corpus.case import Draft, Program, Resource, draft, resource

ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
POLICY = "aws:iam/policy:Policy"
TAG = "aws:autoscaling/tag:Tag"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
ACCOUNT = "kubernetes:core/v1:ServiceAccount"
RELEASE = "kubernetes:helm.sh/v3:Release"

DISCOVERY = "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/ml"
READS = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
]
WRITES = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
HINT = "k8s.io/cluster-autoscaler/node-template/"
TAINT_HINT = {"key": HINT + "taint/nvidia.com/gpu", "value": "present:NoSchedule", "propagateAtLaunch": False}


def allow(actions: Sequence[str], resource: Any = "*", **further: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource, **further}


def document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


GOOD_POLICY = document(allow(READS), allow(WRITES))
TRUST = document(
    {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
)


def scaler(*flags: str, account: str = "cluster-autoscaler") -> Resource:
    container = {
        "name": "cluster-autoscaler",
        "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0",
        "command": ["./cluster-autoscaler", "--cloud-provider=aws", *(flags or (DISCOVERY,))],
    }
    spec = {"serviceAccountName": account, "containers": [container]}
    metadata = {"name": "cluster-autoscaler", "namespace": "kube-system"}
    return DEPLOYMENT, "scaler", {"metadata": metadata, "spec": {"template": {"spec": spec}}}


def role(**changes: Any) -> Resource:
    return ROLE, "scaler-role", {"assumeRolePolicy": TRUST, **changes}


def association(**changes: Any) -> Resource:
    good = {"clusterName": "ml", "namespace": "kube-system", "serviceAccount": "cluster-autoscaler"}
    return ASSOCIATION, "identity", {**good, "roleArn": UNKNOWN, **changes}


def rights(policy: Any = GOOD_POLICY) -> Program:
    """A role by Pod Identity with this policy."""
    return role(), association(), (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": policy})


def tag(name: str = "taint-hint", **changes: Any) -> Resource:
    return TAG, name, {"autoscalingGroupName": UNKNOWN, "tag": {**TAINT_HINT, **changes}}


TAGGED = ("taint-hint", "autoscalingGroupName", "gpu")
ROLE_LINKS = (("identity", "roleArn", "scaler-role"), ("rights", "role", "scaler-role"))
LINKS = (TAGGED, *ROLE_LINKS)
NODES = ((CLUSTER, "ml", {"name": "ml"}), cpu_group(), node_group(), tag())


def case(id: str, story: str, rule: str | None = None, links: tuple[tuple[str, str, str], ...] = LINKS) -> Draft:
    return draft(f"eks-scaler-{id}", story, rule=rule, links=links)


SHARED = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n      - {name: nvidia.com/gpu, replicas: 4}\n"
PLUGIN: Program = (
    ("kubernetes:core/v1:ConfigMap", "shared", {"metadata": {"name": "shared"}, "data": {"config.yaml": SHARED}}),
    resource(
        "kubernetes:apps/v1:DaemonSet",
        "plugin",
        metadata={"name": "plugin", "namespace": "kube-system"},
        spec={
            "template": {
                "spec": {
                    "nodeSelector": {"sharing": "yes"},
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"}],
                    "volumes": [{"name": "config", "configMap": {"name": "shared"}}],
                }
            }
        },
    ),
)


def _shared(planned: str, *others: Resource) -> Program:
    """A group whose GPUs four pods share, and what its tag tells the autoscaler."""
    return (
        *NODES[:2],
        node_group(labels={"sharing": "yes"}),
        tag(),
        tag("label-hint", key=HINT + "label/sharing", value="yes"),
        tag("gpu-hint", key=HINT + "resources/nvidia.com/gpu", value=planned),
        *others,
        scaler(),
        *rights(),
        *PLUGIN,
    )


SHARED_LINKS = (*LINKS, ("label-hint", TAGGED[1], "gpu"), ("gpu-hint", TAGGED[1], "gpu"))
WHOLE_GROUP = node_group("whole", labels={"sharing": "no"})
WHOLE_TAGS = (tag("whole-taint"), tag("whole-label", key=HINT + "label/sharing", value="no"))
WHOLE_LINKS = (*SHARED_LINKS, ("whole-taint", TAGGED[1], "whole"), ("whole-label", TAGGED[1], "whole"))


def chart(cluster: str) -> Resource:
    account = {"name": "cluster-autoscaler", "annotations": {"eks.amazonaws.com/role-arn": UNKNOWN}}
    values = {"autoDiscovery": {"clusterName": cluster}, "rbac": {"serviceAccount": account}}
    return RELEASE, "scaler", {"chart": "cluster-autoscaler", "namespace": "kube-system", "values": values}


BLOCKED = [
    case("of-another-cluster-in-a-chart", "The same, by the Helm chart.", rule="autoscaler-sees-group").of(
        *NODES, chart("production")
    ),
    case(
        "names-another-group",
        "Groups are listed one by one, and the GPU group is not among them.",
        rule="autoscaler-sees-group",
    ).of(*NODES, scaler("--nodes=1:4:eks-system-01234567-89ab-cdef-0123-456789abcdef")),
    case(
        "without-taint-tag",
        "The node group has the taint; its tags do not reach the Auto Scaling group.",
        rule="autoscaler-knows-template",
    ).of(
        (CLUSTER, "ml", {"name": "ml"}),
        cpu_group(),
        node_group(tags={TAINT_HINT["key"]: TAINT_HINT["value"]}),
        scaler(),
    ),
    case(
        "tag-on-another-group",
        "The loop over groups tags the CPU group only.",
        rule="autoscaler-knows-template",
        links=(("taint-hint", "autoscalingGroupName", "system"),),
    ).of(*NODES, scaler()),
    case(
        "shares-in-secret",
        "Four pods share a GPU; the tag tells the autoscaler of one.",
        rule="gpu-sharing-visible",
        links=SHARED_LINKS,
    ).of(*_shared("1")),
]

ALLOWED = [
    case("good", "Discovery by EKS's tags, the taint in a tag, a role by Pod Identity.").of(
        *NODES, scaler(), *rights()
    ),
    case("named-group", "The group is listed by the name that EKS gave it.").of(
        *NODES, scaler("--nodes", "0:4:eks-gpu-01234567-89ab-cdef-0123-456789abcdef")
    ),
    case(
        "shares-and-says-so",
        "Four pods share a GPU, and the tag says so; a second group does not share.",
        links=WHOLE_LINKS,
    ).of(*_shared("4", WHOLE_GROUP, *WHOLE_TAGS)),
    case("elsewhere", "The autoscaler is installed by another stack: nothing here says what it looks for.").of(
        *NODES[:3]
    ),
    case("for-another-cloud", "A management cluster's autoscaler, which looks for other things.").of(
        *NODES[:3],
        resource(
            DEPLOYMENT,
            "capi",
            metadata={"name": "capi", "namespace": "kube-system"},
            spec={
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0",
                                "args": ["--cloud-provider=clusterapi"],
                            }
                        ]
                    }
                }
            },
        ),
    ),
]
