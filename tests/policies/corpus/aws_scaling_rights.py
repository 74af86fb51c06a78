"""Programs with pulumi-aws and a cluster autoscaler of their own: what its role allows, and who it is for."""

from __future__ import annotations

from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import Resource, node_group
from tests.policies.corpus.aws_scaling import (
    ACCOUNT,
    ATTACHMENT,
    GOOD_POLICY,
    LINKS,
    NODES,
    POLICY,
    READS,
    ROLE_POLICY,
    TAGGED,
    TRUST,
    WRITES,
    allow,
    association,
    case,
    chart,
    document,
    rights,
    role,
    scaler,
    tag,
)


def _tagged_as(value: str, key: str = "k8s.io/cluster-autoscaler/ml", operator: str = "StringEquals") -> dict[str, Any]:
    return {"Condition": {operator: {f"aws:ResourceTag/{key}": value}}}


def _irsa(name: str, policy: str) -> tuple[Resource, ...]:
    metadata = {
        "name": name,
        "namespace": "kube-system",
        "annotations": {"eks.amazonaws.com/role-arn": UNKNOWN},
    }
    return (
        (ACCOUNT, "identity", {"metadata": metadata}),
        role(),
        (
            ROLE_POLICY,
            "rights",
            {"role": UNKNOWN, "policy": policy},
        ),
    )


IRSA_LINKS = (TAGGED, ("identity", "metadata", "scaler-role"), ("rights", "role", "scaler-role"))
RELEASE_LINKS = (TAGGED, ("scaler", "values", "scaler-role"), ("rights", "role", "scaler-role"))


