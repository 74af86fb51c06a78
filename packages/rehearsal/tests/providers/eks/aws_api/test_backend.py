"""What answers besides moto: EC2's capacity, answers that never change, and EC2's own events."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.aws_api import backend
from rehearsal.providers.eks.cloud import CapacityReservation, Supply
from rehearsal.providers.eks.events import REBALANCE, deliver, spot_interruption

MINE = CapacityReservation("cr-0123456789abcdef0", "g4dn.xlarge", "us-west-2a", 2)
OTHER = CapacityReservation("cr-0123456789abcdef1", "g4dn.xlarge", "us-west-2b", 3)


def test_a_reservation_that_is_used_up_holds_nothing_until_it_is_refilled() -> None:
    supply = Supply()
    supply.reserve(MINE)
    supply.reserve(OTHER)
    supply.use_up(MINE.id)
    used = supply.reservation(MINE.id)
    assert used is not None
    assert used.count == 0
    assert supply.reservation(OTHER.id) == OTHER
    supply.refill()
    assert supply.reservation(MINE.id) == MINE


def test_a_reservation_that_nobody_made_is_not_there() -> None:
    assert Supply().reservation(MINE.id) is None


def test_one_market_runs_dry_and_the_other_does_not() -> None:
    supply = Supply()
    supply.exhaust("us-west-2a", "g4dn.xlarge", "spot")
    assert supply.is_dry("us-west-2a", "g4dn.xlarge", "spot")
    assert not supply.is_dry("us-west-2a", "g4dn.xlarge", "on-demand")
    assert not supply.is_dry("us-west-2b", "g4dn.xlarge", "spot")


def _types(amazon: eks.Amazon, *names: str) -> set[str]:
    answer = amazon.account.call("ec2", "DescribeInstanceTypes", InstanceTypes=list(names))
    return {each["InstanceType"] for each in answer["InstanceTypes"]}


def test_a_dry_run_lists_no_types(amazon: eks.Amazon) -> None:
    with pytest.raises(Exception, match="DryRunOperation"):
        amazon.account.call("ec2", "DescribeInstanceTypes", DryRun=True)


def test_all_types_are_written_down_once_on_a_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUCLUSTER_CACHE", str(tmp_path))
    asked = list[str]()

    def moto(request: Any) -> Any:
        asked.append(request.body)
        return 200 if "nothing" not in request.body else 400, {"Content-Type": "text/xml"}, b"<types>\n</types>"

    monkeypatch.setattr(backend, "_asked", moto)
    bodies = ["Action=DescribeInstanceTypes", "Action=DescribeInstanceTypes&MaxResults=100"]
    others = ["Action=DescribeInstanceTypes&InstanceType.1=g4dn.xlarge", "Action=DescribeInstanceTypes&Filter=nothing"]
    for _ in range(2):
        monkeypatch.setattr(backend, "_written", {})
        for body in (*bodies, *others):
            answer = backend.asked_of_moto(SimpleNamespace(url="https://ec2.us-west-2", body=body))
            status = 400 if "nothing" in body else 200
            assert answer == (status, {"Content-Type": "text/xml"}, b"<types>\n</types>")
    assert asked == [*bodies, *others, *others]


def test_what_changes_is_asked_every_time(amazon: eks.Amazon) -> None:
    before = amazon.account.call("ec2", "DescribeVpcs")["Vpcs"]
    amazon.create(eks.VPC, {"cidrBlock": "10.9.0.0/16"}, "other")
    assert len(amazon.account.call("ec2", "DescribeVpcs")["Vpcs"]) == len(before) + 1


def test_a_subnet_without_a_zone_is_in_the_same_one_in_every_run(amazon: eks.Amazon) -> None:
    network = amazon.account.call("ec2", "CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    made = [
        amazon.account.call("ec2", "CreateSubnet", VpcId=network, CidrBlock=f"10.9.{part}.0/24")["Subnet"]
        for part in range(6)
    ]
    assert {each["AvailabilityZone"] for each in made} == {"us-west-2d"}


def test_a_machine_type_that_does_not_exist_is_not_remembered(amazon: eks.Amazon) -> None:
    for _ in range(2):
        with pytest.raises(Exception, match="nothing"):
            _types(amazon, "g4dn.nothing")


ARN = f"arn:aws:sqs:{eks.REGION}:123456789012:gpu-dev"
PATTERN = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
SEND = {
    "Effect": "Allow",
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": ARN,
}
TLS_ONLY = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "sqs:*",
    "Resource": ARN,
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}


def declare(amazon: eks.Amazon, pattern: Any = PATTERN, policy: Any = (SEND, TLS_ONLY), target: str = ARN) -> str:
    """The queue's URL."""
    queue = amazon.create(eks.QUEUE, {"name": "gpu-dev", "sqsManagedSseEnabled": True})
    if policy:
        amazon.create(eks.QUEUE_POLICY, {"queueUrl": queue.state["url"], "policy": eks.document(*policy)})
    amazon.create(eks.EVENT_RULE, {"name": "spot", "eventPattern": json.dumps(pattern)})
    if target:
        amazon.create(eks.EVENT_TARGET, {"rule": "spot", "arn": target, "targetId": "queue"})
    return str(queue.state["url"])


def messages(amazon: eks.Amazon, url: str) -> list[dict[str, Any]]:
    received = amazon.account.call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages") or []
    return [json.loads(each["Body"]) for each in received]


def test_a_warning_arrives_as_eventbridge_writes_it(amazon: eks.Amazon) -> None:
    url = declare(amazon)
    assert spot_interruption(amazon.account, "i-1") == [ARN]
    (event,) = messages(amazon, url)
    assert event["detail-type"] == "EC2 Spot Instance Interruption Warning"
    assert (event["version"], event["source"], event["region"]) == ("0", "aws.ec2", eks.REGION)
    assert event["detail"] == {"instance-id": "i-1", "instance-action": "terminate"}


@cases
def test_one_wrong_word_and_nobody_hears_of_it(amazon: eks.Amazon, wrong: dict[str, Any]) -> None:
    url = declare(amazon, **wrong)
    assert spot_interruption(amazon.account, "i-1") == []
    assert messages(amazon, url) == []


def test_other_events_have_rules_of_their_own(amazon: eks.Amazon) -> None:
    url = declare(amazon)
    assert deliver(amazon.account, REBALANCE, "i-1", {}) == []
    assert messages(amazon, url) == []
