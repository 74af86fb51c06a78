"""Amazon's registry, bucket and identities of pods."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from components.clouds.base import Bucket, Reach
from components.clouds.eks.context import Context
from components.clouds.eks.workloads.bucket import bucket
from components.clouds.eks.workloads.pod_identity import grant
from components.clouds.eks.workloads.registry import registry
from components.settings.workloads import Checkpoints, Registry


class EksWorkloads:
    """The ``WorkloadResources`` of Amazon."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def registry(self, name: str, wanted: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
        """A repository of ECR for each image."""
        return registry(name, self._context, wanted, parent)

    def bucket(self, name: str, wanted: Checkpoints, parent: pulumi.Resource) -> Bucket:
        """A bucket of S3."""
        return bucket(name, self._context, wanted, parent)

    def pod_identity(
        self, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
    ) -> Mapping[str, pulumi.Input[str]]:
        """A role, by EKS Pod Identity."""
        return grant(name, self._context, account, reach, parent)
