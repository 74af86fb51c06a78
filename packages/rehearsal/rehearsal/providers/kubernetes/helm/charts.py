"""Where a release's chart comes from: a path of the program, a folder of the user, the tools, or a placeholder.
Nothing is downloaded."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.helm.chart_placeholders import known_charts, placeholder
from rehearsal.tools.modules import MODULES

FOLDER: Final = "GPUCLUSTER_CHARTS"
"""Environment variable: the user's folder of charts, packed (``<name>-<version>.tgz``) or not."""


class ChartError(Exception):
    """The rehearsal has no such chart; ``property`` is the input to change; the message says what to write."""

    def __init__(self, property: str, message: str) -> None:
        super().__init__(message)
        self.property = property


@dataclass(frozen=True)
class LocalChart:
    """A chart on this machine: a folder or an archive; ``empty`` if it is a placeholder."""

    path: Path
    name: str
    version: str
    empty: bool = False

    @classmethod
    def read(cls, path: Path) -> LocalChart | None:
        """The chart at ``path``; ``None`` if there is none."""
        content = _chart_yaml(path)
        return None if content is None else cls(path, str(content.get("name")), str(content.get("version")))


def locate(inputs: Properties, tools: Path | None) -> LocalChart | None:
    """The chart that a release's known ``inputs`` name; ``None`` if that takes the tools and there are none.

    Helm's order: a path first, unless the program names a repository. Raises ChartError.
    """
    repository, chart_name = _repository(inputs), str(inputs["chart"]).strip()
    if not repository and (local := LocalChart.read(Path(chart_name).absolute())):
        return local
    if not repository and (Path(chart_name).is_absolute() or chart_name.startswith(".")):
        raise ChartError("chart", f"there is no chart in {Path(chart_name).absolute()}")
    source = f"{repository}/{chart_name}" if repository else chart_name
    name, version = source.rpartition("/")[2], str(inputs.get("version") or "").strip()
    if not version:
        raise ChartError("version", f"the chart {source} needs a version (Helm would download the newest); set version")
    for chart in _users(name, version):
        if (chart.name, chart.version) == (name, version):
            return chart
    if source in known_charts():
        return _placeholder(source, name, version)
    return _carried(source, name, version, tools)


def _placeholder(source: str, name: str, version: str) -> LocalChart:
    known = known_charts()[source]
    if known.version != version:
        give = f"give it one with CHARTS=DIR, a folder with {name}-{version}.tgz (as `helm pull` makes it)"
        message = (
            f"the rehearsal knows what {source} {known.version} takes, not {version}: write {known.version}, or {give}"
        )
        raise ChartError("version", message)
    return LocalChart(placeholder(source), name, version, empty=True)


def _carried(source: str, name: str, version: str, tools: Path | None) -> LocalChart | None:
    carried = {chart.published: (module, chart) for module in MODULES for chart in module.charts}
    give = f"give it one with CHARTS=DIR, a folder with {name}-{version}.tgz (as `helm pull` makes it)"
    if source not in carried:
        missing = f"the rehearsal fetches no charts, and {source} {version} is not here"
        raise ChartError("chart", f"{missing}: {give}, or name the path of a chart. It carries {', '.join(carried)}")
    module, chart = carried[source]
    number = module.stamped("{number}", chart.module)
    if version != number:
        message = f"the rehearsal carries {source} {number}, not {version}: write {number}, or {give}"
        raise ChartError("version", message)
    return None if tools is None else LocalChart.read(tools / module.archive(chart))


def _users(name: str, version: str) -> Iterator[LocalChart]:
    configured = os.environ.get(FOLDER)
    if not configured:
        return
    folder = Path(configured)
    if not folder.is_dir():
        raise ChartError("chart", f"CHARTS={configured} is no folder")
    for candidate in (f"{name}-{version}", f"{name}-{version}.tgz", name, f"{name}.tgz"):
        if chart := LocalChart.read(folder / candidate):
            yield chart


def _repository(inputs: Properties) -> str:
    """The repository's address; an OCI reference contains it and overrides the options."""
    options: Any = inputs.get("repositoryOpts")
    named = str((options.get("repo") if isinstance(options, dict) else None) or "").rstrip("/")
    return "" if str(inputs["chart"]).strip().startswith("oci://") else named


def _chart_yaml(path: Path) -> dict[str, Any] | None:
    """``Chart.yaml`` of a chart's folder or archive."""
    try:
        if path.is_dir():
            text = (path / "Chart.yaml").read_text(encoding="utf-8")
        else:
            with tarfile.open(path) as archive:
                (name,) = (name for name in archive.getnames() if re.fullmatch(r"[^/]+/Chart\.yaml", name))
                member = archive.extractfile(name)
                assert member is not None
                text = member.read().decode()
        content = yaml.safe_load(text)
    except (OSError, ValueError, tarfile.TarError, yaml.YAMLError):
        return None
    return content if isinstance(content, dict) else None
