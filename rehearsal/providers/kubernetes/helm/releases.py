"""``kubernetes:helm.sh/v3:Release``: installs, upgrades and uninstalls a chart as Helm would.

Behaviour: https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/provider/helm_release.go. As with Helm,
a Secret in the release's namespace holds what was installed (here in JSON, not in Helm's own encoding), so a release
that was removed by hand is gone at the next refresh.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.base import UNKNOWN, CheckFailure, Created, Diff, Properties, ProviderError, Request, Unknown
from rehearsal.providers.kubernetes.cluster import ApiError, Cluster, UnreachableError
from rehearsal.providers.kubernetes.helm.chart import Chart, Target
from rehearsal.providers.kubernetes.helm.charts import find
from rehearsal.providers.kubernetes.manifest import Kind, has_unknowns, object_id, split_id
from rehearsal.providers.kubernetes.waiting import NotReadyError, until_gone, until_ready
from rehearsal.providers.paths import differences, format_path

RELEASE: Final = "kubernetes:helm.sh/v3:Release"

_MANAGER: Final = "helm"
_SECRET: Final = Kind("v1", "Secret")
_NAMESPACE: Final = Kind("v1", "Namespace")
_TYPE: Final = "helm.sh/release.v1"
_KEY: Final = "release"
_TIMEOUT_SECONDS: Final = 300
"""Helm's own default, and the real provider's."""

_OWNER_NAME, _OWNER_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_REPLACING: Final = ("name", "namespace")
_HONOURED: Final = (
    "atomic",
    "chart",
    "compat",
    "createNamespace",
    "description",
    "name",
    "namespace",
    "repositoryOpts",
    "skipAwait",
    "skipCrds",
    "timeout",
    "values",
    "version",
    "waitForJobs",
)


@dataclass(frozen=True)
class _Installed:
    """What the release's Secret says."""

    revision: int
    chart: str
    version: str
    status: str
    values: Properties
    objects: list[Properties]


