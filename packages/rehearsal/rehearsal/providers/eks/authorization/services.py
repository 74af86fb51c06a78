"""The other services that Karpenter calls (https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/aws/sdk.go).

Their pages below https://docs.aws.amazon.com/service-authorization/latest/reference/, each with ``.html``:
list_awsidentityandaccessmanagementiam, list_amazonelastickubernetesservice, list_awspricelist, list_awssystemsmanager,
list_amazonsqs, list_awssecuritytokenservice, list_amazonapplicationrecoverycontroller-zonalshift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from facts.concepts.iam import request_tags, resource_tags
from rehearsal.providers.eks.authorization.callers import Needs, Operation, Right, Table, none, only
from rehearsal.providers.eks.base.errors import AwsError


def _profile(operation: str) -> Needs:
    """An action on one instance profile; adding a role also passes that role."""

    def needs(request: Operation) -> Iterator[Right]:
        name = str(request.params.get("InstanceProfileName") or "")
        instance_profile = _look_up(request, "GetInstanceProfile", "InstanceProfile", InstanceProfileName=name)
        path = str(instance_profile.get("Path") or request.params.get("Path") or "/")
        arn = request.arn("iam", f"instance-profile{path}{name}", everywhere=True)
        yield Right(f"iam:{operation}", arn, {**resource_tags(_tags(instance_profile)), **_requested(request)})
        if operation == "AddRoleToInstanceProfile":
            role = _look_up(request, "GetRole", "Role", RoleName=request.params.get("RoleName"))
            if role:
                yield Right("iam:PassRole", role["Arn"], {"iam:PassedToService": "ec2.amazonaws.com"})

    return needs


def _list_profiles(request: Operation) -> Iterator[Right]:
    prefix = str(request.params.get("PathPrefix") or "/")
    yield Right("iam:ListInstanceProfiles", request.arn("iam", f"instance-profile{prefix}", everywhere=True))


def _get_role(request: Operation) -> Iterator[Right]:
    name = request.params.get("RoleName")
    iam_role = _look_up(request, "GetRole", "Role", RoleName=name)
    arn = str(iam_role.get("Arn") or request.arn("iam", f"role/{name}", everywhere=True))
    yield Right("iam:GetRole", arn, resource_tags(_tags(iam_role)))


def _describe_cluster(request: Operation) -> Iterator[Right]:
    name = request.params.get("name")
    try:
        tags = request.account.call("eks", "DescribeCluster", name=name)["cluster"].get("tags") or {}
    except AwsError:
        tags = {}
    yield Right("eks:DescribeCluster", request.arn("eks", f"cluster/{name}"), resource_tags(tags))


def _get_parameter(request: Operation) -> Iterator[Right]:
    name = str(request.params.get("Name") or "")
    # AWS's own parameters belong to no account.
    owner = "" if name.startswith("/aws/service/") else request.account.id
    yield Right(
        "ssm:GetParameter",
        f"arn:{request.account.partition}:ssm:{request.account.region}:{owner}:parameter/{name.removeprefix('/')}",
    )


def _queue(operation: str) -> Needs:
    def needs(request: Operation) -> Iterator[Right]:
        name = request.params.get("QueueName") or str(request.params.get("QueueUrl") or "").rpartition("/")[2]
        yield Right(f"sqs:{operation}", request.arn("sqs", str(name)))

    return needs


def _zonal_shift(request: Operation) -> Iterator[Right]:
    yield Right("arc-zonal-shift:GetManagedResource", str(request.params.get("resourceIdentifier") or "*"))


def _look_up(request: Operation, operation: str, key: str, **params: Any) -> Mapping[str, Any]:
    try:
        description: Mapping[str, Any] = request.account.call("iam", operation, **params)[key]
    except AwsError:
        return {}
    return description


def _tags(description: Mapping[str, Any]) -> dict[str, str]:
    return {str(each["Key"]): str(each["Value"]) for each in description.get("Tags") or ()}


def _requested(request: Operation) -> Mapping[str, Any]:
    tags = _tags(request.params)
    return request_tags(tags) if tags else {}


_PROFILE_ACTIONS: Final = (
    "AddRoleToInstanceProfile",
    "CreateInstanceProfile",
    "DeleteInstanceProfile",
    "GetInstanceProfile",
    "RemoveRoleFromInstanceProfile",
    "TagInstanceProfile",
)
_QUEUE_ACTIONS: Final = ("DeleteMessage", "GetQueueAttributes", "GetQueueUrl", "ReceiveMessage", "SendMessage")

SERVICES: Final[Table] = {
    **{("iam", name): _profile(name) for name in _PROFILE_ACTIONS},
    ("iam", "GetRole"): _get_role,
    ("iam", "ListInstanceProfiles"): _list_profiles,
    ("eks", "DescribeCluster"): _describe_cluster,
    ("pricing", "GetProducts"): only("pricing:GetProducts"),
    ("ssm", "GetParameter"): _get_parameter,
    **{("sqs", name): _queue(name) for name in _QUEUE_ACTIONS},
    ("sts", "GetCallerIdentity"): none,
    ("arc-zonal-shift", "GetManagedResource"): _zonal_shift,
}
