"""What will not work in an account although AWS accepted each request, beside an account in which all works."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.clouds.eks import policy
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.authorization.identity import Roles
from rehearsal.providers.eks.problems import problems

ZONES = ("us-west-2a", "us-west-2b")
RESOURCES = "k8s.io/cluster-autoscaler/node-template/resources/"
ROUTE, TABLE_OF = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"
VOLUMES = {"Effect": "Allow", "Action": ["ec2:*"], "Resource": "*"}
AUTO_SCALING = (
    f"arn:aws:iam::{eks.ACCOUNT}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
)
DISK: dict[str, Any] = {
    "deviceName": "/dev/xvda",
    "ebs": {"volumeSize": 50, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"},
}


def made(folder: Path, changes: Mapping[str, Mapping[Any, Any]]) -> list[str]:
    """The problems of a cluster in two zones, some of whose resources (by name) have other inputs."""
    aws = eks.Amazon(folder)

    def create(type: str, called: str, /, **inputs: Any) -> Any:
        return aws.create(type, {**inputs, **changes.get(called, {})}, called)

    vpc = create(eks.VPC, "vpc", cidrBlock="10.0.0.0/16", enableDnsHostnames=True)
    gateway = create(eks.INTERNET_GATEWAY, "gateway", vpcId=vpc.id)
    tables, private, nats = {}, [], {}
    for number, zone in enumerate(ZONES):
        for kind, role in (("public", "elb"), ("private", "internal-elb")):
            inputs = eks.subnet(vpc.id, zone, f"10.0.{2 * number + (kind == 'public')}.0/24")
            place = create(eks.SUBNET, f"{kind} {zone}", **inputs, tags={f"kubernetes.io/role/{role}": "1"})
            table = create("aws:ec2/routeTable:RouteTable", f"routes {kind} {zone}", vpcId=vpc.id)
            tables[kind, zone] = table.id
            if f"{kind} {zone}" not in changes.get("no table", ()):
                create(TABLE_OF, f"table {kind} {zone}", subnetId=place.id, routeTableId=table.id)
            if kind == "private":
                private.append(place)
                continue
            create(ROUTE, f"out {zone}", routeTableId=table.id, destinationCidrBlock="0.0.0.0/0", gatewayId=gateway.id)
            address = create("aws:ec2/eip:Eip", f"address {zone}", domain="vpc")
            nats[zone] = create(eks.NAT, f"nat {zone}", subnetId=place.id, allocationId=address.id).id
    for zone in ZONES:
        nat = nats[changes.get(f"way {zone}", {}).get("zone", zone)]
        inputs = {"routeTableId": tables["private", zone], "destinationCidrBlock": "0.0.0.0/0", "natGatewayId": nat}
        aws.create(ROUTE, inputs, f"way {zone}")
    role = aws.role("control-plane", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
    nodes = ["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"]
    aws.role("nodes", "ec2.amazonaws.com", *changes.get("nodes", {}).get("policies", nodes))
    key = create(eks.KEY, "key").state["arn"]
    encrypted = {"encryptionConfig": {"provider": {"keyArn": key}, "resources": ["secrets"]}}
    aws.create(eks.CLUSTER, {**eks.cluster(role, private), **encrypted, **changes.get("cluster", {})}, "cluster")
    create(eks.ADDON, "cni", clusterName="gpu-dev", addonName="vpc-cni")
    balancer = aws.role("balancer", "pods.eks.amazonaws.com")
    values = {"partition": "aws", "region": eks.REGION, "account": eks.ACCOUNT, "vpc": vpc.id, "cluster": "gpu-dev"}
    document = json.loads(policy.of("load-balancer", **values))
    for statement in document["Statement"]:
        statement.update(changes.get(statement["Sid"], {}))
    create(eks.ROLE_POLICY, "policy", role="balancer", name="balancer", policy=json.dumps(document))
    user = {"namespace": "kube-system", "serviceAccount": "aws-load-balancer-controller"}
    create(eks.POD_IDENTITY, "identity", clusterName="gpu-dev", roleArn=balancer.state["arn"], **user)
    volumes = aws.role("volumes", "pods.eks.amazonaws.com")
    create(eks.ROLE_POLICY, "volumes", role="volumes", name="volumes", policy=eks.document(VOLUMES))
    disk = {**DISK, "ebs": {**DISK["ebs"], "kmsKeyId": key}} if "disks under the key" in changes else DISK
    if disk is not DISK:
        rights = ["Encrypt", "Decrypt", "ReEncryptFrom", "ReEncryptTo", "GenerateDataKey", "DescribeKey", "CreateGrant"]
        rights.append("GenerateDataKeyWithoutPlaintext")
        create(eks.GRANT, "grant", keyId=key, granteePrincipal=AUTO_SCALING, operations=rights)
    own = {}
    if "group of nodes" in changes:
        created = aws.create(eks.SECURITY_GROUP, {"name": "own", "vpcId": vpc.id}, "group of nodes")
        own = changes["group of nodes"]["template"](created.id)
    template = create(eks.TEMPLATE, "template", name="t", blockDeviceMappings=[disk], **own)
    launch = {"id": template.id, "version": str(int(template.state["latestVersion"]))}
    group = aws.create(eks.NODE_GROUP, eks.cpu_group([each.id for each in private], launchTemplate=launch), "admin")
    its = [{"serviceAccount": "ebs-csi-controller-sa", "roleArn": volumes.state["arn"]}]
    addon = {"clusterName": "gpu-dev", "addonName": "aws-ebs-csi-driver", "podIdentityAssociations": its}
    create(eks.ADDON, "driver", **addon)
    name = group.state["resources"][0]["autoscalingGroups"][0]["name"]
    for resource, amount in {"cpu": "1930m", "ephemeral-storage": "43Gi", **changes.get("plan", {})}.items():
        tag = {"key": RESOURCES + resource, "value": amount, "propagateAtLaunch": False}
        create(eks.ASG_TAG, resource, autoscalingGroupName=name, tag=tag)
    for user in changes.get("users of the key", ()):
        use = {"Effect": "Allow", "Action": ["kms:Encrypt", "kms:Decrypt", "kms:ListGrants"], "Resource": key}
        create(eks.ROLE_POLICY, f"key of {user}", role=user, name="key", policy=eks.document(use))
    if "ended by" in changes:
        aws.account.call("kms", changes["ended by"]["request"], KeyId=key.rpartition("/")[2])
    return list(problems(aws.account, Roles(aws.account)))


def test_an_account_in_which_all_works(tmp_path: Path) -> None:
    assert made(tmp_path, {}) == []


@pytest.mark.parametrize(
    "template",
    [
        lambda group: {"vpcSecurityGroupIds": [group]},
        lambda group: {"networkInterfaces": [{"deviceIndex": 0, "securityGroups": [group]}]},
    ],
)
def test_nodes_have_the_security_groups_of_their_template_alone(tmp_path: Path, template: Any) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"""
    reported = made(tmp_path, {"group of nodes": {"template": template}})
    words = r"nodes in subnet-\w+ cannot join the cluster: no security group of the control plane .* admits"
    assert len(reported) == 2
    assert all(re.match(words, each) for each in reported)