NODE_ROLE: tuple[Resource, ...] = (
    role(assumeRolePolicy=TRUST.replace("pods.eks", "ec2")),
    (ATTACHMENT, "worker", {"role": UNKNOWN, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
    (
        ATTACHMENT,
        "images",
        {"role": UNKNOWN, "policyArn": "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"},
    ),
)
NODE_LINKS = (
    TAGGED,
    ("gpu", "nodeRoleArn", "scaler-role"),
    ("worker", "role", "scaler-role"),
    ("images", "role", "scaler-role"),
)


BLOCKED = [
    case(
        "without-terminate",
        "A policy from an article: groups grow and never shrink.",
        *NODES,
        scaler(),
        *rights(document(allow(READS), allow(WRITES[:1]))),
        rule="autoscaler-permitted",
    ),
    case(
        "reads-only",
        "The role has the describing half of the policy.",
        *NODES,
        scaler(),
        *rights(document(allow(READS))),
        rule="autoscaler-permitted",
    ),
    case(
        "reads-limited-to-groups",
        "Describing cannot be limited to some groups: such a statement allows nothing.",
        *NODES,
        scaler(),
        *rights(document(allow([*READS, *WRITES], "arn:aws:autoscaling:*:*:autoScalingGroup:*"))),
        rule="autoscaler-permitted",
    ),
    case(
        "for-another-clusters-groups",
        "The condition names the tag of another cluster.",
        *NODES,
        scaler(),
        *rights(document(allow(READS), allow(WRITES, **_tagged_as("owned", "k8s.io/cluster-autoscaler/production")))),
        rule="autoscaler-permitted",
    ),
    case(
        "denied",
        "A guard rail denies every change of groups.",
        *NODES,
        scaler(),
        *rights(document(allow(["*"]), {**allow(["autoscaling:Set*"]), "Effect": "Deny"})),
        rule="autoscaler-permitted",
    ),
    case(
        "role-for-machines",
        "The role is for machines; Pod Identity cannot give it to pods.",
        *NODES,
        scaler(),
        role(assumeRolePolicy=TRUST.replace("pods.eks", "ec2")),
        *rights()[1:],
        rule="autoscaler-permitted",
    ),
    case(
        "with-a-reading-managed-policy",
        "AWS's own policies for nodes allow no scaling.",
        *NODES,
        scaler(),
        role(),
        association(),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
        rule="autoscaler-permitted",
    ),
    case(
        "without-a-role",
        "The association is forgotten; the nodes have the usual three policies.",
        *NODES[:2],
        node_group(nodeRoleArn=UNKNOWN),
        tag(),
        scaler(),
        *NODE_ROLE,
        rule="autoscaler-permitted",
        links=NODE_LINKS,
    ),
    case(
        "by-annotation-without-rights",
        "A role for the service account, whose policy is the one of another controller.",
        *NODES,
        scaler(),
        *_irsa("cluster-autoscaler", document(allow(["elasticloadbalancing:*"]))),
        rule="autoscaler-permitted",
        links=IRSA_LINKS,
    ),
    case(
        "chart-without-rights",
        "The same, with the annotation in the chart's values.",
        *NODES,
        chart("ml"),
        role(),
        (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": document(allow(READS))}),
        rule="autoscaler-permitted",
        links=RELEASE_LINKS,
    ),
]

ALLOWED = [
    case(
        "limited-by-tag",
        "Changes are limited to the groups of this cluster.",
        *NODES,
        scaler(),
        *rights(document(allow(READS), allow(WRITES, **_tagged_as("owned")))),
    ),
    case(
        "limited-by-pattern",
        "The condition's tag has a pattern as its value.",
        *NODES,
        scaler(),
        *rights(document(allow(READS), allow(WRITES, **_tagged_as("own*", operator="StringLike")))),
    ),
    case(
        "guarded-elsewhere",
        "A Deny for groups of other clusters.",
        *NODES,
        scaler(),
        *rights(
            document(
                allow(["autoscaling:*", "ec2:Describe*"]),
                {**allow(WRITES), "Effect": "Deny", **_tagged_as("owned", operator="StringNotEquals")},
            )
        ),
    ),
    case(
        "role-declared-elsewhere",
        "The association names a role of the platform team's stack.",
        *NODES,
        scaler(),
        association(roleArn="arn:aws:iam::123456789012:role/platform-autoscaler"),
        links=(TAGGED,),
    ),
    case(
        "unknown-managed-policy",
        "A policy that the company maintains: what it allows is not in the program.",
        *NODES,
        scaler(),
        role(),
        association(),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": "arn:aws:iam::123456789012:policy/autoscaling"}),
    ),
    case(
        "policy-of-its-own",
        "The policy is a resource, attached to the role.",
        *NODES,
        scaler(),
        role(),
        association(),
        (POLICY, "scaling", {"policy": GOOD_POLICY}),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": UNKNOWN}),
        links=(*LINKS, ("rights", "policyArn", "scaling")),
    ),
    case(
        "rights-of-nodes",
        "As in articles from before roles for pods: the nodes may scale themselves.",
        *NODES[:2],
        node_group(nodeRoleArn=UNKNOWN),
        tag(),
        scaler(),
        *NODE_ROLE,
        (ROLE_POLICY, "scaling", {"role": UNKNOWN, "policy": GOOD_POLICY}),
        links=(*NODE_LINKS, ("scaling", "role", "scaler-role")),
    ),
    case(
        "role-by-annotation-elsewhere",
        "The service account names a role of the platform team's stack.",
        *NODES[:2],
        node_group(nodeRoleArn=UNKNOWN),
        tag(),
        scaler(),
        *NODE_ROLE,
        (
            ACCOUNT,
            "account",
            {
                "metadata": {
                    "name": "cluster-autoscaler",
                    "namespace": "kube-system",
                    "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/platform"},
                }
            },
        ),
        links=NODE_LINKS,
    ),
    case(
        "role-of-another-account",
        "A role without scaling rights belongs to another service account.",
        *NODES,
        scaler(),
        role(),
        association(serviceAccount="ebs-csi-controller-sa"),
        (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": document(allow(["ec2:CreateVolume"]))}),
    ),
    case(
        "by-annotation",
        "A role for the service account, as before Pod Identity.",
        *NODES,
        scaler(),
        *_irsa("cluster-autoscaler", GOOD_POLICY),
        links=IRSA_LINKS,
    ),
    case(
        "chart",
        "The Helm chart with everything it needs.",
        *NODES,
        chart("ml"),
        role(),
        (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": GOOD_POLICY}),
        links=RELEASE_LINKS,
    ),
]
