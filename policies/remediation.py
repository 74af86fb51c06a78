"""Puts right what breaks a rule, on explicit request: the level ``remediate``.

Only what cannot lose anything: the GPU taint on a GPU pool that is declared as a resource of its own. Everything else
stays a violation. The engine prints each change as a remediation, and the rule still judges the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.extract import Declared, read
from policies.extract.remediation import ADD_TAINT
from policies.rules.model import GPU_TAINT, NodeGroup
from policies.rules.node_groups import TAINT

Remedy = Callable[[Declared, dict[str, Any]], bool]
"""Changes the engine's own properties in place; whether it did."""


def remediated(rule: str, declared: Declared, properties: dict[str, Any]) -> dict[str, Any] | None:
    """The engine's own ``properties`` of ``declared``, changed so that ``rule`` holds; ``None`` where that is not safe.

    Secrets and unknown values stay as they are.
    """
    return properties if REMEDIES[rule](declared, properties) else None


def _add_gpu_taint(declared: Declared, properties: dict[str, Any]) -> bool:
    add = ADD_TAINT.get(declared.type)
    groups = [item for item in read(declared) if isinstance(item, NodeGroup)]
    # A cluster with pools inside is not one pool: which of them is meant would have to be guessed.
    return add is not None and len(groups) == 1 and add(properties, GPU_TAINT)


REMEDIES: Final[Mapping[str, Remedy]] = {TAINT: _add_gpu_taint}
"""Rule → what puts it right."""
