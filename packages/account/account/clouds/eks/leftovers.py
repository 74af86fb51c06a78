"""What of a stack is left in an account of AWS after ``pulumi destroy``. Every request reads.

What the program makes has the cluster's name in its own name, description or tag ``Name``. What EKS and controllers in
the cluster make has it in a tag of theirs:

- EKS: https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html (security group),
  https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html (description of network interfaces)
- Karpenter: ``TagsFor`` in https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/utils/utils.go
- VPC CNI: https://github.com/aws/amazon-vpc-cni-k8s#cluster_name
- EBS CSI driver: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/tagging.md
- load balancers: https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/tracking/provider.go
  and https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/tags.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final

from typing_extensions import override

from account.asking import AccountQuestion
from account.clouds.eks.questions import AwsAccount
from account.left import Left, question
from components.settings import Settings
from facts.concepts.unknown import at

_ENDED: Final = ("terminated", "shutting-down", "deleted", "deleting")
_SHORTEST: Final = 40
"""Characters of a cluster's name that are at the start of a name which AWS limits, however long the rest is."""
_TAGS_AT_ONCE: Final = 20
"""https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html"""


class AwsLeftovers(AwsAccount):
    """The same account, asked after ``pulumi destroy``."""

    def __init__(self, settings: Settings, session: Any = None) -> None:
        """Raises AccountError, as of ``AwsAccount``."""
        super().__init__(settings, session)
        self._name = settings.cluster_name
        self._owned = {"Name": f"tag:kubernetes.io/cluster/{self._name}", "Values": ["owned"]}

    @property
    def cluster(self) -> str | None:
        """The ARN of the stack's cluster if it is still there."""
        from botocore.exceptions import ClientError

        try:
            return str(self._client("eks").describe_cluster(name=self._name)["cluster"]["arn"])
        except ClientError as error:
            if at(error.response, "Error", "Code") != "ResourceNotFoundException":
                raise
            return None

    @override
    def questions(self) -> Iterator[AccountQuestion]:
        """One for each kind of resource."""
        ec2, region = "aws ec2", f"--region {self._settings.region}"
        workloads = self._settings.workloads
        kept = {
            "repositories": workloads.registry and workloads.registry.on_destroy == "keep",
            "buckets": workloads.checkpoints and workloads.checkpoints.on_destroy == "keep",
            "file systems": workloads.shared_volume and workloads.shared_volume.on_destroy == "keep",
        }
        of = partial(question, region=region)
        yield of("instances", "ec2:DescribeInstances", self._instances, f"{ec2} terminate-instances --instance-ids")
        yield of("node groups", "autoscaling:DescribeAutoScalingGroups", self._scaling_groups,
                 "aws autoscaling delete-auto-scaling-group --force-delete --auto-scaling-group-name")  # fmt: skip
        yield of("volumes", "ec2:DescribeVolumes", self._volumes, f"{ec2} delete-volume --volume-id")
        yield of("snapshots", "ec2:DescribeSnapshots", self._snapshots, f"{ec2} delete-snapshot --snapshot-id")
        yield of("load balancers", "elasticloadbalancing:DescribeLoadBalancers", self._load_balancers,
                 "aws elbv2 delete-load-balancer --load-balancer-arn")  # fmt: skip
        yield of("classic load balancers", "elasticloadbalancing:DescribeLoadBalancers", self._classic_balancers,
                 "aws elb delete-load-balancer --load-balancer-name")  # fmt: skip
        yield of("target groups", "elasticloadbalancing:DescribeTargetGroups", self._target_groups,
                 "aws elbv2 delete-target-group --target-group-arn")  # fmt: skip
        yield of("NAT gateways", "ec2:DescribeNatGateways", self._nat_gateways,
                 f"{ec2} delete-nat-gateway --nat-gateway-id")  # fmt: skip
        yield of("addresses", "ec2:DescribeAddresses", self._addresses, f"{ec2} release-address --allocation-id")
        yield of("network interfaces", "ec2:DescribeNetworkInterfaces", self._interfaces,
                 f"{ec2} delete-network-interface --network-interface-id")  # fmt: skip
        yield of("security groups", "ec2:DescribeSecurityGroups", self._security_groups,
                 f"{ec2} delete-security-group --group-id")  # fmt: skip
        yield of("networks", "ec2:DescribeVpcs", self._networks, f"{ec2} delete-vpc --vpc-id")
        yield of("internet gateways", "ec2:DescribeInternetGateways", self._internet_gateways,
                 f"{ec2} delete-internet-gateway --internet-gateway-id")  # fmt: skip
        yield of("launch templates", "ec2:DescribeLaunchTemplates", self._launch_templates,
                 f"{ec2} delete-launch-template --launch-template-id")  # fmt: skip
        yield of("placement groups", "ec2:DescribePlacementGroups", self._placement_groups,
                 f"{ec2} delete-placement-group --group-name")  # fmt: skip
        yield of("roles", "iam:ListRoles", self._roles, "aws iam delete-role --role-name", region="")
        yield of("instance profiles", "iam:ListInstanceProfiles", self._instance_profiles,
                 "aws iam delete-instance-profile --instance-profile-name", region="")  # fmt: skip
        yield of("keys", "kms:ListKeys", self._keys, "aws kms schedule-key-deletion --key-id")
        yield of("queues", "sqs:ListQueues", self._queues, "aws sqs delete-queue --queue-url")
        yield of("event rules", "events:ListRules", self._event_rules, "aws events delete-rule --name")
        yield of("log groups", "logs:DescribeLogGroups", self._log_groups,
                 "aws logs delete-log-group --log-group-name",
                 kept="EKS writes its last logs after the cluster is deleted")  # fmt: skip
        for what, setting, right, find, remove in (
            ("repositories", "registry", "ecr:DescribeRepositories", self._repositories,
             "aws ecr delete-repository --force --repository-name"),
            ("buckets", "checkpoints", "s3:ListAllMyBuckets", self._buckets, "aws s3 rb --force"),
            ("file systems", "sharedVolume", "elasticfilesystem:DescribeFileSystems", self._file_systems,
             "aws efs delete-file-system --file-system-id"),
        ):  # fmt: skip
            reason = f"workloads.{setting}.onDestroy is keep; you pay for what is stored" if kept[what] else ""
            yield of(what, right, find, remove, kept=reason)

    def _pages(self, service: str, operation: str, key: str, **parameters: Any) -> Iterator[Mapping[str, Any]]:
        """All that a request lists."""
        for page in self._client(service).get_paginator(operation).paginate(**parameters):
            yield from page.get(key) or ()

    def _is_named_after(self, name: object) -> bool:
        """Whether a name begins with the cluster's, and not with that of another cluster that is there."""
        text = str(name)
        if not text.startswith(f"{self._name}-"):
            return False
        return not any(text.startswith(f"{each}-") for each in self._longer)

    @cached_property
    def _longer(self) -> list[str]:
        """The other clusters whose names begin with this one's."""
        clusters = map(str, self._pages("eks", "list_clusters", "clusters"))
        return [each for each in clusters if each.startswith(f"{self._name}-")]

    def _named(self, *names: str) -> dict[str, Any]:
        """A filter of EC2 for resources that have one of these names."""
        return {"Name": "tag:Name", "Values": [*names]}

    @property
    def _in_zones(self) -> dict[str, Any]:
        return self._named(*(f"{self._name}-{zone}" for zone in self._settings.zones))

    def _instances(self) -> Iterator[Left]:
        for each in self._pages("ec2", "describe_instances", "Reservations", Filters=[self._owned]):
            for instance in each["Instances"]:
                if instance["State"]["Name"] not in _ENDED:
                    words = f"{instance['InstanceType']}, {instance['State']['Name']}"
                    yield Left(str(instance["InstanceId"]), words)

    def _scaling_groups(self) -> Iterator[Left]:
        by = [{"Name": "tag:eks:cluster-name", "Values": [self._name]}]
        for each in self._pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", Filters=by):
            yield Left(str(each["AutoScalingGroupName"]))

    def _volumes(self) -> Iterator[Left]:
        for each in self._pages("ec2", "describe_volumes", "Volumes", Filters=[self._owned]):
            tags = _tags(each)
            claim = "/".join(filter(None, (tags.get(f"kubernetes.io/created-for/pvc/{key}") for key in _CLAIM)))
            yield Left(str(each["VolumeId"]), ", ".join(filter(None, (f"{each['Size']} GiB", claim))))

    def _snapshots(self) -> Iterator[Left]:
        for each in self._pages("ec2", "describe_snapshots", "Snapshots", OwnerIds=["self"], Filters=[self._owned]):
            yield Left(str(each["SnapshotId"]), f"of {each['VolumeId']}")

    def _load_balancers(self) -> Iterator[Left]:
        balancers = self._pages("elbv2", "describe_load_balancers", "LoadBalancers")
        yield from self._tagged({str(each["LoadBalancerArn"]): str(each["DNSName"]) for each in balancers})

    def _target_groups(self) -> Iterator[Left]:
        groups = self._pages("elbv2", "describe_target_groups", "TargetGroups")
        yield from self._tagged({str(each["TargetGroupArn"]): "" for each in groups})

    def _tagged(self, words: Mapping[str, str]) -> Iterator[Left]:
        """Those of these ARNs that a controller of the cluster has tagged."""
        client = self._client("elbv2")
        for arns in _at_once(words):
            for each in client.describe_tags(ResourceArns=arns)["TagDescriptions"]:
                if self._balances(_tags(each)):
                    yield Left(str(each["ResourceArn"]), words[each["ResourceArn"]])

    def _classic_balancers(self) -> Iterator[Left]:
        balancers = self._pages("elb", "describe_load_balancers", "LoadBalancerDescriptions")
        names = {str(each["LoadBalancerName"]): str(each.get("DNSName") or "") for each in balancers}
        for some in _at_once(names):
            for each in self._client("elb").describe_tags(LoadBalancerNames=some)["TagDescriptions"]:
                if self._balances(_tags(each)):
                    yield Left(str(each["LoadBalancerName"]), names[each["LoadBalancerName"]])

    def _balances(self, tags: Mapping[str, str]) -> bool:
        own = tags.get("elbv2.k8s.aws/cluster") or tags.get("eks:eks-cluster-name")
        return own == self._name or tags.get(f"kubernetes.io/cluster/{self._name}") == "owned"

    def _nat_gateways(self) -> Iterator[Left]:
        for each in self._pages("ec2", "describe_nat_gateways", "NatGateways", Filters=[self._in_zones]):
            if each["State"] not in _ENDED:
                yield Left(str(each["NatGatewayId"]), str(each["State"]))

    def _addresses(self) -> Iterator[Left]:
        for each in self._client("ec2").describe_addresses(Filters=[self._in_zones])["Addresses"]:
            yield Left(str(each["AllocationId"]), str(each["PublicIp"]))

    def _interfaces(self) -> Iterator[Left]:
        filters = [
            {"Name": "tag:cluster.k8s.amazonaws.com/name", "Values": [self._name]},
            {"Name": "description", "Values": [f"Amazon EKS {self._name}"]},
            *({"Name": "vpc-id", "Values": [vpc]} for vpc in self._vpcs()),
        ]
        left: dict[str, Left] = {}
        for by in filters:
            for each in self._pages("ec2", "describe_network_interfaces", "NetworkInterfaces", Filters=[by]):
                words = ", ".join(filter(None, (str(each.get("Description") or ""), str(each.get("Status") or ""))))
                left[str(each["NetworkInterfaceId"])] = Left(str(each["NetworkInterfaceId"]), words)
        yield from left.values()

    def _security_groups(self) -> Iterator[Left]:
        filters = [
            {"Name": "tag:aws:eks:cluster-name", "Values": [self._name]},
            {"Name": "tag:elbv2.k8s.aws/cluster", "Values": [self._name]},
            self._named(f"{self._name}-control-plane", f"{self._name}-shared"),
            *({"Name": "vpc-id", "Values": [vpc]} for vpc in self._vpcs()),
        ]
        left: dict[str, Left] = {}
        for by in filters:
            for each in self._pages("ec2", "describe_security_groups", "SecurityGroups", Filters=[by]):
                # A network has one of that name, which goes with it.
                if each["GroupName"] != "default":
                    left[str(each["GroupId"])] = Left(str(each["GroupId"]), str(each["GroupName"]))
        yield from left.values()

    def _vpcs(self) -> list[str]:
        vpcs = self._pages("ec2", "describe_vpcs", "Vpcs", Filters=[self._named(self._name)])
        # Somebody else's network has a name of theirs.
        return [] if self._settings.network.existing else [str(each["VpcId"]) for each in vpcs]

    def _networks(self) -> Iterator[Left]:
        for vpc in self._vpcs():
            here = [{"Name": "vpc-id", "Values": [vpc]}]
            subnets = [
                str(each["SubnetId"]) for each in self._pages("ec2", "describe_subnets", "Subnets", Filters=here)
            ]
            yield Left(vpc, f"with {', '.join(subnets)}, which go first" if subnets else "")

    def _internet_gateways(self) -> Iterator[Left]:
        by = [self._named(self._name)]
        for each in self._pages("ec2", "describe_internet_gateways", "InternetGateways", Filters=by):
            yield Left(str(each["InternetGatewayId"]))

    def _launch_templates(self) -> Iterator[Left]:
        for each in self._pages("ec2", "describe_launch_templates", "LaunchTemplates"):
            name, tags = str(each["LaunchTemplateName"]), _tags(each)
            if self._is_named_after(name) or self._name in (
                tags.get("eks:cluster-name"),
                tags.get("eks:eks-cluster-name"),
            ):
                yield Left(str(each["LaunchTemplateId"]), name)

    def _placement_groups(self) -> Iterator[Left]:
        for each in self._client("ec2").describe_placement_groups()["PlacementGroups"]:
            if self._is_named_after(each["GroupName"]) and each["State"] not in _ENDED:
                yield Left(str(each["GroupName"]))

    def _roles(self) -> Iterator[Left]:
        for each in self._pages("iam", "list_roles", "Roles"):
            if str(each.get("Description") or "").endswith(f" of cluster {self._name}"):
                yield Left(str(each["RoleName"]))

    def _instance_profiles(self) -> Iterator[Left]:
        for each in self._pages("iam", "list_instance_profiles", "InstanceProfiles"):
            roles = (str(role.get("Description") or "") for role in each["Roles"])
            if self._is_named_after(each["InstanceProfileName"]) or any(
                text.endswith(f" of cluster {self._name}") for text in roles
            ):
                yield Left(str(each["InstanceProfileName"]))

    def _keys(self) -> Iterator[Left]:
        from botocore.exceptions import ClientError

        client = self._client("kms")
        for each in self._pages("kms", "list_keys", "Keys"):
            try:
                key = client.describe_key(KeyId=each["KeyId"])["KeyMetadata"]
            except ClientError:
                # Keys of others have policies of their own; the deployer made the stack's.
                continue
            described = key.get("Description") == f"Kubernetes secrets of cluster {self._name}"
            # One that waits for its end costs nothing: https://aws.amazon.com/kms/pricing/
            if described and key["KeyState"] != "PendingDeletion":
                yield Left(str(key["KeyId"]), str(key["KeyState"]))

    def _queues(self) -> Iterator[Left]:
        start = self._name[:_SHORTEST]
        for each in map(str, self._pages("sqs", "list_queues", "QueueUrls", QueueNamePrefix=start)):
            if self._is_limited(each.rpartition("/")[2], "-interruptions"):
                yield Left(each)

    def _is_limited(self, name: str, end: str) -> bool:
        """Whether it is the cluster's name and ``end``, the former perhaps shortened with a digest."""
        start = re.escape(self._name[:_SHORTEST])
        return name == f"{self._name}{end}" or bool(re.fullmatch(rf"{start}.*-[0-9a-f]{{6}}{re.escape(end)}", name))

    def _event_rules(self) -> Iterator[Left]:
        for each in self._pages("events", "list_rules", "Rules"):
            if str(each.get("Description") or "").endswith(f" for cluster {self._name}"):
                yield Left(str(each["Name"]))

    def _log_groups(self) -> Iterator[Left]:
        start = f"/aws/eks/{self._name}/"
        for each in self._pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=start):
            yield Left(str(each["logGroupName"]), f"{each.get('storedBytes', 0)} bytes")

    def _repositories(self) -> Iterator[Left]:
        for each in self._pages("ecr", "describe_repositories", "repositories"):
            if str(each["repositoryName"]).startswith(f"{self._name}/"):
                yield Left(str(each["repositoryName"]))

    def _buckets(self) -> Iterator[Left]:
        # The digest is of account and region, so another region's has the same form.
        form = re.compile(rf"{re.escape(self._name[:_SHORTEST])}.*-[0-9a-f]{{8}}-checkpoints")
        whole = re.compile(rf"{re.escape(self._name)}-[0-9a-f]{{8}}-checkpoints")
        for each in self._client("s3").list_buckets()["Buckets"]:
            if (whole if len(self._name) <= _SHORTEST else form).fullmatch(str(each["Name"])):
                yield Left(f"s3://{each['Name']}")

    def _file_systems(self) -> Iterator[Left]:
        by = {"CreationToken": f"{self._name}-shared"}
        for each in self._pages("efs", "describe_file_systems", "FileSystems", **by):
            if each["LifeCycleState"] not in _ENDED:
                yield Left(str(each["FileSystemId"]), f"{at(each, 'SizeInBytes', 'Value') or 0} bytes")


_CLAIM: Final = ("namespace", "name")


def opened(settings: Settings) -> AwsLeftovers:
    """The account of the user's environment. Raises AccountError."""
    return AwsLeftovers(settings)


def _tags(resource: Mapping[str, Any]) -> dict[str, str]:
    return {str(each["Key"]): str(each["Value"]) for each in resource.get("Tags") or ()}


def _at_once(names: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    rest = iter(names)
    while some := [*islice(rest, _TAGS_AT_ONCE)]:
        yield some
