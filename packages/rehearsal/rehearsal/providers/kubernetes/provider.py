"""The Kubernetes provider: objects are created, then changed by server-side apply, as the real one does by default."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from facts.catalog.plugins import plugin_version
from facts.concepts.unknown import UNKNOWN, coalesce, text
from gpu.api.shared import KubeconfigError
from rehearsal.cluster.api import Api, ApiError, NoSuchKindError, UnreachableError
from rehearsal.providers.base import (
    CallContext,
    CheckFailure,
    Created,
    Diff,
    Previous,
    Properties,
    Provider,
    ProviderError,
    has_unknown,
    split_id,
)
from rehearsal.providers.differences import differences, format_path
from rehearsal.providers.kubernetes import manifest as objects
from rehearsal.providers.kubernetes import settings
from rehearsal.providers.kubernetes.helm import RELEASE, Helm, Releases
from rehearsal.providers.kubernetes.waiting import DEFAULT_TIMEOUT_SECONDS, NotReadyError, until_gone, until_ready

_PAUSES_SECONDS: Final = (1.0, 2.0, 4.0, 8.0)
"""Between attempts to create an object whose namespace or kind is not there yet, as the real provider does."""

_UNREACHABLE_REMEDY: Final = ". If the cluster is gone for good, run again with PULUMI_K8S_DELETE_UNREACHABLE=true"
_OTHERWISE: Final = ("Background", "Orphan")
"""How an annotation may have an object deleted; the real provider says Foreground without one:
https://github.com/pulumi/pulumi-kubernetes/blob/v4.32.0/provider/pkg/metadata/overrides.go
"""


class SimulatedKubernetes(Provider):
    """One provider instance, and so one cluster.

    ``path`` has the kubeconfig's exec plugin; ``tools`` is the folder with Helm, if there is one. ``created`` gets the
    UID of each object that this instance, or one made of it, creates.
    """

    name = "kubernetes"
    secret_outputs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kubernetes:core/v1:Secret": ("data", "stringData"),
        "kubernetes:core/v1:SecretPatch": ("data", "stringData"),
    }

    def __init__(self, path: Sequence[Path] = (), tools: Path | None = None, created: set[str] | None = None) -> None:
        self.version = plugin_version(self.name)
        self.created: set[str] = set() if created is None else created
        self._path = tuple(path)
        self._tools = tools
        self._config: Properties = {}
        self._known_cluster: settings.ObjectClient | None = None
        self._connecting = threading.Lock()
        self._cancelled = threading.Event()
        helm = Helm(tools, lambda: settings.kubeconfig_of(self._config), self._path, self._cancelled)
        self._releases = Releases(helm, lambda: text(self._config.get("namespace")))

    def instance(self) -> SimulatedKubernetes:
        """A provider of its own: each has another kubeconfig."""
        return SimulatedKubernetes(self._path, self._tools, self.created)

    def check_config(self, news: Properties) -> list[CheckFailure]:
        """Refuse a kubeconfig that cannot be used, and what is not simulated."""
        return settings.failures(news)

    def diff_config(self, olds: Properties, news: Properties) -> Diff:
        """Another cluster replaces everything in it; another way to reach the same cluster does not."""
        changes = tuple(key for key in sorted({*olds, *news}) if olds.get(key) != news.get(key))
        old_identifier, identifier = text(olds.get("clusterIdentifier")), text(news.get("clusterIdentifier"))
        if identifier is not None and old_identifier is not None:
            return Diff(changes, ("clusterIdentifier",) if old_identifier != identifier else ())
        if settings.unknown_identity(news):
            return Diff(changes, settings.unknown_identity(news))
        before, after = settings.active_cluster(olds), settings.active_cluster(news)
        moved = before is not None and after is not None and before != after
        return Diff(changes, tuple(key for key in settings.IDENTITY if key in changes) if moved else ())

    def configure(self, config: Properties) -> None:
        """Take the configuration; the cluster is contacted by the first call that needs it."""
        self._config = config
        self._known_cluster = None

    def cancel(self) -> None:
        """Stop waiting for readiness and deletion."""
        self._cancelled.set()

    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        """Name the object and put it into its namespace."""
        if request.type == RELEASE:
            return self._releases.check(request, olds, news)
        kind = objects.kind_of(request.type, news)
        if kind.patch and not has_unknown(news.get("metadata")) and not objects.metadata(news).get("name"):
            return news, [CheckFailure("metadata.name", "a patch needs the name of the object that it patches")]
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind, **news}
        named = objects.with_name(manifest, olds, request.name, request.random_seed)
        refused = [
            CheckFailure(f'metadata.annotations["{key}"]', "this annotation is not simulated; leave it out")
            for key in objects.NOT_SIMULATED
            if objects.annotation(news, key) is not None
        ]
        try:
            return self._placed(kind, named), refused
        except (NoSuchKindError, UnreachableError):
            return named, refused
        except ApiError as error:
            raise self._explained(error, kind, request.name) from error

    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        """What changed since the last inputs, and whether the API server would refuse to change it in place."""
        if request.type == RELEASE:
            return self._releases.diff(before.inputs, before.state, news)
        kind = objects.kind_of(request.type, news)
        changes = tuple(differences(objects.normal(before.inputs), objects.normal(news)))
        replaces = objects.replacing(
            kind,
            changes,
            immutable=bool(before.inputs.get("immutable")),
            mutable_secrets=settings.is_on(self._config, "enableSecretMutable"),
            mutable_config_maps=settings.is_on(self._config, "enableConfigMapMutable"),
        )
        place, old_place = objects.metadata(news), objects.metadata(before.state)
        same_name = (place.get("name"), place.get("namespace")) == (old_place.get("name"), old_place.get("namespace"))
        return Diff(
            changes=tuple(map(format_path, changes)),
            replaces=tuple(map(format_path, replaces)),
            delete_before_replace=bool(replaces) and same_name and not objects.is_true(news, objects.AUTONAMED),
        )

    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        """Create an object, or patch one, and wait until it is ready; in a preview, a dry run."""
        if request.type == RELEASE:
            return self._releases.create(request, inputs)
        kind = objects.kind_of(request.type, inputs)
        manager = objects.manager_of(inputs, {})
        if request.preview and (kind.patch or has_unknown(inputs)):
            return Created("", inputs)
        try:
            live = self._create(kind, objects.to_api(inputs), manager, request.preview)
        except UnreachableError as error:
            if request.preview:
                return Created("", inputs)
            raise ProviderError(str(error)) from error
        except ApiError as error:
            # Dry runs may be forbidden, the namespace or kind may not exist yet, or the old object still exists.
            if request.preview and (error.status in (403, 404) or error.reason == "AlreadyExists"):
                return Created("", inputs)
            where = objects.object_id(inputs) if objects.metadata(inputs).get("name") else request.name
            raise self._explained(error, kind, where) from error
        if request.preview:
            return Created("", _state({**live, "status": None}, manager))
        return Created(objects.object_id(live), _state(self._ready(kind, live, inputs, manager, timeout), manager))

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        """The live object. ``inputs`` stay as they are while applying them again would change nothing."""
        if request.type == RELEASE:
            return self._releases.read(id, inputs, state)
        kind = objects.kind_of(request.type, inputs or state)
        namespace, name = split_id(id)
        try:
            live = self._cluster.get(kind, name, namespace)
        except UnreachableError as error:
            if settings.is_on(self._config, "deleteUnreachable"):
                return Created("", {})
            raise ProviderError(f"{error}{_UNREACHABLE_REMEDY}") from error
        except ApiError as error:
            if error.status == 404:
                return Created("", {})
            raise self._explained(error, kind, id) from error
        manager = objects.manager_of(inputs, state)
        known = self._live_inputs(kind, live, inputs, manager) if inputs else objects.from_api(objects.normal(live))
        return Created(id, _state(live, manager), known)

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        """Apply the object again and wait until it is ready; in a preview, a dry run."""
        if request.type == RELEASE:
            return self._releases.update(request, id, news)
        kind = objects.kind_of(request.type, news)
        manager = objects.manager_of(news, before.state)
        if request.preview and has_unknown(news):
            return news
        try:
            manifest = self._placed(kind, objects.to_api(news))
            force = self._forced(manifest)
            if not kind.patch:
                live = self._cluster.get(kind, split_id(id)[1], split_id(id)[0])
                force |= request.preview and objects.created(live)
                if not request.preview:
                    self._cluster.take_over(kind, live, manager)
            live = self._cluster.apply(kind, manifest, manager=manager, force=force, dry_run=request.preview)
        except UnreachableError as error:
            if request.preview:
                return news
            raise ProviderError(str(error)) from error
        except ApiError as error:
            if request.preview and error.status == 403:
                return news
            raise self._explained(error, kind, id) from error
        return _state(live if request.preview else self._ready(kind, live, news, manager, timeout), manager)

    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        """Delete the object after its dependents and wait until it is gone; a patch only gives up its fields."""
        if request.type == RELEASE:
            self._releases.delete(id, inputs)
            return
        kind = objects.kind_of(request.type, inputs or state)
        namespace, name = split_id(id)
        try:
            if kind.patch:
                self._cluster.relinquish(kind, name, namespace, str(state.get("__fieldManager", "")))
                return
            propagation = (objects.annotation(inputs, objects.DELETION_PROPAGATION) or "").capitalize()
            self._cluster.delete(kind, name, namespace, propagation if propagation in _OTHERWISE else "Foreground")
            skips = objects.is_true(inputs, objects.SKIP_AWAIT) and kind.kind in objects.SKIPS_AWAIT_OF_DELETION
            if not skips:
                until_gone(self._cluster, kind, name, namespace, _timeout(timeout, inputs), self._cancelled)
        except UnreachableError as error:
            if not settings.is_on(self._config, "deleteUnreachable"):
                raise ProviderError(f"{error}{_UNREACHABLE_REMEDY}") from error
        except NotReadyError as error:
            raise ProviderError(str(error)) from error
        except ApiError as error:
            if error.status != 404:
                raise self._explained(error, kind, id) from error

    def invoke(self, token: str, args: Properties) -> Properties:
        """``kubernetes:yaml:decode``, which client-side components call; other functions are not simulated."""
        if token == "kubernetes:yaml:decode":
            return {"result": objects.decode_yaml(str(args.get("text", "")))}
        return super().invoke(token, args)

    @property
    def _cluster(self) -> settings.ObjectClient:
        with self._connecting:
            if self._known_cluster is None:
                kubeconfig = settings.kubeconfig_of(self._config)
                try:
                    self._known_cluster = settings.ObjectClient(Api(kubeconfig, self._path), kubeconfig.namespace)
                except KubeconfigError as error:
                    # Without the kinds of its objects the real provider calls the cluster unreachable, too:
                    # https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/provider.go
                    raise UnreachableError(str(error)) from error
            return self._known_cluster

    def _placed(self, kind: objects.Kind, manifest: Properties) -> Properties:
        """``manifest`` in its namespace: its own, the provider's, the context's; none for an object of the cluster."""
        if manifest.get("metadata") is UNKNOWN:
            return manifest
        if not self._cluster.resource(kind).namespaced:
            return objects.with_namespace(manifest, None)
        own = text(objects.metadata(manifest).get("namespace"))
        return objects.with_namespace(
            manifest, coalesce(own, text(self._config.get("namespace")), self._cluster.namespace)
        )

    def _create(self, kind: objects.Kind, manifest: Properties, manager: str, preview: bool) -> Properties:
        for pause in _PAUSES_SECONDS:
            try:
                return self._create_once(kind, manifest, manager, preview)
            except ApiError as error:
                if error.status != 404 or preview or self._cancelled.is_set():
                    raise
            self._cancelled.wait(pause)
        return self._create_once(kind, manifest, manager, preview)

    def _create_once(self, kind: objects.Kind, manifest: Properties, manager: str, preview: bool) -> Properties:
        placed = self._placed(kind, manifest)
        if kind.patch or settings.is_on(self._config, "upsertExistingObjects"):
            return self._cluster.apply(kind, placed, manager=manager, force=self._forced(placed), dry_run=preview)
        live = self._cluster.create(kind, placed, dry_run=preview)
        if not preview:
            self.created.add(str(live["metadata"]["uid"]))
        return live

    def _forced(self, manifest: Properties) -> bool:
        return settings.is_on(self._config, "enablePatchForce") or objects.is_true(manifest, objects.PATCH_FORCE)

    def _ready(
        self, kind: objects.Kind, live: Properties, inputs: Properties, manager: str, timeout: float
    ) -> Properties:
        """The object once it is ready; otherwise an error that keeps it in the state, so that the next run goes on."""
        if objects.is_true(inputs, objects.SKIP_AWAIT):
            return live
        try:
            return until_ready(self._cluster, kind, live, _timeout(timeout, inputs), self._cancelled)
        except NotReadyError as error:
            raise ProviderError(
                str(error), Created(objects.object_id(live), _state(error.live, manager), inputs)
            ) from error
        except (ApiError, UnreachableError) as error:
            message = f"{kind.kind} {objects.object_id(live)} was applied, but then: {error}"
            raise ProviderError(message, Created(objects.object_id(live), _state(live, manager), inputs)) from error

    def _live_inputs(self, kind: objects.Kind, live: Properties, inputs: Properties, manager: str) -> Properties:
        try:
            again = self._cluster.apply(kind, objects.to_api(inputs), manager=manager, force=True, dry_run=True)
        except ApiError:
            again = {}
        if objects.normal(again) == objects.normal(live):
            return inputs
        return objects.prune(objects.from_api(objects.normal(live)), objects.normal(inputs))

    def _explained(self, error: ApiError, kind: objects.Kind, where: str) -> ProviderError:
        message = f"{kind.kind} {where}: {error}"
        if error.reason == "AlreadyExists":
            message += (
                ". Import it, patch it with a Patch resource, add an alias if it was renamed, or set "
                "upsertExistingObjects on the provider"
            )
        if error.status == 409 and error.reason == "Conflict":
            message += (
                "\nAnother field manager owns these fields. Leave them out, or take them over with the annotation "
                f'{objects.PATCH_FORCE}: "true"'
            )
        return ProviderError(message)


def _state(live: Properties, manager: str) -> Properties:
    """A resource's outputs: the live object, and what later calls need to know."""
    fields = {key: value for key, value in objects.from_api(live).items() if value is not None}
    return {**fields, "__fieldManager": manager, "__initialApiVersion": live.get("apiVersion")}


def _timeout(requested: float, inputs: Properties) -> float:
    """Seconds to wait: the resource's ``customTimeouts``, then its annotation, then ten minutes."""
    annotated = objects.annotation(inputs, objects.TIMEOUT_SECONDS) or ""
    if requested > 0:
        return requested
    return float(annotated) if annotated.isdigit() else DEFAULT_TIMEOUT_SECONDS
