"""``kubernetes:helm.sh/v3:Release``: Helm installs, upgrades and uninstalls; here is what the plugin does around it.

https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/provider/helm_release.go
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, Final

import yaml

from facts.concepts.unknown import UNKNOWN, Maybe, coalesce
from rehearsal.providers import base
from rehearsal.providers.differences import MISSING, Path, differences, format_path
from rehearsal.providers.kubernetes.helm.charts import ChartError, Helm, HelmError, Live, LocalChart, locate
from rehearsal.providers.kubernetes.manifest import auto_name

_log = logging.getLogger(__name__)

RELEASE: Final = "kubernetes:helm.sh/v3:Release"

_TIMEOUT_SECONDS: Final = 300
_REPLACING: Final = ("name", "namespace")
_REFUSED: Final[Mapping[str, str]] = {
    "dependencyUpdate": "the rehearsal fetches no charts; pack the chart with its dependencies",
    "verify": "the rehearsal fetches no charts, so there is nothing to verify; leave it out",
}
_OUTPUTS: Final = ("resourceNames", "status", "compat")
"""Outputs that the SDK also lists among a release's inputs."""

_FLAGS: Final[Mapping[str, Mapping[str, str]]] = yaml.safe_load(FilePath(__file__).with_name("flags.yaml").read_text())


class Releases:
    """The Helm releases of one cluster. ``namespace`` is where a release goes that names none.

    Every call may raise ``ProviderError``.
    """

    def __init__(self, helm: Helm, namespace: Callable[[], Maybe[str | None]]) -> None:
        self._helm = helm
        self._namespace = namespace

    def check(
        self, request: base.CallContext, olds: base.Properties, news: base.Properties
    ) -> tuple[base.Properties, list[base.CheckFailure]]:
        """Fill in name, namespace, timeout and the chart's version; refuse a chart that is not here."""
        failures = [
            base.CheckFailure(key, reason)
            for key, reason in _REFUSED.items()
            if news.get(key) not in (None, False, UNKNOWN)
        ]
        inputs = {key: value for key, value in news.items() if value is not None and key not in _OUTPUTS}
        inputs.setdefault("name", olds.get("name") or auto_name(request.name, request.random_seed))
        inputs.setdefault("namespace", coalesce(self._namespace(), "default"))
        if inputs.get("skipAwait") in (None, False):
            inputs.setdefault("timeout", _TIMEOUT_SECONDS)
        if not base.has_unknown(inputs):
            try:
                inputs = _with_files(inputs)
                chart = locate(inputs, self._helm.tools)
            except ChartError as error:
                return inputs, [*failures, base.CheckFailure(error.property, str(error))]
            if chart is None:
                _log.info("%s: chart not checked, the rehearsal's binaries are not installed", request.urn)
            else:
                inputs["version"] = chart.version
        return inputs, failures

    def diff(self, old_inputs: base.Properties, old_state: base.Properties, news: base.Properties) -> base.Diff:
        """Differences between the release and the program; another name or namespace is another release."""
        changes = tuple(map(format_path, _changes(old_inputs, old_state, news)))
        return base.Diff(changes, tuple(each for each in changes if each in _REPLACING))

    def create(self, request: base.CallContext, inputs: base.Properties) -> base.Created:
        """Install and wait until everything is ready; a release that is not ready in time remains as failed."""
        if request.preview:
            return base.Created("", _preview(inputs))
        id = f"{inputs['namespace']}/{inputs['name']}"
        flags = [*_flags(inputs, _FLAGS["install"]), *_waiting(inputs)]
        with _explained(id):
            live = self._change("install", inputs, flags, "was created, but failed to initialize completely")
        return base.Created(id, _state(inputs, live))

    def read(self, id: str, inputs: base.Properties, state: base.Properties) -> base.Created:
        """The release as Helm reports it; empty if Helm does not know it. Without ``inputs``, those of an import."""
        namespace, name = base.split_id(id)
        with _explained(id):
            live = self._helm.live(name, namespace or "default")
        if live is None:
            return base.Created("", {})
        known = inputs or {
            "chart": live.chart,
            "version": live.version,
            "name": name,
            "namespace": namespace or "default",
            "values": live.values,
            "timeout": _TIMEOUT_SECONDS,
        }
        return base.Created(id, _state({**known, "values": (state or known).get("values")}, live), known)

    def update(self, request: base.CallContext, id: str, news: base.Properties) -> base.Properties:
        """Upgrade and wait; a failed release remains, and the next update continues from it."""
        if request.preview:
            return _preview(news)
        history = f"--history-max={news.get('maxHistory') or 0}"
        with _explained(id):
            if news.get("lint"):
                self._helm.change("lint", *self._what(news))
            flags = [*_flags(news, _FLAGS["upgrade"]), *_waiting(news), history]
            return _state(news, self._change("upgrade", news, flags, "failed to initialize completely"))

    def delete(self, id: str, inputs: base.Properties) -> None:
        """Uninstall; as with the plugin, a release that Helm does not know is an error."""
        namespace, name = base.split_id(id)
        waits = inputs.get("atomic") or not inputs.get("skipAwait")
        with _explained(id):
            self._helm.uninstall(name, namespace or "default", *(_waiting(inputs) if waits else ()))

    def _change(self, action: str, inputs: base.Properties, flags: list[str], failing: str) -> Live:
        """Run ``action``. What failed but left a revision behind is an error that keeps the release in the state."""
        name, namespace, chart, values = self._what(inputs)
        before = self._helm.live(name, namespace)
        try:
            self._helm.change(action, name, namespace, chart, values, *flags)
        except HelmError as error:
            after = self._helm.live(name, namespace)
            if after is None or (before is not None and after.revision == before.revision):
                raise
            id = f"{namespace}/{name}"
            message = f'Helm release "{id}" {failing}. Use Helm CLI to investigate: {error}'
            raise base.ProviderError(message, base.Created(id, _state(inputs, after), inputs)) from error
        after = self._helm.live(name, namespace)
        if after is None:
            raise HelmError("it no longer exists: it was uninstalled by another client")
        return after

    def _what(self, inputs: base.Properties) -> tuple[str, str, LocalChart, base.Properties]:
        try:
            chart = locate(inputs, self._helm.tools)
        except ChartError as error:
            raise HelmError(f"{error.property}: {error}") from error
        if chart is None:
            raise HelmError(
                "its chart is part of the rehearsal's binaries, which this run does not have: use `make rehearse`"
            )
        return str(inputs["name"]), str(inputs["namespace"]), chart, inputs.get("values") or {}


