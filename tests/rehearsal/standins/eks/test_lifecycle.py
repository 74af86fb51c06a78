"""Create, read, update, replace and delete, through several engines and wrong references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.standins.base import Properties, ProviderError
from tests.rehearsal.standins.driver import with_one_unknown
from tests.rehearsal.standins.eks.account import (
    ADDON,
    ALIAS,
    ASG_TAG,
    ASSOCIATION,
    CLUSTER,
    DEFAULT_GROUP,
    EIP,
    ENDPOINT,
    ENTRY,
    EVENT_RULE,
    EVENT_TARGET,
    INTERNET_GATEWAY,
    KEY,
    LOG_GROUP,
    NAT,
    NODE_GROUP,
    POD_IDENTITY,
    POLICY_ASSOCIATION,
    PROFILE,
    QUEUE,
    QUEUE_POLICY,
    ROLE_POLICY,
    ROUTE,
    ROUTE_TABLE,
    SECURITY_GROUP,
    SUBNET,
    TEMPLATE,
    VPC,
    Amazon,
    cluster,
    cpu_group,
    document,
    gpu_group,
    subnet,
)


@pytest.fixture
def amazon(tmp_path: Path) -> Iterator[Amazon]:
    amazon = Amazon(tmp_path)
    yield amazon
    amazon.stop()


def test_a_whole_stack_comes_and_goes(amazon: Amazon) -> None:
    make_everything(amazon)
    for type_, resource in amazon.made:
        read = amazon.read(type_, resource.id, resource.inputs)
        assert read.id == resource.id, type_
        assert read.inputs == resource.inputs, type_

    for type_, resource in reversed(amazon.made):
        amazon.delete(type_, resource)
        if type_ != DEFAULT_GROUP:
            assert amazon.read(type_, resource.id, resource.inputs).id == "", type_
    assert amazon.fleet.groups == {}
    assert amazon.fleet.clusters == {}


def test_any_input_may_be_unknown_in_a_preview(amazon: Amazon) -> None:
    make_everything(amazon)
    for type_, resource in amazon.made:
        inputs = resource.inputs or {}
        for unknown in with_one_unknown(inputs):
            amazon.preview(type_, unknown)
            amazon.diff(type_, inputs, unknown)
            amazon.update(type_, resource, unknown, preview=True)


def make_everything(amazon: Amazon) -> None:
    subnets = amazon.network()
    vpc = amazon.made[0][1]
    amazon.create(DEFAULT_GROUP, {"vpcId": vpc.id, "ingress": [], "egress": []})
    internet = amazon.create(INTERNET_GATEWAY, {"vpcId": vpc.id})
    public = amazon.create(SUBNET, subnet(vpc.id, block="10.0.9.0/24"), "public")
    routes = amazon.create(ROUTE_TABLE, {"vpcId": vpc.id, "tags": {"Name": "public"}})
    amazon.create(ROUTE, {"routeTableId": routes.id, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": internet.id})
    amazon.create(ASSOCIATION, {"routeTableId": routes.id, "subnetId": public.id})
    address = amazon.create(EIP, {"tags": {"Name": "nat"}})
    amazon.create(NAT, {"subnetId": public.id, "allocationId": address.id})
    https = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/16"]}
    group = amazon.create(SECURITY_GROUP, {"vpcId": vpc.id, "ingress": [https], "egress": []})
    amazon.create(
        ENDPOINT, {"vpcId": vpc.id, "serviceName": "com.amazonaws.us-west-2.s3", "routeTableIds": [routes.id]}
    )
    interface = {
        "vpcId": vpc.id,
        "serviceName": "com.amazonaws.us-west-2.ecr.api",
        "vpcEndpointType": "Interface",
        "subnetIds": [subnets[0].id],
        "securityGroupIds": [group.id],
        "privateDnsEnabled": True,
    }
    amazon.create(ENDPOINT, interface, "ecr")

    key = amazon.create(KEY, {"enableKeyRotation": True, "tags": {"a": "b"}})
    amazon.create(ALIAS, {"name": "alias/gpu-dev", "targetKeyId": key.state["keyId"]})
    role = amazon.role("control-plane", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
    use = {"Effect": "Allow", "Action": "kms:Encrypt", "Resource": key.state["arn"]}
    amazon.create(ROLE_POLICY, {"role": "control-plane", "name": "key", "policy": document(use)})
    amazon.role("nodes", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonSSMManagedInstanceCore")
    amazon.create(PROFILE, {"name": "nodes", "role": "nodes"})
    pods = amazon.role("cni", "pods.eks.amazonaws.com", "AmazonEKS_CNI_Policy")
    amazon.create(LOG_GROUP, {"name": "/aws/eks/gpu-dev/cluster", "retentionInDays": 30, "tags": {"a": "b"}})

    encryption = {"provider": {"keyArn": key.state["arn"]}, "resources": ["secrets"]}
    inputs = cluster(role, subnets, encryptionConfig=encryption, enabledClusterLogTypes=["api", "audit"])
    created = amazon.create(CLUSTER, {**inputs, "bootstrapSelfManagedAddons": False}, "cluster")
    assert created.state["endpoint"] == "https://127.0.0.1:6443"
    assert created.state["certificateAuthority"] == {"data": "Q0E="}
    principal = "arn:aws:iam::123456789012:role/operators"
    amazon.create(ENTRY, {"clusterName": "gpu-dev", "principalArn": principal})
    admin = {
        "clusterName": "gpu-dev",
        "principalArn": principal,
        "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        "accessScope": {"type": "cluster"},
    }
    amazon.create(POLICY_ASSOCIATION, admin)
    amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "eks-pod-identity-agent"}, "agent")
    amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "vpc-cni", "tags": {"a": "b"}}, "cni")
    identity = {"clusterName": "gpu-dev", "namespace": "kube-system", "serviceAccount": "aws-node"}
    amazon.create(POD_IDENTITY, {**identity, "roleArn": pods.state["arn"]})

    volume = {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": 100, "volumeType": "gp3"}}
    metadata = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
    tagged = [{"resourceType": "instance", "tags": {"Name": "gpu"}}]
    template = amazon.create(
        TEMPLATE,
        {
            "name": "t4-1",
            "blockDeviceMappings": [volume],
            "metadataOptions": metadata,
            "tagSpecifications": tagged,
            "tags": {"a": "b"},
        },
    )
    ids = [each.id for each in subnets]
    admins = amazon.create(NODE_GROUP, cpu_group(ids), "admin")
    assert admins.id == "gpu-dev:admin"
    version = str(template.state["latestVersion"])
    gpus = amazon.create(NODE_GROUP, gpu_group(ids, launchTemplate={"id": template.id, "version": version}), "gpus")
    asg = gpus.state["resources"][0]["autoscalingGroups"][0]["name"]
    tag = {"key": "k8s.io/cluster-autoscaler/node-template/label/team", "value": "vision", "propagateAtLaunch": False}
    amazon.create(ASG_TAG, {"autoscalingGroupName": asg, "tag": tag})
    amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "coredns"}, "dns")
    assert set(amazon.fleet.groups) == {"admin", "t4-1"}

    queue = amazon.create(QUEUE, {"name": "gpu-dev", "messageRetentionSeconds": 300, "sqsManagedSseEnabled": True})
    send = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue.state["arn"],
    }
    amazon.create(QUEUE_POLICY, {"queueUrl": queue.state["url"], "policy": document(send)})
    rule = amazon.create(EVENT_RULE, {"name": "spot", "eventPattern": '{"source": ["aws.ec2"]}'})
    amazon.create(EVENT_TARGET, {"rule": rule.state["name"], "arn": queue.state["arn"], "targetId": "queue"})


def test_the_next_engine_finds_what_the_last_one_made(amazon: Amazon) -> None:
    created = amazon.cluster()
    group = amazon.node_group()
    amazon.reconnect()
    assert amazon.read(CLUSTER, created.id, created.inputs).state == created.state
    assert amazon.read(NODE_GROUP, group.id, group.inputs).state == group.state
    vpc = created.state["vpcConfig"]["vpcId"]
    assert amazon.account.call("ec2", "DescribeVpcs", VpcIds=[vpc])["Vpcs"]
    amazon.delete(NODE_GROUP, group)
    amazon.delete(CLUSTER, created)


def test_a_new_account_is_empty(amazon: Amazon, tmp_path: Path) -> None:
    """A process has one account; its life is the world's."""
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.stop()
    other = Amazon(tmp_path)
    assert other.read(VPC, vpc.id, vpc.inputs).id == ""
    with pytest.raises(ProviderError, match=r"InvalidVpcID\.NotFound"):
        other.create(SUBNET, subnet(vpc.id))
    other.stop()


