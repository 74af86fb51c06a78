"""Roles, their policies, and instance profiles."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.base.policy_documents import document_problem, trusted
from rehearsal.providers.eks.base.row import Row, asks, from_answer, resends, sends
from rehearsal.providers.resource import Pending
from rehearsal.providers.rules import RuleBook

ROLE: Final = "aws:iam/role:Role"
ROLE_POLICY: Final = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROFILE: Final = "aws:iam/instanceProfile:InstanceProfile"
ROLE_RULES: Final = RuleBook[Account]()
POLICY_RULES: Final = RuleBook[Account]()
_PODS: Final = "pods.eks.amazonaws.com"
_AWS_OWN: Final = "arn:aws:iam::aws:policy/"
_EVERYTHING: Final = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
_QUOTAS: Final = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"
_GRAMMAR: Final = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html"


@ROLE_RULES.add("trust-policy", _GRAMMAR, "assumeRolePolicy")
def _trust(inputs: Properties, account: Account) -> str | None:
    problem = document_problem(inputs["assumeRolePolicy"], principals=True)
    return f"MalformedPolicyDocument: {problem}" if problem else None


@POLICY_RULES.add("identity-policy", _GRAMMAR, "policy")
def _identity(inputs: Properties, account: Account) -> str | None:
    problem = document_problem(inputs["policy"], principals=False)
    return f"MalformedPolicyDocument: {problem}" if problem else None


@POLICY_RULES.add("inline-policy-size", _QUOTAS, "policy")
def _size(inputs: Properties, account: Account) -> str | None:
    size = len("".join(inputs["policy"].split()))
    return None if size <= 10240 else f"LimitExceeded: Maximum policy size of 10240 bytes exceeded: {size}"


def _change_role(account: Account, id: str, old: Properties, new: Properties) -> None:
    if new["assumeRolePolicy"] != old["assumeRolePolicy"]:
        account.call("iam", "UpdateAssumeRolePolicy", RoleName=id, PolicyDocument=new["assumeRolePolicy"])
    if any(new.get(key) != old.get(key) for key in ("description", "maxSessionDuration")):
        seconds, text = int(new["maxSessionDuration"]), new.get("description") or ""
        account.call("iam", "UpdateRole", RoleName=id, Description=text, MaxSessionDuration=seconds)
    before, after = old.get("permissionsBoundary"), new.get("permissionsBoundary")
    if after and after != before:
        account.call("iam", "PutRolePermissionsBoundary", RoleName=id, PermissionsBoundary=after)
    elif before and not after:
        account.call("iam", "DeleteRolePermissionsBoundary", RoleName=id)


def _bounded(pending: Pending[Account]) -> None:
    """The boundary is a policy that exists; one of the account's own is taken to, and to allow everything.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePermissionsBoundary.html (NoSuchEntity)
    """
    account, boundary = pending.cloud, pending.inputs.get("permissionsBoundary")
    if not boundary:
        return
    if boundary.startswith(_AWS_OWN):
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
    if inputs.get("forceDetachPolicies"):
        for policy in account.call("iam", "ListAttachedRolePolicies", RoleName=id)["AttachedPolicies"]:
            account.call("iam", "DetachRolePolicy", RoleName=id, PolicyArn=policy["PolicyArn"])
    account.call("iam", "DeleteRole", RoleName=id)


def _role_policy(account: Account, id: str, inputs: Properties) -> Properties:
    return account.call("iam", "GetRolePolicy", RoleName=inputs["role"], PolicyName=inputs["name"])


def _offered(pending: Pending[Account]) -> None:
    if pending.inputs["policyArn"].startswith(_AWS_OWN):
        _offer(pending.cloud, pending.inputs["policyArn"])


def _attachment(account: Account, id: str, inputs: Properties) -> Properties | None:
    return {} if inputs["policyArn"] in attached_policies(account, inputs["role"]) else None


def _set_role(account: Account, id: str, old: Properties, new: Properties) -> None:
    before, after = old.get("role"), new.get("role")
    if before and before != after:
        account.call("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=id, RoleName=before)
    if after and before != after:
        account.call("iam", "AddRoleToInstanceProfile", InstanceProfileName=id, RoleName=after)


def _remove_profile(account: Account, id: str, inputs: Properties) -> None:
    _set_role(account, id, inputs, {})
    account.call("iam", "DeleteInstanceProfile", InstanceProfileName=id)


def _created(pending: Pending[Account]) -> str:
    return str(pending.answer["CreateDate"].isoformat())


def attached_policies(account: Account, role: str) -> frozenset[str]:
    """ARNs of the managed policies of a role; AWS's error if there is no such role."""
    attached = account.call("iam", "ListAttachedRolePolicies", RoleName=role)["AttachedPolicies"]
    return frozenset(policy["PolicyArn"] for policy in attached)


