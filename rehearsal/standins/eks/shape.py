"""What the provider knows about one resource type before it talks to AWS: its request, defaults, replacements."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from concepts.unknown import UNKNOWN
from rehearsal.standins.base import CheckFailure, Properties, Request
from rehearsal.standins.eks.translate import Table, Translation, translate
from rehearsal.standins.values import at

Tags = Literal["", "specifications", "list", "map", "kms"]
"""How a request carries tags; ``""``: it does not."""

EVERYWHERE: Final = ("region",)
"""Inputs that every resource has and no request contains."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One resource type's inputs.

    ``service``/``operation`` name the request that creates it, in botocore's service models. ``required`` lists inputs
    that must be there, ``one_of`` those of which exactly one must be, ``defaults`` maps input paths to the provider's
    default (a nested one applies only if its block is given), ``replaces`` the input paths that cannot be updated in
    place (``x[]``: only adding or removing elements), ``unordered`` the lists that are sets. ``local``
    inputs go into other requests.
    ``name`` is the input that is made up if the program leaves it open, at most ``name_limit`` characters long.
    """

    service: str
    operation: str
    body: str = ""
    """The structure that the inputs describe, where it is not the whole request (``RequestLaunchTemplateData``)."""
    table: Table = field(default_factory=dict)
    local: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    # The provider cannot tell an input left open from a zero one; other defaults were filled in before.
    absent: tuple[Any, ...] = ("", False, 0, 0.0)
    tags: Tags = ""
    tagged: str = ""
    """The resource's type in tag specifications (``vpc``)."""
    name: str = ""
    name_limit: int = 64

    def translate(self, inputs: Properties) -> Translation:
        """The request for ``inputs``; failures tell which inputs AWS would not accept."""
        ours = {*EVERYWHERE, *self.local, "namePrefix", "tags"}
        sent = {key: value for key, value in inputs.items() if key not in ours}
        translation = translate(self.service, self.operation, self.table, sent, self.body)
        tags = inputs.get("tags")
        if self.tags and tags is not UNKNOWN and tags:
            translation.params.update(self._tag_params(tags))
        return translation

    def failures(self, inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that needs no server: missing, unknown, mistyped, outside the enum."""
        missing = [CheckFailure(key, "is required") for key in self.required if inputs.get(key) is None]
        given = [key for key in self.one_of if inputs.get(key) is not None]
        if self.one_of and len(given) != 1:
            missing.append(
                CheckFailure(given[-1] if given else self.one_of[0], f"give one of {', '.join(self.one_of)}")
            )
        known = {failure.property for failure in missing}
        refused = [failure for failure in self.translate(inputs).failures if failure.property not in known]
        return [*missing, *refused, *_tag_failures(inputs)]

    def with_defaults(self, request: Request, olds: Properties, news: Properties) -> Properties:
        """``news`` with the provider's defaults and, where the program gave none, the name it had or a new one."""
        inputs: Properties = copy.deepcopy(news)
        for path, value in self.defaults.items():
            *parents, last = path.split(".")
            block = at(inputs, ".".join(parents)) if parents else inputs
            if isinstance(block, dict) and block.get(last) is None:
                block[last] = value
        if self.name and inputs.get(self.name) is None:
            prefix = inputs.get(f"{self.name}Prefix")
            made = auto_name(request, self.name_limit, prefix if isinstance(prefix, str) else f"{request.name}-")
            inputs[self.name] = olds.get(self.name) or made
        return inputs

    def _tag_params(self, tags: Properties) -> dict[str, Any]:
        if self.tags == "map":
            return {"tags": tags}
        key, value = ("TagKey", "TagValue") if self.tags == "kms" else ("Key", "Value")
        pairs = [{key: name, value: text} for name, text in tags.items()]
        if self.tags == "specifications":
            return {"TagSpecifications": [{"ResourceType": self.tagged, "Tags": pairs}]}
        return {"Tags": pairs}


def auto_name(request: Request, limit: int, prefix: str) -> str:
    """``<prefix><7 hex digits>``, as the provider names what the program did not name."""
    digits = f"{random.Random(request.random_seed or None).getrandbits(28):07x}"
    return f"{prefix[: limit - 7]}{digits}"


def auto_named(request: Request, name: str) -> bool:
    """Whether ``name`` is one that :func:`auto_name` makes, so that a replacement may exist beside its predecessor."""
    head, tail = name[:-7], name[-7:]
    return bool(head) and f"{request.name}-".startswith(head) and set(tail) <= set("0123456789abcdef")


def _tag_failures(inputs: Properties) -> list[CheckFailure]:
    """https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html (naming limits)."""
    tags = inputs.get("tags")
    if not isinstance(tags, dict):
        return []
    failures = [
        CheckFailure(f'tags["{key}"]', "keys of 1 to 128 characters that do not begin with aws: are allowed")
        for key in tags
        if not 1 <= len(key) <= 128 or key.lower().startswith("aws:")
    ]
    long = [key for key, value in tags.items() if isinstance(value, str) and len(value) > 256]
    failures += [CheckFailure(f'tags["{key}"]', "values of at most 256 characters are allowed") for key in long]
    if len(tags) > 50:
        failures.append(CheckFailure("tags", f"{len(tags)} tags are more than the 50 that a resource may have"))
    return failures
