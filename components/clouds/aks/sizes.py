"""The agent pools that a cluster has already, with the sizes that their autoscaler gave them.

The provider sends a pool whole, with its ``count``
(https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/crud/crud.go). One that is ignored is
sent as it was recorded (https://www.pulumi.com/docs/iac/concepts/resources/options/ignorechanges/), which Azure refuses
while the pool has another size (https://github.com/hashicorp/terraform-provider-azurerm/pull/4543), or obeys, and ends
nodes that work (https://github.com/kubernetes-sigs/cluster-api-provider-azure/pull/1991). Whether it still refuses is
not certain; the size that a pool has is right either way, also beside a new minimum above it
(https://github.com/Azure/AKS/issues/1758).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from catalog.aks.naming import pool_name
from components.settings import Settings
from concepts.pool import Pool

_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"
_POOL: Final = "azure-native:containerservice:getAgentPool"

# ``PulumiAzcoreResponseError`` in
# https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/client_azcore.go
_NOT_THERE: Final = "Status=404 "


class Sizes:
    """The agent pools of a stack's cluster; none if it does not exist yet (``cluster_exists``).

    Raises:
        Exception: Azure does not say whether there is such a cluster.
    """

    def __init__(self, settings: Settings, parent: pulumi.Resource) -> None:
        # Both have the same name (``AksCluster``), known before either is declared.
        self._place = {"resourceGroupName": settings.cluster_name, "resourceName": settings.cluster_name}
        self._parent = parent
        found = _found(_CLUSTER, self._place, parent)
        self.cluster_exists = bool(found)
        profiles = found.get("agentPoolProfiles") or ()
        self._names = frozenset(profile["name"] for profile in profiles)

    def count(self, pool: Pool, after: Sequence[pulumi.Resource]) -> pulumi.Input[int]:
        """What to send as the pool's ``count``: the nodes that it has when all of ``after`` is up to date.

        A new pool has its minimum, and so has one that no autoscaler changes.
        """
        name = pool_name(pool.name)
        if not pool.autoscaled or name not in self._names:
            return pool.min_nodes
        # In a preview nothing changes meanwhile, and what is still to be made would leave the size unknown.
        turn = [] if pulumi.runtime.is_dry_run() else list(after)
        found = pulumi.runtime.invoke_output(
            _POOL,
            {**self._place, "agentPoolName": name},
            pulumi.InvokeOutputOptions(parent=self._parent, depends_on=turn),
        )
        return found.apply(lambda its: int(its["count"]))


def _found(token: str, arguments: Mapping[str, Any], parent: pulumi.Resource) -> Mapping[str, Any]:
    """The answer to a look-up, empty if there is no such resource.

    There is no look-up that says so without failing: https://github.com/pulumi/pulumi/issues/12346.
    """
    try:
        found: Mapping[str, Any] = pulumi.runtime.invoke(token, arguments, pulumi.InvokeOptions(parent=parent)).value
    except Exception as error:
        if _NOT_THERE in str(error):
            return {}
        raise
    return found
