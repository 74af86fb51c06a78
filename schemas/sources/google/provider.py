"""What Google's provider does with each input, by its own source: Terraform's, which pulumi-gcp wraps.

``provider.csv`` is an extract of https://github.com/hashicorp/terraform-provider-google-beta, so that schemas are made
without a network: ``python -m schemas.generate --provider REPOSITORY gke``. The types are those of ``names.yaml``; a
property is listed if there is something to say.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import SourceError, table
from schemas.sources.golang import FunctionCall, Name, Sources
from schemas.sources.sdk import Raw

EXTRACT: Final = Path(__file__).with_name("provider.csv")
REPOSITORY: Final = "terraform-provider-google-beta"
_FOLDERS: Final = ("google-beta/services/{}", "google-beta/{}")
_SHARED: Final = ("tpgresource", "tpgiamresource")
_MEMBER: Final = ("IamMemberBaseSchema", "tpgiamresource")
"""What every grant to one member has, beside what says of what."""
_CONFIGURED: Final = {
    "tpgresource.DefaultProviderProject": "project",
    "tpgresource.DefaultProviderRegion": "region",
    "tpgresource.DefaultProviderZone": "zone",
}
"""What the provider takes from its own configuration where it seems to be the cloud's to say."""


@dataclass(frozen=True)
class Fact:
    """A property of a resource: Terraform's names, with dots into blocks.

    Args:
        resource: the type token of Pulumi.
        property: its path.
        replaces: ``change``: any change of it replaces the resource; ``presence``: adding the block or taking it away.
        computed: ``yes``: left out, it is as the cloud has it.
        default: what the provider takes if it is left out, as JSON has it.
        unordered: ``yes``: a list whose order means nothing.
    """

    resource: str
    property: str
    replaces: str = ""
    computed: str = ""
    default: str = ""
    unordered: str = ""


def recorded() -> tuple[str, list[Fact]]:
    """The commit of the provider, and what ``provider.csv`` says."""
    with EXTRACT.open(newline="", encoding="utf-8") as file:
        commit = file.readline().rpartition(" ")[2].strip()
        return commit, [Fact(**row) for row in csv.DictReader(file)]


def extracted(sources: Sources, types: Mapping[str, str]) -> Iterator[Fact]:
    """The facts of the types: token → package and name of the function, or of a grant's schema."""
    for token, place in sorted(types.items()):
        package, _, name = place.partition(".")
        declared = sources.value(name, package)
        if not name.startswith("Resource"):
            declared = {"Schema": {**declared, **sources.value(*_MEMBER)}}
        own = dict(_customized(declared.get("CustomizeDiff")))
        for fact in _facts(sources, token, package, sources.resolved(declared["Schema"], package), ""):
            fixed = Fact(**{**vars(fact), **own.get(fact.property, {})})
            if any(getattr(fixed, each.name) for each in fields(Fact)[2:]):
                yield fixed


def _customized(value: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """What a function of the provider's says of a property that its schema leaves to the cloud."""
    name = value.text if isinstance(value, Name) else value.name if isinstance(value, FunctionCall) else ""
    if name in _CONFIGURED:
        yield _CONFIGURED[name], {"computed": ""}
    if isinstance(value, FunctionCall):
        if name == "tpgresource.DefaultProviderDeletionPolicy":
            yield "deletion_policy", {"computed": "", "default": value.arguments[0]}
        for each in value.arguments:
            yield from _customized(each)


def _facts(sources: Sources, token: str, package: str, properties: Mapping[str, Any], above: str) -> Iterator[Fact]:
    for name, declared in properties.items():
        each = sources.resolved(declared, package)
        if not each.get("Optional") and not each.get("Required"):
            continue
        inner = sources.resolved(each.get("Elem"), package)
        block = inner["Schema"] if isinstance(inner, dict) and "Schema" in inner else None
        default = each.get("Default")
        yield Fact(
            token,
            above + name,
            ("change" if block is None else "presence") if each.get("ForceNew") else "",
            "yes" if each.get("Computed") else "",
            # A zero value is what the provider takes an input left open for, anyway.
            "" if not default else "true" if default is True else str(default),
            "yes" if each["Type"] == Name("schema.TypeSet") else "",
        )
        if block is not None:
            yield from _facts(sources, token, package, sources.resolved(block, package), f"{above}{name}.")


def mark(objects: Mapping[str, Mapping[str, Any]], root: str, facts: list[Fact]) -> None:
    """Put the facts of a type into the properties below the object ``root``.

    Raises:
        SourceError: the SDK knows no input of that name.
    """
    for fact in facts:
        found = _property(objects, root, fact.property.split("."))
        if found is None:
            raise SourceError(f"{fact.resource}: pulumi-gcp has no {fact.property}: correct {EXTRACT.name}")
        if "refused" in found:
            continue
        found |= {
            **({"replaces": fact.replaces} if fact.replaces else {}),
            **({"computed": True} if fact.computed else {}),
            **({"default": _value(fact.default, found["type"])} if fact.default else {}),
            **({"unordered": True} if fact.unordered else {}),
        }


def _property(objects: Mapping[str, Mapping[str, Any]], root: str, path: list[str]) -> Raw | None:
    """The property at a path; an empty one below an input that is not simulated."""
    properties, found = objects[root]["properties"], None
    for name in path:
        if properties is None:
            return {"type": "any"}
        found = next((properties[each] for each in _names(name) if each in properties), None)
        if found is None:
            return None
        block = found
        while block["type"] == "list":
            block = block["items"]
        properties = objects[block["object"]]["properties"] if "object" in block else None
    return found


def _names(name: str) -> Iterator[str]:
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


def _package(repository: Path, folder: str) -> str:
    command = ["git", "-C", str(repository), "archive", "HEAD", folder]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        sources = [each for each in files if re.fullmatch(rf"{folder}/\w+(?<!_test)\.go", each.name)]
        return "\n".join(file.read().decode("utf-8") for each in sources if (file := files.extractfile(each)))


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {**one, **other}


def _deletion_policy(default: str) -> dict[str, Any]:
    return {"Type": Name("schema.TypeString"), "Optional": True, "Default": default}


CALLS: Final = {"tpgresource.MergeSchemas": _both, "tpgresource.DeletionPolicySchemaEntry": _deletion_policy}
"""Functions that do more than return a literal."""


def extract(repository: Path) -> None:
    """Write ``provider.csv`` from the provider's repository (its git directory, at HEAD)."""
    types = {token: each["provider"] for token, each in table(Path(__file__).with_name("names.yaml")).items()}
    packages = {place.partition(".")[0]: _FOLDERS[0] for place in types.values()} | dict.fromkeys(_SHARED, _FOLDERS[1])
    texts = {name: _package(repository, folder.format(name)) for name, folder in packages.items()}
    head = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    with EXTRACT.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# https://github.com/hashicorp/{REPOSITORY} at {commit}\n")
        writer = csv.DictWriter(file, [each.name for each in fields(Fact)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(fact) for fact in extracted(Sources(texts, CALLS), types))
