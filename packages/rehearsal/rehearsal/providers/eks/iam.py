"""Roles, their policies and instance profiles; KMS keys and grants."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, Final

from facts.concepts.iam import parsed, trusts
from rehearsal.providers.base import Properties
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.request import parameters
from rehearsal.providers.eks.row import TABLE
from rehearsal.providers.resource import Pending

ROLE: Final = "aws:iam/role:Role"
ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_PODS: Final = "pods.eks.amazonaws.com"
_AWS_OWN: Final = "arn:aws:iam::aws:policy/"
_EVERYTHING: Final = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'


@TABLE.check("role-policy", "inline-policy-size")
def _size(inputs: Properties, account: Account) -> str | None:
    size = len("".join(inputs["policy"].split()))
    return None if size <= 10240 else f"LimitExceeded: Maximum policy size of 10240 bytes exceeded: {size}"


def _bounded(pending: Pending[Account]) -> None:
    """The boundary is a policy that exists; one of the account's own is taken to, and to allow everything.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePermissionsBoundary.html (NoSuchEntity)
    """
    account, boundary = pending.cloud, pending.inputs.get("permissionsBoundary")
    if not boundary:
        return
    _offer(account, boundary)
    try:
        account.call("iam", "GetPolicy", PolicyArn=boundary)
    except AwsError as error:
        _, own, name = boundary.partition(account.arn("iam", "policy/", everywhere=True))
        if not own:
            reason = f"Scope ARN: {boundary} does not exist or is not attachable."
            raise AwsError("iam", "CreateRole", "NoSuchEntity", reason) from error
        path = f"/{name.rpartition('/')[0]}/" if "/" in name else "/"
        account.call("iam", "CreatePolicy", PolicyName=name.rpartition("/")[2], Path=path, PolicyDocument=_EVERYTHING)


def _remove_role(account: Account, id: str, inputs: Properties) -> None:
    # The provider takes a role out of instance profiles, and leaves policies unless it is told to (``deleteRole`` of
    # https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/iam/role.go).
    for profile in account.call("iam", "ListInstanceProfilesForRole", RoleName=id)["InstanceProfiles"]:
        name = profile["InstanceProfileName"]
        account.call("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=name, RoleName=id)
    if inputs.get("forceDetachPolicies"):
        for policy in account.call("iam", "ListAttachedRolePolicies", RoleName=id)["AttachedPolicies"]:
            account.call("iam", "DetachRolePolicy", RoleName=id, PolicyArn=policy["PolicyArn"])
    account.call("iam", "DeleteRole", RoleName=id)


WORKER_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")


def is_workers(account: Account, role: str) -> bool:
    """Whether a role has a managed policy for nodes; AWS's error if there is no such role."""
    attached = account.call("iam", "ListAttachedRolePolicies", RoleName=role)["AttachedPolicies"]
    return any(policy["PolicyArn"].rpartition("/")[2] in WORKER_POLICIES for policy in attached)


def require_role(account: Account, arn: str, principal: str) -> str:
    """The name of the role that ``arn`` means, which the service ``principal`` may assume.

    Raises ApiError: no such role in this account, or its trust policy does not name the service.
    """
    if not _trusts(account, arn, principal):
        reason = f"Role with arn: {arn}, could not be assumed because it does not exist or does not trust {principal}"
        raise AwsError("iam", "PassRole", "InvalidParameterException", reason)
    return arn.rpartition("/")[2]


def require_role_of_pods(account: Account, arn: str) -> None:
    """EKS looks at the trust of a role before it associates it with pods.

    https://github.com/hashicorp/terraform-provider-aws/issues/41483, https://github.com/aws/aws-cdk/issues/31522 Raises
    ApiError: no such role in this account, or Pod Identity may not assume it.
    """
    if not _trusts(account, arn, _PODS):
        reason = "Trust policy of the role provided is invalid. Follow the official documentation to resolve the issue."
        raise AwsError("eks", "CreatePodIdentityAssociation", "InvalidParameterException", reason)


