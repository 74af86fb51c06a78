"""Manifests as the engine and the API server see them: kinds, names, annotations, normal forms, field managers.

Field managers are as the plugin has them since 4.29: one creates every object, another per resource applies changes
(https://github.com/pulumi/pulumi-kubernetes/blob/v4.32.0/provider/pkg/await/await.go). Fields that the API server
refuses to change in place replace an object: the same as the real provider's (``replacement.yaml``), so that a
rehearsed replacement is one in the cloud too.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from functools import reduce
from pathlib import Path as FilePath
from typing import Any, Final

import yaml

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.differences import Path, covers, parse_path

AUTONAMED: Final = "pulumi.com/autonamed"
DELETION_PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
PATCH_FORCE: Final = "pulumi.com/patchForce"
SKIP_AWAIT: Final = "pulumi.com/skipAwait"
TIMEOUT_SECONDS: Final = "pulumi.com/timeoutSeconds"
SKIPS_AWAIT_OF_DELETION: Final = (
    "DaemonSet",
    "Deployment",
    "Job",
    "Namespace",
    "Pod",
    "ReplicationController",
    "StatefulSet",
)
"""Kinds whose deletion ``SKIP_AWAIT`` leaves alone; that of others is waited for:
https://github.com/pulumi/pulumi-kubernetes/blob/v4.32.0/provider/pkg/metadata/overrides.go"""

NOT_SIMULATED: Final = ("pulumi.com/replaceUnready", "pulumi.com/waitFor")

_READ_ONLY_METADATA: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_PULUMI_KEYS: Final = ("__fieldManager", "__initialApiVersion", "__inputs")


@dataclass(frozen=True)
class Kind:
    """What a type token names. ``patch`` (``NodePatch`` …): only some fields, of an object of another owner."""

    api_version: str
    kind: str
    patch: bool = False

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"


def kind_of(type: str, inputs: Properties) -> Kind:
    """The kind a resource of the Pulumi ``type`` makes (``kubernetes:apps/v1:Deployment``).

    Raises ``ProviderError`` for what only the real plugin can do, and for lists.
    """
    package, module, name = [*type.split(":"), "", ""][:3]
    if package != "kubernetes" or not name:
        raise ProviderError(f"{type} is not a Kubernetes type; write kubernetes:<group>/<version>:<Kind>")
    group, _, version = module.partition("/")
    if module.startswith(("helm.sh/", "yaml/", "kustomize/")) or not version:
        raise ProviderError(
            f"{type} is not simulated: it needs the real Kubernetes plugin (PLUGINS=DIR); declare the objects it makes"
        )
    kind = inputs.get("kind")
    if name.endswith("List") and "items" in inputs:
        raise ProviderError(f"{type} is a list and cannot be created; declare its items as resources of their own")
    declared_version = inputs.get("apiVersion")
    api_version = (
        declared_version
        if declared_version is not UNKNOWN and declared_version
        else version
        if group == "core"
        else module
    )
    patch = name.endswith("Patch") and kind == name.removesuffix("Patch")
    return Kind(str(api_version), name.removesuffix("Patch") if patch else name, patch)


def metadata(manifest: Properties) -> Properties:
    """The manifest's metadata; empty where it is missing or unknown."""
    content = manifest.get("metadata")
    return content if isinstance(content, dict) else {}


def annotation(manifest: Properties, key: str) -> str | None:
    """The annotation's value, ``None`` where it is missing or unknown."""
    annotations = metadata(manifest).get("annotations")
    value = annotations.get(key) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else None


def is_true(manifest: Properties, key: str) -> bool:
    """Whether the annotation says ``"true"``."""
    return annotation(manifest, key) == "true"


def object_id(manifest: Properties) -> str:
    """The resource id: ``namespace/name``, or ``name`` for an object of the cluster."""
    content = metadata(manifest)
    return f"{content['namespace']}/{content['name']}" if content.get("namespace") else str(content["name"])


