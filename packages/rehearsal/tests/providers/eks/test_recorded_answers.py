"""What AWS answered Pulumi's own provider, against what the simulated AWS answers to the same inputs.

``recorded/``: resources on a real account, of the tests of https://github.com/pulumi/pulumi-eks (Apache-2.0), cut to
their inputs and to the outputs that are not empty. What a recording only refers to is made first, with defaults. Names
that each account makes itself are no differences (``_compared``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.providers.eks.account import Amazon
from rehearsal.providers.base import Created, Properties

FILES: Final = sorted((Path(__file__).parent / "recorded").glob("*.json"))
# An add-on's pods need nodes, which each cluster gets here when it is made.
ORDER: Final = (
    *("vpc", "internetGateway", "subnet", "eip", "natGateway", "routeTable", "routeTableAssociation", "securityGroup"),
    *("key", "alias", "role", "rolePolicyAttachment", "instanceProfile", "cluster", "launchTemplate", "nodeGroup"),
    *("addon", "accessEntry"),
)
EIP: Final = "aws:ec2/eip:Eip"
DIFFERENCES: Final = {
    (eks.VPC, "dhcpOptionsId"): "nothing refers to it",
    (EIP, "vpc"): "deprecated: domain says it",
    (eks.CLUSTER, "certificateAuthorities"): "of the provider of 2024; today's has certificateAuthority alone",
    (eks.KEY, "policy"): "AWS's default policy of a key, which the program always declares",
    (eks.ROLE, "roleLastUseds"): "all in it is empty",
}
"""Outputs that the simulated AWS leaves out, and why."""

_OLD: Final = ("addonVersion", "platformVersion", "releaseVersion", "version")
"""Of the day: versions of 2023 and 2024, of which most are no longer offered."""
_OF_THE_ACCOUNT: Final = ("data", "endpoint", "issuer", "privateIp", "publicDns", "publicIp", "uniqueId")
"""Each cluster's and each account's own: that they are answered is compared."""
_ID: Final = re.compile(r"\b([a-z]+)-[0-9a-f]{8}[0-9a-f-]*\b")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+( \+0000 UTC|Z|\+00:00)?")
_ROLE: Final = re.compile(r"arn:aws:iam::000000000000:role/(.*)")
_POLICIES: Final = ("AmazonEKSClusterPolicy", *("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly"))
_FAR: Final = ["us-west-2a", "us-west-2b", "us-west-2c"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_answers_are_those_of_aws(file: Path, tmp_path: Path) -> None:
    recorded = json.loads(file.read_text("utf-8"))
    assert recorded["licence"] == "Apache-2.0"
    replay = Replay(tmp_path)
    differences = dict(replay.differences(recorded["resources"]))
    assert {key: how for key, how in differences.items() if key not in DIFFERENCES} == {}


class Replay:
    """The resources of a recording, made in a simulated account."""

    def __init__(self, path: Path) -> None:
        self._amazon = Amazon(path)
        self._simulated: dict[str, str] = {}
        self._home: dict[str, str] = {}
        self._blocks: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        self._made: Counter[str] = Counter()

    def differences(self, resources: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], str]]:
        """Type and output → the real and the simulated value."""
        self._learn(resources)
        for recorded in sorted(resources, key=lambda each: ORDER.index(each["type"].split(":")[1].split("/")[1])):
            given = recorded["inputs"].items()
            inputs = {key: value for key, value in given if key not in _OLD and value not in (None, "", [], {}, False)}
            self._need(recorded, inputs, resources)
            made = self._amazon.create(recorded["type"], self._translated(inputs), recorded["id"])
            self._note(recorded, made)
            for key, value in recorded["outputs"].items():
                simulated = made.id if key == "id" else made.state.get(key)
                one, other = self._compared(value, key), self._compared(simulated, key)
                if one != other:
                    yield (recorded["type"], key), f"real {one}, simulated {other}"

    def _note(self, recorded: Mapping[str, Any], made: Created) -> None:
        """Later resources refer to this one by what AWS called it."""
        for key, value in {**recorded["outputs"], "id": recorded["id"]}.items():
            simulated = made.id if key == "id" else made.state.get(key)
            named = isinstance(value, str) and (key in ("id", "arn", "name") or _ID.fullmatch(value))
            if named and isinstance(simulated, str) and value != simulated:
                self._simulated[value] = simulated
        if recorded["type"] == eks.ROLE:
            self._attach(made.state["name"])
        elif recorded["type"] == eks.CLUSTER:
            self._nodes(made.state["name"], made.state["vpcConfig"]["subnetIds"])

    def _learn(self, resources: list[dict[str, Any]]) -> None:
        """Which VPC a subnet or security group is in, as far as the recording shows it, and the range of that VPC: of a
        VPC that is not recorded, the range of its cluster's services says it."""
        for each in resources:
            outputs = each["outputs"]
            if each["type"] == eks.VPC:
                self._home[""] = each["id"]
            elif each["type"] == eks.CLUSTER:
                network = outputs["vpcConfig"]
                self._home |= dict.fromkeys([*network["subnetIds"], *network["securityGroupIds"]], network["vpcId"])
                services = outputs["kubernetesNetworkConfig"]["serviceIpv4Cidr"]
                self._blocks[network["vpcId"]] = "10.0.0.0/16" if services == "172.20.0.0/16" else "172.31.0.0/16"
            elif each["type"] in (eks.SUBNET, eks.SECURITY_GROUP):
                self._home[each["id"]] = outputs["vpcId"]

    def _need(self, recorded: Mapping[str, Any], inputs: Properties, resources: list[dict[str, Any]]) -> None:
        """Make the role, launch template or cluster that the inputs name and the recording lacks."""
        type = recorded["type"]
        template = inputs.get("launchTemplate") or {}
        if template and template["id"] not in self._simulated:
            image = {"imageId": "ami-0123456789abcdef0"} if recorded["outputs"]["amiType"] == "CUSTOM" else {}
            named = {"name": recorded["outputs"]["launchTemplate"]["name"], **image}
            self._simulated[template["id"]] = self._amazon.create(eks.TEMPLATE, named, template["id"]).id
        names = {each["outputs"].get("name") for each in resources} | {*self._simulated}
        if type in (eks.ATTACHMENT, eks.PROFILE) and inputs["role"] not in names:
            self._simulated[inputs["role"]] = inputs["role"]
            self._role(inputs["role"])
        cluster = inputs.get("clusterName")
        if cluster is not None and cluster not in names:
            self._simulated[cluster] = cluster
            subnets = [self._referred(f"subnet-{index}{cluster}") for index in range(3)]
            role = self._role(f"of-{cluster}")
            self._amazon.create(
                eks.CLUSTER, {"name": cluster, "roleArn": role, "vpcConfig": {"subnetIds": subnets}}, cluster
            )
            self._nodes(cluster, subnets)

    def _role(self, name: str) -> str:
        if name in self._roles:
            return self._roles[name]
        services = [f"{each}.amazonaws.com" for each in ("eks", "ec2")]
        trust = eks.document({"Effect": "Allow", "Principal": {"Service": services}, "Action": ["sts:AssumeRole"]})
        arn = self._amazon.create(eks.ROLE, {"name": name, "assumeRolePolicy": trust}, name).state["arn"]
        self._attach(name)
        self._roles[name] = str(arn)
        return self._roles[name]

    def _attach(self, name: str) -> None:
        for policy in (*_POLICIES, "AmazonEKS_CNI_Policy"):
            inputs = {"role": name, "policyArn": f"{eks.AWS_POLICY}/{policy}"}
            self._amazon.create(eks.ATTACHMENT, inputs, name + policy)

    def _nodes(self, cluster: str, subnets: list[str]) -> None:
        inputs = {
            "clusterName": cluster,
            "nodeGroupName": "of-the-recorder",
            "nodeRoleArn": self._translated("arn:aws:iam::000000000000:role/of-the-recorder"),
            "subnetIds": subnets,
            "scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2},
        }
        self._amazon.create(eks.NODE_GROUP, inputs, f"nodes of {cluster}")

    def _translated(self, value: Any) -> Any:
        """The recorded inputs with what the simulated account has in the place of each name."""
        if isinstance(value, dict):
            return {key: self._translated(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._translated(each) for each in value]
        if not isinstance(value, str):
            return value
        if value not in self._simulated:
            if role := _ROLE.fullmatch(value):
                self._simulated[value] = self._role(role[1])
            elif _ID.fullmatch(value):
                return self._referred(value)
        return self._simulated.get(value, value.replace("000000000000", eks.ACCOUNT))

    def _referred(self, id: str) -> str:
        """A resource that the recording names without having it."""
        if id in self._simulated:
            return self._simulated[id]
        kind = id.partition("-")[0]
        number = self._made[kind]
        self._made[kind] += 1
        vpc = {} if kind in ("eipalloc", "lt", "vpc") else {"vpcId": self._vpc_of(id)}
        made: dict[str, tuple[str, Properties]] = {
            "vpc": (eks.VPC, {"cidrBlock": "172.31.0.0/16"}),
            "subnet": (eks.SUBNET, {"availabilityZone": _FAR[number % 3], "cidrBlock": self._block(id, number)}),
            "sg": (eks.SECURITY_GROUP, {"name": id, "description": "of the recorder"}),
            "igw": (eks.INTERNET_GATEWAY, {}),
            "eipalloc": (EIP, {"domain": "vpc"}),
            "rtb": ("aws:ec2/routeTable:RouteTable", {}),
        }
        if kind not in made:
            return id
        type, inputs = made[kind]
        self._simulated[id] = self._amazon.create(type, {**vpc, **inputs}, id).id
        return self._simulated[id]

    def _vpc_of(self, id: str) -> str:
        recorded = self._home.get(id) or self._home.get("", "default")
        if recorded not in self._simulated:
            block = self._blocks.get(recorded, "172.31.0.0/16")
            self._simulated[recorded] = self._amazon.create(eks.VPC, {"cidrBlock": block}, recorded).id
            self._amazon.create(eks.INTERNET_GATEWAY, {"vpcId": self._simulated[recorded]}, recorded)
        return self._simulated[recorded]

    def _block(self, id: str, number: int) -> str:
        (vpc,) = self._amazon.account.call("ec2", "DescribeVpcs", VpcIds=[self._vpc_of(id)])["Vpcs"]
        first, second = vpc["CidrBlock"].split(".")[:2]
        return f"{first}.{second}.{255 - number}.0/24"

    def _compared(self, value: Any, key: str) -> Any:
        """A value without what differs from account to account, and from day to day."""
        if isinstance(value, dict):
            parts = {name: self._compared(each, name) for name, each in value.items()}
            return {name: each for name, each in parts.items() if each not in (None, "", [], {}, False, 0)}
        if isinstance(value, list):
            elements = [self._compared(each, key) for each in value]
            return sorted(elements) if all(isinstance(each, str) for each in elements) else elements
        if not isinstance(value, str):
            return value
        if key in (*_OLD, *_OF_THE_ACCOUNT):
            return "some"
        for recorded, simulated in self._simulated.items():
            value = value.replace(simulated, recorded) if len(simulated) > len("vpc-") else value
        for pattern, text in ((_UUID, "uuid"), (_ID, r"\1-id"), (_TIME, "time")):
            value = pattern.sub(text, value)
        # The default up to Kubernetes 1.29: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
        value = "AL2023_x86_64_STANDARD" if value == "AL2_x86_64" else value
        value = value.replace(eks.ACCOUNT, "000000000000")
        return self._compared(json.loads(value), key) if value.startswith("{") else value