class Releases:
    """The Helm releases of one cluster. ``namespace`` is where a release goes that names none.

    Every call may raise ``ProviderError``.
    """

    def __init__(
        self, cluster: Callable[[], Cluster], namespace: Callable[[], str | None], cancelled: threading.Event
    ) -> None:
        self._cluster_of = cluster
        self._namespace = namespace
        self._cancelled = cancelled

    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        """Fill in name, namespace and timeout; refuse charts and values that the rehearsal does not know."""
        failures = [
            CheckFailure(key, "this property of a release is not simulated; leave it out")
            for key, value in news.items()
            if key not in _HONOURED and value not in (None, False, [], {})
        ]
        inputs = {key: value for key, value in news.items() if value is not None}
        inputs.setdefault("name", olds.get("name") or _auto_name(request))
        inputs.setdefault("namespace", self._namespace() or "default")
        if not inputs.get("skipAwait"):
            inputs.setdefault("timeout", _TIMEOUT_SECONDS)
        if not isinstance(inputs.get("chart"), Unknown):
            chart = find(inputs)
            failures += [chart] if isinstance(chart, CheckFailure) else chart.failures(inputs.get("values"))
        return inputs, failures

    def diff(self, old_inputs: Properties, news: Properties) -> Diff:
        """Another name or namespace is another release; everything else upgrades this one."""
        changes = tuple(map(format_path, differences(old_inputs, news)))
        return Diff(changes, tuple(each for each in changes if each in _REPLACING))

    def create(self, request: Request, inputs: Properties) -> Created:
        """Install, and wait until everything is ready; what is not in time stays, as a release that has failed."""
        if request.preview:
            return Created("", _preview(inputs))
        name, namespace = str(inputs["name"]), str(inputs["namespace"])
        with _said(f"{namespace}/{name}"):
            if self._read(name, namespace) is not None:
                raise ProviderError(f"Helm release {namespace}/{name}: cannot re-use a name that is still in use")
            if inputs.get("createNamespace"):
                self._ensure_namespace(namespace)
            return Created(f"{namespace}/{name}", self._install(inputs, None))

    def read(self, id: str, inputs: Properties) -> Created:
        """The release as its Secret describes it; gone if the Secret is."""
        namespace, name = split_id(id)
        with _said(id):
            found = self._read(name, namespace or "default")
        if found is None:
            return Created("", {})
        known = inputs or {
            "chart": found.chart,
            "version": found.version,
            "name": name,
            "namespace": namespace or "default",
            "values": found.values,
            "timeout": _TIMEOUT_SECONDS,
        }
        live = {**known, "chart": found.chart, "version": found.version, "values": found.values}
        return Created(id, _state(live, found), live)

    def update(self, request: Request, id: str, news: Properties) -> Properties:
        """Upgrade: apply the new objects, remove those that are no longer part of the chart, wait."""
        if request.preview:
            return _preview(news)
        with _said(id):
            found = self._read(str(news["name"]), str(news["namespace"]))
            if found is None:
                raise ProviderError(f'Helm release {id}: "{news["name"]}" has no deployed releases; run pulumi refresh')
            return self._install(news, found)

    def delete(self, id: str, inputs: Properties) -> None:
        """Uninstall: everything but the CustomResourceDefinitions, which Helm never removes."""
        namespace, name = split_id(id)
        with _said(id):
            found = self._read(name, namespace or "default")
            if found is not None:
                self._remove(found.objects, float(inputs.get("timeout") or _TIMEOUT_SECONDS))
                self._forget(name, namespace or "default")

    @property
    def _cluster(self) -> Cluster:
        return self._cluster_of()

    def _install(self, inputs: Properties, before: _Installed | None) -> Properties:
        chart = find(inputs)
        if isinstance(chart, CheckFailure):
            raise ProviderError(f"{chart.property}: {chart.reason}")
        name, namespace = str(inputs["name"]), str(inputs["namespace"])
        target = Target(name, namespace, str(inputs["version"]))
        values: Properties = inputs.get("values") or {}
        objects = [_owned(each, target) for each in chart.render(target, chart.merged(values))]
        timeout = float(inputs.get("timeout") or _TIMEOUT_SECONDS)
        revision = before.revision + 1 if before else 1
        pending = _Installed(revision, str(inputs["chart"]), target.version, "pending-install", values, objects)
        try:
            if before is None and not inputs.get("skipCrds"):
                self._define(chart, timeout)
            self._refuse_foreign(objects, target)
            self._write(target, pending)
            live = [self._apply(each) for each in objects]
            if before is not None:
                kept = {_identity(each) for each in objects}
                self._remove([each for each in before.objects if _identity(each) not in kept], timeout)
            for each in live:
                if each["kind"] == "Deployment" and not inputs.get("skipAwait"):
                    until_ready(self._cluster, _kind(each), each, timeout, self._cancelled, _enough_pods)
        except (NotReadyError, ApiError) as error:
            raise self._failed(inputs, pending, target, before, str(error)) from error
        done = _Installed(revision, pending.chart, target.version, "deployed", values, objects)
        self._write(target, done)
        return _state(inputs, done)

    def _failed(
        self, inputs: Properties, pending: _Installed, target: Target, before: _Installed | None, reason: str
    ) -> ProviderError:
        where = f"{target.namespace}/{target.name}"
        if inputs.get("atomic") and before is None:
            self._remove(pending.objects, float(inputs.get("timeout") or _TIMEOUT_SECONDS))
            self._forget(target.name, target.namespace)
            return ProviderError(f"Helm release {where} was not installed, and undone (atomic): {reason}")
        failed = _Installed(pending.revision, pending.chart, pending.version, "failed", pending.values, pending.objects)
        if self._read(target.name, target.namespace) is None:
            return ProviderError(f"Helm release {where} was not installed: {reason}")
        self._write(target, failed)
        message = f"Helm release {where} was created, but failed to initialize completely: {reason}"
        return ProviderError(message, Created(where, _state(inputs, failed), inputs))

    def _define(self, chart: Chart, timeout: float) -> None:
        """The chart's kinds, where the cluster does not have them; Helm leaves those alone that it has."""
        for definition in chart.definitions():
            kind = _kind(definition)
            if self._get(kind, definition["metadata"]["name"], None) is None:
                live = self._apply(definition)
                until_ready(self._cluster, kind, live, timeout, self._cancelled)

    def _refuse_foreign(self, objects: list[Properties], target: Target) -> None:
        for each in objects:
            live = self._get(_kind(each), each["metadata"]["name"], each["metadata"].get("namespace"))
            annotations = ((live or {}).get("metadata") or {}).get("annotations") or {}
            if live is not None and annotations.get(_OWNER_NAME) != target.name:
                raise ApiError(
                    409,
                    "Conflict",
                    f"{each['kind']} {object_id(each)} exists and cannot be imported into the release: "
                    f"invalid ownership metadata (annotation {_OWNER_NAME} must be {target.name})",
                )

    def _apply(self, manifest: Properties) -> Properties:
        return self._cluster.apply(_kind(manifest), manifest, manager=_MANAGER, force=True, dry_run=False)

    def _remove(self, objects: list[Properties], timeout: float) -> None:
        for each in reversed(objects):
            kind, place = _kind(each), each["metadata"]
            if self._get(kind, place["name"], place.get("namespace")) is not None:
                self._cluster.delete(kind, place["name"], place.get("namespace"), "Background")
                until_gone(self._cluster, kind, place["name"], place.get("namespace"), timeout, self._cancelled)

    def _ensure_namespace(self, name: str) -> None:
        if self._get(_NAMESPACE, name, None) is None:
            self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _get(self, kind: Kind, name: str, namespace: str | None) -> Properties | None:
        try:
            return self._cluster.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _read(self, name: str, namespace: str) -> _Installed | None:
        secret = self._get(_SECRET, _secret_name(name), namespace)
        if secret is None:
            return None
        return _Installed(**json.loads(base64.b64decode(secret["data"][_KEY])))

    def _write(self, target: Target, installed: _Installed) -> None:
        content = base64.b64encode(json.dumps(vars(installed)).encode()).decode()
        labels = {"owner": "helm", "name": target.name, "status": installed.status}
        metadata = {"name": _secret_name(target.name), "namespace": target.namespace, "labels": labels}
        secret = {"apiVersion": "v1", "kind": "Secret", "type": _TYPE, "metadata": metadata, "data": {_KEY: content}}
        self._apply(secret)

    def _forget(self, name: str, namespace: str) -> None:
        self._cluster.delete(_SECRET, _secret_name(name), namespace, "Background")


