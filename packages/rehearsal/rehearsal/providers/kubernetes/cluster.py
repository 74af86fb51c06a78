"""The objects of one cluster by their kind."""

from __future__ import annotations

from rehearsal.cluster.api import Api, ApiResource
from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.manifest import Kind


class ObjectClient:
    """One cluster as the provider sees it; errors are the client's. Thread-safe."""

    def __init__(self, api: Api, namespace: str) -> None:
        """``namespace`` is the kubeconfig's."""
        self._api = api
        self.namespace = namespace

    def resource(self, kind: Kind) -> ApiResource:
        """The API resource of ``kind``. Raises ``NoSuchKindError``."""
        return self._api.resource(kind.api_version, kind.kind)

    def get(self, kind: Kind, name: str, namespace: str | None) -> Properties:
        """The live object. Raises ``ApiError`` (404 if it does not exist)."""
        return self._api.get(self.resource(kind).path(name, namespace))

    def list(self, kind: Kind, namespace: str | None = None, **selectors: str) -> list[Properties]:
        """The live objects; ``selectors`` are ``labelSelector`` and ``fieldSelector``."""
        return self._api.list(self.resource(kind).path(namespace=namespace), **selectors)

    def apply(self, kind: Kind, manifest: Properties, *, manager: str, force: bool, dry_run: bool) -> Properties:
        """Server-side apply of ``manifest``; fields that the schema does not know are errors."""
        place = manifest["metadata"]
        path = self.resource(kind).path(place["name"], place.get("namespace"))
        options = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        return self._api.apply(path, manifest, manager=manager, force=force, **options)

    def relinquish(self, kind: Kind, name: str, namespace: str | None, manager: str) -> None:
        """Give up ``manager``'s ownership of its fields; their values stay."""
        live = self.get(kind, name, namespace)["metadata"]
        others = [entry for entry in live.get("managedFields") or [] if entry.get("manager") != manager]
        # An empty entry, not an empty list, takes the last owner away:
        # https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields
        metadata = {"resourceVersion": live["resourceVersion"], "managedFields": others or [{}]}
        self._api.merge(self.resource(kind).path(name, namespace), {"metadata": metadata})

    def delete(self, kind: Kind, name: str, namespace: str | None, propagation: str) -> None:
        """Start the deletion; no error if the object no longer exists."""
        self._api.delete(self.resource(kind).path(name, namespace), propagationPolicy=propagation)
