"""Where a release's chart comes from: a path of the program, a folder of the user, the tools, or a placeholder. Nothing
is downloaded. And the ``helm`` program, which runs on the provider's cluster.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubeconfig import kubeconfig
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.providers.base import Properties, ProviderError
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
    # A digest says which content a registry is to send, not which chart it is.
    source = f"{repository}/{chart_name}" if repository else chart_name.partition("@")[0]
    name, version = source.rpartition("/")[2], str(inputs.get("version") or "").strip()
    if not version:
        raise ChartError("version", f"the chart {source} needs a version (Helm would download the newest); set version")
    if (chart := of_user(name, version)) is not None:
        return chart
    if source in known_charts():
        return _placeholder(source, name, version)
    return _carried(source, name, version, tools)


def of_user(name: str, version: str) -> LocalChart | None:
    """The chart in the user's folder, if it has it. Raises ChartError."""
    return next((chart for chart in _users(name, version) if (chart.name, chart.version) == (name, version)), None)


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


_LOOK_SECONDS: Final = 0.1
"""Between looks whether the user has interrupted the engine."""
_END_SECONDS: Final = 10.0
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ERROR: Final = re.compile(r"^Error: (.*?)(?=^helm\.go:|\Z)", re.MULTILINE | re.DOTALL)
_NOT_READY: Final = re.compile(r"\[debug\] (.* is not ready: .*)")


class HelmError(Exception):
    """Helm's refusal, in its own words."""


@dataclass(frozen=True)
class Live:
    """The newest revision of a release as Helm keeps it; ``values`` are those given to the chart, without its own."""

    revision: int
    status: str
    chart: str
    version: str
    app_version: str
    values: Properties
    resources: Mapping[str, tuple[str, ...]]
    """``<Kind>.<group>/<apiVersion>`` → names, ``<namespace>/<name>`` where the manifest has a namespace."""


class Helm:
    """The ``helm`` of the ``tools`` folder. ``path`` is searched first for the kubeconfig's credential plugin."""

    def __init__(
        self, tools: Path | None, selected: Callable[[], Kubeconfig], path: Sequence[Path], cancelled: threading.Event
    ) -> None:
        self.tools = tools
        self._selected = selected
        self._path = path
        self._cancelled = cancelled

    def change(
        self, command: str, release: str, namespace: str, chart: LocalChart, values: Properties, *flags: str
    ) -> None:
        """``install``, ``upgrade`` (or ``lint``) ``release`` from ``chart``. Raises HelmError."""
        with tempfile.TemporaryDirectory(prefix="values-") as folder:
            file = Path(folder) / "values.json"
            file.write_text(json.dumps(values))
            named = () if command == "lint" else (release,)
            where = (*named, str(chart.path), "--namespace", namespace)
            self._run(command, *where, "--values", str(file), *flags, stops=self._cancelled)

    def uninstall(self, release: str, namespace: str, *flags: str) -> None:
        """Delete the release's objects, except the definitions of the chart's ``crds`` folder. Raises HelmError."""
        self._run("uninstall", release, "--namespace", namespace, *flags, stops=self._cancelled)

    def live(self, release: str, namespace: str) -> Live | None:
        """The release of that name, or ``None``. Raises HelmError."""
        where = (release, "--namespace", namespace, "--output", "json")
        try:
            status = json.loads(self._run("status", *where))
            metadata = json.loads(self._run("get", "metadata", *where))
        except HelmError as error:
            if "release: not found" in str(error):
                return None
            raise
        return Live(
            revision=int(status["version"]),
            status=str(status["info"]["status"]),
            chart=str(metadata["chart"]),
            version=str(metadata["version"]),
            app_version=str(metadata["appVersion"]),
            values=status.get("config") or {},
            resources=_resources(str(status.get("manifest") or "")),
        )

    def _run(self, *arguments: str, stops: threading.Event | None = None) -> str:
        """Helm's standard output. When ``stops`` is set, Helm is interrupted and marks the release as failed."""
        if self.tools is None:
            raise ProviderError(
                "Helm releases need the rehearsal's helm binary, which this run does not have: use `make rehearse`"
            )
        with tempfile.TemporaryDirectory(prefix="helm-") as home:
            chosen = self._selected()
            file = Path(home) / "kubeconfig"
            file.touch(mode=0o600)
            file.write_text(kubeconfig("rehearsal", chosen.cluster, chosen.user))
            process = subprocess.Popen(
                [str(self.tools / "helm"), *arguments, "--kubeconfig", str(file), "--debug"],
                env=self._environ(home),
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            output, errors = _wait(process, stops or threading.Event())
        if process.returncode:
            raise HelmError(_short_message(errors))
        return output

    def _environ(self, home: str) -> dict[str, str]:
        """The user's environment without the user's Helm plugins, repositories and settings."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HELM_")}
        own = {f"HELM_{kind}_HOME": home for kind in ("CACHE", "CONFIG", "DATA")}
        path = os.pathsep.join([*map(str, self._path), os.environ.get("PATH", os.defpath)])
        return {**environment, **own, "PATH": path}


def _wait(process: subprocess.Popen[str], stops: threading.Event) -> tuple[str, str]:
    try:
        while not stops.is_set():
            with suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=_LOOK_SECONDS)
        process.terminate()
        return process.communicate(timeout=_END_SECONDS)
    except BaseException:
        process.kill()
        process.communicate()
        raise


def _short_message(errors: str) -> str:
    """Helm's error, and what it was waiting for last."""
    match = _ERROR.search(errors)
    message = (match[1] if match else errors).strip() or "no message"
    waited = _NOT_READY.findall(errors)
    return f"{message} ({waited[-1]})" if waited else message


def _resources(manifest: str) -> dict[str, tuple[str, ...]]:
    resources: dict[str, set[str]] = {}
    for each in yaml.load_all(manifest, _LOADER):
        if not isinstance(each, dict) or "kind" not in each:
            continue
        place, api_version = each["metadata"], str(each["apiVersion"])
        group = api_version.rpartition("/")[0]
        kind = f"{each['kind']}.{group}" if group else str(each["kind"])
        name = f"{place['namespace']}/{place['name']}" if place.get("namespace") else str(place["name"])
        resources.setdefault(f"{kind}/{api_version}", set()).add(name)
    return {key: tuple(sorted(names)) for key, names in resources.items()}