def with_name(manifest: Properties, olds: Properties, resource_name: str, seed: bytes) -> Properties:
    """``manifest`` with a name: its own, that of the existing object, or ``<resource name>-<8 hex digits>``.

    Generated names are marked with an annotation, as the real provider does: such an object can be replaced before it
    is deleted. Raises ``ProviderError`` for ``generateName``, which server-side apply cannot do.
    """
    current = metadata(manifest)
    declared_name = current.get("name")
    if manifest.get("metadata") is UNKNOWN or declared_name is UNKNOWN or declared_name:
        return manifest
    if current.get("generateName") not in (None, ""):
        raise ProviderError("metadata.generateName does not work with server-side apply; leave it out or write a name")
    name = metadata(olds).get("name") if is_true(olds, AUTONAMED) else None
    name = name or auto_name(resource_name, seed)
    annotations = _with(current.get("annotations"), {AUTONAMED: "true"})
    return {**manifest, "metadata": {**current, "name": name, "annotations": annotations}}


def auto_name(resource_name: str, seed: bytes) -> str:
    """A name that the program does not give: ``<resource name>-<8 hex digits>``, the same for the same ``seed``."""
    return f"{resource_name}-{hashlib.sha256(seed).hexdigest()[:8] if seed else secrets.token_hex(4)}"


def with_namespace(manifest: Properties, namespace: str | None) -> Properties:
    """``manifest`` in ``namespace``; ``None`` leaves it an object of the cluster."""
    rest = {key: value for key, value in metadata(manifest).items() if key != "namespace"}
    return {**manifest, "metadata": rest if namespace is None else {**rest, "namespace": namespace}}


def normal(manifest: Properties) -> Properties:
    """``manifest`` without what the server owns or rewrites, so that two spellings of one object compare equal.

    Nulls, read-only metadata and ``status`` go; a Secret's ``stringData`` becomes ``data``.
    """
    cleaned: Properties = {
        key: value for key, value in _without_nulls(manifest).items() if key != "status" and key not in _PULUMI_KEYS
    }
    if isinstance(cleaned.get("metadata"), dict):
        cleaned["metadata"] = {
            key: value for key, value in cleaned["metadata"].items() if key not in _READ_ONLY_METADATA
        }
    plain = cleaned.get("stringData")
    if cleaned.get("kind") == "Secret" and isinstance(plain, dict):
        del cleaned["stringData"]
        encoded = {
            key: value if value is UNKNOWN else base64.b64encode(str(value).encode()).decode()
            for key, value in plain.items()
        }
        cleaned["data"] = _with(cleaned.get("data"), encoded)
    return cleaned


def prune(live: Any, declared: Any) -> Any:
    """The part of ``live`` that ``declared`` also sets; fields that the server filled in are no difference."""
    if isinstance(live, dict) and isinstance(declared, dict):
        return {key: prune(value, declared[key]) for key, value in live.items() if key in declared}
    if isinstance(live, list) and isinstance(declared, list):
        if len(live) != len(declared):
            return live
        return [prune(value, other) for value, other in zip(live, declared, strict=True)]
    return live


def to_api(manifest: Properties) -> Properties:
    """The form the API server takes: no nulls, no keys of Pulumi's, ``x-kubernetes-`` where SDKs write underscores.

    The engine's numbers are floats, of which the API server accepts none where it expects an integer.
    """
    cleaned = {key: value for key, value in _without_nulls(manifest).items() if key not in _PULUMI_KEYS}
    return _rename(cleaned, "x_kubernetes_", "_", "-")


def from_api(live: Properties) -> Properties:
    """The form SDKs take: without ``managedFields``, ``x_kubernetes_`` where the API writes dashes."""
    cleaned = dict(live)
    cleaned["metadata"] = {key: value for key, value in metadata(live).items() if key != "managedFields"}
    return _rename(cleaned, "x-kubernetes-", "-", "_")


def _with(content: Any, more: Properties) -> Any:
    """A map with ``more`` in it; an unknown value remains unknown."""
    return UNKNOWN if content is UNKNOWN else {**(content or {}), **more}


