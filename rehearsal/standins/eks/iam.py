"""Roles, their policies, and instance profiles."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.errors import ApiError
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.policy_documents import document_problem, trusted
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To
from rehearsal.standins.rules import RuleBook

ROLE_RULES: Final = RuleBook[Account]()
POLICY_RULES: Final = RuleBook[Account]()
_AWS_OWN: Final = "arn:aws:iam::aws:policy/"
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


class RoleKind(Kind):
    """``aws:iam/role:Role``."""

    token = "aws:iam/role:Role"
    shape = Shape(
        service="iam",
        operation="CreateRole",
        table={"CreateRoleRequest": {"name": To("RoleName"), "assumeRolePolicy": To("AssumeRolePolicyDocument")}},
        local=("forceDetachPolicies",),
        required=("assumeRolePolicy",),
        defaults={"path": "/", "maxSessionDuration": 3600},
        replaces=("name", "path"),
        tags="list",
        name="name",
    )
    rules = ROLE_RULES.rules
    computed = ("arn", "createDate", "uniqueId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("iam", "CreateRole", **params)
        return str(inputs["name"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        role = account.call("iam", "GetRole", RoleName=id)["Role"]
        return {"arn": role["Arn"], "createDate": role["CreateDate"].isoformat(), "uniqueId": role["RoleId"]}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        if new["assumeRolePolicy"] != old["assumeRolePolicy"]:
            account.call("iam", "UpdateAssumeRolePolicy", RoleName=id, PolicyDocument=new["assumeRolePolicy"])
        facts = ("description", "maxSessionDuration")
        if any(new.get(key) != old.get(key) for key in facts):
            seconds = int(new["maxSessionDuration"])
            account.call(
                "iam", "UpdateRole", RoleName=id, Description=new.get("description") or "", MaxSessionDuration=seconds
            )

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        if inputs.get("forceDetachPolicies"):
            for policy in account.call("iam", "ListAttachedRolePolicies", RoleName=id)["AttachedPolicies"]:
                account.call("iam", "DetachRolePolicy", RoleName=id, PolicyArn=policy["PolicyArn"])
        account.call("iam", "DeleteRole", RoleName=id)


class RolePolicyKind(Kind):
    """``aws:iam/rolePolicy:RolePolicy``."""

    token = "aws:iam/rolePolicy:RolePolicy"
    shape = Shape(
        service="iam",
        operation="PutRolePolicy",
        table={
            "PutRolePolicyRequest": {
                "name": To("PolicyName"),
                "policy": To("PolicyDocument"),
                "role": To("RoleName"),
            }
        },
        required=("policy", "role"),
        replaces=("name", "role"),
        name="name",
        name_limit=128,
    )
    rules = POLICY_RULES.rules

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("iam", "PutRolePolicy", **params)
        return f"{inputs['role']}:{inputs['name']}"

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        account.call("iam", "GetRolePolicy", RoleName=inputs["role"], PolicyName=inputs["name"])
        return {}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        account.call("iam", "PutRolePolicy", **self.shape.translate(new).params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("iam", "DeleteRolePolicy", RoleName=inputs["role"], PolicyName=inputs["name"])


class RolePolicyAttachmentKind(Kind):
    """``aws:iam/rolePolicyAttachment:RolePolicyAttachment``."""

    token = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    shape = Shape(
        service="iam",
        operation="AttachRolePolicy",
        table={"AttachRolePolicyRequest": {"role": To("RoleName")}},
        required=("policyArn", "role"),
        replaces=("policyArn", "role"),
    )

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        if inputs["policyArn"].startswith(_AWS_OWN):
            _offer(account, inputs["policyArn"])
        account.call("iam", "AttachRolePolicy", **params)
        return f"{inputs['role']}/{inputs['policyArn']}"

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        return {} if inputs["policyArn"] in attached_policies(account, inputs["role"]) else None

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("iam", "DetachRolePolicy", RoleName=inputs["role"], PolicyArn=inputs["policyArn"])


class InstanceProfileKind(Kind):
    """``aws:iam/instanceProfile:InstanceProfile``."""

    token = "aws:iam/instanceProfile:InstanceProfile"
    shape = Shape(
        service="iam",
        operation="CreateInstanceProfile",
        table={"CreateInstanceProfileRequest": {"name": To("InstanceProfileName")}},
        local=("role",),
        defaults={"path": "/"},
        replaces=("name", "path"),
        tags="list",
        name="name",
        name_limit=128,
    )
    computed = ("arn", "createDate", "uniqueId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("iam", "CreateInstanceProfile", **params)
        self.change(account, inputs["name"], {}, inputs)
        return str(inputs["name"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("iam", "GetInstanceProfile", InstanceProfileName=id)["InstanceProfile"]
        created = found["CreateDate"].isoformat()
        return {"arn": found["Arn"], "createDate": created, "uniqueId": found["InstanceProfileId"]}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        before, after = old.get("role"), new.get("role")
        if before and before != after:
            account.call("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=id, RoleName=before)
        if after and before != after:
            account.call("iam", "AddRoleToInstanceProfile", InstanceProfileName=id, RoleName=after)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        self.change(account, id, inputs, {})
        account.call("iam", "DeleteInstanceProfile", InstanceProfileName=id)


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
        raise ApiError("iam", "GetRole", "NoSuchEntity", f"The role {arn} cannot be found.")
    document = role["AssumeRolePolicyDocument"]
    if principal and principal not in trusted(document if isinstance(document, str) else json.dumps(document)):
        reason = f"Role with arn: {arn}, could not be assumed because it does not exist or does not trust {principal}"
        raise ApiError("iam", "PassRole", "InvalidParameterException", reason)
    return name


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
                account.store.wrote("iam")


@lru_cache(maxsize=1)
def _aws_policies() -> dict[str, Any]:
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    found: dict[str, Any] = json.loads(aws_managed_policies_data)
    return found
