"""What the inputs of pulumi-aws are called in the requests of AWS that make the resources: reads ``names.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import table


@dataclass(frozen=True)
class To:
    """Sent as the member ``name`` of the same structure."""

    name: str


@dataclass(frozen=True)
class Local:
    """No part of this request, but read by the simulated provider; the fields are those of ``names.yaml``."""

    like: str = ""
    each: str = ""


Names = Mapping[str, To | Local]


@dataclass(frozen=True)
class Request:
    """The request that makes a resource, in botocore's model of ``service``; ``names`` are by structure."""

    service: str
    operation: str
    body: str = ""
    names: Mapping[str, Names] = field(default_factory=dict)


EVERYWHERE: Final = ("region", "tags", "namePrefix")
"""Inputs of many types and of no request; tags have a form of their own in each service."""


def _request(raw: Mapping[str, Any]) -> Request:
    names = {
        structure: {key: To(rule) if isinstance(rule, str) else Local(**rule) for key, rule in rules.items()}
        for structure, rules in raw.get("names", {}).items()
    }
    service, operation = raw["request"].split()
    return Request(service, operation, raw.get("body", ""), names)


REQUESTS: Final[Mapping[str, Request]] = {
    token: _request(raw) for token, raw in table(Path(__file__).with_name("names.yaml")).items()
}
"""Type token → the request."""
