"""Measurements as exporters write them: https://prometheus.io/docs/instrumenting/exposition_formats/"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """The ``value`` of a measurement with its ``labels``."""

    name: str
    labels: Mapping[str, str]
    value: float

    def __str__(self) -> str:
        # A label's value is escaped as a JSON string is, as long as it is ASCII, which Kubernetes' names are.
        labels = ",".join(f"{label}={json.dumps(value)}" for label, value in self.labels.items())
        return f"{self.name}{{{labels}}} {self.value}"


def text(samples: Iterable[Sample]) -> str:
    """What a scrape is answered."""
    return "".join(f"{sample}\n" for sample in samples)
