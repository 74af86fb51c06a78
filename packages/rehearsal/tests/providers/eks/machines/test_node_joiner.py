"""What an image reads from its user data; an instance becomes a node only if all that a real one needs is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.account import ACCOUNT, ENTRY, PROFILE, ROLE, Amazon, trust
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.aws_api.gaps.reads import publish
from rehearsal.providers.eks.machines import node_joiner as module
from rehearsal.providers.eks.machines.instance import published
from rehearsal.providers.eks.machines.node import UserDataError, bootstrap
from rehearsal.providers.eks.machines.node_joiner import NodeJoiner

NODE_CONFIG, BOTTLEROCKET = (
    Path(__file__).with_name(name).read_text("utf-8") for name in ("node_config.yaml", "bottlerocket.toml")
)


def archive(*parts: tuple[str, str]) -> str:
    head = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
    body = "".join(f"--//\nContent-Type: {kind}\n\n{content}\n" for kind, content in parts)
    return f"{head}{body}--//--\n"


@cases
def test_both_families_say_the_same_in_their_own_words(family: str, text: str) -> None:
    actual = bootstrap(family, text)  # type: ignore[arg-type]
    assert (actual.cluster, actual.endpoint, actual.ca) == ("demo", "https://127.0.0.1:6443", "Q0E=")
    assert actual.labels == {"a": "b", "karpenter.sh/nodepool": "gpu"}
    assert [(each["key"], each["effect"]) for each in actual.taints] == [("karpenter.sh/unregistered", "NoExecute")]
    assert actual.settings["maxPods"] == 29
    assert not actual.raid0


def test_later_parts_win_over_earlier_ones() -> None:
    own = "kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 8, kubeReserved: {cpu: 100m}}}}"
    actual = bootstrap("al2023", archive(("application/node.eks.aws", own), ("application/node.eks.aws", NODE_CONFIG)))
    assert actual.settings == {"maxPods": 29, "kubeReserved": {"cpu": "100m"}}


def test_flags_win_over_the_configuration() -> None:
    text = NODE_CONFIG.replace("flags:", "flags:\n    - --max-pods=8 --register-with-taints=k=v:NoSchedule")
    actual = bootstrap("al2023", text)
    assert actual.settings["maxPods"] == 8
    assert actual.taints == ({"key": "k", "value": "v", "effect": "NoSchedule"},)


@cases
def test_what_makes_no_node(family: str, text: str, message: str) -> None:
    with pytest.raises(UserDataError, match=message):
        bootstrap(family, text)  # type: ignore[arg-type]


USER_DATA = archive(("application/node.eks.aws", NODE_CONFIG.replace("name: demo", "name: gpu-dev")))
NODES = f"arn:aws:iam::{ACCOUNT}:role/nodes"


class Stage:
    """A cluster, a role that may join it, and a node joiner that runs on request."""

    def __init__(self, folder: Path) -> None:
        self.amazon = Amazon(folder)
        self.amazon.cluster()
        self.account = self.amazon.account
        self.entry = self.amazon.create(ENTRY, {"clusterName": "gpu-dev", "principalArn": NODES, "type": "EC2_LINUX"})
        self.amazon.create(PROFILE, {"name": "nodes", "role": "nodes"})
        publish(self.account)
        self.joiner = NodeJoiner(self.account)

    def image(self, variant: str = "nvidia", family: str = "al2023") -> str:
        images = published().items()
        return next(id for id, each in images if (each.family, each.variant, each.arch) == (family, variant, "x86_64"))

    def run(self, **changes: Any) -> str:
        """Start an instance as Karpenter would; its id."""
        groups = self.account.call("eks", "DescribeCluster", name="gpu-dev")["cluster"]["resourcesVpcConfig"]
        usual = {
            "ImageId": self.image(),
            "InstanceType": "g4dn.xlarge",
            "MinCount": 1,
            "MaxCount": 1,
            "SubnetId": self.amazon.subnets()[0],
            "SecurityGroupIds": [groups["clusterSecurityGroupId"]],
            "IamInstanceProfile": {"Name": "nodes"},
            "UserData": USER_DATA,
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 80}}],
        }
        return str(self.account.call("ec2", "RunInstances", **{**usual, **changes})["Instances"][0]["InstanceId"])

    def look(self) -> None:
        """Look twice: an instance boots at the first sight."""
        for _ in range(2):
            self.joiner._looked_at = ""  # pyright: ignore[reportPrivateUsage]
            self.joiner.look()

    @property
    def reports(self) -> list[str]:
        return [because for _, because in self.amazon.fleet.reports]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(module, "_BOOT_SECONDS", 0.0)
    monkeypatch.setattr("rehearsal.providers.eks.background.Background.start", lambda self, account: None)
    made = Stage(tmp_path)
    yield made
    made.amazon.stop()


def test_a_node_is_what_instance_image_and_user_data_say(stage: Stage) -> None:
    id = stage.run()
    stage.look()
    assert stage.reports == []
    (node,) = stage.amazon.fleet.nodes.values()
    assert (node.provider_id, node.cluster) == (f"aws:///us-west-2a/{id}", "gpu-dev")
    assert node.labels["node.kubernetes.io/instance-type"] == "g4dn.xlarge"
    assert node.labels["topology.kubernetes.io/zone"] == "us-west-2a"
    assert node.labels["karpenter.sh/nodepool"] == "gpu"
    assert [taint["key"] for taint in node.taints] == ["karpenter.sh/unregistered"]
    assert (node.gpus, node.gpus_advertised_by) == (1, "device-plugin")
    assert (node.capacity["cpu"], node.capacity["pods"]) == ("4000m", "29")
    # Of 20 GiB the file system has 20893676Ki.
    assert int(node.capacity["ephemeral-storage"]) // 1024 == 4 * 20893676
    # 60 + 10 + 5 + 5 thousandths of its four cores are the system's.
    assert node.allocatable["cpu"] == "3920m"
    assert int(node.allocatable["memory"][:-2]) < int(node.capacity["memory"][:-2])


@pytest.mark.parametrize(
    ("image", "advertiser"), [(("standard", "al2023"), "daemonset"), (("nvidia", "bottlerocket"), "cloud")]
)
def test_who_makes_the_gpus_usable_is_the_images_matter(stage: Stage, image: tuple[str, str], advertiser: str) -> None:
    toml = (
        "[settings.kubernetes]\ncluster-name='gpu-dev'\napi-server='https://127.0.0.1:6443'\ncluster-certificate='Q0E='"
    )
    more = {"UserData": toml} if image[1] == "bottlerocket" else {}
    stage.run(ImageId=stage.image(*image), **more)
    stage.look()
    (node,) = stage.amazon.fleet.nodes.values()
    assert node.gpus_advertised_by == advertiser
    # Without a word about it, as many pods as the type's interfaces have addresses for.
    assert node.capacity["pods"] == "29"


def test_a_node_has_the_efa_devices_of_its_launch_template(stage: Stage) -> None:
    interfaces = [{"NetworkCardIndex": card, "DeviceIndex": 0, "InterfaceType": "efa-only"} for card in range(1, 9)]
    data = {"NetworkInterfaces": [{"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface"}, *interfaces]}
    call = stage.account.call
    made = call("ec2", "CreateLaunchTemplate", LaunchTemplateName="near", LaunchTemplateData=data)["LaunchTemplate"]
    # As EC2 marks what a fleet starts.
    named = {"id": made["LaunchTemplateId"], "version": "1"}
    tags = [{"Key": f"aws:ec2launchtemplate:{key}", "Value": value} for key, value in named.items()]
    stage.run(TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])
    stage.run()
    stage.look()
    assert sorted(node.efa for node in stage.amazon.fleet.nodes.values()) == [0, 8]


Break = Callable[[Stage], dict[str, Any]]


def _without_entry(stage: Stage) -> dict[str, Any]:
    stage.amazon.delete(ENTRY, stage.entry)
    return {}


def _people_s_entry(stage: Stage) -> dict[str, Any]:
    stage.amazon.delete(ENTRY, stage.entry)
    stage.amazon.create(ENTRY, {"clusterName": "gpu-dev", "principalArn": NODES, "type": "STANDARD"})
    return {}


def _powerless_role(stage: Stage) -> dict[str, Any]:
    stage.amazon.create(ROLE, {"name": "bare", "assumeRolePolicy": trust("ec2.amazonaws.com")}, "bare")
    stage.amazon.create(PROFILE, {"name": "bare", "role": "bare"}, "bare")
    return {"IamInstanceProfile": {"Name": "bare"}}


def _strange_group(stage: Stage) -> dict[str, Any]:
    vpc = stage.account.call("ec2", "DescribeSubnets", SubnetIds=stage.amazon.subnets())["Subnets"][0]["VpcId"]
    group = stage.account.call("ec2", "CreateSecurityGroup", GroupName="own", Description="x", VpcId=vpc)
    return {"SecurityGroupIds": [group["GroupId"]]}


def _own_image(stage: Stage) -> dict[str, Any]:
    made = stage.account.call("ec2", "RegisterImage", Name="my-own-image")
    return {"ImageId": made["ImageId"]}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (_own_image, "'my-own-image' and is not an EKS node image"),
        (lambda _: {"UserData": ""}, "no user data"),
        (lambda _: {"UserData": USER_DATA.replace("gpu-dev", "other")}, "the cluster other, which does not exist"),
        (lambda _: {"UserData": USER_DATA.replace("6443", "6444")}, "its user data says the cluster's endpoint"),
        (lambda _: {"UserData": USER_DATA.replace("Q0E=", "Q0I=")}, "another certificate authority"),
        (lambda _: {"IamInstanceProfile": {}}, "has no instance profile"),
        (_powerless_role, "has no policy AmazonEKSWorkerNodePolicy"),
        (_without_entry, "has no access entry"),
        (_people_s_entry, "an access entry of type STANDARD"),
        (_strange_group, "no security group of the control plane"),
        (lambda stage: {"ImageId": stage.image(), "InstanceType": "m7g.large"}, "its image is for x86_64"),
    ],
)
def test_without_one_of_its_conditions_it_stays_a_machine(stage: Stage, broken: Break, reason: str) -> None:
    stage.run(**broken(stage))
    stage.look()
    stage.look()
    assert stage.amazon.fleet.nodes == {}
    (because,) = stage.reports
    assert reason in because


def test_a_public_endpoint_needs_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    record = stage.account.store.get("aws:eks/cluster:Cluster", "gpu-dev")
    assert record is not None
    from moto.eks.models import eks_backends

    live = eks_backends[stage.account.id][stage.account.region].clusters["gpu-dev"]
    live.resources_vpc_config.update(endpointPrivateAccess=False, publicAccessCidrs=["0.0.0.0/0"])
    stage.run()
    stage.look()
    assert "no route to the cluster's endpoint" in stage.reports[0]


def test_what_was_missing_may_come_later(stage: Stage) -> None:
    stage.amazon.delete(ENTRY, stage.entry)
    stage.run()
    stage.look()
    assert stage.amazon.fleet.nodes == {}
    stage.amazon.create(ENTRY, {"clusterName": "gpu-dev", "principalArn": NODES, "type": "EC2_LINUX"})
    stage.look()
    assert len(stage.amazon.fleet.nodes) == 1


def test_a_stopped_machine_keeps_its_node_and_an_ended_one_does_not(stage: Stage) -> None:
    id = stage.run()
    stage.look()
    name = next(iter(stage.amazon.fleet.nodes))
    stage.account.call("ec2", "StopInstances", InstanceIds=[id])
    stage.look()
    assert (stage.amazon.fleet.stopped, set(stage.amazon.fleet.nodes)) == ({name}, {name})
    stage.account.call("ec2", "TerminateInstances", InstanceIds=[id])
    stage.look()
    assert stage.amazon.fleet.nodes == {}


def test_machines_of_node_groups_are_the_fleets_own(stage: Stage) -> None:
    stage.amazon.admin_group()
    stage.look()
    assert stage.amazon.fleet.nodes == {}
    assert stage.reports == []
