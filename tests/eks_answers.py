"""What Amazon's provider would answer, with just enough for other resources to refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

ACCOUNT: Final = "123456789012"

CALLS: Final[dict[str, dict[str, Any] | Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    # An account without clusters, and without their logs.
    "aws:cloudwatch/getLogGroups:getLogGroups": {"logGroupNames": []},
    "aws:eks/getClusters:getClusters": {"names": []},
    "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:user/me"},
    "aws:index/getPartition:getPartition": {"partition": "aws"},
}


def outputs(type_token: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The properties that the provider computes, of resources whose properties the program reads."""
    called = inputs.get("name", name)
    if type_token == "aws:eks/cluster:Cluster":
        network = {**inputs["vpcConfig"], "clusterSecurityGroupId": "sg-of-the-cluster"}
        found = {"endpoint": "https://control-plane.example", "certificateAuthority": {"data": "Q0E="}}
        return {**found, "vpcConfig": network}
    if type_token == "aws:eks/nodeGroup:NodeGroup":
        group = f"eks-{inputs['nodeGroupName']}-0c5b2e4a-1f0d-4c7e-9a51-3d2f6b8e7a90"
        return {"resources": [{"autoscalingGroups": [{"name": group}]}]}
    if type_token == "aws:ec2/launchTemplate:LaunchTemplate":
        return {"latestVersion": 1}
    if type_token == "aws:iam/role:Role":
        return {"arn": f"arn:aws:iam::{ACCOUNT}:role/{called}"}
    if type_token == "aws:kms/key:Key":
        return {"arn": f"arn:aws:kms:us-west-2:{ACCOUNT}:key/{name}", "keyId": name}
    if type_token == "aws:ecr/repository:Repository":
        return {"repositoryUrl": f"{ACCOUNT}.dkr.ecr.us-west-2.amazonaws.com/{called}"}
    if type_token == "aws:s3/bucket:Bucket":
        return {"arn": f"arn:aws:s3:::{inputs['bucket']}"}
    if type_token == "aws:sqs/queue:Queue":
        return {"arn": f"arn:aws:sqs:us-west-2:{ACCOUNT}:{called}", "url": f"https://sqs.example/{called}"}
    return {}
