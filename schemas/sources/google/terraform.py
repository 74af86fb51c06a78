"""What Google's provider does with each input, by its own source: Terraform's, which pulumi-gcp wraps.

``provider.csv`` is an extract of https://github.com/hashicorp/terraform-provider-google-beta, made by ``python -m
schemas.generate --provider REPOSITORY gke``. The types are those of ``names.yaml``; a property is listed if there is
something to say.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import table
from schemas.sources.golang import FunctionCall, Name, Sources
from schemas.sources.provider import EXTRACT, Fact

FOLDER: Final = Path(__file__).parent
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
    types = {token: each["provider"] for token, each in table(FOLDER / "names.yaml").items()}
    packages = {place.partition(".")[0]: _FOLDERS[0] for place in types.values()} | dict.fromkeys(_SHARED, _FOLDERS[1])
    texts = {name: _package(repository, folder.format(name)) for name, folder in packages.items()}
    head = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    with (FOLDER / EXTRACT).open("w", newline="", encoding="utf-8") as file:
        file.write(f"# https://github.com/hashicorp/{REPOSITORY} at {commit}\n")
        writer = csv.DictWriter(file, [each.name for each in fields(Fact)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(fact) for fact in extracted(Sources(texts, CALLS), types))
