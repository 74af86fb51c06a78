"""Inputs as AWS's requests take them: the names in the generated schema, and tags in each service's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.cloud import Account
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


class _Tagging(NamedTuple):
    """How a service tags: the parameters for the resource, for the tags (and their form) and for removed keys, and
    the operations' noun. ``{noun}`` is the type's (``Role``)."""

    target: str
    tags: str
    form: Callable[[Mapping[str, str]], Any]
    keys: str
    noun: str = "Resource"


_TAGGING: Final = {
    "ecr": _Tagging("resourceArn", "tags", pairs, "tagKeys"),
    "efs": _Tagging("ResourceId", "Tags", pairs, "TagKeys"),
    "eks": _Tagging("resourceArn", "tags", dict, "tagKeys"),
    "events": _Tagging("ResourceARN", "Tags", pairs, "TagKeys"),
    "iam": _Tagging("{noun}Name", "Tags", pairs, "TagKeys", "{noun}"),
    "kms": _Tagging("KeyId", "Tags", partial(pairs, key="TagKey", value="TagValue"), "TagKeys"),
    "logs": _Tagging("resourceArn", "tags", dict, "tagKeys"),
    "sqs": _Tagging("QueueUrl", "Tags", dict, "TagKeys", "Queue"),
}


def tags_of(service: str, tagged: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that give a new resource ``tags``; ``tagged`` is its type in EC2's specifications (``vpc``)."""
    if service == "ec2":
        return {"TagSpecifications": [{"ResourceType": tagged, "Tags": pairs(tags)}]}
    how = _TAGGING[service]
    return {"tags" if service == "sqs" else how.tags: how.form(tags)}


def retag(account: Account, token: str, target: str, old: Mapping[str, str], new: Mapping[str, str]) -> None:
    """Make the tags of ``target`` (id, ARN or name, as the service wants it) from ``old`` to ``new``."""
    removed = sorted(set(old) - set(new))
    fresh = {key: value for key, value in new.items() if old.get(key) != value}
    service, _ = request_of(token)
    if service == "ec2":
        untag, tag = "DeleteTags", "CreateTags"
        deletion, addition = (
            {"Resources": [target], "Tags": tags} for tags in ([{"Key": key} for key in removed], pairs(fresh))
        )
    else:
        how, noun = _TAGGING[service], token.rpartition(":")[2]
        untag, tag = (f"{verb}{how.noun.format(noun=noun)}" for verb in ("Untag", "Tag"))
        where = {how.target.format(noun=noun): target}
        deletion, addition = {**where, how.keys: removed}, {**where, how.tags: how.form(fresh)}
    if removed:
        account.call(service, untag, **deletion)
    if fresh:
        account.call(service, tag, **addition)
