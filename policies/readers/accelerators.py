"""Accelerators that are no NVIDIA GPUs, by the machine types that bring them. No two sellers share a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from facts.concepts.declared import NodeGroup

T = TypeVar("T")

# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus,
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html,
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    "TPUs": re.compile(r"(?:ct\d\w*|tpu\d\w*)-"),
    "Trainium chips": re.compile(r"trn\d\w*\."),
    "Inferentia chips": re.compile(r"inf\d\w*\."),
    "Gaudi accelerators": re.compile(r"dl1\."),
    "Qualcomm accelerators": re.compile(r"dl2q\."),
    "AMD GPUs": re.compile(r"g4ad\.|standard_(?:nv\d+as_v4$|ng\d|n\w*_(?:mi\d+|v710))", re.IGNORECASE),
}


def accelerated(item: T) -> T:
    """A node group with the accelerators of its machine types; others as they are."""
    if not isinstance(item, NodeGroup):
        return item
    types = [one for one in (*item.machine_types, item.machine_type) if isinstance(one, str)]
    # Some APIs take a link for a machine type.
    names = [one.rpartition("/")[2] for one in types]
    matches = (words for words, pattern in _WORDS.items() if any(pattern.match(name) for name in names))
    return replace(item, accelerators=item.accelerators or next(matches, None))
