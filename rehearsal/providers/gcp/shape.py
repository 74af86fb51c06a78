"""What the provider knows about one resource type before it talks to the API: its schema, defaults, replacements."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rehearsal.providers.base import UNKNOWN, CheckFailure, Properties, Request
from rehearsal.providers.gcp.discovery import Document, document
from rehearsal.providers.gcp.tables.required import REQUIRED
from rehearsal.providers.gcp.translate import Table, Translation, translate

DELETION_POLICIES: Final = ("DELETE", "PREVENT", "ABANDON")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One resource type's inputs.

    ``api``/``schema`` name the request's shape in Google's discovery documents. ``required`` lists inputs that must be
    there, ``defaults`` maps input paths to the provider's default (a nested one applies only if its block is given),
    ``replaces`` the input paths that cannot be updated in place (``x[]``: only adding or removing elements),
    ``links`` the inputs in which a resource's name and its URL mean the same, ``unordered`` the lists that are sets.
    ``name_limit`` is the longest auto-generated name; 0 means the type is not auto-named.
    """

    api: str
    schema: str
    table: Table
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    name_limit: int = 63

    @property
    def absent(self) -> tuple[Any, ...]:
        """The provider's SDK cannot tell an absent value from a zero one; other defaults were filled in before."""
        return ("", 0, 0.0, False)

    @property
    def document(self) -> Document:
        """The discovery document that has the schema."""
        return document(self.api)

    def translate(self, inputs: Properties) -> Translation:
        """The request body for ``inputs``; failures tell which inputs the API does not know."""
        required = {**REQUIRED, self.schema: self.required}
        return translate(self.document, self.table, required, self.schema, inputs)

    def failures(self, inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that needs no server: missing, unknown, mistyped, outside the enum."""
        failures: list[CheckFailure] = []
        policy = inputs.get("deletionPolicy", "DELETE")
        if policy is not UNKNOWN and policy not in DELETION_POLICIES:
            failures.append(CheckFailure("deletionPolicy", f"{policy!r} is not one of {', '.join(DELETION_POLICIES)}"))
        translation = self.translate(inputs)
        problems = self.document.problems(translation.body, self.schema)
        return [*failures, *translation.failures, *map(translation.failure, problems)]

    def with_defaults(self, request: Request, olds: Properties, news: Properties) -> Properties:
        """``news`` with the provider's defaults and, where the program gave none, the name it had or a new one."""
        inputs: Properties = copy.deepcopy(news)
        for path, value in self.defaults.items():
            *parents, last = path.split(".")
            block: Any = inputs
            for parent in parents:
                block = block.get(parent) if isinstance(block, dict) else None
            if isinstance(block, dict) and block.get(last) is None:
                block[last] = value
        if self.name_limit and inputs.get("name") is None:
            inputs["name"] = olds.get("name") or auto_name(request, self.name_limit)
        return inputs


def auto_name(request: Request, limit: int) -> str:
    """``<resource name>-<7 hex digits>`` in lower case, as the provider names what the program did not name."""
    digits = f"{random.Random(request.random_seed or None).getrandbits(28):07x}"
    return f"{request.name.lower()[: limit - 8]}-{digits}"


def auto_named(request: Request, name: str) -> bool:
    """Whether ``name`` is one that :func:`auto_name` makes, so that a replacement may exist beside its predecessor."""
    head, _, tail = name.rpartition("-")
    return (
        bool(head) and request.name.lower().startswith(head) and len(tail) == 7 and set(tail) <= set("0123456789abcdef")
    )
