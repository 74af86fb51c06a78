"""Placeholders for charts that a rehearsal may not download: their value keys and kinds, and an empty chart.

A file in ``known/`` holds facts of one version: the keys that its values take, and the kinds that it brings, each with
its schema. The real Helm checks a program's values against them and keeps the release, the API server its objects;
nothing of the chart runs, webhooks neither, and the verdict says so.

``python -m rehearsal.providers.kubernetes.helm.chart_placeholders SOURCE REPOSITORY`` writes such a file from a
chart's source, with options ``[--only KEY …] [--open PATH …] [--kinds …]``

``SOURCE`` is the chart's folder, its dependencies' below ``charts/``; ``REPOSITORY`` is where it is published. A value
that is empty by default takes anything, so does what ``--open`` names; ``--only`` leaves out all other keys;
``--kinds`` are those of its kinds that a program declares objects of.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.base import merged

KNOWN: Final = Path(__file__).parent / "known"


@dataclass(frozen=True)
class ChartPlaceholder:
    """``published`` is its repository and name. ``values`` are the keys that it takes, to what kind of value each;
    ``kinds`` are definitions that it brings."""

    published: str
    version: str
    values: Mapping[str, Any]
    kinds: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """The chart's name."""
        return self.published.rpartition("/")[2]


@functools.cache
def known_charts() -> Mapping[str, ChartPlaceholder]:
    """Every chart with a file, by its repository and name."""
    files = (json.loads(file.read_text(encoding="utf-8")) for file in sorted(KNOWN.glob("*.json")))
    charts = (ChartPlaceholder(each["published"], each["version"], each["values"], (*each["kinds"],)) for each in files)
    return {chart.published: chart for chart in charts}


@functools.cache
def placeholder(published: str) -> Path:
    """The folder of an empty chart, of the same name, version, keys and kinds; it lives as long as the process.

    Raises KeyError: nothing is known of such a chart.
    """
    chart = known_charts()[published]
    folder = Path(_written().name) / chart.name
    (folder / "crds").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": chart.name, "version": chart.version, "description": "a placeholder"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(about))
    (folder / "values.schema.json").write_text(json.dumps(_schema(chart.values)))
    for kind in chart.kinds:
        definition = _definition(**kind)
        (folder / "crds" / f"{definition['metadata']['name']}.yaml").write_text(yaml.safe_dump(definition))
    return folder


# What Helm's templates take for each other counts as one: a number for a text.
_TYPES: Final[Mapping[str, list[str]]] = {
    "mapping": ["object", "string", "null"],
    "list": ["array", "null"],
    "flag": ["boolean", "null"],
    "scalar": ["string", "number", "boolean", "null"],
}


def _schema(keys: Any) -> dict[str, Any]:
    """https://helm.sh/docs/topics/charts/#schema-files: a key that the chart does not have is refused."""
    if isinstance(keys, Mapping):
        inner = {key: _schema(below) for key, below in keys.items()}
        return {"type": ["object", "null"], "additionalProperties": False, "properties": inner}
    return {"type": _TYPES[keys]} if keys in _TYPES else {}


def _definition(
    group: str, version: str, kind: str, plural: str, scope: str, schema: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # The API server wants this of groups of its own project:
        # https://github.com/kubernetes/enhancements/pull/1111
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a placeholder in a rehearsal"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@functools.cache
def _written() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="charts-")


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
    sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
