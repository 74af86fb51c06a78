"""The objects of one cloud's schema while it is made: each is walked once, and equal ones become one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from schemas.sources import sdk
from schemas.sources.sdk import Raw


class SourceError(ValueError):
    """What stops the generator: the resource type and the input that it is about, and the file that has to say more."""


@contextmanager
def explained(what: str, remedy: str) -> Iterator[None]:
    """Name ``what`` in an error raised here, and what to do; an error that is explained already passes unchanged."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # each library has its own for a name that does not exist
        reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise SourceError(f"{what}: {reason}. {remedy}") from error


@dataclass
class Collection:
    """Objects by the key under which they were met: the SDK's class and the vendor's name of the object."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _classes: dict[tuple[str, str], type] = field(default_factory=dict)

    def add(self, cls: type, name: str, fill: Callable[[dict[str, Any]], None]) -> str:
        """The reference to the object of ``cls``, which the vendor calls ``name``; ``fill`` completes a new one."""
        key = (name_of(cls), name)
        if self._classes.setdefault(key, cls) is not cls:
            # Another part of the SDK has a class of that name: ``StorageSku`` beside ``Sku``.
            part = cls.__module__.split(".")[1].capitalize()
            key = (part + key[0], part + name if name == key[0] else name)
        if key not in self.objects:
            self.objects[key] = {"name": name, "properties": {}}
            fill(self.objects[key])
        return "/".join(key)

    @property
    def named(self) -> dict[str, dict[str, Any]]:
        """The objects by the references to them."""
        return {"/".join(key): each for key, each in self.objects.items()}

    def plain(self, declared: Any) -> Raw:
        """A property as the SDK alone has it."""
        inner = sdk.elements(declared)
        if inner is not None:
            return {"type": "list", "items": self.plain(inner)}
        inner = sdk.values(declared)
        if inner is not None:
            return {"type": "map", "items": self.plain(inner)}
        cls = sdk.block(declared)
        if cls is None:
            return sdk.scalar(declared)

        def fill(made: dict[str, Any]) -> None:
            for each in sdk.arguments(cls):
                made["properties"][each.name] = required(self.plain(each.type), each.required)

        return {"type": "object", "object": self.add(cls, name_of(cls), fill)}

    def result(self, resources: Mapping[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The resources and objects under their final names: the vendor's where one object has it, else the SDK's, else
        both."""
        objects = self.named
        while True:
            first: dict[str, str] = {}
            same = {key: first.setdefault(json.dumps(each, sort_keys=True), key) for key, each in objects.items()}
            if len(first) == len(objects):
                break
            objects = {key: _renamed(objects[key], same) for key in first.values()}
            resources = {token: {**each, "object": same[each["object"]]} for token, each in resources.items()}
        vendor = Counter(key.partition("/")[2] for key in objects)
        names = {key: name if vendor[name := key.partition("/")[2]] == 1 else key.partition("/")[0] for key in objects}
        taken = Counter(names.values())
        names = {
            key: name if taken[name] == 1 or (vendor[name] == 1 and key.endswith(f"/{name}")) else key.replace("/", "")
            for key, name in names.items()
        }
        if len(set(names.values())) < len(names):
            raise ValueError(f"objects of one name: {[name for name, n in Counter(names.values()).items() if n > 1]}")
        final = {names[key]: _renamed(each, names) for key, each in objects.items()}
        return {token: {**each, "object": names[each["object"]]} for token, each in resources.items()}, final


def table(file: Path) -> Mapping[str, Any]:
    """What a YAML file next to a source says; the comment at its top says what it means."""
    content: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content


def required(raw: Raw, needed: bool) -> Raw:
    """``raw``, marked if it must be there."""
    return {**raw, "required": True} if needed else raw


def name_of(cls: type) -> str:
    """What the SDK calls the object of an argument class."""
    return cls.__name__.removesuffix("Args")


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: names[item] if key == "object" and isinstance(item, str) else _renamed(item, names)
            for key, item in value.items()
        }
    return value
