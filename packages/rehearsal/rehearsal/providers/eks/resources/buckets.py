"""S3 buckets, whose names belong to everybody in a partition, and what is set on them one by one. moto keeps all."""

from __future__ import annotations

import re
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.policy_documents import document_problem
from rehearsal.providers.eks.base.request import pairs, part
from rehearsal.providers.eks.base.row import Row, asks, refused, resends, sends
from rehearsal.providers.resource import Pending
from rehearsal.providers.rules import RuleBook

BUCKET: Final = "aws:s3/bucket:Bucket"
LIFECYCLE: Final = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
POLICY: Final = "aws:s3/bucketPolicy:BucketPolicy"
PUBLIC_ACCESS: Final = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
VERSIONING: Final = "aws:s3/bucketVersioning:BucketVersioning"
BUCKET_RULES: Final = RuleBook[Account]()
POLICY_RULES: Final = RuleBook[Account]()
LIFECYCLE_RULES: Final = RuleBook[Account]()

TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Words that others took long ago: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"""

_NAMES: Final = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"
_NAME: Final = re.compile(r"(?!xn--|sthree-|amzn-s3-demo-)(?!.*\.\.)[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]")
_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+")
_RESERVED_ENDS: Final = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
_BLOCKS: Final = ("blockPublicAcls", "ignorePublicAcls", "blockPublicPolicy", "restrictPublicBuckets")
_NO_CONSTRAINT: Final = "us-east-1"


@BUCKET_RULES.add("bucket-name", _NAMES, "bucket")
def _name(inputs: Properties, account: Account) -> str | None:
    name = inputs["bucket"]
    if _NAME.fullmatch(name) and not _ADDRESS.fullmatch(name) and not name.endswith(_RESERVED_ENDS):
        return None
    return f"InvalidBucketName: The specified bucket is not valid: {name}"


@POLICY_RULES.add(
    "bucket-policy", "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-policies.html", "policy"
)
def _policy(inputs: Properties, account: Account) -> str | None:
    problem = document_problem(inputs["policy"], principals=True)
    return f"MalformedPolicy: {problem}" if problem else None


@LIFECYCLE_RULES.add(
    "lifecycle-rule",
    "https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html",
    "rules",
)
def _rules(inputs: Properties, account: Account) -> str | None:
    rules = inputs.get("rules") or []
    if not rules:
        return "MalformedXML: a lifecycle configuration needs a rule"
    if len({rule["id"] for rule in rules}) < len(rules):
        return "InvalidArgument: Rule ID must be unique. Found same ID for more than one rule"
    for rule in rules:
        if not {*rule} - {"id", "status", "filter", "prefix"}:
            return f"InvalidRequest: At least one action needs to be specified in a rule ({rule['id']})"
    return None


def _make(pending: Pending[Account]) -> str:
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
    place = {} if account.region == _NO_CONSTRAINT else {"LocationConstraint": account.region}
    account.call("s3", "CreateBucket", Bucket=name, CreateBucketConfiguration=place or None)
    _retag(account, name, {}, pending.inputs)
    return name


def _retag(account: Account, id: str, old: Properties, new: Properties) -> None:
    before, after = old.get("tags") or {}, new.get("tags") or {}
    if after and after != before:
        account.call("s3", "PutBucketTagging", Bucket=id, Tagging={"TagSet": pairs(after)})
    elif before and not after:
        account.call("s3", "DeleteBucketTagging", Bucket=id)


def _bucket(account: Account, id: str, inputs: Properties) -> Properties | None:
    return next((each for each in account.call("s3", "ListBuckets")["Buckets"] if each["Name"] == id), None)


def _remove(account: Account, id: str, inputs: Properties) -> None:
    """Deleting a bucket with objects fails (``BucketNotEmpty``) unless forced, which empties it first."""
    if inputs.get("forceDestroy"):
        versions = account.call("s3", "ListObjectVersions", Bucket=id)
        for each in (*versions.get("Versions", ()), *versions.get("DeleteMarkers", ())):
            account.call("s3", "DeleteObject", Bucket=id, Key=each["Key"], VersionId=each["VersionId"])
    account.call("s3", "DeleteBucket", Bucket=id)


def _with_rules(inputs: Properties, params: dict[str, Any]) -> dict[str, Any]:
    rules = [part(LIFECYCLE, "rules", rule) for rule in inputs["rules"]]
    for rule in rules:
        # No filter is one that takes everything: https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/s3_bucket_lifecycle_configuration
        rule.setdefault("Filter", {"Prefix": ""})
        if not rule["Filter"]:
            rule["Filter"] = {"Prefix": ""}
    return {**params, "LifecycleConfiguration": {"Rules": rules}}


def _with_blocks(inputs: Properties, params: dict[str, Any]) -> dict[str, Any]:
    blocks = {key[:1].upper() + key[1:]: bool(inputs.get(key)) for key in _BLOCKS}
    return {"Bucket": inputs["bucket"], "PublicAccessBlockConfiguration": blocks}


def _suspend(account: Account, id: str, inputs: Properties) -> None:
    """Versioning is never off again, only suspended: https://docs.aws.amazon.com/AmazonS3/latest/userguide/Versioning.html"""
    if _bucket(account, id, inputs) is not None:
        account.call("s3", "PutBucketVersioning", Bucket=id, VersioningConfiguration={"Status": "Suspended"})


def _versioning(account: Account, id: str, inputs: Properties) -> Properties | None:
    answer = account.call("s3", "GetBucketVersioning", Bucket=id)
    return answer if answer.get("Status") == "Enabled" else None


ROWS: Final = (
    Row(
        token=BUCKET,
        id="{bucket}",
        make=_make,
        describe=_bucket,
        retag=_retag,
        remove=_remove,
        outputs={
            "arn": "arn:{partition}:s3:::{bucket}",
            "bucketDomainName": "{bucket}.s3.amazonaws.com",
            "bucketRegion": "{region}",
            "bucketRegionalDomainName": "{bucket}.s3.{region}.amazonaws.com",
        },
        rules=BUCKET_RULES.rules,
        # Only the provider knows it: https://github.com/hashicorp/terraform-provider-aws/issues/28044
        imported=lambda inputs: {**inputs, "forceDestroy": None},
        name="bucket",
        name_limit=63,
    ),
    Row(
        token=LIFECYCLE,
        id="{bucket}",
        wrap=_with_rules,
        describe=asks("s3:GetBucketLifecycleConfiguration", "Rules", Bucket="{id}"),
        change=resends(LIFECYCLE, wrap=_with_rules),
        remove=sends("s3:DeleteBucketLifecycle", Bucket="{id}"),
        rules=LIFECYCLE_RULES.rules,
        unordered=("rules",),
    ),
    Row(
        token=POLICY,
        id="{bucket}",
        describe=asks("s3:GetBucketPolicy", "", Bucket="{id}"),
        change=resends(POLICY),
        remove=sends("s3:DeleteBucketPolicy", Bucket="{id}"),
        rules=POLICY_RULES.rules,
    ),
    Row(
        token=PUBLIC_ACCESS,
        id="{bucket}",
        wrap=_with_blocks,
        describe=asks("s3:GetPublicAccessBlock", "PublicAccessBlockConfiguration", Bucket="{id}"),
        change=resends(PUBLIC_ACCESS, wrap=_with_blocks),
        remove=sends("s3:DeletePublicAccessBlock", Bucket="{id}"),
    ),
    Row(token=VERSIONING, id="{bucket}", describe=_versioning, change=resends(VERSIONING), remove=_suspend),
)
