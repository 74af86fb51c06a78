"""What of a stack is left in a subscription of Azure after ``pulumi destroy``. Every request reads.

All that the program makes is in resource groups whose names begin with the cluster's, and so is all that AKS makes, in
the group ``<cluster>-nodes``: machines, disks of claims, load balancers, addresses. AKS deletes it with the cluster:
https://learn.microsoft.com/azure/aks/faq#why-are-two-resource-groups-created-with-aks-
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from typing_extensions import override

from account.asking import AccountQuestion
from account.clouds.aks.questions import AzureSubscription
from account.left import Left, question
from facts.concepts.counts import counted

_CLUSTERS: Final = "Microsoft.ContainerService/managedClusters"
_NAMED: Final = 3


class AzureLeftovers(AzureSubscription):
    """The same subscription, asked after ``pulumi destroy``."""

    @property
    def cluster(self) -> str | None:
        """The ID of the stack's cluster if it is still there."""
        name = self._settings.cluster_name
        clusters = [each.id for each in self._in_group(name, _CLUSTERS) if each.name == name]
        return str(clusters[0]) if clusters else None

    @override
    def questions(self) -> Iterator[AccountQuestion]:
        """One for each resource group, as whole groups are deleted."""
        name, workloads = self._settings.cluster_name, self._settings.workloads
        for group, setting, on_destroy in (
            (name, "", ""),
            (f"{name}-nodes", "", ""),
            (f"{name}-registry", "registry", workloads.registry and workloads.registry.on_destroy),
            (f"{name}-checkpoints", "checkpoints", workloads.checkpoints and workloads.checkpoints.on_destroy),
            (f"{name}-shared", "sharedVolume", workloads.shared_volume and workloads.shared_volume.on_destroy),
        ):
            kept = f"workloads.{setting}.onDestroy is keep; you pay for what is stored" if on_destroy == "keep" else ""
            yield question(
                f"resources of group {group}",
                "Microsoft.Resources/subscriptions/resourceGroups/read",
                lambda group=group: self._group(group),
                "az group delete --name",
                region=f"--subscription {self.id}",
                kept=kept,
            )

    def _group(self, group: str) -> Iterator[Left]:
        if not self._resources.resource_groups.check_existence(group):
            return
        resources = [f"{each.type.rpartition('/')[2]} {each.name}" for each in self._in_group(group)]
        first = ", ".join(resources[:_NAMED])
        more = f" and {counted(len(resources) - _NAMED, 'other resource')}" if len(resources) > _NAMED else ""
        yield Left(group, f"with {first}{more}" if resources else "empty")

    def _in_group(self, group: str, type: str = "") -> Iterator[Any]:
        """The group's resources, of one type if it is given; none of a group that is not there."""
        from azure.core.exceptions import ResourceNotFoundError

        only = {"filter": f"resourceType eq '{type}'"} if type else {}
        try:
            yield from self._resources.resources.list_by_resource_group(group, **only)
        except ResourceNotFoundError as error:
            if error.status_code != HTTPStatus.NOT_FOUND:
                raise


def opened(settings: Any) -> AzureLeftovers:
    """The stack's subscription, as the user of this shell. Raises AccountError."""
    return AzureLeftovers(settings)
