"""KMS keys, aliases and grants."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.policy_documents import document_problem
from rehearsal.providers.eks.base.request import parameters
from rehearsal.providers.eks.base.row import Row, from_answer, sends
from rehearsal.providers.resource import Pending
from rehearsal.providers.rules import RuleBook

KEY: Final = "aws:kms/key:Key"
ALIAS: Final = "aws:kms/alias:Alias"
GRANT: Final = "aws:kms/grant:Grant"
TO_START: Final = frozenset({"CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptTo"})
"""Permissions on the key that the creator of a machine with an encrypted disk needs:
https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html"""
KEY_RULES: Final = RuleBook[Account]()
ALIAS_RULES: Final = RuleBook[Account]()


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


def _key(account: Account, id: str, inputs: Properties) -> Properties | None:
    metadata: Properties = account.call("kms", "DescribeKey", KeyId=id)["KeyMetadata"]
    return None if metadata["KeyState"] == "PendingDeletion" else metadata


def _change_key(account: Account, id: str, old: Properties, new: Properties) -> None:
    if new.get("policy") and new.get("policy") != old.get("policy"):
        account.call("kms", "PutKeyPolicy", KeyId=id, PolicyName="default", Policy=new["policy"])
    if new.get("description") != old.get("description"):
        account.call("kms", "UpdateKeyDescription", KeyId=id, Description=new.get("description") or "")
    if bool(new.get("enableKeyRotation")) != bool(old.get("enableKeyRotation")):
        account.call("kms", f"{'Enable' if new.get('enableKeyRotation') else 'Disable'}KeyRotation", KeyId=id)
    if bool(new.get("isEnabled")) != bool(old.get("isEnabled", True)):
        account.call("kms", "EnableKey" if new.get("isEnabled") else "DisableKey", KeyId=id)


def _schedule_deletion(account: Account, id: str, inputs: Properties) -> None:
    days = int(inputs.get("deletionWindowInDays") or 30)
    account.call("kms", "ScheduleKeyDeletion", KeyId=id, PendingWindowInDays=days)


def _alias_of(account: Account, id: str, inputs: Properties) -> Properties | None:
    aliases = account.call("kms", "ListAliases")["Aliases"]
    return next((alias for alias in aliases if alias["AliasName"] == id), None)


def _target_arn(pending: Pending[Account]) -> str:
    return pending.cloud.arn("kms", f"key/{pending.answer['TargetKeyId']}")


def _retarget(account: Account, id: str, old: Properties, new: Properties) -> None:
    account.call("kms", "UpdateAlias", AliasName=id, TargetKeyId=new["targetKeyId"])


def _make_grant(pending: Pending[Account]) -> str:
    """A key of this account has to exist; another's is taken to, and to let this account make grants."""
    key = pending.inputs["keyId"]
    foreign = key.startswith("arn:") and not key.startswith(pending.cloud.arn("kms", ""))
    digest = hashlib.sha256(json.dumps(pending.inputs, sort_keys=True).encode()).hexdigest()
    grant = (
        digest if foreign else pending.cloud.call("kms", "CreateGrant", **parameters(GRANT, pending.inputs))["GrantId"]
    )
    return f"{key}:{grant}"


def _grant(account: Account, id: str, inputs: Properties) -> Properties | None:
    return {"GrantId": id.rpartition(":")[2]}


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
    Row(
        token=GRANT,
        make=_make_grant,
        describe=_grant,
        remove=_revoke,
        outputs={"grantId": from_answer("GrantId"), "grantToken": from_answer("GrantId")},
        replaces=(
            "constraints",
            "grantCreationTokens",
            "granteePrincipal",
            "keyId",
            "name",
            "operations",
            "retiringPrincipal",
        ),
        unordered=("operations",),
    ),
    Row(
        token=KEY,
        answer="KeyMetadata.KeyId",
        describe=_key,
        change=_change_key,
        completes_with_change=True,
        remove=_schedule_deletion,
        outputs={"arn": from_answer("Arn"), "keyId": "{id}"},
        defaults={"isEnabled": True},
        rules=KEY_RULES.rules,
        replaces=("customerMasterKeySpec", "keyUsage", "multiRegion", "customKeyStoreId", "xksKeyId"),
    ),
    Row(
        token=ALIAS,
        id="{name}",
        describe=_alias_of,
        change=_retarget,
        remove=sends("kms:DeleteAlias", AliasName="{id}"),
        outputs={"arn": from_answer("AliasArn"), "targetKeyArn": _target_arn},
        rules=ALIAS_RULES.rules,
        name="name",
        name_limit=250,
    ),
)
