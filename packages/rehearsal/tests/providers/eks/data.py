"""Repositories of images and buckets in the simulated AWS provider: one of each, for the contract of all resources."""

from __future__ import annotations

import json
from typing import Final

from packages.rehearsal.tests.providers.driver import Of, Step

REPOSITORY = "aws:ecr/repository:Repository"
IMAGES_EXPIRE = "aws:ecr/lifecyclePolicy:LifecyclePolicy"
BUCKET = "aws:s3/bucket:Bucket"
BUCKET_LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
PUBLIC_ACCESS = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"

_EXPIRE: Final = {"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days"}
_ABORT: Final = {"id": "parts", "status": "Enabled", "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7}}
_READ: Final = {"Effect": "Deny", "Principal": "*", "Action": "s3:Get*", "Resource": "arn:aws:s3:::gpu-dev-data/*"}


def expiring(days: int) -> str:
    """A lifecycle policy of a repository: untagged images go after ``days``."""
    selection = {**_EXPIRE, "countNumber": days}
    return json.dumps({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})


def _policy(action: str) -> str:
    statement = {**_READ, "Action": action}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


DATA_STEPS: Final = (
    Step(
        REPOSITORY,
        {"name": "gpu-dev/jobs"},
        {"name": "gpu-dev/jobs", "imageTagMutability": "IMMUTABLE", "tags": {"a": "b"}},
        {"name": "gpu-dev/jobs", "encryptionConfigurations": [{"encryptionType": "KMS"}]},
    ),
    Step(
        IMAGES_EXPIRE,
        {"repository": Of(REPOSITORY), "policy": expiring(14)},
        {"repository": Of(REPOSITORY), "policy": expiring(30)},
        {"repository": "other", "policy": expiring(14)},
        "same",
    ),
    Step(
        BUCKET, {"bucket": "gpu-dev-data"}, {"bucket": "gpu-dev-data", "tags": {"a": "b"}}, {"bucket": "gpu-dev-other"}
    ),
    Step(
        BUCKET_LIFECYCLE,
        {"bucket": Of(BUCKET), "rules": [_ABORT]},
        {"bucket": Of(BUCKET), "rules": [{**_ABORT, "status": "Disabled"}]},
        {"bucket": "other", "rules": [_ABORT]},
        "same",
    ),
    Step(
        BUCKET_POLICY,
        {"bucket": Of(BUCKET), "policy": _policy("s3:Get*")},
        {"bucket": Of(BUCKET), "policy": _policy("s3:*")},
        {"bucket": "other", "policy": _policy("s3:Get*")},
        "same",
    ),
    Step(
        PUBLIC_ACCESS,
        {"bucket": Of(BUCKET), "blockPublicAcls": True},
        {"bucket": Of(BUCKET), "blockPublicAcls": True, "blockPublicPolicy": True},
        {"bucket": "other", "blockPublicAcls": True},
        "same",
    ),
    Step(
        VERSIONING,
        {"bucket": Of(BUCKET), "versioningConfiguration": {"status": "Enabled"}},
        None,
        {"bucket": "other", "versioningConfiguration": {"status": "Enabled"}},
        "same",
    ),
)