def require_role(account: Account, arn: str, principal: str | None = None) -> str:
    """The name of the role that ``arn`` means; with ``principal``, if that service may assume it.

    Raises:
        ApiError: no such role in this account, or its trust policy does not name the service.
    """
    name = arn.rpartition("/")[2]
    role = account.call("iam", "GetRole", RoleName=name)["Role"]
    if role["Arn"] != arn:
        raise AwsError("iam", "GetRole", "NoSuchEntity", f"The role {arn} cannot be found.")
    document = role["AssumeRolePolicyDocument"]
    if principal and principal not in trusted(document if isinstance(document, str) else json.dumps(document)):
        reason = f"Role with arn: {arn}, could not be assumed because it does not exist or does not trust {principal}"
        raise AwsError("iam", "PassRole", "InvalidParameterException", reason)
    return name


def require_role_of_pods(account: Account, arn: str) -> None:
    """EKS looks at the trust of a role before it associates it with pods.

    https://github.com/hashicorp/terraform-provider-aws/issues/41483, https://github.com/aws/aws-cdk/issues/31522

    Raises:
        ApiError: no such role in this account, or Pod Identity may not assume it.
    """
    name = require_role(account, arn)
    document = account.call("iam", "GetRole", RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    if _PODS not in trusted(document if isinstance(document, str) else json.dumps(document)):
        reason = "Trust policy of the role provided is invalid. Follow the official documentation to resolve the issue."
        raise AwsError("eks", "CreatePodIdentityAssociation", "InvalidParameterException", reason)


def _offer(account: Account, arn: str) -> None:
    """Let moto know one of AWS's own policies. It has them all, but would keep a thousand in the state."""
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

    policies: dict[str, Any] = json.loads(aws_managed_policies_data)
    return policies


ROWS: Final = (
    Row(
        token=ROLE,
        id="{name}",
        describe=asks("iam:GetRole", "Role", RoleName="{id}"),
        change=_change_role,
        remove=_remove_role,
        outputs={"arn": from_answer("Arn"), "createDate": _created, "uniqueId": from_answer("RoleId")},
        defaults={"path": "/", "maxSessionDuration": 3600},
        rules=ROLE_RULES.rules,
        requires=_bounded,
        replaces=("path",),
        name="name",
    ),
    Row(
        token=ROLE_POLICY,
        id="{role}:{name}",
        describe=_role_policy,
        change=resends(ROLE_POLICY),
        remove=sends("iam:DeleteRolePolicy", RoleName="{role}", PolicyName="{name}"),
        rules=POLICY_RULES.rules,
        name="name",
        name_limit=128,
    ),
    Row(
        token=ATTACHMENT,
        id="{role}/{policyArn}",
        describe=_attachment,
        remove=sends("iam:DetachRolePolicy", RoleName="{role}", PolicyArn="{policyArn}"),
        requires=_offered,
    ),
    Row(
        token=PROFILE,
        id="{name}",
        describe=asks("iam:GetInstanceProfile", "InstanceProfile", InstanceProfileName="{id}"),
        change=_set_role,
        completes_with_change=True,
        remove=_remove_profile,
        outputs={"arn": from_answer("Arn"), "createDate": _created, "uniqueId": from_answer("InstanceProfileId")},
        defaults={"path": "/"},
        replaces=("path",),
        name="name",
        name_limit=128,
    ),
)