def _rename(value: Any, prefix: str, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {
            key.replace(old, new) if key.startswith(prefix) else key: _rename(each, prefix, old, new)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_rename(each, prefix, old, new) for each in value]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def decode_yaml(text: str) -> list[Properties]:
    """The objects of a YAML stream, with lists unfolded. Raises ``ProviderError`` if the text is not YAML objects."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise ProviderError(f"the manifest is not YAML: {error}") from error
    objects: list[Properties] = []
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document:
            raise ProviderError(f"the manifest holds a document without kind: {str(document)[:80]!r}")
        objects += document["items"] if str(document["kind"]).endswith("List") and "items" in document else [document]
    return objects


CREATOR: Final = "pulumi-kubernetes"
"""What every object is created as, by an ordinary request: so none that exists is adopted."""

_ANNOTATION: Final = "pulumi.com/patchFieldManager"
_REPLACED: Final = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    (CREATOR, "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
"""Beginnings of a manager's name, and its operation."""


def manager_of(inputs: Properties, state: Properties) -> str:
    """What changes of a resource are applied as: its annotation, else what its state has, else a random name."""
    return annotation(inputs, _ANNOTATION) or state.get("__fieldManager") or f"{CREATOR}-{secrets.token_hex(4)}"


def created(live: Properties) -> bool:
    """Whether fields of an object are as the plugin created them; their new manager is in no preview's way."""
    return any((each["manager"], each["operation"]) == (CREATOR, "Update") for each in _managed(live))


def taken_over(live: Properties, manager: str) -> list[Properties]:
    """An object's ``managedFields`` once ``manager`` has what its creation or ``kubectl`` set, as before each update.

    Empty if there is nothing to take over. The plugin's ``fixCSAFieldManagers``; others' fields stay theirs.
    """
    entries = _managed(live)
    replaced = [each for each in entries if "subresource" not in each and _is_replaced(each)]
    own = [each for each in entries if (each["manager"], each["operation"]) == (manager, "Apply")]
    if not replaced:
        return []
    fields: dict[str, Any] = reduce(_union, (each["fieldsV1"] for each in (*own, *replaced)))
    rest = [each for each in entries if each not in replaced and each not in own]
    return [*rest, {**(own or replaced)[0], "manager": manager, "operation": "Apply", "fieldsV1": fields}]


def _managed(live: Properties) -> list[Properties]:
    return live["metadata"].get("managedFields") or []


def _is_replaced(entry: Properties) -> bool:
    return any(entry["operation"] == operation and entry["manager"].startswith(name) for name, operation in _REPLACED)


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The fields of two sets: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management"""
    return {**one, **{key: _union(one.get(key, {}), value) for key, value in other.items()}}


_IDENTITY: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")
_FIELDS: Final[dict[str, list[str]]] = yaml.safe_load(FilePath(__file__).with_name("replacement.yaml").read_text())
_SECRET: Final = ("type", "stringData", "data")
_CONFIG_MAP: Final = ("binaryData", "data")


def replacing(
    kind: Kind,
    changes: tuple[Path, ...],
    *,
    immutable: bool = False,
    mutable_secrets: bool = False,
    mutable_config_maps: bool = False,
) -> tuple[Path, ...]:
    """Those of ``changes`` that replace an object of ``kind``.

    Secrets and ConfigMaps are replaced when their data changes, so that pods which use them see it, unless the
    provider's ``enableSecretMutable`` or ``enableConfigMapMutable`` says otherwise and the object is not ``immutable``.
    """
    fields: tuple[str, ...] = _IDENTITY
    if not kind.patch:
        fields += tuple(_FIELDS.get(str(kind), ()))
        if str(kind) == "v1/Secret":
            fields += _SECRET if immutable or not mutable_secrets else ("type",)
        if str(kind) == "v1/ConfigMap" and (immutable or not mutable_config_maps):
            fields += _CONFIG_MAP
    patterns = [parse_path(field) for field in fields]
    # A change above such a field (its parent added or removed) changes the field, too.
    return tuple(path for path in changes if any(covers(each, path) or covers(path, each) for each in patterns))
