"""A bucket of Cloud Storage: encrypted and reached by TLS, as all are; uniform access, never public.

https://cloud.google.com/storage/docs/public-access-prevention, https://cloud.google.com/storage/docs/soft-delete
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.base import Bucket
from components.clouds.declare import gke as declare
from components.clouds.gke.context import Context
from components.clouds.gke.identity import grant_data_key
from components.clouds.names import worldwide
from components.clouds.retained import retained
from components.settings.sections.workloads import Checkpoints

if TYPE_CHECKING:
    from schemas import gke

# https://cloud.google.com/storage/docs/buckets#naming
_NAME_LIMIT: Final = 63
_UNFINISHED_UPLOADS_DAYS: Final = 7
_DAY: Final = 24 * 3600


def bucket(context: Context, name: str, setting: Checkpoints, parent: pulumi.Resource) -> Bucket:
    """The bucket, in the cluster's region."""
    settings = context.settings
    bucket_name = worldwide(
        settings.cluster_name, _NAME_LIMIT, settings.project, settings.region, suffix="-checkpoints"
    )
    inputs: gke.Bucket = {
        "project": settings.project,
        "name": bucket_name,
        # As the API answers.
        "location": settings.region.upper(),
        "uniformBucketLevelAccess": True,
        "publicAccessPrevention": "enforced",
        "softDeletePolicy": {"retentionDurationSeconds": setting.undelete_days * _DAY},
        "lifecycleRules": [
            {
                "action": {"type": "AbortIncompleteMultipartUpload"},
                "condition": {"age": _UNFINISHED_UPLOADS_DAYS},
            }
        ],
        "forceDestroy": setting.on_destroy == "delete",
        "labels": dict(settings.labels),
    }
    if settings.security.data_key is not None:
        inputs["encryption"] = {"defaultKmsKeyName": settings.security.data_key}
    rights = grant_data_key(name, settings, context.deployed, parent)
    resource = declare(
        "gcp:storage/bucket:Bucket",
        name,
        inputs,
        retained(setting, bucket_name, parent, *rights),
        outputs=["url"],
    )
    return Bucket(name=resource.outputs["name"], url=resource.outputs["url"])
