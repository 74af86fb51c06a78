"""Makes the schemas; ``--check`` only says whether they are what this would make.

python -m schemas.generate [--check] [--provider REPOSITORY] [CLOUD …]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from facts.catalog.plugins import PLUGINS
from schemas import FOLDER
from schemas.sources import sdk
from schemas.sources.collecting import SourceError, explained
from schemas.sources.google import terraform
from schemas.stubs import stub
from schemas.used import SOURCES, USED

_PLUGINS: Final = ("gcp", "aws", "azure-native", "kubernetes")


def files(cloud: str) -> Iterator[tuple[Path, str]]:
    """The files of one cloud's schema: path and content. Raises SourceError: a type or input needs an explanation."""
    for token in USED[cloud]:
        with explained(
            token, f"Correct it in schemas/sources/{SOURCES[cloud]}: package:module/name:Name, as in the program"
        ):
            sdk.inputs_of(token)
    made = import_module(f"schemas.sources.{Path(SOURCES[cloud]).parent}").made(USED[cloud])
    yield FOLDER / f"{cloud}.json", _json(made)
    yield FOLDER / f"{cloud}.pyi", stub(cloud, made)


def plugins() -> tuple[Path, str]:
    """The file of the plugins' versions, which are those of the installed SDKs: path and content."""
    return PLUGINS, json.dumps({each: version(f"pulumi-{each}") for each in _PLUGINS}, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the files; 1 if one is stale or cannot be made."""
    parser = argparse.ArgumentParser(description="Make the schemas of the clouds' providers.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file is stale")
    parser.add_argument("clouds", nargs="*", default=list(USED), help=f"some of {', '.join(USED)}; all by default")
    parser.add_argument("--provider", type=Path, help="read a newer terraform-provider-google-beta: its git directory")
    options = parser.parse_args(arguments)
    if options.provider is not None:
        terraform.extract(options.provider)
    try:
        made = [plugins(), *(file for cloud in options.clouds for file in files(cloud))]
    except SourceError as error:
        sys.stderr.write(f"schemas: {error}\n")
        return 1
    stale = []
    for path, content in made:
        if options.check:
            fresh = path.exists() and path.read_text(encoding="utf-8") == content
            stale += [] if fresh else [path.name]
        else:
            path.write_text(content, encoding="utf-8")
    if stale:
        sys.stderr.write(f"schemas: {', '.join(stale)} is not what the installed packages say: run `make schemas`\n")
    return 1 if stale else 0


def _json(made: dict[str, Any]) -> str:
    """One line for each resource type, property and source, so that a change of the vendor's is a readable diff."""
    sections = []
    for name in ("sources", "resources"):
        lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(each)}" for key, each in sorted(made[name].items()))
        sections.append(f'  "{name}": {{\n{lines}\n  }}')
    objects = ",\n".join(f"    {json.dumps(name)}: {_object(each)}" for name, each in sorted(made["objects"].items()))
    sections.append(f'  "objects": {{\n{objects}\n  }}')
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _object(each: dict[str, Any]) -> str:
    rest = {key: value for key, value in each.items() if key != "properties"}
    lines = ",\n".join(f"        {json.dumps(key)}: {json.dumps(value)}" for key, value in each["properties"].items())
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rest.items())
    return f'{{\n      {head},\n      "properties": {{\n{lines}\n      }}\n    }}'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
