"""What a cloud's provider does with each input, by its own source: the facts of ``provider.csv`` in a source's folder.

Each file is an extract of sources that its comments name, so that schemas are made without a network.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import SourceError
from schemas.sources.sdk import Raw

EXTRACT: Final = "provider.csv"


@dataclass(frozen=True)
class Fact:
    """A property of a resource: the source's names, with dots into blocks.

    Args:
        resource: the type token of Pulumi.
        property: its path.
        replaces: ``change``: any change of it replaces the resource; ``some``: those that the provider's
            code says; ``presence``: adding the block or taking it away; ``refused``: the
            provider sends any change, which the cloud refuses (``default`` is the cloud's).
        computed: ``yes``: left out, it is as the cloud has it.
        default: what the provider takes if it is left out, as JSON has it.
        unordered: ``yes``: a list whose order means nothing.
        sends: ``zero``: left out of a declared block, it is sent as its zero value; ``creation``: it is sent when the
            resource is created, and by no update.
    """

    resource: str
    property: str
    replaces: str = ""
    computed: str = ""
    default: str = ""
    unordered: str = ""
    sends: str = ""


_SOURCE: Final = re.compile(
    r"# https://github\.com/[^/]+/(?P<repository>[^/ ]+)(?:/blob/\w+/(?P<file>\S+))? at (?P<version>.+)"
)


def recorded(folder: Path) -> tuple[dict[str, str], list[Fact]]:
    """The sources (file, or repository → its version) and what ``provider.csv`` in a source's folder says."""
    lines = (folder / EXTRACT).read_text(encoding="utf-8").splitlines()
    named = [match for line in lines if (match := _SOURCE.fullmatch(line))]
    facts = csv.DictReader(line for line in lines if not line.startswith("#"))
    sources = {each["file"] or each["repository"]: each["version"] for each in named}
    return {name: _version(each) for name, each in sources.items()}, [Fact(**row) for row in facts]


def _version(text: str) -> str:
    return f"commit {text}" if re.fullmatch("[0-9a-f]{40}", text) else text


def mark(objects: Mapping[str, Mapping[str, Any]], root: str, facts: list[Fact]) -> None:
    """Put the facts of a type into the properties below the object ``root``.

    Raises:
        SourceError: the SDK knows no input of that name.
    """
    for fact in facts:
        found = _property(objects, root, fact.property.split("."))
        if found is None:
            raise SourceError(f"{fact.resource}: the SDK has no {fact.property}: correct the source's {EXTRACT}")
        if "refused" in found:
            continue
        found |= {
            **({"replaces": fact.replaces} if fact.replaces else {}),
            **({"computed": True} if fact.computed else {}),
            **({"default": _value(fact.default, found["type"])} if fact.default else {}),
            **({"unordered": True} if fact.unordered else {}),
            **({"sends": fact.sends} if fact.sends else {}),
        }


def _property(objects: Mapping[str, Mapping[str, Any]], root: str, path: list[str]) -> Raw | None:
    """The property at a path; an empty one below an input that is not simulated."""
    properties, found = objects[root]["properties"], None
    for name in path:
        if properties is None:
            return {"type": "any"}
        found = next((properties[each] for each in names(name) if each in properties), None)
        if found is None:
            return None
        block = found
        while block["type"] == "list":
            block = block["items"]
        properties = objects[block["object"]]["properties"] if "object" in block else None
    return found


def names(name: str) -> Iterator[str]:
    """What Pulumi may call a property of Terraform: a list has its plural.

    https://github.com/pulumi/pulumi-terraform-bridge/blob/main/pkg/tfbridge/names.go
    """
    first, *rest = name.split("_")
    camel = first + "".join(each.capitalize() for each in rest)
    yield from (camel, f"{camel}s", f"{camel}es", re.sub("y$", "ies", camel), re.sub("s$", "", camel))


def _value(text: str, type: str) -> Any:
    return {"boolean": lambda: text == "true", "integer": lambda: int(text), "number": lambda: float(text)}.get(
        type, lambda: text
    )()
