"""Microsoft's models and specifications over what pulumi-azure-native declares."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.sources import provider, sdk
from schemas.sources.azure.models import Entries, Items, Model, Scalar, Type, model
from schemas.sources.collecting import Collection, SourceError, explained, required, table
from schemas.sources.sdk import Raw

_MODELS: Final = table(Path(__file__).with_name("models.yaml"))
LIMITS: Final[Mapping[str, Mapping[str, str | Sequence[float]]]] = table(Path(__file__).with_name("limits.yaml"))
"""Model → property (or name in the address) → what it may be, as the file says."""
GROUP: Final = r"[-\w.()]{0,89}[-\w()]"
"""A pattern: of every ``resourceGroupName``."""

_PACKAGES: Final = (
    "pulumi-azure-native",
    "azure-mgmt-authorization",
    "azure-mgmt-containerservice",
    "azure-mgmt-msi",
    "azure-mgmt-network",
    "azure-mgmt-resource",
)


def made(tokens: Iterable[str]) -> dict[str, Any]:
    """The schema of the resource types ``tokens``, in the form of the JSON file.

    Raises:
        SourceError: a type or model that does not exist, or a limit of nothing.
    """
    collection = Collection()
    resources = {
        token: {"api": sdk.api_version(token), "object": _root(collection, token), "outputs": sdk.outputs_of(token)}
        for token in tokens
    }
    named, facts = provider.recorded(Path(__file__).parent)
    for token, each in resources.items():
        provider.mark(collection.named, each["object"], [fact for fact in facts if fact.resource == token])
    resources, objects = collection.result(resources)
    _require_limited(objects)
    sources = {each: importlib.metadata.version(each) for each in _PACKAGES} | named
    return {"sources": sources, "resources": resources, "objects": objects}


def _require_limited(objects: Mapping[str, Any]) -> None:
    """A limit of something that does not exist would limit nothing."""
    known = {(each["name"], key) for each in objects.values() for key in each["properties"]}
    missing = {(name, key) for name, limits in LIMITS.items() for key in limits} - known
    if missing:
        names = ", ".join(sorted(".".join(each) for each in missing))
        raise SourceError(f"schemas/sources/azure/limits.yaml: there is no {names} in the types of models.yaml")


def _root(collection: Collection, token: str) -> str:
    nothing = Model(token.rpartition(":")[2], dict)
    with explained(token, "Correct its line under `models` in schemas/sources/azure/models.yaml"):
        named = _MODELS["models"].get(token)
        root = model(*named) if named else nothing
    return _Merging(collection).object(sdk.inputs_of(token), root, root=True)


@dataclass(frozen=True)
class _Merging:
    collection: Collection

    def object(self, cls: type, model: Model, *, root: bool = False) -> str:
        def fill(made: dict[str, Any]) -> None:
            limits = LIMITS.get(model.name, {})
            for each in sdk.arguments(cls):
                known = model.properties.get(each.name)
                if known is None or known.server:
                    raw, needed = self.collection.plain(each.type), each.required
                else:
                    raw, needed = self._merged(each.type, known.type), each.required or known.required
                limit = GROUP if each.name == "resourceGroupName" and root else limits.get(each.name)
                needed = needed or each.name in _MODELS["required"].get(model.name, ())
                made["properties"][each.name] = required({**raw, **_limited(limit)}, needed)
            others = {key: each for key, each in model.properties.items() if key not in made["properties"]}
            for kind, names in (
                ("server", sorted(key for key, each in others.items() if each.server)),
                ("lacking", sorted(key for key, each in others.items() if not each.server)),
            ):
                if names:
                    made[kind] = names

        return self.collection.add(cls, model.name, fill)

    def _merged(self, declared: Any, type_: Type) -> Raw:
        inner, value, cls = sdk.elements(declared), sdk.values(declared), sdk.block(declared)
        if inner is not None:
            # The API has a map with empty values for some; the provider takes the list of its keys.
            return {"type": "list", "items": self._merged(inner, type_.item if isinstance(type_, Items) else _TEXT)}
        if value is not None:
            return {"type": "map", "items": self._merged(value, type_.item if isinstance(type_, Entries) else _ANY)}
        if cls is not None:
            if not isinstance(type_, Model):
                return self.collection.plain(declared)
            return {"type": "object", "object": self.object(cls, type_)}
        return _scalar(sdk.scalar(declared), type_)


_TEXT: Final = Scalar("string")
_ANY: Final = Scalar("any")


def _scalar(declared: Raw, type_: Type) -> Raw:
    if not isinstance(type_, Scalar) or type_.kind == "any":
        return declared
    values = list(type_.values) or declared.get("enum")
    return {"type": type_.kind, **({"enum": values} if values else {})}


def _limited(limit: str | Sequence[float] | None) -> Raw:
    if isinstance(limit, str):
        return {"pattern": limit}
    return {} if limit is None else dict(zip(("minimum", "maximum"), limit, strict=True))