@contextmanager
def _explained(id: str) -> Iterator[None]:
    try:
        yield
    except HelmError as error:
        raise base.ProviderError(f"Helm release {id}: {error}") from error


def _flags(inputs: base.Properties, known: Mapping[str, str]) -> Iterator[str]:
    for key, flag in known.items():
        value = inputs.get(key)
        if value:
            yield flag if value is True else f"{flag}={value}"


def _waiting(inputs: base.Properties) -> Iterator[str]:
    yield f"--timeout={int(inputs.get('timeout') or _TIMEOUT_SECONDS)}s"
    if not inputs.get("skipAwait"):
        yield "--wait"
        if inputs.get("waitForJobs"):
            yield "--wait-for-jobs"


def _with_files(inputs: base.Properties) -> base.Properties:
    """``inputs`` with the values of ``valueYamlFiles`` (their texts) beneath ``values``."""
    files = inputs.get("valueYamlFiles") or []
    values: base.Properties = {}
    for index, text in enumerate(files):
        try:
            content = yaml.safe_load(str(text))
        except yaml.YAMLError as error:
            raise ChartError(f"valueYamlFiles[{index}]", f"not YAML: {error}") from error
        values = base.merged(values, content or {})
    declared = {key: value for key, value in inputs.items() if key != "valueYamlFiles"}
    return {**declared, "values": base.merged(values, inputs.get("values") or {})} if files else declared


def _changes(before: Any, live: Any, declared: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which ``live`` differs from ``declared``. A value that was never declared is no difference."""
    if not (isinstance(declared, dict) and isinstance(live, dict)):
        yield from differences(live, declared, path)
        return
    old = before if isinstance(before, dict) else {}
    for key in sorted({*declared, *(old.keys() & live.keys())}):
        yield from _changes(old.get(key, MISSING), live.get(key, MISSING), declared.get(key, MISSING), (*path, key))


def _state(inputs: base.Properties, live: Live) -> base.Properties:
    return {
        **inputs,
        "version": live.version,
        "values": base.merged(inputs.get("values") or {}, live.values),
        "resourceNames": {kind: list(names) for kind, names in live.resources.items()},
        "status": {
            "appVersion": live.app_version,
            "chart": live.chart,
            "name": str(inputs["name"]),
            "namespace": str(inputs["namespace"]),
            "revision": live.revision,
            "status": live.status,
            "version": live.version,
        },
    }


def _preview(inputs: base.Properties) -> base.Properties:
    return {**inputs, "resourceNames": UNKNOWN, "status": UNKNOWN}
