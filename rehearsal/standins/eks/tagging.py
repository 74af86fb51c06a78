"""Tags of existing resources: each service has its own request for them."""

from __future__ import annotations

from collections.abc import Mapping

from rehearsal.standins.eks.account import Account


def retag(
    account: Account, service: str, token: str, target: str, old: Mapping[str, str], new: Mapping[str, str]
) -> None:
    """Make the tags of ``target`` (id, ARN or name, as the service wants it) from ``old`` to ``new``."""
    gone = sorted(set(old) - set(new))
    fresh = {key: value for key, value in new.items() if old.get(key) != value}
    if gone:
        _remove(account, service, token, target, gone)
    if fresh:
        _add(account, service, token, target, fresh)


def _add(account: Account, service: str, token: str, target: str, tags: dict[str, str]) -> None:
    pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
    if service == "ec2":
        account.call("ec2", "CreateTags", Resources=[target], Tags=pairs)
    elif service == "iam":
        noun = _iam_noun(token)
        account.call("iam", f"Tag{noun}", **{f"{noun}Name": target}, Tags=pairs)
    elif service == "kms":
        pairs = [{"TagKey": key, "TagValue": value} for key, value in tags.items()]
        account.call("kms", "TagResource", KeyId=target, Tags=pairs)
    elif service == "sqs":
        account.call("sqs", "TagQueue", QueueUrl=target, Tags=tags)
    elif service == "events":
        account.call("events", "TagResource", ResourceARN=target, Tags=pairs)
    else:
        account.call(service, "TagResource", resourceArn=target, tags=tags)


def _remove(account: Account, service: str, token: str, target: str, keys: list[str]) -> None:
    if service == "ec2":
        account.call("ec2", "DeleteTags", Resources=[target], Tags=[{"Key": key} for key in keys])
    elif service == "iam":
        noun = _iam_noun(token)
        account.call("iam", f"Untag{noun}", **{f"{noun}Name": target}, TagKeys=keys)
    elif service == "kms":
        account.call("kms", "UntagResource", KeyId=target, TagKeys=keys)
    elif service == "sqs":
        account.call("sqs", "UntagQueue", QueueUrl=target, TagKeys=keys)
    elif service == "events":
        account.call("events", "UntagResource", ResourceARN=target, TagKeys=keys)
    else:
        account.call(service, "UntagResource", resourceArn=target, tagKeys=keys)


def _iam_noun(token: str) -> str:
    return token.rpartition(":")[2]
