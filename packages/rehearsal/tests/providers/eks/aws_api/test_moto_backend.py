"""What never changes is written down by moto once, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.account import VPC, Amazon
from rehearsal.providers.eks.aws_api import moto_backend


def _types(amazon: Amazon, *names: str) -> set[str]:
    answer = amazon.account.call("ec2", "DescribeInstanceTypes", InstanceTypes=list(names))
    return {each["InstanceType"] for each in answer["InstanceTypes"]}


def test_a_machine_type_is_written_down_once(amazon: Amazon, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests have asked before.
    monkeypatch.setattr(moto_backend, "_written", {})
    assert _types(amazon, "g4dn.2xlarge") == {"g4dn.2xlarge"}

    def refuse(request: Any) -> None:
        raise AssertionError(f"moto was asked again: {request.body}")

    monkeypatch.setattr(moto_backend, "_asked", refuse)
    assert _types(amazon, "g4dn.2xlarge") == {"g4dn.2xlarge"}
    with pytest.raises(AssertionError, match="asked again"):
        _types(amazon, "g5.xlarge")


def test_what_changes_is_asked_every_time(amazon: Amazon) -> None:
    before = amazon.account.call("ec2", "DescribeVpcs")["Vpcs"]
    amazon.create(VPC, {"cidrBlock": "10.9.0.0/16"}, "other")
    assert len(amazon.account.call("ec2", "DescribeVpcs")["Vpcs"]) == len(before) + 1


def test_a_machine_type_that_does_not_exist_is_not_remembered(amazon: Amazon) -> None:
    for _ in range(2):
        with pytest.raises(Exception, match="nothing"):
            _types(amazon, "g4dn.nothing")