def _trusts(account: Account, arn: str, service: str) -> bool:
    """Whether a role of this account may be assumed by a service, as far as conditions let it."""
    role = account.call("iam", "GetRole", RoleName=arn.rpartition("/")[2])["Role"]
    if role["Arn"] != arn:
        raise AwsError("iam", "GetRole", "NoSuchEntity", f"The role {arn} cannot be found.")
    return trusts(parsed(role["AssumeRolePolicyDocument"]), service, ["sts:AssumeRole"]) is True


def _offer(account: Account, arn: str) -> None:
    """Let moto know one of AWS's own policies, if it is one. It has all, but would keep a thousand in the state."""
    if not arn.startswith(_AWS_OWN):
        return
    from moto.iam.models import AWSManagedPolicy, iam_backends

    with account.store.held():
        known = iam_backends[account.id][account.partition].managed_policies
        details = _aws_policies().get(arn.removeprefix(_AWS_OWN).rpartition("/")[2])
        if arn not in known and details is not None:
            policy = AWSManagedPolicy.from_data(arn.rpartition("/")[2], account.id, account.region, details)
            if policy.arn == arn:
                known[arn] = policy
                account.wrote("iam")


@lru_cache(maxsize=1)
def _aws_policies() -> dict[str, Any]:
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    return json.loads(aws_managed_policies_data)


KEY: Final = "aws:kms/key:Key"
ALIAS: Final = "aws:kms/alias:Alias"
GRANT: Final = "aws:kms/grant:Grant"
TO_START: Final = frozenset({"CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptTo"})
"""Permissions on the key that the creator of a machine with an encrypted disk needs:
https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html"""


def _schedule_deletion(account: Account, id: str, inputs: Properties) -> None:
    days = int(inputs.get("deletionWindowInDays") or 30)
    account.call("kms", "ScheduleKeyDeletion", KeyId=id, PendingWindowInDays=days)


def _make_grant(pending: Pending[Account]) -> str:
    """A key of this account has to exist; another's is taken to, and to let this account make grants."""
    key = pending.inputs["keyId"]
    foreign = key.startswith("arn:") and not key.startswith(pending.cloud.arn("kms", ""))
    digest = hashlib.sha256(json.dumps(pending.inputs, sort_keys=True).encode()).hexdigest()
    made = {} if foreign else pending.cloud.call("kms", "CreateGrant", **parameters(GRANT, pending.inputs))
    return f"{key}:{made.get('GrantId', digest)}"


def _revoke(account: Account, id: str, inputs: Properties) -> None:
    if inputs["keyId"].startswith(account.arn("kms", "")):
        account.call("kms", "RevokeGrant", KeyId=inputs["keyId"], GrantId=id.rpartition(":")[2])


def may_use(account: Account, key: str, principal: str, operations: frozenset[str]) -> bool:
    """Whether one grant lets ``principal``, which is the end of its ARN, do all of the ``operations`` with a key."""
    return any(
        grant.inputs["keyId"] == key
        and grant.inputs["granteePrincipal"].endswith(principal)
        and operations <= {*grant.inputs["operations"]}
        for grant in account.store.all(GRANT)
    )


ROWS: Final = (
    TABLE.row(ROLE, requires=_bounded, remove=_remove_role),
    TABLE.row(ATTACHMENT, requires=lambda pending: _offer(pending.cloud, pending.inputs["policyArn"])),
    TABLE.row(GRANT, make=_make_grant, describe=lambda _, id, __: {"GrantId": id.rpartition(":")[2]}, remove=_revoke),
    TABLE.row(KEY, remove=_schedule_deletion),
    TABLE.row(
        ALIAS,
        outputs={"targetKeyArn": lambda pending: pending.cloud.arn("kms", f"key/{pending.answer['TargetKeyId']}")},
    ),
)
