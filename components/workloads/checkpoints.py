"""A bucket for checkpoints of training jobs."""

from __future__ import annotations

import pulumi

from components.clouds.base import Bucket
from components.workloads.args import WorkloadArgs


class CheckpointBucket(pulumi.ComponentResource):
    """A private, encrypted bucket. No pod has access until a ``PodIdentity`` grants it."""

    bucket: Bucket

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:CheckpointBucket", name, None, opts)
        assert args.workloads.checkpoints is not None
        self.bucket = args.cluster.handle.workloads.bucket(name, args.workloads.checkpoints, self)
        self.register_outputs({"url": self.bucket.url})