@contextmanager
def _said(where: str) -> Iterator[None]:
    """Errors of the cluster as errors for the user."""
    try:
        yield
    except (ApiError, NotReadyError, UnreachableError) as error:
        raise ProviderError(f"Helm release {where}: {error}") from error


def _enough_pods(live: Properties, cluster: Cluster) -> str | None:
    """Helm's rule: as many pods of the new version ready as the Deployment's strategy leaves it without.

    https://github.com/helm/helm/blob/v3.18.0/pkg/kube/ready.go (``deploymentReady``)
    """
    spec, status = live["spec"], live.get("status") or {}
    if int(status.get("observedGeneration", 0)) < int(live["metadata"]["generation"]):
        return "the deployment controller to see the change"
    wanted = int(spec["replicas"])
    spared = (spec.get("strategy", {}).get("rollingUpdate") or {}).get("maxUnavailable", 0)
    # A percentage is rounded down, as Kubernetes does it.
    least = wanted - (wanted * int(spared[:-1]) // 100 if isinstance(spared, str) else int(spared))
    ready = min(int(status.get("readyReplicas", 0)), int(status.get("updatedReplicas", 0)))
    return None if ready >= least else f"pods to become ready ({ready}, at least {least} of {wanted})"


def _owned(manifest: Properties, target: Target) -> Properties:
    """``manifest`` with Helm's marks of ownership."""
    metadata = manifest["metadata"]
    owner = {_OWNER_NAME: target.name, _OWNER_NAMESPACE: target.namespace}
    return {
        **manifest,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {**metadata.get("annotations", {}), **owner},
        },
    }


def _state(inputs: Properties, installed: _Installed) -> Properties:
    names: dict[str, list[str]] = {}
    for each in installed.objects:
        names.setdefault(f"{each['kind']}/{each['apiVersion']}", []).append(object_id(each))
    status = {
        "appVersion": installed.version,
        "chart": installed.chart.rpartition("/")[2],
        "name": str(inputs["name"]),
        "namespace": str(inputs["namespace"]),
        "revision": installed.revision,
        "status": installed.status,
        "version": installed.version,
    }
    return {**inputs, "resourceNames": names, "status": status}


def _preview(inputs: Properties) -> Properties:
    """What a preview says: everything that is known, once a complete set of values renders without an error."""
    chart = find(inputs)
    if not isinstance(chart, CheckFailure) and not has_unknowns(inputs):
        target = Target(str(inputs["name"]), str(inputs["namespace"]), str(inputs["version"]))
        chart.render(target, chart.merged(inputs.get("values") or {}))
    return {**inputs, "resourceNames": UNKNOWN, "status": UNKNOWN}


def _auto_name(request: Request) -> str:
    seed = request.random_seed
    return f"{request.name}-{hashlib.sha256(seed).hexdigest()[:8] if seed else secrets.token_hex(4)}"


def _secret_name(release: str) -> str:
    # Helm has one Secret for each revision, and this is the first one's name.
    return f"sh.helm.release.v1.{release}.v1"


def _kind(manifest: Properties) -> Kind:
    return Kind(manifest["apiVersion"], manifest["kind"])


def _identity(manifest: Properties) -> tuple[Any, ...]:
    return manifest["apiVersion"], manifest["kind"], object_id(manifest)
