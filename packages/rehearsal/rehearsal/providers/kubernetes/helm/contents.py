"""What a stack installs, from a preview of its program, and the images of charts whose archives are at hand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.catalog.pins import OCI, Digests, Installed, digests, images, installed, with_digests
from rehearsal.providers.kubernetes.helm.charts import LocalChart, of_user

_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ChartChanged(Exception):
    """A chart's archive is not the one of ``pins.csv``; the message says both hashes."""


@dataclass(frozen=True)
class StackContents:
    """``rows``: all that is known; ``unread``: charts whose images are not, as ``keda 2.20.2``."""

    rows: tuple[Installed, ...]
    unread: tuple[str, ...]


def contents(
    resources: Iterable[tuple[str, Mapping[str, Any]]], helm: Path | None, known: Digests | None = None
) -> StackContents:
    """Of a program's resources (type token, inputs). ``helm`` renders the charts in the user's folder.

    Raises:
        ChartChanged, ChartError, subprocess.CalledProcessError: an archive is another one, or Helm does not render it.
    """
    resources, known = list(resources), digests() if known is None else known
    rows, unread = with_digests(installed(resources), known), []
    for _, inputs in (each for each in resources if each[0] == _RELEASE):
        name, version = str(inputs["chart"]).partition("@")[0].rpartition("/")[2], str(inputs.get("version"))
        chart = of_user(name, version) if helm is not None else None
        if chart is None or helm is None:
            unread.append(f"{name} {version}")
            continue
        (row,) = (each for each in installed([(_RELEASE, inputs)]) if each.kind == "chart")
        _check(chart, row, known)
        by_chart = f"named by chart {name}"
        found = {(image.name, image.digest) for image in images([*rendered(inputs, chart, helm)])}
        rows += [Installed("image", image, digest, by_chart) for image, digest in sorted(found)]
    return StackContents(tuple(sorted(set(rows))), tuple(sorted(set(unread))))


def rendered(inputs: Mapping[str, Any], chart: LocalChart, helm: Path) -> Iterator[Any]:
    """The objects of a release, as ``helm template`` writes them."""
    with tempfile.TemporaryDirectory(prefix="values-") as folder:
        values = Path(folder) / "values.json"
        values.write_text(json.dumps(inputs.get("values") or {}, default=lambda _: "unknown"))
        place = ["--namespace", str(inputs.get("namespace") or "default"), "--values", str(values)]
        environment = {
            "PATH": os.defpath,
            **{f"HELM_{kind}_HOME": folder for kind in ("CACHE", "CONFIG", "DATA")},
        }
        command = [str(helm), "template", str(inputs.get("name") or chart.name), str(chart.path), *place]
        made = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    yield from (each for each in yaml.load_all(made.stdout, _LOADER) if each)


def _check(chart: LocalChart, row: Installed, known: Digests) -> None:
    """The digest of a chart in a registry is that of its manifest, which its archive does not have."""
    pinned = known.get((row.kind, row.name))
    if pinned is None or row.name.startswith(OCI) or not chart.path.is_file():
        return
    archive = f"sha256:{hashlib.sha256(chart.path.read_bytes()).hexdigest()}"
    if archive != pinned:
        raise ChartChanged(f"{chart.path} is {archive}; pins.csv says {pinned} of {row.name}: replace the archive")
