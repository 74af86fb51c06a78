"""What is left in an account of AWS: each resource of a deployed stack is found, and none of a destroyed one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.handlers import json_decode_policies

from account import left
from account.clouds.eks.leftovers import AwsLeftovers
from account.left import rows_left
from account.rows import ShownRow
from gpucluster import app
from packages.account.tests.clouds.eks.aws import REGION, Answer, FakeAws, aws, refusal
from packages.cli.tests.test_cli import signals_restored
from packages.rehearsal.tests.upgrade.deployment import Deployment
from packages.rehearsal.tests.upgrade.program import Program
from tests.stacks import ROOT, settings_of

RESEARCH = ROOT / "examples" / "eks-research.yaml"
KARPENTER = ROOT / "examples" / "eks-karpenter.yaml"

PARTS: Mapping[str, str] = {
    "aws:autoscaling/tag:Tag": "node groups",
    "aws:cloudwatch/eventTarget:EventTarget": "event rules",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "networks",
    "aws:ec2/route:Route": "networks",
    "aws:ec2/routeTable:RouteTable": "networks",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "networks",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "networks",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": "repositories",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "file systems",
    "aws:efs/mountTarget:MountTarget": "file systems",
    "aws:eks/accessEntry:AccessEntry": "the cluster",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": "the cluster",
    "aws:eks/addon:Addon": "the cluster",
    "aws:eks/cluster:Cluster": "the cluster",
    "aws:eks/nodeGroup:NodeGroup": "the cluster",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "the cluster",
    "aws:iam/rolePolicy:RolePolicy": "roles",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "roles",
    "aws:kms/alias:Alias": "keys",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": "buckets",
    "aws:s3/bucketPolicy:BucketPolicy": "buckets",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "buckets",
    "aws:s3/bucketVersioning:BucketVersioning": "buckets",
    "aws:sqs/queuePolicy:QueuePolicy": "queues",
}
"""Type → the kind of resource, or the cluster, without which it cannot be there."""


class Session:
    """boto3's session on the account of a simulated provider: botocore judges requests, the simulation answers."""

    def __init__(self, account: Any) -> None:
        self.account, self.parameters = account, dict[str, Any]()

    def client(self, service: str, **options: Any) -> Any:
        _current[:] = [self]
        return _client(service)

    def answer(self, service: str, operation: str) -> tuple[Any, Any]:
        answer = self.account.call(service, operation, **self.parameters)
        return type("Response", (), {"status_code": 200}), answer


_current: list[Session] = []


@cache
def _client(service: str) -> Any:
    """One for all tests: botocore reads a service's model for seconds."""
    client = boto3.Session("testing", "testing", region_name=REGION).client(service)
    # The simulation has decoded them.
    client.meta.events.unregister("after-call.iam", json_decode_policies)
    client.meta.events.register(
        "provide-client-params.*", lambda params, **_: setattr(_current[0], "parameters", dict(params))
    )
    client.meta.events.register("before-call.*", lambda model, **_: _current[0].answer(service, str(model.name)))
    return client


@dataclass
class Deployed:
    """A stack in a simulated account."""

    deployment: Deployment
    file: Path

    def rows(self) -> dict[str, ShownRow]:
        session: Any = Session(self.deployment.cloud._cloud)
        account = AwsLeftovers(settings_of(self.file), session)
        return {row.id.removeprefix("left:"): row for question in account.questions() for row in question.ask()}


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    program = Program(ROOT)
    yield program
    program.close()


@pytest.mark.parametrize(
    "file", [KARPENTER, pytest.param(RESEARCH, marks=pytest.mark.rehearsal)], ids=lambda file: file.stem
)
def test_every_resource_of_a_stack_is_found_and_none_after_its_end(
    file: Path, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "_NAMED", 100)
    deployed = Deployed(Deployment(file, tmp_path, {}), file)
    assert {each.op for each in deployed.deployment.update(program)} == {"create"}
    before = deployed.rows()
    assert before["node groups"].result == "failed"
    found = " ".join(row.detail for row in before.values())
    missing = [
        each.registration.urn
        for each in deployed.deployment.resources.values()
        if each.registration.type.startswith("aws:") and each.registration.type not in PARTS
        if each.id.rpartition("/")[2] not in found
    ]
    assert missing == []
    deployed.deployment.destroy()
    rows = deployed.rows()
    assert {kind for kind, row in rows.items() if row.result == "failed"} == set()
    kept = {"repositories", "buckets", "file systems"} if file is RESEARCH else set()
    assert {kind for kind, row in rows.items() if row.result == "warning"} - {"log groups"} == kept


