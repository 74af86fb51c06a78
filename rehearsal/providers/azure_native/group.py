"""Resource groups, which take everything in them along when they go."""

from __future__ import annotations

from typing_extensions import override

from rehearsal.providers.azure_native.cloud import Cloud
from rehearsal.providers.azure_native.cluster import ClusterKind
from rehearsal.providers.azure_native.kind import GROUP, Kind
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.base import Properties


class GroupKind(Kind):
    """``azure-native:resources:ResourceGroup``."""

    token = GROUP
    shape = Shape(
        package="resource.resources",
        model="ResourceGroup",
        api_version="2024-03-01",
        namespace="Microsoft.Resources",
        segments=(("resourceGroups", "resourceGroupName"),),
        address=(),
        located=True,
    )

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        return {**inputs, "location": inputs.get("location") or cloud.config.get("location")}

    @override
    def id(self, cloud: Cloud, inputs: Properties) -> str:
        return f"/subscriptions/{cloud.subscription}/resourceGroups/{inputs['resourceGroupName']}"

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        group = cloud.find(id, GROUP)
        if group is None:
            return
        clusters = ClusterKind()
        for record in cloud.store.everything():
            if record.id.lower().startswith(f"{group.id.lower()}/"):
                if record.type == clusters.token:
                    clusters.delete(cloud, record.id)
                cloud.store.remove(record.id)
        cloud.store.remove(group.id)
