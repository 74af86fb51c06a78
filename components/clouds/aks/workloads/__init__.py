"""Azure's registry, bucket and identities of pods."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from components.clouds.aks.context import Context
from components.clouds.aks.workloads.bucket import bucket
from components.clouds.aks.workloads.pod_identity import grant
from components.clouds.aks.workloads.registry import registry
from components.clouds.base import Bucket, Reach
from components.settings.workloads import Checkpoints, Registry


class AksWorkloads:
    """The ``WorkloadResources`` of Azure."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def registry(self, name: str, wanted: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
        """A registry of Azure Container Registry."""
        return registry(name, self._context, wanted, parent)

    def bucket(self, name: str, wanted: Checkpoints, parent: pulumi.Resource) -> Bucket:
        """A container in a storage account of its own."""
        return bucket(name, self._context, wanted, parent)

    def pod_identity(
        self, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
    ) -> Mapping[str, pulumi.Input[str]]:
        """A managed identity that trusts the cluster's tokens."""
        return grant(name, self._context, account, reach, parent)
