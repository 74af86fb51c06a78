"""Google's registry, bucket and identities of pods."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from components.clouds.base import Bucket, Reach
from components.clouds.gke.context import Context
from components.clouds.gke.workloads.bucket import bucket
from components.clouds.gke.workloads.pod_identity import grant
from components.clouds.gke.workloads.registry import registry
from components.settings.workloads import Checkpoints, Registry


class GkeWorkloads:
    """The ``WorkloadResources`` of Google."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def registry(self, name: str, wanted: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
        """A repository of Artifact Registry."""
        return registry(name, self._context, wanted, parent)

    def bucket(self, name: str, wanted: Checkpoints, parent: pulumi.Resource) -> Bucket:
        """A bucket of Cloud Storage."""
        return bucket(name, self._context, wanted, parent)

    def pod_identity(
        self, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
    ) -> Mapping[str, pulumi.Input[str]]:
        """Nothing but grants: pods are themselves somebody to Google."""
        return grant(name, self._context, account, reach, parent)
