"""The provider's own inputs (``kubernetes.Provider``), validated, and the objects of the cluster that they select."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from gpu.api.shared import KubeconfigError
from rehearsal.cluster.api import Api, ApiResource
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.providers.base import CheckFailure, Properties, ProviderError
from rehearsal.providers.kubernetes.manifest import CREATOR, Kind, taken_over

IDENTITY: Final = ("kubeconfig", "context", "cluster")
"""The inputs that identify the cluster."""

_NOT_SIMULATED: Final[Mapping[str, str]] = {
    "alwaysRender": "rendering to YAML is not simulated; leave it out",
    "renderYamlToDirectory": "rendering to YAML is not simulated; leave it out",
    "skipUpdateUnreachable": "skipping updates is not simulated; leave it out",
}


def failures(config: Properties) -> list[CheckFailure]:
    """All errors in the known inputs of the provider."""
    problems = [CheckFailure(key, reason) for key, reason in _NOT_SIMULATED.items() if is_on(config, key)]
    if "enableServerSideApply" in config and not is_on(config, "enableServerSideApply"):
        problems.append(CheckFailure("enableServerSideApply", "only server-side apply is simulated; leave it out"))
    if not unknown_identity(config) and config.get("kubeconfig"):
        try:
            kubeconfig_of(config)
        except ProviderError as error:
            problems.append(CheckFailure("kubeconfig", str(error)))
    return problems


def kubeconfig_of(config: Mapping[str, Any]) -> Kubeconfig:
    """The context and cluster that a provider's configuration selects; its kubeconfig may be contents or a path.

    Raises ``ProviderError`` without one: unlike the real provider it never falls back to the user's kubeconfig, so
    a rehearsal cannot touch a cluster by accident.
    """
    if unknown_identity(config):
        raise ProviderError(
            "the Kubernetes provider's cluster is known only during the update; a preview cannot call it"
        )
    content = config.get("kubeconfig")
    if not content:
        raise ProviderError(
            "the Kubernetes provider has no kubeconfig, and a rehearsal never uses ~/.kube/config; "
            "pass opts=ResourceOptions(provider=<a kubernetes.Provider with the cluster's kubeconfig>)"
        )
    # A path has neither braces nor line breaks.
    if isinstance(content, str) and "\n" not in content and "{" not in content:
        try:
            content = Path(content).expanduser().read_text()
        except OSError as error:
            raise ProviderError(f"kubeconfig: {error}; write its contents or the path of a readable file") from error
    try:
        return Kubeconfig.parse(content, config.get("context"), config.get("cluster"))
    except KubeconfigError as error:
        raise ProviderError(str(error)) from error


def unknown_identity(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of ``IDENTITY`` that only the update knows."""
    return tuple(key for key in IDENTITY if config.get(key) is UNKNOWN)


def active_cluster(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The cluster entry (server, certificate authority) that ``config`` selects; ``None`` if that is unknown."""
    try:
        return kubeconfig_of(config).cluster
    except ProviderError:
        return None


def is_on(config: Mapping[str, Any], key: str) -> bool:
    """Whether an optional behaviour of the provider is on, such as ``enablePatchForce``; the value may be a string."""
    value = config.get(key)
    return str(value).lower() not in ("none", "false", "")


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

    def create(self, kind: Kind, manifest: Properties, *, dry_run: bool) -> Properties:
        """Create an object; fields that the schema does not know are errors, of which the plugin only warns."""
        path = self.resource(kind).path(namespace=manifest["metadata"].get("namespace"))
        options = {"fieldManager": CREATOR, "fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        return self._api.submit(path, manifest, **options)[0]

    def take_over(self, kind: Kind, live: Properties, manager: str) -> None:
        """Give ``manager`` the fields of an object that its creation or ``kubectl`` set."""
        place = live["metadata"]
        if managed := taken_over(live, manager):
            path = self.resource(kind).path(place["name"], place.get("namespace"))
            self._api.merge(path, {"metadata": {"managedFields": managed}})

    def relinquish(self, kind: Kind, name: str, namespace: str | None, manager: str) -> None:
        """Apply nothing as ``manager``: fields that no other manager has set go, others stay.

        As the plugin does: https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/ssa/actions.go
        """
        place = {"name": name, **({"namespace": namespace} if namespace else {})}
        self.get(kind, name, namespace)  # an apply would make an object that is not there
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": place}
        self.apply(kind, manifest, manager=manager, force=False, dry_run=False)

    def delete(self, kind: Kind, name: str, namespace: str | None, propagation: str) -> None:
        """Start the deletion; no error if the object no longer exists."""
        self._api.delete(self.resource(kind).path(name, namespace), propagationPolicy=propagation)
