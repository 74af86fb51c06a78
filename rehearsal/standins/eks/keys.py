"""KMS keys and aliases."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.policy_documents import document_problem
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To
from rehearsal.standins.rules import RuleBook

KEY_RULES = RuleBook[Account]()
ALIAS_RULES = RuleBook[Account]()


@KEY_RULES.add("key-policy", "https://docs.aws.amazon.com/kms/latest/developerguide/key-policies.html", "policy")
def _policy(inputs: Properties, account: Account) -> str | None:
    problem = inputs.get("policy") and document_problem(inputs["policy"], principals=True)
    return f"MalformedPolicyDocumentException: {problem}" if problem else None


@KEY_RULES.add(
    "key-deletion-window",
    "https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html",
    "deletionWindowInDays",
)
def _window(inputs: Properties, account: Account) -> str | None:
    days = inputs.get("deletionWindowInDays")
    if days is None or 7 <= days <= 30:
        return None
    return f"ValidationException: deletionWindowInDays {days} must be 7 to 30."


@ALIAS_RULES.add("alias-name", "https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html", "name")
def _alias(inputs: Properties, account: Account) -> str | None:
    name = inputs["name"]
    if name.startswith("alias/") and not name.startswith("alias/aws/"):
        return None
    return f"ValidationException: alias '{name}' must begin with 'alias/', and not with 'alias/aws/'."


class KeyKind(Kind):
    """``aws:kms/key:Key``: deleting one schedules its deletion."""

    token = "aws:kms/key:Key"
    shape = Shape(
        service="kms",
        operation="CreateKey",
        table={"CreateKeyRequest": {"bypassPolicyLockoutSafetyCheck": To("BypassPolicyLockoutSafetyCheck")}},
        local=("deletionWindowInDays", "enableKeyRotation", "isEnabled", "rotationPeriodInDays"),
        defaults={"isEnabled": True},
        replaces=("customerMasterKeySpec", "keyUsage", "multiRegion", "customKeyStoreId", "xksKeyId"),
        tags="kms",
    )
    rules = KEY_RULES.rules
    computed = ("arn", "keyId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        id = str(account.call("kms", "CreateKey", **params)["KeyMetadata"]["KeyId"])
        self.change(account, id, {"isEnabled": True, "policy": inputs.get("policy")}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("kms", "DescribeKey", KeyId=id)["KeyMetadata"]
        return None if found["KeyState"] == "PendingDeletion" else {"arn": found["Arn"], "keyId": id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        if new.get("policy") and new.get("policy") != old.get("policy"):
            account.call("kms", "PutKeyPolicy", KeyId=id, PolicyName="default", Policy=new["policy"])
        if new.get("description") != old.get("description") and old.get("description") is not None:
            account.call("kms", "UpdateKeyDescription", KeyId=id, Description=new.get("description") or "")
        if bool(new.get("enableKeyRotation")) != bool(old.get("enableKeyRotation")):
            verb = "Enable" if new.get("enableKeyRotation") else "Disable"
            account.call("kms", f"{verb}KeyRotation", KeyId=id)
        if bool(new.get("isEnabled")) != bool(old.get("isEnabled")):
            account.call("kms", "EnableKey" if new.get("isEnabled") else "DisableKey", KeyId=id)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        days = int(inputs.get("deletionWindowInDays") or 30)
        account.call("kms", "ScheduleKeyDeletion", KeyId=id, PendingWindowInDays=days)


class AliasKind(Kind):
    """``aws:kms/alias:Alias``."""

    token = "aws:kms/alias:Alias"
    shape = Shape(
        service="kms",
        operation="CreateAlias",
        table={"CreateAliasRequest": {"name": To("AliasName")}},
        required=("targetKeyId",),
        replaces=("name",),
        name="name",
        name_limit=250,
    )
    rules = ALIAS_RULES.rules
    computed = ("arn", "targetKeyArn")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("kms", "CreateAlias", **params)
        return str(inputs["name"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        aliases = account.call("kms", "ListAliases")["Aliases"]
        found = next((alias for alias in aliases if alias["AliasName"] == id), None)
        if found is None:
            return None
        return {"arn": found["AliasArn"], "targetKeyArn": account.arn("kms", f"key/{found['TargetKeyId']}")}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        account.call("kms", "UpdateAlias", AliasName=id, TargetKeyId=new["targetKeyId"])

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("kms", "DeleteAlias", AliasName=id)
