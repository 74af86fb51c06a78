"""What AWS refuses although the SDK accepts it: each rule's refusal, and the neighbour that it lets pass."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.eks import data
from packages.rehearsal.tests.providers.eks.account import (
    ADDON,
    ALIAS,
    CLUSTER,
    ENDPOINT,
    ENTRY,
    EVENT_RULE,
    FILES_POLICY,
    KEY,
    LOG_GROUP,
    NAT,
    NODE_GROUP,
    POLICY_ASSOCIATION,
    QUEUE,
    ROLE,
    ROLE_POLICY,
    SUBNET,
    VPC,
    Amazon,
    document,
    gpu_group,
    subnet,
    trust,
)
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.eks import AwsProvider


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Amazon:
    """Previews only, so that nothing exists and one account does for all."""
    return Amazon(tmp_path_factory.mktemp("aws"))


def group(**changes: Any) -> Properties:
    return gpu_group(["subnet-1"], **changes)


def sizes(low: int, desired: int, high: int) -> Properties:
    return {"scalingConfig": {"minSize": low, "desiredSize": desired, "maxSize": high}}


def cluster(*, network: Properties | None = None, **changes: Any) -> Properties:
    usual = {"subnetIds": ["subnet-1", "subnet-2"], **(network or {})}
    return {"name": "gpu-dev", "roleArn": "arn:aws:iam::123456789012:role/r", "vpcConfig": usual, **changes}


def mounted_by(role: str) -> str:
    """A file system's policy."""
    return document({"Effect": "Allow", "Principal": {"AWS": role}, "Action": "elasticfilesystem:*", "Resource": "*"})


def taints(count: int) -> Properties:
    return {"taints": [{"key": f"k{index}", "effect": "NO_SCHEDULE"} for index in range(count)]}


def entry(**changes: Any) -> Properties:
    return {"clusterName": "c", "principalArn": "arn:aws:iam::123456789012:role/ops", **changes}


def association(policy: str, scope: Properties) -> Properties:
    arn = f"arn:aws:eks::aws:cluster-access-policy/{policy}"
    return entry(policyArn=arn, accessScope=scope)


CHAR = "x"
ALLOWED = {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}
S3 = "com.amazonaws.us-west-2.s3"

DENY_ALL = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}]}
)
EXPIRES = {"id": "old", "status": "Enabled", "expiration": {"days": 1}}


@dataclass(frozen=True)
class Edge:
    """Where a rule of a type is met and where it is not."""

    rule: str
    type: str

    def between(self, refused: Properties, passes: Properties) -> tuple[str, str, Properties, Properties]:
        """What the rule refuses, and what passes beside it."""
        return self.rule, self.type, refused, passes


