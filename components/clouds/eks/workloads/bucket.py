"""A bucket of S3: encrypted, as all are; never public, reached by TLS alone, with the versions of some days.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/security-best-practices.html
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.base import Bucket
from components.clouds.declare import eks as declare
from components.clouds.eks import policy
from components.clouds.eks.context import Context
from components.clouds.names import worldwide
from components.clouds.retained import retained
from components.settings.sections.workloads import Checkpoints

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_NAME_LIMIT: Final = 63
_UNFINISHED_UPLOADS_DAYS: Final = 7


def bucket(context: Context, name: str, setting: Checkpoints, parent: pulumi.Resource) -> Bucket:
    """The bucket, in the cluster's region.

    Its settings are made one after another: S3 refuses concurrent changes, and then keeps refusing them for minutes
    (https://github.com/hashicorp/terraform-provider-aws/issues/7628). All are retained with the bucket.
    """
    settings = context.settings
    bucket_name = worldwide(
        settings.cluster_name, _NAME_LIMIT, context.account.id, settings.region, suffix="-checkpoints"
    )
    resource = declare(
        "aws:s3/bucket:Bucket",
        name,
        {"bucket": bucket_name, "forceDestroy": setting.on_destroy == "delete", "tags": dict(settings.labels)},
        retained(setting, bucket_name, parent),
        outputs=["arn"],
    )
    options = pulumi.ResourceOptions(parent=parent, retain_on_delete=setting.on_destroy == "keep")

    def after(previous: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[previous]))

    bucket_id = resource.outputs["bucket"]
    public = declare(
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        f"{name}-never-public",
        {
            "bucket": bucket_id,
            "blockPublicAcls": True,
            "blockPublicPolicy": True,
            "ignorePublicAcls": True,
            "restrictPublicBuckets": True,
        },
        options,
    )
    encrypted = declare(
        "aws:s3/bucketPolicy:BucketPolicy",
        f"{name}-tls",
        {"bucket": bucket_id, "policy": resource.outputs["arn"].apply(lambda arn: policy.of("bucket", arn=arn))},
        after(public),
    )
    versions = declare(
        "aws:s3/bucketVersioning:BucketVersioning",
        f"{name}-versions",
        {"bucket": bucket_id, "versioningConfiguration": {"status": "Enabled"}},
        after(encrypted),
    )
    declare(
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        f"{name}-expiry",
        {
            "bucket": bucket_id,
            "rules": [
                {
                    "id": "old-versions",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "noncurrentVersionExpiration": {"noncurrentDays": setting.undelete_days},
                    "abortIncompleteMultipartUpload": {"daysAfterInitiation": _UNFINISHED_UPLOADS_DAYS},
                }
            ],
        },
        after(versions),
    )
    return Bucket(name=bucket_id, url=pulumi.Output.format("s3://{0}", bucket_id))
