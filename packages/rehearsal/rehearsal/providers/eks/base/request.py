"""Inputs as AWS's requests take them: the names in the generated schema, and tags in each service's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from schemas import Object, Property, schema

BY_ARN: Final = ("ecr", "eks", "events", "logs")
"""Services that tag a resource by its ARN."""


def request_of(token: str) -> tuple[str, str]:
    """Service and operation of the request that makes a resource of that type (``ec2``, ``CreateVpc``)."""
    service, _, operation = schema("eks").resources[token].api.partition(":")
    return service, operation


def parameters(token: str, inputs: Properties) -> dict[str, Any]:
    """The request's parameters for ``inputs``, which were checked, without tags."""
    return _block(schema("eks").inputs(token), inputs)


def part(token: str, path: str, value: Properties) -> dict[str, Any]:
    """The parameters of a request for one block of a type's inputs, the ones at ``path`` (``routes``)."""
    declared = schema("eks").find(token, path)
    while declared is not None and declared.type == "list":
        declared = declared.items
    assert declared is not None, f"{token} has no {path}"
    return _block(schema("eks").objects[declared.object], value)


def _block(declared: Object, inputs: Properties) -> dict[str, Any]:
    known = {key: (declared.properties[key], value) for key, value in inputs.items() if key in declared.properties}
    return {each.sent: _value(each, value) for each, value in known.values() if each.sent and value is not None}


def _value(declared: Property, value: Any) -> Any:
    if declared.type == "object":
        block = _block(schema("eks").objects[declared.object], value)
        return [block] if declared.format == "list" else block
    if declared.items is not None and declared.type == "list":
        return [_value(declared.items, each) for each in value]
    if declared.items is not None and declared.type == "map":
        values = {key: _value(declared.items, each) for key, each in value.items()}
        return pairs(values) if declared.format == "pairs" else values
    if "integer" in (declared.type, declared.format):
        return int(value)
    return value == "true" if declared.format == "boolean" else value


def pairs(tags: Mapping[str, str], key: str = "Key", value: str = "Value") -> list[dict[str, str]]:
    """Tags as most services list them."""
    return [{key: name, value: text} for name, text in tags.items()]


def tags_of(service: str, tagged: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that give a new resource ``tags``; ``tagged`` is its type in EC2's specifications (``vpc``)."""
    if service == "ec2":
        return {"TagSpecifications": [{"ResourceType": tagged, "Tags": pairs(tags)}]}
    if service in ("eks", "logs", "sqs"):
        return {"tags": tags}
    if service == "ecr":
        return {"tags": pairs(tags)}
    return {"Tags": pairs(tags, "TagKey", "TagValue") if service == "kms" else pairs(tags)}


def retag(account: Account, token: str, target: str, old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """Make the tags of ``target`` (id, ARN or name, as the service wants it) from ``old`` to ``new``."""
    removed = sorted(set(old) - set(new))
    fresh = {key: value for key, value in new.items() if old.get(key) != value}
    service, _ = request_of(token)
    noun = token.rpartition(":")[2]
    if service == "ec2":
        _tag(account, removed, "ec2:DeleteTags", {"Resources": [target], "Tags": [{"Key": key} for key in removed]})
        _tag(account, fresh, "ec2:CreateTags", {"Resources": [target], "Tags": pairs(fresh)})
    elif service == "iam":
        _tag(account, removed, f"iam:Untag{noun}", {f"{noun}Name": target, "TagKeys": removed})
        _tag(account, fresh, f"iam:Tag{noun}", {f"{noun}Name": target, "Tags": pairs(fresh)})
    elif service == "kms":
        _tag(account, removed, "kms:UntagResource", {"KeyId": target, "TagKeys": removed})
        _tag(account, fresh, "kms:TagResource", {"KeyId": target, "Tags": pairs(fresh, "TagKey", "TagValue")})
    elif service == "sqs":
        _tag(account, removed, "sqs:UntagQueue", {"QueueUrl": target, "TagKeys": removed})
        _tag(account, fresh, "sqs:TagQueue", {"QueueUrl": target, "Tags": fresh})
    elif service == "ecr":
        _tag(account, removed, "ecr:UntagResource", {"resourceArn": target, "tagKeys": removed})
        _tag(account, fresh, "ecr:TagResource", {"resourceArn": target, "tags": pairs(fresh)})
    elif service == "efs":
        _tag(account, removed, "efs:UntagResource", {"ResourceId": target, "TagKeys": removed})
        _tag(account, fresh, "efs:TagResource", {"ResourceId": target, "Tags": pairs(fresh)})
    elif service == "events":
        _tag(account, removed, "events:UntagResource", {"ResourceARN": target, "TagKeys": removed})
        _tag(account, fresh, "events:TagResource", {"ResourceARN": target, "Tags": pairs(fresh)})
    else:
        _tag(account, removed, f"{service}:UntagResource", {"resourceArn": target, "tagKeys": removed})
        _tag(account, fresh, f"{service}:TagResource", {"resourceArn": target, "tags": fresh})


def _tag(account: Account, some: object, request: str, params: dict[str, Any]) -> None:
    service, _, operation = request.partition(":")
    if some:
        account.call(service, operation, **params)