ARN = "arn:aws:sts::123456789012:assumed-role/deployer/me"
SESSION: Answer = {"Account": "123456789012", "Arn": ARN, "UserId": "A:me"}
# moto does not know them.
NO_PLACEMENT_GROUPS: Mapping[str, Answer] = {"ec2.DescribePlacementGroups": {"PlacementGroups": []}}


def asked(cloud: FakeAws) -> dict[str, ShownRow]:
    session: Any = cloud.session
    return {row.id.removeprefix("left:"): row for row in rows_left(AwsLeftovers(settings_of(KARPENTER), session))}


def tags(**pairs: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def made_in_the_cluster(cloud: FakeAws, name: str) -> dict[str, str]:
    """Kind → the id of what EKS and controllers in a cluster make, with their tags."""
    ec2, balancers, classic = (cloud.session.client(service) for service in ("ec2", "elbv2", "elb"))
    owned = tags(**{f"kubernetes.io/cluster/{name}": "owned"})
    subnets = ec2.describe_subnets()["Subnets"][:2]
    vpc, ids = subnets[0]["VpcId"], [each["SubnetId"] for each in subnets]

    def tagged(kind: str, pairs: list[dict[str, str]]) -> list[dict[str, Any]]:
        return [{"ResourceType": kind, "Tags": pairs}]

    machine = ec2.run_instances(
        ImageId="ami-12c6146b", InstanceType="g4dn.xlarge", MinCount=1, MaxCount=1, SubnetId=ids[0],
        TagSpecifications=tagged("instance", owned),
    )["Instances"][0]["InstanceId"]  # fmt: skip
    volume = ec2.create_volume(
        AvailabilityZone=f"{REGION}a", Size=20, TagSpecifications=tagged("volume", owned)
    )["VolumeId"]  # fmt: skip
    snapshot = ec2.create_snapshot(VolumeId=volume, TagSpecifications=tagged("snapshot", owned))["SnapshotId"]
    of_lbc = tags(**{"elbv2.k8s.aws/cluster": name})
    network = balancers.create_load_balancer(Name=f"k8s-{name[-8:]}", Subnets=ids, Type="network", Tags=of_lbc)
    group = balancers.create_target_group(
        Name=f"k8s-{name[-8:]}", Protocol="TCP", Port=80, VpcId=vpc, Tags=of_lbc
    )["TargetGroups"][0]["TargetGroupArn"]  # fmt: skip
    classic.create_load_balancer(
        LoadBalancerName=f"a1b2-{name[-8:]}", Subnets=ids, Tags=owned,
        Listeners=[{"Protocol": "tcp", "LoadBalancerPort": 80, "InstancePort": 80}],
    )  # fmt: skip
    security = ec2.create_security_group(
        GroupName=f"k8s-traffic-{name}", Description="x", VpcId=vpc, TagSpecifications=tagged("security-group", of_lbc)
    )["GroupId"]
    cni = tags(**{"cluster.k8s.amazonaws.com/name": name})
    interface = ec2.create_network_interface(SubnetId=ids[0], TagSpecifications=tagged("network-interface", cni))
    control_plane = ec2.create_network_interface(SubnetId=ids[1], Description=f"Amazon EKS {name}")
    template = ec2.create_launch_template(
        LaunchTemplateName=f"karpenter.k8s.aws/{len(name)}", LaunchTemplateData={"InstanceType": "g4dn.xlarge"},
        TagSpecifications=tagged("launch-template", tags(**{"eks:eks-cluster-name": name})),
    )["LaunchTemplate"]["LaunchTemplateId"]  # fmt: skip
    cloud.session.client("logs").create_log_group(logGroupName=f"/aws/eks/{name}/cluster")
    return {
        "instances": machine,
        "volumes": volume,
        "snapshots": snapshot,
        "load balancers": network["LoadBalancers"][0]["LoadBalancerArn"],
        "target groups": group,
        "classic load balancers": f"a1b2-{name[-8:]}",
        "security groups": security,
        "network interfaces": interface["NetworkInterface"]["NetworkInterfaceId"],
        "network interfaces ": control_plane["NetworkInterface"]["NetworkInterfaceId"],
        "launch templates": template,
        "log groups": f"/aws/eks/{name}/cluster",
    }


def test_what_controllers_have_made_is_found_and_that_of_other_clusters_is_not() -> None:
    with aws(NO_PLACEMENT_GROUPS) as cloud:
        made_in_the_cluster(cloud, "gpu-eks-karpenter-eu")
        made_in_the_cluster(cloud, "gpu-eks")
        before = asked(cloud)
        made = made_in_the_cluster(cloud, "gpu-eks-karpenter")
        rows = asked(cloud)
    assert {kind for kind, row in before.items() if row.result != "shown"} == set()
    kinds = {kind.strip() for kind in made}
    assert {kind for kind, row in rows.items() if row.result == "failed"} == kinds - {"log groups"}
    assert rows["log groups"].result == "warning"
    for kind, id in made.items():
        row = rows[kind.strip()]
        assert id in row.detail, kind
        assert "aws " in row.remedy, kind


@pytest.mark.parametrize(
    ("name", "clusters", "own"),
    [
        ("gpu-eks-karpenter-admin", [], True),
        ("gpu-eks-karpenter-eu-admin", [], True),
        ("gpu-eks-karpenter-eu-admin", ["gpu-eks-karpenter-eu"], False),
        ("gpu-eks-karpenter-europe", ["gpu-eks-karpenter-eu"], True),
        ("gpu-eks-karpenter", [], False),
        ("gpu-eks-admin", [], False),
    ],
)
def test_a_name_that_begins_with_the_clusters_is_its_own_unless_another_cluster_claims_it(
    name: str, clusters: list[str], own: bool
) -> None:
    with aws({"eks.ListClusters": {"clusters": clusters}}) as cloud:
        cloud.session.client("ec2").create_launch_template(
            LaunchTemplateName=name, LaunchTemplateData={"InstanceType": "g4dn.xlarge"}
        )
        session: Any = cloud.session
        questions = AwsLeftovers(settings_of(KARPENTER), session).questions()
        (row,) = next(each for each in questions if each.id == "left:launch templates").ask()
    assert (row.result == "failed") is own


def test_a_placement_group_is_found_until_it_is_deleted() -> None:
    groups = [
        {"GroupName": name, "State": state}
        for name, state in (
            ("gpu-eks-karpenter-a100-8", "available"),
            ("gpu-eks-karpenter-h100-8", "deleted"),
            ("another-a100-8", "available"),
        )
    ]
    with aws({"ec2.DescribePlacementGroups": {"PlacementGroups": groups}}) as cloud:
        row = asked(cloud)["placement groups"]
    assert (row.result, row.detail) == ("failed", "gpu-eks-karpenter-a100-8")


def test_every_request_reads_and_a_refusal_ends_no_other_question() -> None:
    with aws({**NO_PLACEMENT_GROUPS, "ec2.DescribeVolumes": refusal("UnauthorizedOperation")}) as cloud:
        rows = asked(cloud)
    assert {kind for kind, row in rows.items() if row.result == "not shown"} == {"volumes"}
    assert "ec2:DescribeVolumes" in rows["volumes"].remedy
    assert len(rows) == 25
    assert {
        sent.operation for sent in cloud.sent if not sent.operation.startswith(("Describe", "List", "Get"))
    } == set()


def test_a_cluster_that_is_there_is_the_only_row() -> None:
    arn = f"arn:aws:eks:{REGION}:123456789012:cluster/gpu-eks-karpenter"
    with aws({"eks.DescribeCluster": {"cluster": {"name": "gpu-eks-karpenter", "arn": arn}}}) as cloud:
        rows = asked(cloud)
    (row,) = rows.values()
    assert (row.result, arn in row.detail, "pulumi destroy" in row.remedy) == ("failed", True, True)


def test_the_page_shows_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of an account with a volume that the cluster's driver made, and the log group of EKS."""
    command = "gpucluster prove examples/eks-karpenter.yaml --part account"
    page = (ROOT / "docs" / "proving.md").read_text()
    (shown,) = re.findall(rf"^\$ {re.escape(command)}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", command.split())
    with aws({**NO_PLACEMENT_GROUPS, "sts.GetCallerIdentity": SESSION}) as cloud:
        session: Any = cloud.session
        owned = tags(**{"kubernetes.io/cluster/gpu-eks-karpenter": "owned"})
        cloud.session.client("ec2").create_volume(
            AvailabilityZone=f"{REGION}a", Size=20, TagSpecifications=[{"ResourceType": "volume", "Tags": owned}]
        )
        cloud.session.client("logs").create_log_group(logGroupName="/aws/eks/gpu-eks-karpenter/cluster")
        monkeypatch.setattr(left, "leftovers_of", lambda settings: AwsLeftovers(settings, session))
        with signals_restored(), pytest.raises(SystemExit) as ended:
            app.main()
    assert ended.value.code == 1
    printed = re.sub(r"vol-[0-9a-f]+", "vol-0123456789abcdef0", capsys.readouterr().out)
    assert printed == shown
    assert max(map(len, shown.splitlines())) <= 80
