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
from facts.concepts.pool import GPU_TAINT
from policies.readers import read
from policies.readers.registry import additions_to
from policies.readers.resource import Declared
from policies.rules.node_groups import gpu_taint, present_label

Remedy = Callable[[Declared, dict[str, Any]], bool]
"""Changes the engine's properties in place; returns whether it did."""


def remediated(rule: str, declared: Declared, properties: dict[str, Any]) -> dict[str, Any] | None:
    """The engine's ``properties`` of ``declared``, changed to satisfy ``rule``; ``None`` if that is not safe.

    Secrets and unknown values are preserved.
    """
    return properties if REMEDIES[rule](declared, properties) else None


def _add_gpu_taint(declared: Declared, properties: dict[str, Any]) -> bool:
    known = additions_to(declared.type)
    return known is not None and _is_one_group(declared) and known.add_taint(properties, GPU_TAINT)


def _add_present_label(declared: Declared, properties: dict[str, Any]) -> bool:
    known = additions_to(declared.type)
    return known is not None and _is_one_group(declared) and known.add_label(properties, GPU_PRESENT_LABEL, "true")


def _is_one_group(declared: Declared) -> bool:
    """Whether the resource is exactly one pool: with several, the right one is ambiguous."""
    return len([item for item in read(declared) if isinstance(item, NodeGroup)]) == 1


REMEDIES: Final[Mapping[str, Remedy]] = {gpu_taint.id: _add_gpu_taint, present_label.id: _add_present_label}
"""Rule → its fix."""
