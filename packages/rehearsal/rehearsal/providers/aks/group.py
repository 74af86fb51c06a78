"""Resource groups. Deleting one deletes its contents."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.aks.cloud import GROUP_ID
from rehearsal.providers.resource import Reference, SimulatedResource

GROUP: Final = "azure-native:resources:ResourceGroup"
IN_GROUP: Final = {"resourceGroupName": Reference(GROUP, "part")}

ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(token=GROUP, id=GROUP_ID, name="resourceGroupName"),
)
