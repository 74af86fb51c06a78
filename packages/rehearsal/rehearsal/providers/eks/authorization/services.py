"""The other services that Karpenter calls (https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/aws/sdk.go).

Their pages below https://docs.aws.amazon.com/service-authorization/latest/reference/, each with ``.html``:
list_awsidentityandaccessmanagementiam, list_amazonelastickubernetesservice, list_awspricelist, list_awssystemsmanager,
list_amazonsqs, list_awssecuritytokenservice, list_amazonapplicationrecoverycontroller-zonalshift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from facts.concepts.iam import request_tags, resource_tags
from rehearsal.providers.eks.authorization.request_rights import Needs, Operation, Right, Table, none, only
from rehearsal.providers.eks.base.errors import AwsError


def _profile(operation: str) -> Needs:
    """An action on one instance profile; adding a role also passes that role."""

    def needs(asked: Operation) -> Iterator[Right]:
        name = str(asked.params.get("InstanceProfileName") or "")
        found = _found(asked, "GetInstanceProfile", "InstanceProfile", InstanceProfileName=name)
        path = str(found.get("Path") or asked.params.get("Path") or "/")
        arn = asked.arn("iam", f"instance-profile{path}{name}", everywhere=True)
        yield Right(f"iam:{operation}", arn, {**resource_tags(_tags(found)), **_requested(asked)})
        if operation == "AddRoleToInstanceProfile":
            role = _found(asked, "GetRole", "Role", RoleName=asked.params.get("RoleName"))
            if role:
                yield Right("iam:PassRole", role["Arn"], {"iam:PassedToService": "ec2.amazonaws.com"})

    return needs


def _list_profiles(asked: Operation) -> Iterator[Right]:
    prefix = str(asked.params.get("PathPrefix") or "/")
    yield Right("iam:ListInstanceProfiles", asked.arn("iam", f"instance-profile{prefix}", everywhere=True))


def _get_role(asked: Operation) -> Iterator[Right]:
    name = asked.params.get("RoleName")
    found = _found(asked, "GetRole", "Role", RoleName=name)
    arn = str(found.get("Arn") or asked.arn("iam", f"role/{name}", everywhere=True))
    yield Right("iam:GetRole", arn, resource_tags(_tags(found)))


def _describe_cluster(asked: Operation) -> Iterator[Right]:
    name = asked.params.get("name")
    try:
        tags = asked.account.call("eks", "DescribeCluster", name=name)["cluster"].get("tags") or {}
    except AwsError:
        tags = {}
    yield Right("eks:DescribeCluster", asked.arn("eks", f"cluster/{name}"), resource_tags(tags))


def _get_parameter(asked: Operation) -> Iterator[Right]:
    name = str(asked.params.get("Name") or "")
    # AWS's own parameters belong to no account.
    owner = "" if name.startswith("/aws/service/") else asked.account.id
    yield Right(
        "ssm:GetParameter",
        f"arn:{asked.account.partition}:ssm:{asked.account.region}:{owner}:parameter/{name.removeprefix('/')}",
    )


def _queue(operation: str) -> Needs:
    def needs(asked: Operation) -> Iterator[Right]:
        name = asked.params.get("QueueName") or str(asked.params.get("QueueUrl") or "").rpartition("/")[2]
        yield Right(f"sqs:{operation}", asked.arn("sqs", str(name)))

    return needs


def _zonal_shift(asked: Operation) -> Iterator[Right]:
    yield Right("arc-zonal-shift:GetManagedResource", str(asked.params.get("resourceIdentifier") or "*"))


def _found(asked: Operation, operation: str, key: str, **params: Any) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = asked.account.call("iam", operation, **params)[key]
    except AwsError:
        return {}
    return found


def _tags(found: Mapping[str, Any]) -> dict[str, str]:
    return {str(each["Key"]): str(each["Value"]) for each in found.get("Tags") or ()}


def _requested(asked: Operation) -> Mapping[str, Any]:
    tags = _tags(asked.params)
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
