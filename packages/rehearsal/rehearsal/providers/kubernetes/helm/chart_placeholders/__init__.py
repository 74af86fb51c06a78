"""Placeholders for charts that a rehearsal may not download: their value keys and kinds, and an empty chart.

A file in ``known/`` holds facts of one version: the keys that its values take, and the kinds that it brings, each with
its schema. The real Helm checks a program's values against them and keeps the release, the API server its objects;
nothing of the chart runs, webhooks neither, and the verdict says so.
``python -m rehearsal.providers.kubernetes.helm.chart_placeholders`` writes such a file from a chart's source.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

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

    Raises:
        KeyError: nothing is known of such a chart.
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
