"""The charts that the rehearsal knows."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.base import CheckFailure, Properties, Unknown
from rehearsal.providers.kubernetes.helm import karpenter
from rehearsal.providers.kubernetes.helm.chart import Chart

CHARTS: Final = (karpenter.CHART,)


def find(inputs: Properties) -> Chart | CheckFailure:
    """The chart that a release asks for, or why the rehearsal has none of that name, repository or version."""
    source = _source(inputs)
    chart = next((each for each in CHARTS if each.source == source), None)
    if chart is None:
        known = ", ".join(each.source for each in CHARTS)
        reason = (
            f"the chart {source} is not simulated; the rehearsal knows {known}. It needs the real Kubernetes plugin"
        )
        return CheckFailure("chart", f"{reason} (PLUGINS=DIR), or declare the objects that the chart makes")
    version = inputs.get("version")
    if isinstance(version, Unknown) or version in chart.versions:
        return chart
    said = f"the chart {chart.name} is not simulated in version {version}" if version else "the version is not pinned"
    return CheckFailure("version", f"{said}; the rehearsal knows {', '.join(chart.versions)}")


def _source(inputs: Properties) -> str:
    options: Any = inputs.get("repositoryOpts")
    repository = options.get("repo") if isinstance(options, dict) else None
    chart = str(inputs.get("chart"))
    return f"{str(repository).rstrip('/')}/{chart}" if repository else chart
