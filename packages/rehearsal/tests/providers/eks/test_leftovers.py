"""Leftovers in the account are reported no matter who made them. Free resources that always exist are not."""

from __future__ import annotations

from pathlib import Path

from packages.rehearsal.tests.providers.eks.account import KEY, VPC, Amazon


def test_a_new_account_holds_nothing_that_counts(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    account = amazon.account
    account.call("ec2", "DescribeVpcs")
    account.call("ec2", "ModifyEbsDefaultKmsKeyId", KmsKeyId="")
    account.call("iam", "CreateServiceLinkedRole", AWSServiceName="eks.amazonaws.com")
    assert amazon.provider.inventory() == []


def test_resources_of_the_program_and_of_others_count_until_they_are_deleted(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.account.call("logs", "CreateLogGroup", logGroupName="/aws/eks/demo/cluster")
    image = "ami-0123456789abcdef0"
    amazon.account.call("ec2", "RunInstances", ImageId=image, MinCount=1, MaxCount=1)
    (instance,) = (each for each in amazon.provider.inventory() if each.startswith("EC2 instance "))
    assert {f"VPC {vpc.id}", "log group /aws/eks/demo/cluster"} <= set(amazon.provider.inventory())
    amazon.account.call("ec2", "TerminateInstances", InstanceIds=[instance.rpartition(" ")[2]])
    amazon.account.call("logs", "DeleteLogGroup", logGroupName="/aws/eks/demo/cluster")
    amazon.delete(VPC, vpc)
    assert not [each for each in amazon.provider.inventory() if not each.startswith("EBS volume ")]


def test_a_key_that_waits_for_its_deletion_does_not_count(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    key = amazon.create(KEY, {"description": "secrets"})
    assert amazon.provider.inventory() == [f"KMS key {key.id}"]
    amazon.delete(KEY, key)
    assert amazon.provider.inventory() == []
