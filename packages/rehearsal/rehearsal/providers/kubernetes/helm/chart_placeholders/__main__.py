"""Writes a chart's placeholder from its source.

``python -m rehearsal.providers.kubernetes.helm.chart_placeholders SOURCE REPOSITORY``, with options
``[--only KEY …] [--open PATH …] [--kinds …]``

``SOURCE`` is the chart's folder, its dependencies' below ``charts/``; ``REPOSITORY`` is where it is published. A value
that is empty by default takes anything, so does what ``--open`` names; ``--only`` leaves out all other keys;
``--kinds`` are those of its kinds that a program declares objects of.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.kubernetes.helm.chart_placeholders import KNOWN
from rehearsal.providers.values import merged

_DIRECTIVE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_WORDS: Final = {bool: "flag", str: "scalar", int: "scalar", float: "scalar", list: "list"}


def known(
    source: Path, repository: str, only: Collection[str], opened: Collection[str], kinds: Collection[str]
) -> dict[str, Any]:
    """The content of the file."""
    about = yaml.safe_load((source / "Chart.yaml").read_text(encoding="utf-8"))
    values = _values(source)
    selected = {key: value for key, value in values.items() if not only or key in only}
    return {
        "published": f"{repository.rstrip('/')}/{about['name']}",
        "version": str(about["version"]),
        "kinds": list(_kinds(source, kinds)),
        "values": _keys(selected, (), opened),
    }


def _values(source: Path) -> dict[str, Any]:
    values = yaml.safe_load((source / "values.yaml").read_text(encoding="utf-8")) or {}
    below = source / "charts"
    for chart in sorted(below.iterdir()) if below.is_dir() else ():
        if (chart / "values.yaml").is_file():
            # A chart sets some of the values of those that it depends on.
            values[chart.name] = merged(_values(chart), values.get(chart.name) or {})
    return values


def _keys(value: Any, path: tuple[str, ...], opened: Collection[str]) -> Any:
    if isinstance(value, dict):
        if not value or ".".join(path) in opened:
            return "mapping"
        return {str(key): _keys(part, (*path, str(key)), opened) for key, part in value.items()}
    return "any" if value in (None, "", []) and not isinstance(value, list) else _WORDS[type(value)]


def _kinds(source: Path, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """The definitions of those kinds, in their newest version; they stand in templates, whose directives are empty."""
    for file in sorted(source.rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        kind = re.search(r"^ {4}kind: (\S+)$", text, re.MULTILINE)
        if kind is None or kind[1] not in kinds or "kind: CustomResourceDefinition" not in text:
            continue
        spec = yaml.safe_load(_DIRECTIVE.sub("", text))["spec"]
        versions = {one["name"]: one for one in spec["versions"]}
        newest = versions[max(versions, key=lambda name: ("alpha" not in name, "beta" not in name, name))]
        yield {
            "group": spec["group"],
            "version": newest["name"],
            "kind": spec["names"]["kind"],
            "plural": spec["names"]["plural"],
            "scope": spec["scope"],
            "schema": _undescribed(newest["schema"]["openAPIV3Schema"]),
        }


def _undescribed(schema: Any) -> Any:
    """The schema without its descriptions."""
    if isinstance(schema, dict):
        return {
            key: _undescribed(below)
            for key, below in schema.items()
            if not (key == "description" and isinstance(below, str))
        }
    return [_undescribed(each) for each in schema] if isinstance(schema, list) else schema


def main(arguments: list[str] | None = None) -> int:
    """Write the file, and print where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m rehearsal.providers.kubernetes.helm.chart_placeholders", description=__doc__
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("repository")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--open", nargs="*", default=[])
    parser.add_argument("--kinds", nargs="*", default=[])
    options = parser.parse_args(arguments)
    content = known(options.source, options.repository, options.only, options.open, options.kinds)
    target = KNOWN / f"{content['published'].rpartition('/')[2]}.json"
    target.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
