"""Repositories of images, buckets and file systems. moto keeps all, with what is pushed into them."""

from __future__ import annotations

import json
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.request import pairs, part
from rehearsal.providers.eks.row import TABLE, document_problem, named_roles, refused
from rehearsal.providers.resource import Pending

REPOSITORY: Final = "aws:ecr/repository:Repository"
_COUNTED: Final = ("imageCountMoreThan", "sinceImagePulled", "sinceImagePushed", "sinceImageTransitioned")


@TABLE.check("lifecycle-policy", "lifecycle-rules")
def _image_rules(inputs: Properties, account: Account) -> str | None:
    problem = _problem(inputs["policy"])
    return f"InvalidParameterException: Invalid parameter at 'LifecyclePolicyText': {problem}" if problem else None


def _problem(text: str) -> str | None:
    try:
        rules = json.loads(text)["rules"]
        selections = [(rule["rulePriority"], rule["selection"], rule["action"]["type"]) for rule in rules]
        selected = [(each["tagStatus"], each["countType"], each["countNumber"]) for _, each, _ in selections]
    except (KeyError, TypeError, ValueError) as error:
        return f"a rule lacks what it needs: {error}"
    if len({priority for priority, _, _ in selections}) < len(selections):
        return "rulePriority must be unique"
    last = max((priority for priority, _, _ in selections), default=0)
    for (status, kind, count), (priority, selection, action) in zip(selected, selections, strict=True):
        if status not in ("any", "tagged", "untagged") or kind not in _COUNTED:
            return f"tagStatus {status}, countType {kind}"
        if (kind != "imageCountMoreThan") != (selection.get("countUnit") == "days") or count < 1:
            return f"countType {kind} with countUnit {selection.get('countUnit')}, countNumber {count}"
        tags = [key for key in ("tagPrefixList", "tagPatternList") if selection.get(key)]
        if status != "any" and (status == "tagged") != bool(tags):
            return f"tagStatus {status} with {' and '.join(tags) or 'no list of tags'}"
        # One for each class of storage: of an archive's images nothing is compared.
        if status == "any" and priority < last and not selection.get("storageClass"):
            return "a rule with tagStatus any must have the highest rulePriority"
        if action not in ("expire", "transition"):
            return f"action {action}"
    return None


def _encrypted(inputs: Properties, params: dict[str, object]) -> dict[str, object]:
    chosen = (inputs.get("encryptionConfigurations") or [None])[0]
    if chosen is None:
        return params
    key = {"kmsKey": chosen["kmsKey"]} if chosen.get("kmsKey") else {}
    return {**params, "encryptionConfiguration": {"encryptionType": chosen.get("encryptionType", "AES256"), **key}}


BUCKET: Final = "aws:s3/bucket:Bucket"
BUCKET_LIFECYCLE: Final = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
PUBLIC_ACCESS: Final = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"

TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Words that others took long ago: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"""

_BLOCKS: Final = ("blockPublicAcls", "ignorePublicAcls", "blockPublicPolicy", "restrictPublicBuckets")


@TABLE.check("bucket-lifecycle", "lifecycle-rule")
def _bucket_rules(inputs: Properties, account: Account) -> str | None:
    rules = inputs.get("rules") or []
    if not rules:
        return "MalformedXML: a lifecycle configuration needs a rule"
    if len({each["id"] for each in rules}) < len(rules):
        return "InvalidArgument: Rule ID must be unique. Found same ID for more than one rule"
    for each in rules:
        if not {*each} - {"id", "status", "filter", "prefix"}:
            return f"InvalidRequest: At least one action needs to be specified in a rule ({each['id']})"
    return None


def _make_bucket(pending: Pending[Account]) -> str:
    account, name = pending.cloud, str(pending.inputs["bucket"])
    if name in TAKEN:
        reason = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
            "Please select a different name and try again."
        )
        raise refused(BUCKET, "BucketAlreadyExists", reason)
    # moto answers as S3 does in us-east-1, where making one's own bucket again succeeds; elsewhere it is refused:
    # https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
    if name in {each["Name"] for each in account.call("s3", "ListBuckets")["Buckets"]}:
        reason = "Your previous request to create the named bucket succeeded and you already own it."
        raise refused(BUCKET, "BucketAlreadyOwnedByYou", reason)
    place = {} if account.region == "us-east-1" else {"LocationConstraint": account.region}
    account.call("s3", "CreateBucket", Bucket=name, CreateBucketConfiguration=place or None)
    _retag_bucket(account, name, {}, pending.inputs)
    return name


def _retag_bucket(account: Account, id: str, old: Properties, new: Properties) -> None:
    before, after = old.get("tags") or {}, new.get("tags") or {}
    if after and after != before:
        account.call("s3", "PutBucketTagging", Bucket=id, Tagging={"TagSet": pairs(after)})
    elif before and not after:
        account.call("s3", "DeleteBucketTagging", Bucket=id)


def _remove_bucket(account: Account, id: str, inputs: Properties) -> None:
    """Deleting a bucket with objects fails (``BucketNotEmpty``) unless forced, which empties it first."""
    if inputs.get("forceDestroy"):
        versions = account.call("s3", "ListObjectVersions", Bucket=id)
        for each in (*versions.get("Versions", ()), *versions.get("DeleteMarkers", ())):
            account.call("s3", "DeleteObject", Bucket=id, Key=each["Key"], VersionId=each["VersionId"])
    account.call("s3", "DeleteBucket", Bucket=id)


def _with_rules(inputs: Properties, params: dict[str, Any]) -> dict[str, Any]:
    # No filter is one that takes everything: https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/s3_bucket_lifecycle_configuration
    sent = (part(BUCKET_LIFECYCLE, "rules", each) for each in inputs["rules"])
    rules = [{**each, "Filter": each.get("Filter") or {"Prefix": ""}} for each in sent]
    return {**params, "LifecycleConfiguration": {"Rules": rules}}


def _with_blocks(inputs: Properties, params: dict[str, Any]) -> dict[str, Any]:
    blocks = {key[:1].upper() + key[1:]: bool(inputs.get(key)) for key in _BLOCKS}
    return {"Bucket": inputs["bucket"], "PublicAccessBlockConfiguration": blocks}


FILE_SYSTEM: Final = "aws:efs/fileSystem:FileSystem"


@TABLE.check("file-system-policy", "file-system-policy")
def _files_policy(inputs: Properties, account: Account) -> str | None:
    problem = document_problem(inputs["policy"], principals=True)
    if problem is None:
        # Resources of other accounts are unknown.
        own = account.arn("iam", "role/", everywhere=True)
        roles = {arn: arn.rpartition("/")[2] for arn in named_roles(inputs["policy"]) if arn.startswith(own)}
        missing = [arn for arn, name in roles.items() if not account.look_up("iam", "GetRole", "Role", RoleName=name)]
        problem = f"Policy contains invalid Principal block: {missing[0]}" if missing else None
    return f"InvalidPolicyException: {problem}" if problem else None


ROWS: Final = (
    TABLE.row(REPOSITORY, wrap=_encrypted),
    TABLE.row(BUCKET, make=_make_bucket, retag=_retag_bucket, remove=_remove_bucket),
    TABLE.row(BUCKET_LIFECYCLE, wrap=_with_rules),
    TABLE.row(PUBLIC_ACCESS, wrap=_with_blocks),
    TABLE.row(FILE_SYSTEM, outputs={"name": lambda pending: (pending.inputs.get("tags") or {}).get("Name", "")}),
)
