"""Programs with pulumi-aws and a cluster autoscaler of their own: what its role allows, and who it is for."""

from __future__ import annotations

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import node_group
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
from tests.policies.corpus.case import Program, resource


def _irsa(name: str, policy: str) -> Program:
    metadata = {"name": name, "namespace": "kube-system", "annotations": {"eks.amazonaws.com/role-arn": UNKNOWN}}
    return (
        (ACCOUNT, "identity", {"metadata": metadata}),
        role(),
        resource(ROLE_POLICY, "rights", role=UNKNOWN, policy=policy),
    )


IRSA_LINKS = (TAGGED, ("identity", "metadata", "scaler-role"), ("rights", "role", "scaler-role"))
RELEASE_LINKS = (TAGGED, ("scaler", "values", "scaler-role"), ("rights", "role", "scaler-role"))


NODE_ROLE: Program = (
    role(assumeRolePolicy=TRUST.replace("pods.eks", "ec2")),
    (ATTACHMENT, "worker", {"role": UNKNOWN, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
    resource(
        ATTACHMENT, "images", role=UNKNOWN, policyArn="arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
    ),
)
NODE_LINKS = (
    TAGGED,
    ("gpu", "nodeRoleArn", "scaler-role"),
    ("worker", "role", "scaler-role"),
    ("images", "role", "scaler-role"),
)

PERMITTED = "autoscaler-permitted"

BLOCKED = [
    case("role-for-machines", "The role is for machines; Pod Identity cannot give it to pods.", rule=PERMITTED).of(
        *NODES, scaler(), role(assumeRolePolicy=TRUST.replace("pods.eks", "ec2")), *rights()[1:]
    ),
    case("with-a-reading-managed-policy", "AWS's own policies for nodes allow no scaling.", rule=PERMITTED).of(
        *NODES,
        scaler(),
        role(),
        association(),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
    ),
    case(
        "without-a-role",
        "The association is forgotten; the nodes have the usual three policies.",
        rule=PERMITTED,
        links=NODE_LINKS,
    ).of(*NODES[:2], node_group(nodeRoleArn=UNKNOWN), tag(), scaler(), *NODE_ROLE),
    case(
        "by-annotation-without-rights",
        "A role for the service account, whose policy is the one of another controller.",
        rule=PERMITTED,
        links=IRSA_LINKS,
    ).of(*NODES, scaler(), *_irsa("cluster-autoscaler", document(allow(["elasticloadbalancing:*"])))),
    case(
        "chart-without-rights",
        "The same, with the annotation in the chart's values.",
        rule=PERMITTED,
        links=RELEASE_LINKS,
    ).of(*NODES, chart("ml"), role(), (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": document(allow(READS))})),
]

ALLOWED = [
    case("role-declared-elsewhere", "The association names a role of the platform team's stack.", links=(TAGGED,)).of(
        *NODES, scaler(), association(roleArn="arn:aws:iam::123456789012:role/platform-autoscaler")
    ),
    case("unknown-managed-policy", "A policy that the company maintains: what it allows is not in the program.").of(
        *NODES,
        scaler(),
        role(),
        association(),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": "arn:aws:iam::123456789012:policy/autoscaling"}),
    ),
    case(
        "policy-of-its-own",
        "The policy is a resource, attached to the role.",
        links=(*LINKS, ("rights", "policyArn", "scaling")),
    ).of(
        *NODES,
        scaler(),
        role(),
        association(),
        (POLICY, "scaling", {"policy": GOOD_POLICY}),
        (ATTACHMENT, "rights", {"role": UNKNOWN, "policyArn": UNKNOWN}),
    ),
    case(
        "rights-of-nodes",
        "As in articles from before roles for pods: the nodes may scale themselves.",
        links=(*NODE_LINKS, ("scaling", "role", "scaler-role")),
    ).of(
        *NODES[:2],
        node_group(nodeRoleArn=UNKNOWN),
        tag(),
        scaler(),
        *NODE_ROLE,
        (ROLE_POLICY, "scaling", {"role": UNKNOWN, "policy": GOOD_POLICY}),
    ),
    case(
        "role-by-annotation-elsewhere",
        "The service account names a role of the platform team's stack.",
        links=NODE_LINKS,
    ).of(
        *NODES[:2],
        node_group(nodeRoleArn=UNKNOWN),
        tag(),
        scaler(),
        *NODE_ROLE,
        resource(
            ACCOUNT,
            "account",
            metadata={
                "name": "cluster-autoscaler",
                "namespace": "kube-system",
                "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/platform"},
            },
        ),
    ),
    case("role-of-another-account", "A role without scaling rights belongs to another service account.").of(
        *NODES,
        scaler(),
        role(),
        association(serviceAccount="ebs-csi-controller-sa"),
        (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": document(allow(["ec2:CreateVolume"]))}),
    ),
    case("by-annotation", "A role for the service account, as before Pod Identity.", links=IRSA_LINKS).of(
        *NODES, scaler(), *_irsa("cluster-autoscaler", GOOD_POLICY)
    ),
    case("chart", "The Helm chart with everything it needs.", links=RELEASE_LINKS).of(
        *NODES, chart("ml"), role(), (ROLE_POLICY, "rights", {"role": UNKNOWN, "policy": GOOD_POLICY})
    ),
]
