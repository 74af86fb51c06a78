"""Finds configurations of NVIDIA's device plugin that offer one GPU several times (time slicing, MPS).

https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, Maybe, whole

_SHARING: Final = ("timeSlicing", "mps")
# The configuration is mostly a text inside of a ConfigMap or of a chart's values, in YAML or in JSON.
_SHARED_TEXT: Final = re.compile(r"\b(?:timeSlicing|mps)\b\"?\s*:")
_REPLICAS_TEXT: Final = re.compile(r"\breplicas\b\"?\s*:\s*\"?(\d+)")


def replicated(value: Any) -> Maybe[int | None]:
    """How many times a GPU is offered at most, anywhere in ``value``; ``None`` if it is not shared."""
    counts = list(_counts(value, sharing=False))
    if UNKNOWN in counts:
        return UNKNOWN
    most = max((count for count in counts if count is not UNKNOWN), default=1)
    return most if most > 1 else None


def _counts(value: Any, sharing: bool) -> Iterator[Maybe[int]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if sharing and key == "replicas":
                yield UNKNOWN if (count := whole(part)) is UNKNOWN else count or 1
            else:
                yield from _counts(part, sharing or key in _SHARING)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _counts(part, sharing)
    elif isinstance(value, str) and "nvidia.com/" in value and (shared := _SHARED_TEXT.search(value)):
        yield from (int(count) for count in _REPLICAS_TEXT.findall(value, shared.start()))