RULES: list[tuple[str, str, Properties, Properties]] = [
    Edge("bucket-name", data.BUCKET).between({"bucket": "gpu..dev"}, {"bucket": "gpu-dev"}),
    Edge("bucket-policy", data.BUCKET_POLICY).between(
        {"bucket": "b", "policy": "{}"}, {"bucket": "b", "policy": DENY_ALL}
    ),
    Edge("file-system-policy", FILES_POLICY).between(
        {"fileSystemId": "fs-0123456789abcdef0", "policy": "{}"},
        {"fileSystemId": "fs-0123456789abcdef0", "policy": DENY_ALL},
    ),
    Edge("file-system-policy", FILES_POLICY).between(
        {"fileSystemId": "fs-0123456789abcdef0", "policy": mounted_by("arn:aws:iam::123456789012:role/gone")},
        {"fileSystemId": "fs-0123456789abcdef0", "policy": mounted_by("arn:aws:iam::111122223333:role/theirs")},
    ),
    Edge("lifecycle-rule", data.BUCKET_LIFECYCLE).between(
        {"bucket": "b", "rules": [{"id": "old", "status": "Enabled"}]}, {"bucket": "b", "rules": [EXPIRES]}
    ),
    Edge("lifecycle-rules", data.IMAGES_EXPIRE).between(
        {"repository": "jobs", "policy": data.expiring(3).replace("days", "hours")},
        {"repository": "jobs", "policy": data.expiring(3)},
    ),
    Edge("vpc-range", VPC).between({"cidrBlock": "10.0.0.0/15"}, {"cidrBlock": "10.0.0.0/16"}),
    Edge("vpc-range", VPC).between({"cidrBlock": "10.0.0.1/16"}, {"cidrBlock": "10.0.0.0/28"}),
    Edge("subnet-range", SUBNET).between(subnet("vpc-1", block="10.0.0.0/29"), subnet("vpc-1", block="10.0.0.0/28")),
    Edge("subnet-zone", SUBNET).between(subnet("vpc-1", "us-west-2x"), subnet("vpc-1", "us-west-2c")),
    Edge("nat-address", NAT).between({"subnetId": "s"}, {"subnetId": "s", "connectivityType": "private"}),
    Edge("endpoint-region", ENDPOINT).between(
        {"vpcId": "v", "serviceName": "com.amazonaws.us-east-1.s3"}, {"vpcId": "v", "serviceName": S3}
    ),
    Edge("endpoint-gateway", ENDPOINT).between(
        {"vpcId": "v", "serviceName": "com.amazonaws.us-west-2.ecr.api"},
        {"vpcId": "v", "serviceName": "com.amazonaws.us-west-2.ecr.api", "vpcEndpointType": "Interface"},
    ),
    Edge("endpoint-gateway", ENDPOINT).between(
        {"vpcId": "v", "serviceName": S3, "subnetIds": ["s"]}, {"vpcId": "v", "serviceName": S3, "routeTableIds": ["r"]}
    ),
    Edge("endpoint-interface", ENDPOINT).between(
        {"vpcId": "v", "serviceName": S3, "vpcEndpointType": "Interface", "routeTableIds": ["r"]},
        {"vpcId": "v", "serviceName": S3, "vpcEndpointType": "Interface", "subnetIds": ["s"]},
    ),
    Edge("key-policy", KEY).between({"policy": document(ALLOWED)}, {"policy": document({**ALLOWED, "Principal": "*"})}),
    Edge("key-deletion-window", KEY).between({"deletionWindowInDays": 6}, {"deletionWindowInDays": 7}),
    Edge("alias-name", ALIAS).between({"name": "eks", "targetKeyId": "k"}, {"name": "alias/eks", "targetKeyId": "k"}),
    Edge("trust-policy", ROLE).between(
        {"assumeRolePolicy": document(ALLOWED)}, {"assumeRolePolicy": trust("ec2.amazonaws.com")}
    ),
    Edge("trust-policy", ROLE).between(
        {"assumeRolePolicy": "{"}, {"assumeRolePolicy": trust("pods.eks.amazonaws.com")}
    ),
    Edge("identity-policy", ROLE_POLICY).between(
        {"role": "r", "policy": document({**ALLOWED, "Principal": "*"})}, {"role": "r", "policy": document(ALLOWED)}
    ),
    Edge("inline-policy-size", ROLE_POLICY).between(
        {"role": "r", "policy": document({**ALLOWED, "Sid": CHAR * 10240})},
        {"role": "r", "policy": document({**ALLOWED, "Sid": CHAR * 10000})},
    ),
    Edge("event-trigger", EVENT_RULE).between({"name": "r"}, {"name": "r", "scheduleExpression": "rate(5 minutes)"}),
    Edge("event-trigger", EVENT_RULE).between({"eventPattern": "[]"}, {"eventPattern": "{}"}),
    Edge("queue-policy", QUEUE).between(
        {"policy": document(ALLOWED)}, {"policy": document({**ALLOWED, "Principal": "*"})}
    ),
    Edge("log-retention", LOG_GROUP).between({"retentionInDays": 31}, {"retentionInDays": 30}),
    Edge("version-offered", CLUSTER).between(cluster(version="1.20"), cluster(version="1.34")),
    Edge("subnets-distinct", CLUSTER).between(
        cluster(network={"subnetIds": ["s", "s"]}), cluster(network={"subnetIds": ["s", "t"]})
    ),
    Edge("endpoint-somewhere", CLUSTER).between(
        cluster(network={"endpointPublicAccess": False}),
        cluster(network={"endpointPublicAccess": False, "endpointPrivateAccess": True}),
    ),
    Edge("public-access-ranges", CLUSTER).between(
        cluster(network={"publicAccessCidrs": ["10.1.0.0/16"]}),
        cluster(network={"publicAccessCidrs": ["203.0.113.0/24", "0.0.0.0/0"]}),
    ),
    Edge("public-access-ranges", CLUSTER).between(
        cluster(
            network={"endpointPublicAccess": False, "endpointPrivateAccess": True, "publicAccessCidrs": ["1.1.1.1/32"]}
        ),
        cluster(network={"publicAccessCidrs": ["1.1.1.1/32"]}),
    ),
    Edge("service-range", CLUSTER).between(
        cluster(kubernetesNetworkConfig={"serviceIpv4Cidr": "172.20.0.0/25"}),
        cluster(kubernetesNetworkConfig={"serviceIpv4Cidr": "172.20.0.0/24"}),
    ),
    Edge("service-range", CLUSTER).between(
        cluster(kubernetesNetworkConfig={"serviceIpv4Cidr": "203.0.113.0/24"}),
        cluster(kubernetesNetworkConfig={"serviceIpv4Cidr": "192.168.0.0/16"}),
    ),
    Edge("encrypted-resources", CLUSTER).between(
        cluster(encryptionConfig={"provider": {"keyArn": "k"}, "resources": ["configmaps"]}),
        cluster(encryptionConfig={"provider": {"keyArn": "k"}, "resources": ["secrets"]}),
    ),
    Edge("auto-mode-complete", CLUSTER).between(
        cluster(computeConfig={"enabled": True}), cluster(computeConfig={"enabled": False})
    ),
    Edge("addon-exists", ADDON).between(
        {"clusterName": "c", "addonName": "cni"}, {"clusterName": "c", "addonName": "vpc-cni"}
    ),
    Edge("addon-configuration", ADDON).between(
        {"clusterName": "c", "addonName": "coredns", "configurationValues": "[1]"},
        {"clusterName": "c", "addonName": "coredns", "configurationValues": '{"replicaCount": 3}'},
    ),
    Edge("addon-configuration", ADDON).between(
        {"clusterName": "c", "addonName": "coredns", "configurationValues": '{"nodeSelectorTypo": {}}'},
        {"clusterName": "c", "addonName": "coredns", "configurationValues": '{"nodeSelector": {}}'},
    ),
    Edge("entry-principal", ENTRY).between(entry(principalArn="arn:aws:iam::123456789012:root"), entry()),
    Edge("entry-type", ENTRY).between(entry(type="LINUX"), entry(type="EC2_LINUX")),
    Edge("entry-type", ENTRY).between(entry(kubernetesGroups=["system:masters"]), entry(kubernetesGroups=["masters"])),
    Edge("entry-type", ENTRY).between(entry(type="EC2_LINUX", kubernetesGroups=["x"]), entry(kubernetesGroups=["x"])),
    Edge("access-policy", POLICY_ASSOCIATION).between(
        association("ClusterAdmin", {"type": "cluster"}),
        association("AmazonEKSClusterAdminPolicy", {"type": "cluster"}),
    ),
    Edge("access-scope", POLICY_ASSOCIATION).between(
        association("AmazonEKSViewPolicy", {"type": "namespace"}),
        association("AmazonEKSViewPolicy", {"type": "namespace", "namespaces": ["team"]}),
    ),
    Edge("group-name", NODE_GROUP).between(group(nodeGroupName="x" * 64), group(nodeGroupName="x" * 63)),
    Edge("group-name", NODE_GROUP).between(group(nodeGroupName="t4.1"), group(nodeGroupName="t4_1")),
    Edge("scaling-ordered", NODE_GROUP).between(group(**sizes(2, 2, 1)), group(**sizes(1, 1, 1))),
    Edge("scaling-ordered", NODE_GROUP).between(group(**sizes(1, 0, 2)), group(**sizes(0, 0, 2))),
    Edge("scaling-ordered", NODE_GROUP).between(group(**sizes(0, 3, 2)), group(**sizes(0, 2, 2))),
    Edge("instance-types-exist", NODE_GROUP).between(
        group(instanceTypes=["g4dn.nano"]), group(instanceTypes=["g4dn.xlarge"])
    ),
    Edge("instance-types-many", NODE_GROUP).between(
        group(instanceTypes=["g4dn.xlarge", "g4dn.xlarge"]), group(instanceTypes=["g4dn.xlarge", "g5.xlarge"])
    ),
    Edge("instance-types-many", NODE_GROUP).between(
        group(instanceTypes=["p5.48xlarge", "p5en.48xlarge"], capacityType="CAPACITY_BLOCK"),
        group(instanceTypes=["p5.48xlarge"], capacityType="CAPACITY_BLOCK"),
    ),
    Edge("instance-types-architecture", NODE_GROUP).between(
        group(instanceTypes=["m6i.large", "m7g.large"], amiType="AL2023_x86_64_STANDARD"),
        group(instanceTypes=["m7g.large", "m6g.large"], amiType="AL2023_ARM_64_STANDARD"),
    ),
    Edge("ami-fits-type", NODE_GROUP).between(
        group(instanceTypes=["m6i.large"]), group(instanceTypes=["m6i.large"], amiType="AL2023_x86_64_STANDARD")
    ),
    Edge("ami-fits-type", NODE_GROUP).between(
        group(instanceTypes=["g5g.xlarge"]), group(instanceTypes=["g5g.xlarge"], amiType="AL2023_ARM_64_NVIDIA")
    ),
    Edge("disk-or-template", NODE_GROUP).between(
        group(launchTemplate={"id": "lt-1", "version": "1"}, diskSize=50), group(diskSize=50)
    ),
    Edge("labels-reserved", NODE_GROUP).between(
        group(labels={"node-role.kubernetes.io/gpu": "yes"}),
        group(labels={"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"}),
    ),
    Edge("labels-reserved", NODE_GROUP).between(
        group(labels={"eks.amazonaws.com/x": "y"}), group(labels={"my-eks.amazonaws.com/x": "y"})
    ),
    Edge("labels-valid", NODE_GROUP).between(group(labels={"team": "a b"}), group(labels={"team": "a.b"})),
    Edge("taints-valid", NODE_GROUP).between(group(**taints(51)), group(**taints(50))),
    Edge("taints-valid", NODE_GROUP).between(
        group(taints=[{"key": "a", "effect": "NO_SCHEDULE"}, {"key": "a", "effect": "NO_SCHEDULE"}]),
        group(taints=[{"key": "a", "effect": "NO_SCHEDULE"}, {"key": "a", "effect": "NO_EXECUTE"}]),
    ),
    Edge("update-config", NODE_GROUP).between(
        group(updateConfig={"maxUnavailable": 1, "maxUnavailablePercentage": 50}),
        group(updateConfig={"maxUnavailablePercentage": 50}),
    ),
]


