"""Reads Azure Monitor's autoscale settings, which keep machines of a scale set against the cluster's autoscaler.

https://learn.microsoft.com/azure/azure-monitor/autoscale/autoscale-understanding-settings
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Minimum
from facts.concepts.unknown import amount, at, coalesce, items, text
from policies.readers.resource import Declared, Item, Reader

_TARGETS: Final = ("targetResourceUri", "targetResourceId")


def read_setting(declared: Declared) -> Iterable[Item]:
    """``azure-native:monitor:AutoscaleSetting`` and ``azure:monitoring/autoscaleSetting:AutoscaleSetting``."""
    inputs = declared.properties
    if str(inputs.get("enabled")).lower() == "false":
        return
    target = text(coalesce(*(inputs.get(name) for name in _TARGETS)))
    for number, profile in enumerate(items(inputs.get("profiles"))):
        yield Minimum(
            what=f"autoscale setting '{declared.name}'",
            nodes=amount(at(profile, "capacity", "minimum")),
            group=target.rpartition("/")[2] if isinstance(target, str) else target,
            declared_at=tuple(urn for name in _TARGETS for urn in declared.dependencies.get(name, ())),
            where=f"profiles[{number}].capacity.minimum",
            resource=declared.urn,
        )


READERS: Final[Mapping[str, Reader]] = {
    "azure-native*:insights*:AutoscaleSetting": read_setting,
    "azure-native*:monitor*:AutoscaleSetting": read_setting,
    "azure:monitoring/autoscaleSetting:AutoscaleSetting": read_setting,
}
