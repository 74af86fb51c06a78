"""One AWS: what the program declares is what a controller finds, and who gets credentials for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3
from botocore.exceptions import ClientError

from packages.rehearsal.tests.listeners import allowed, tcp_answers
from packages.rehearsal.tests.providers.eks.account import POD_IDENTITY, PROFILE, QUEUE, VPC, trust
from packages.rehearsal.tests.providers.eks.aws_api.controller import Controller
from tests.other_user import OtherUser

pytestmark = pytest.mark.slow

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def test_a_controller_finds_what_the_program_declared(controller: Controller) -> None:
    controller.install(EVERYTHING)
    vpc = controller.amazon.create(VPC, {"cidrBlock": "10.9.0.0/16"}, "other")
    assert controller.client("ec2").describe_vpcs(VpcIds=[vpc.id])["Vpcs"][0]["CidrBlock"] == "10.9.0.0/16"


def test_the_program_finds_what_a_controller_made(controller: Controller) -> None:
    controller.install(EVERYTHING)
    template = {"LaunchTemplateName": "own", "LaunchTemplateData": {"ImageId": "ami-1"}}
    made = controller.client("ec2").create_launch_template(**template)
    id = made["LaunchTemplate"]["LaunchTemplateId"]
    templates = controller.amazon.account.call("ec2", "DescribeLaunchTemplates", LaunchTemplateIds=[id])
    assert templates["LaunchTemplates"][0]["LaunchTemplateName"] == "own"


def test_the_cluster_is_described_as_the_program_sees_it(controller: Controller) -> None:
    controller.install(EVERYTHING)
    cluster = controller.client("eks").describe_cluster(name="gpu-dev")["cluster"]
    assert cluster["endpoint"] == "https://127.0.0.1:6443"
    assert cluster["certificateAuthority"]["data"] == "Q0E="
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"


def test_credentials_are_the_associated_roles(controller: Controller) -> None:
    controller.install(EVERYTHING)
    caller = controller.client("sts").get_caller_identity()
    assert caller["Arn"].startswith("arn:aws:sts::123456789012:assumed-role/controller/eks-gpu-dev-karpenter-0-")


def test_a_pod_without_an_association_gets_no_credentials_variables(controller: Controller) -> None:
    controller.install(EVERYTHING)
    assert "AWS_CONTAINER_CREDENTIALS_FULL_URI" in controller.environment
    association = next(made for type_, made in controller.amazon.made if type_ == POD_IDENTITY)
    controller.amazon.delete(POD_IDENTITY, association)
    assert set(controller.environment) == {"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"}
    status, answer = controller.ask_agent()
    assert status == 404
    assert "(ResourceNotFoundException)" in answer


def trusting_ec2_alone(controller: Controller) -> None:
    changed = {"RoleName": "controller", "PolicyDocument": trust("ec2.amazonaws.com")}
    controller.amazon.account.call("iam", "UpdateAssumeRolePolicy", **changed)


@pytest.mark.parametrize(
    ("change", "token", "status", "words"),
    [
        (trusting_ec2_alone, (), 400, ("(AccessDeniedException)", "does not trust pods.eks.amazonaws.com")),
        (lambda controller: controller.know_token("default"), (), 404, ("kube-system/default",)),
        (lambda controller: controller.run_agent(0), (), 503, ("declare the EKS add-on eks-pod-identity-agent",)),
        (lambda controller: None, ("made-up",), 400, ("(InvalidTokenException)",)),
        (lambda controller: None, ("",), 400, ("(InvalidTokenException)", "there is none")),
    ],
    ids=["role without trust", "another service account", "no agent", "unknown token", "no token"],
)
def test_who_gets_no_credentials(
    controller: Controller, change: Callable[[Controller], None], token: tuple[str, ...], status: int, words: Any
) -> None:
    controller.install(EVERYTHING)
    change(controller)
    actual, answer = controller.ask_agent(*token)
    assert actual == status
    assert all(word in answer for word in words)


def test_unknown_keys_are_refused(controller: Controller) -> None:
    with pytest.raises(ClientError, match=r"UnauthorizedOperation.*security token .* is invalid"):
        controller.stranger("ec2").describe_vpcs()


def test_nobody_is_the_administrator_or_another_session_without_its_token(controller: Controller) -> None:
    controller.install(EVERYTHING)
    (status, text), (_, other) = controller.ask_agent(), controller.ask_agent()
    assert status == 200
    keys, foreign = json.loads(text), json.loads(other)["Token"]
    assert keys["Token"] != foreign
    for key, token in (("simulated", None), (keys["AccessKeyId"], None), (keys["AccessKeyId"], foreign)):
        with pytest.raises(ClientError, match=r"security token .* is invalid"):
            controller.impostor("ec2", key, token).describe_vpcs()


def test_another_user_and_a_web_page_get_refusals_only(controller: Controller) -> None:
    controller.install(EVERYTHING)
    with OtherUser() as user:
        words = tcp_answers(int(controller.endpoint.rpartition(":")[2]), user)
    assert words == {"400", "403", "501"}
    assert ("sandbox", words) in allowed()


def test_every_call_is_logged(controller: Controller, tmp_path: Path) -> None:
    controller.install(EVERYTHING)
    ec2 = controller.client("ec2")
    ec2.describe_vpcs()
    with pytest.raises(ClientError, match="InvalidInstanceID"):
        ec2.describe_instances(InstanceIds=["i-0123456789abcdef0"])
    shift = controller.client("arc-zonal-shift")
    with pytest.raises(ClientError, match="does not simulate"):
        shift.get_managed_resource(resourceIdentifier="arn:aws:eks:us-west-2:1:cluster/c")
    with pytest.raises(ClientError, match="no table entry for the permissions"):
        ec2.delete_vpc(VpcId="vpc-0")
    calls = [json.loads(line) for line in (tmp_path / "aws-calls.jsonl").read_text().splitlines()]
    verdicts = [(call["operation"], call["verdict"]) for call in calls]
    expected = "DescribeVpcs allowed, DescribeInstances failed, GetManagedResource not simulated, DeleteVpc denied"
    assert ", ".join(f"{operation} {verdict}" for operation, verdict in verdicts) == expected
    assert all(call["who"].startswith("arn:aws:sts::123456789012:assumed-role/controller/") for call in calls)
    assert "InvalidInstanceID.NotFound" in calls[1]["error"]
    assert "not evaluated" in calls[3]["missing"]


def test_what_is_not_signed_is_no_request_to_aws(controller: Controller) -> None:
    answer = urllib3.request("POST", controller.endpoint, fields={"Action": "DescribeVpcs"})
    assert answer.status == 501
    assert b"not signed" in answer.data


def test_waiting_for_a_message_blocks_no_other_request(controller: Controller) -> None:
    controller.install(EVERYTHING)
    queue = controller.amazon.create(QUEUE, {"name": "gpu-dev", "sqsManagedSseEnabled": True})
    sqs, ec2, url = controller.client("sqs"), controller.client("ec2"), queue.state["url"]
    bodies: list[str] = []

    def listen() -> None:
        while not bodies:
            answer = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)
            bodies.extend(each["Body"] for each in answer.get("Messages", []))

    listener = threading.Thread(target=listen)
    listener.start()
    ec2.describe_subnets()
    assert bodies == []
    controller.amazon.account.call("sqs", "SendMessage", QueueUrl=url, MessageBody="hello")
    listener.join()
    assert bodies == ["hello"]


def test_profiles_are_listed_by_path(controller: Controller) -> None:
    controller.install(EVERYTHING)
    controller.amazon.create(PROFILE, {"name": "nodes", "role": "nodes"}, "profile")
    iam = controller.client("iam")
    assert iam.list_instance_profiles(PathPrefix="/karpenter/")["InstanceProfiles"] == []
    assert [each["InstanceProfileName"] for each in iam.list_instance_profiles()["InstanceProfiles"]] == ["nodes"]
