"""Reads what EKS add-ons are given as values.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html: ``configurationValues``, JSON or YAML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.unknown import text
from policies.readers.kubernetes.chart_values import parsed, placed
from policies.readers.resource import Declared, Item, Reader


def read_addon(declared: Declared) -> Iterable[Item]:
    """``aws:eks/addon:Addon``: its pods, where its values place them."""
    name = text(declared.properties.get("addonName"))
    called = name if isinstance(name, str) else declared.name
    return placed(parsed(declared.properties.get("configurationValues")), called, "kube-system", declared.urn)


GENERIC: Final = (read_addon,)

READERS: Final[Mapping[str, Reader]] = {"aws:eks/addon:Addon": read_addon}
