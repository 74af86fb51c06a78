"""Answers to words that a stack file on EKS does not have: what this cloud has for them."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Answer

ANSWERS: Final[tuple[Answer, ...]] = (
    Answer("efa infiniband rdma gpudirect nccl", "Write fabric: rdma, on whole machines of A100 and newer"),
    Answer("permissionsboundaryarn iampermissionsboundary", "Write security: {permissionsBoundary: …}"),
    Answer(
        "noderole noderolearn nodeiamrole nodeidentity clusterrole clusterrolearn controlplaneidentity rolearn iamrole "
        "servicerole instanceprofile instanceprofilename",
        "Leave it out; security: {permissionsBoundary: …, rolePath: …} holds all of the program's roles within what "
        "your administrators allow",
        "a role of one's own is",
    ),
    Answer(
        "securitygroupids securitygroup nodesecuritygroup nodesecuritygroups additionalsecuritygroups "
        "clustersecuritygroup vpcsecuritygroupids",
        "Leave it out: control plane and nodes are in the group that EKS creates (output network)",
        "a security group of one's own is",
    ),
    Answer("iampath iamrolepath", "Write security: {rolePath: /platform/}"),
    Answer(
        "inferentia trainium neuron", "Leave it out; in gpuPools, gpu: aws-trainium1 and aws-inferentia2 are such chips"
    ),
    Answer(
        "trainium trainium1 trainium2 trn1 trn2 inferentia inferentia2 inf2 neuron awsneuron",
        "Write aws-inferentia2 or aws-trainium1 or aws-trainium2 (docs/accelerators.md)",
        of=("gpu",),
    ),
    Answer(
        "localssd localssds nvme instancestore scratch raid0",
        "Write raw: {instanceStorePolicy: RAID0}",
        autoscaler="karpenter",
    ),
    Answer("maxpods maxpodspernode podspernode", "Write raw: {kubelet: {maxPods: 110}}", autoscaler="karpenter"),
    Answer("kubeletconfig", "Write raw: {kubelet: {maxPods: 110}}", autoscaler="karpenter"),
    Answer("userdata bootstrap", "Write raw: {userData: …}", autoscaler="karpenter"),
    Answer("imageversion nodeimage ami amiid", "Write image: al2023@v20261101", autoscaler="karpenter"),
    Answer("ingress ingressclass ingresscontroller loadbalancer", "Write addons: [load-balancer]"),
    Answer("logs logging cloudwatch containerinsights", "Write addons: [cloudwatch]"),
    Answer(
        "capability capabilities",
        "Leave it out, and create them for the running cluster: `aws eks create-capability`",
        "a key for EKS Capabilities is",
    ),
    Answer(
        "hybridnodes remotenetworkconfig remotenodenetworks",
        "Leave it out",
        "own machines as nodes of this cluster are",
    ),
)