def test_without_any_tag_load_balancers_find_subnets_by_their_routes(tmp_path: Path) -> None:
    places = [f"{kind} {zone}" for kind in ("public", "private") for zone in ZONES]
    assert made(tmp_path, {place: {"tags": {"Name": place}} for place in places}) == []


def test_a_right_that_aws_does_not_document_counts_where_a_role_has_it(tmp_path: Path) -> None:
    assert made(tmp_path / "right", {"users of the key": {"control-plane": ()}}) == []
    (first, *_) = made(tmp_path / "wrong", {"users of the key": {"balancer": ()}})
    assert first.startswith("control plane: User: arn:aws:iam::123456789012:role/control-plane is not authorized")
    assert "kms:Encrypt" in first


@pytest.mark.parametrize(
    ("request_", "state"), [("", ""), ("DisableKey", "Disabled"), ("ScheduleKeyDeletion", "PendingDeletion")]
)
def test_what_is_under_a_key_is_unreadable_without_it(tmp_path: Path, request_: str, state: str) -> None:
    ended = {"ended by": {"request": request_}} if request_ else {}
    reported = [each for each in made(tmp_path, {"disks under the key": {}, **ended}) if "whose state is" in each]
    assert [each.partition(" under ")[0].partition(" with ")[0] for each in reported] == (
        ["the cluster's Secrets are encrypted", "nodes of admin have disks"] if state else []
    )
    assert all(f"whose state is {state}" in each for each in reported)


@cases
def test_each_mistake_is_a_problem(tmp_path: Path, changes: dict[str, Any], expected: list[str]) -> None:
    reported = "\n".join(made(tmp_path, changes))
    assert [text for text in expected if text not in reported] == []
