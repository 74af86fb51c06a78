"""Fixes violations on explicit request: the level ``remediate``.

Only changes that cannot lose anything: the GPU taint and the label of GPU nodes on a GPU pool that is a separate
resource. A pool inside its cluster's declaration is not changed, because that could replace the cluster. Everything
else remains a violation. The engine prints each change as a remediation, and the rule still checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import GPU_PRESENT_LABEL
from facts.concepts.pool import resource_taint
from policies.readers import read
from policies.readers.registry import additions_to
from policies.readers.resource import Declared
from policies.readers.taints import Additions
from policies.rules.node_groups import gpu_taint, present_label

REMEDIES: Final[Mapping[str, Callable[[Additions, dict[str, Any], NodeGroup], bool]]] = {
    gpu_taint.id: lambda pool, properties, group: pool.add_taint(properties, resource_taint(group.gpus.resource)),
    present_label.id: lambda pool, properties, _: pool.add_label(properties, GPU_PRESENT_LABEL, "true"),
}
"""Rule → its fix: changes the engine's properties in place; returns whether it did."""


def remediated(rule: str, declared: Declared, properties: dict[str, Any]) -> dict[str, Any] | None:
    """The engine's ``properties`` of ``declared``, changed to satisfy ``rule``; ``None`` if that is not safe.

    Secrets and unknown values are preserved.
    """
    pool = additions_to(declared.type)
    groups = [item for item in read(declared) if isinstance(item, NodeGroup)]
    # With several pools in one resource, which of them to change is ambiguous.
    changed = pool is not None and len(groups) == 1 and REMEDIES[rule](pool, properties, groups[0])
    return properties if changed else None
