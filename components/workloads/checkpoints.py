"""A bucket for checkpoints of training jobs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.clouds.base import Bucket
from components.cluster import Cluster
from components.settings.workloads import Checkpoints


@dataclass(frozen=True, kw_only=True)
class CheckpointBucketArgs:
    """The bucket for ``cluster``, in its region."""

    cluster: Cluster
    checkpoints: Checkpoints


class CheckpointBucket(pulumi.ComponentResource):
    """A private, encrypted bucket. No pod has access until a ``PodIdentity`` grants it."""

    bucket: Bucket

    def __init__(self, name: str, args: CheckpointBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:CheckpointBucket", name, None, opts)
        self.bucket = args.cluster.handle.workloads.bucket(name, args.checkpoints, self)
        self.register_outputs({"url": self.bucket.url})