def test_an_interrupted_engine_waits_no_longer(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path, patience=600)
    amazon.cluster()
    amazon.provider.cancel()
    with pytest.raises(ProviderError, match="DEGRADED"):
        amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "coredns"})
    amazon.stop()


def test_an_import_returns_every_input(amazon: Amazon) -> None:
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16", "tags": {"Name": "net"}})
    assert amazon.read(VPC, vpc.id).inputs == vpc.inputs


def test_what_was_deleted_behind_the_programs_back_is_gone(amazon: Amazon) -> None:
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.account.call("ec2", "DeleteVpc", VpcId=vpc.id)
    assert amazon.read(VPC, vpc.id, vpc.inputs).id == ""
    amazon.delete(VPC, vpc)


def test_a_refused_request_leaves_nothing_behind(amazon: Amazon) -> None:
    amazon.cluster()
    before = amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"]
    with pytest.raises(ProviderError, match="not supported in"):
        amazon.node_group(instanceTypes=["p5en.48xlarge"], subnetIds=[_subnet_in(amazon, "b")])
    assert amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"] == before
    amazon.node_group()


def _subnet_in(amazon: Amazon, letter: str) -> str:
    subnets: list[Properties] = [created.state for type_, created in amazon.made if type_ == SUBNET]
    ids = [created.id for type_, created in amazon.made if type_ == SUBNET]
    return next(id for id, state in zip(ids, subnets, strict=True) if state["availabilityZone"].endswith(letter))