@pytest.mark.parametrize(
    ("rule", "type_", "bad", "good"), RULES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_rule_refuses_and_lets_its_neighbour_pass(
    amazon: Amazon, rule: str, type_: str, bad: Properties, good: Properties
) -> None:
    assert rule in {each.id for each in AwsProvider.rows[type_].rules}
    with pytest.raises(ProviderError, match="api error"):
        amazon.preview(type_, bad)
    amazon.preview(type_, good)


def test_every_rule_is_broken_once() -> None:
    tested = {(type_, rule) for rule, type_, _, _ in RULES}
    existing = {(token, rule.id) for token, row in AwsProvider.rows.items() for rule in row.rules}
    # The policy of a queue is the same rule on both of its types.
    assert existing - tested == {("aws:sqs/queuePolicy:QueuePolicy", "queue-policy")}


def test_a_rule_waits_for_what_is_not_known_yet(amazon: Amazon) -> None:
    amazon.preview(NODE_GROUP, group(instanceTypes=UNKNOWN, labels={"team": UNKNOWN}))
    amazon.preview(CLUSTER, cluster(network={"subnetIds": UNKNOWN}))


@pytest.mark.parametrize(
    ("type_", "inputs", "path"),
    [
        (VPC, {"cidrBlok": "10.0.0.0/16", "cidrBlock": "10.0.0.0/16"}, "cidrBlok"),
        (VPC, {}, "cidrBlock"),
        (NODE_GROUP, group(amiType="AL2023_NVIDIA"), "amiType"),
        (NODE_GROUP, group(taints=[{"key": "a", "effect": "NoSchedule"}]), r"taints\[0\]\.effect"),
        (NODE_GROUP, group(scalingConfig={"minSize": 0, "maxSize": "many", "desiredSize": 0}), "scalingConfig.maxSize"),
        (NODE_GROUP, group(labels={"a" * 64: "b"}), r"labels\.a"),
        (CLUSTER, cluster(name="-x"), "name"),
        (CLUSTER, cluster(accessConfig={"authenticationMode": "IAM"}), "accessConfig.authenticationMode"),
        (CLUSTER, cluster(tags={"aws:x": "y"}), r'tags\["aws:x"\]'),
        (CLUSTER, cluster(tags={f"k{index}": "v" for index in range(51)}), "tags"),
    ],
)
def test_what_the_models_do_not_know_is_refused_by_name(
    amazon: Amazon, type_: str, inputs: Properties, path: str
) -> None:
    with pytest.raises(ProviderError, match=f"^{path}"):
        amazon.check(type_, inputs)


def test_the_region_is_one_that_exists(amazon: Amazon) -> None:
    assert amazon.provider.check_config({"region": "us-west-2"}) == []
    assert amazon.provider.check_config({"region": UNKNOWN}) == []
    assert [failure.property for failure in amazon.provider.check_config({"region": "us-west-9"})] == ["region"]
    assert [failure.property for failure in amazon.provider.check_config({})] == ["region"]
