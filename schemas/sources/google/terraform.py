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
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import table
from schemas.sources.golang import FunctionCall, Name, Sources
from schemas.sources.provider import EXTRACT, Fact, names

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
_FUNCTION: Final = re.compile(r"^func (\w+)\((.*?)^\}$", re.MULTILINE | re.DOTALL)
_FORCED: Final = re.compile(
    r'(?:(?P<owner>[\w.]+)\.)?ForceSendFields(?: =|:) *(?:append\([^"\n]*|\[\]string\{)(?P<fields>[\w", ]+)'
)
_CONDITION: Final = re.compile(r"(?:GetOkExists\(|&& \w+\.\(bool\))[^\n]*\{\n[^{}]*$")
"""At the end of a text: only a value that the program gives, or another input, has what follows done."""
_OF_PROGRAM: Final = re.compile(r"\.\(\w+\)")
"""In a value: it was an input."""


def extracted(sources: Sources, types: Mapping[str, str], own: Mapping[str, Collection[str]]) -> Iterator[Fact]:
    """The facts of the types: token → package and name of the function, or of a grant's schema.

    What is sent as zero is a fact of the API's object: package and object (``container:NodeNetworkConfig``). ``own``:
    token → the inputs that the provider never sends, in Pulumi's names.
    """
    zeros: set[tuple[str, str, str]] = set()
    for token, place in sorted(types.items()):
        package, _, name = place.partition(".")
        declared = sources.value(name, package)
        functions = dict(_FUNCTION.findall(sources.packages[package]))
        sent = _sent_by(_reached(functions, declared.get("Update"), "Update"))
        zeros |= {(package, *each) for each in _sent_as_zero(_reached(functions, declared.get("Create")), package)}
        if not name.startswith("Resource"):
            declared = {"Schema": {**declared, **sources.value(*_MEMBER)}}
        customized = dict(_customized(declared.get("CustomizeDiff"), functions))
        for fact in _facts(sources, token, package, sources.resolved(declared["Schema"], package), ""):
            fixed = Fact(**{**vars(fact), **customized.get(fact.property, {})})
            fixed = replace(fixed, sends="" if sent(fixed, own.get(token, ())) else "creation")
            if any(getattr(fixed, each.name) for each in fields(Fact)[2:]):
                yield fixed
    for package, block, field in sorted(zeros):
        yield Fact(f"{package}:{block}", field, sends="zero")


def _own(request: Mapping[str, Any]) -> set[str]:
    """The inputs that are in no request's body."""
    fields = (each for inputs in request["table"].values() for each in inputs.items())
    return {name for name, field in fields if isinstance(field, Mapping) and "refused" not in field}


def _reached(functions: Mapping[str, str], start: Any, kind: str = "") -> list[str]:
    """The source of the function ``start`` and of those that it calls, or of these with names that end in ``kind``."""
    reached = [start.text] if isinstance(start, Name) else []
    for name in reached:
        calls = re.findall(rf"\b(\w*{kind})\(", functions[name])
        reached += {*calls} & {*functions} - {*reached}
    return [functions[name] for name in reached]


def _sent_by(updates: list[str]) -> Callable[[Fact, Collection[str]], bool]:
    """Whether these functions send a change of a property, which they name then, or the block that it is in.

    What replaces the resource or is the provider's ``own`` counts as sent; all do if nothing can be updated.
    """
    named = {name for body in updates for name in re.findall(r'"([a-z]\w*)[^"\n]*"', body)}
    # Labels are sent together with those of the provider's configuration.
    named |= {"labels", "resource_labels"} if "effective_labels" in named else set()
    parts = {name for body in updates for name in re.findall(r'"([a-z]\w*)\.%d\."', body)}
    whole: set[str] = set()

    def sent(fact: Fact, own: Collection[str]) -> bool:
        first, _, below = fact.property.partition(".")
        input = below.partition(".")[0] if first in parts else first
        if not named or not input or input in named or {*own} & {*names(input)} or fact.replaces or fact.computed:
            return True
        if any(fact.property.startswith(f"{each}.") for each in whole):
            return True  # with its block
        whole.add(fact.property)
        return False

    return sent


def _sent_as_zero(bodies: list[str], package: str) -> Iterator[tuple[str, str]]:
    """Object and field of the API's client that these functions send whatever the program's value is.

    ``ForceSendFields`` lists the field, which is an input, under no condition but that its block is declared.
    """
    made = rf"&{package}\.(\w+)\{{"
    for body in bodies:
        for match in _FORCED.finditer(body):
            before, owner = body[: match.start()], match["owner"]
            if owner:
                blocks = re.findall(rf"{re.escape(owner)} :?= {made}", before)
            else:
                blocks = re.findall(made, before[: _opening(before) + 1])
            for field in re.findall(r'"(\w+)"', match["fields"]):
                value = re.search(rf"{re.escape(owner)}\.{field} = (.+)" if owner else rf"\b{field}: +(.+),", body)
                skipped = _CONDITION.search(before)
                if blocks and value and _OF_PROGRAM.search(value[1]) and not skipped:
                    yield blocks[-1], field[0].lower() + field[1:]


def _opening(text: str) -> int:
    """Where the brace is that is still open at the end of ``text``."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == "}") - (text[index] == "{")
        if depth < 0:
            return index
    return 0


def _customized(value: Any, functions: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """What functions of the provider's say of properties of which the schema does not say all."""
    name = value.text if isinstance(value, Name) else value.name if isinstance(value, FunctionCall) else ""
    if name in _CONFIGURED:
        yield _CONFIGURED[name], {"computed": ""}
    for body in _reached(functions, value) if name in functions else ():
        yield from ((path, {"replaces": "some"}) for path in map(_path, re.findall(r'\.ForceNew\("([^"]+)"\)', body)))
    if isinstance(value, FunctionCall):
        if name.startswith("customdiff.ForceNewIf"):
            yield _path(value.arguments[0]), {"replaces": "some"}
        if name == "tpgresource.DefaultProviderDeletionPolicy":
            yield "deletion_policy", {"computed": "", "default": value.arguments[0]}
        for each in value.arguments:
            yield from _customized(each, functions)


def _path(text: str) -> str:
    """A property's path without the index of its block, of which there is one."""
    return text.replace(".0.", ".")


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
    declared = table(FOLDER / "names.yaml")
    types = {token: each["provider"] for token, each in declared.items()}
    own = {token: _own(each) for token, each in declared.items()}
    packages = {place.partition(".")[0]: _FOLDERS[0] for place in types.values()} | dict.fromkeys(_SHARED, _FOLDERS[1])
    texts = {name: _package(repository, folder.format(name)) for name, folder in packages.items()}
    head = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    with (FOLDER / EXTRACT).open("w", newline="", encoding="utf-8") as file:
        file.write(f"# https://github.com/hashicorp/{REPOSITORY} at {commit}\n")
        writer = csv.DictWriter(file, [each.name for each in fields(Fact)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(vars(fact) for fact in extracted(Sources(texts, CALLS), types, own))
