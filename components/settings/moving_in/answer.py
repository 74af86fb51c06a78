"""A CLI's answer that remembers which fields were read, and the cluster that a cloud's module reads from it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Notes = defaultdict[str, list[str]]
"""Key of a stack file → what to know about it."""


class Answer:
    """One JSON object. ``place`` is its path in the whole answer, ``used`` the paths that were read."""

    def __init__(self, content: Mapping[str, Any], place: str = "", used: set[str] | None = None) -> None:
        self.content = content
        self.place = place
        self.used: set[str] = set() if used is None else used

    def get(self, path: str, default: Any = None) -> Any:
        """The value at a dotted path; ``default`` if it is absent or null."""
        value: Any = self.content
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        self.used.add(self.place + path)
        return default if value is None else value

    def each(self, path: str) -> list[Answer]:
        """The objects of a list, each placed by its name."""
        objects = [each for each in self.content.get(path) or [] if isinstance(each, Mapping)]
        return [Answer(each, f"{self.place}{path}[{each.get('name')}].", self.used) for each in objects]

    def unread(self, cloud: str) -> list[str]:
        """``path: value`` of each field that has a value, was not read and is not in ``status_fields.yaml``."""
        reasons = yaml.safe_load(Path(__file__).with_name("status_fields.yaml").read_text(encoding="utf-8"))[cloud]
        return [*self._unread(self.content, self.place, {path for paths in reasons.values() for path in paths})]

    def _unread(self, content: Mapping[str, Any], place: str, ignored: Collection[str]) -> Iterator[str]:
        for key, value in content.items():
            path = place + key
            if not value or path in self.used or re.sub(r"\[[^]]*\]", "", path) in ignored:
                continue
            if isinstance(value, Mapping):
                yield from self._unread(value, f"{path}.", ignored)
            elif isinstance(value, list) and all(isinstance(each, Mapping) and "name" in each for each in value):
                for each in value:
                    yield from self._unread(each, f"{path}[{each['name']}].", ignored)
            else:
                yield f"{path}: {json.dumps(value)}"


@dataclass(frozen=True, kw_only=True)
class OldPool:
    """A node pool. ``gpu`` is the cloud's name of attached GPUs; without it the machine type decides. ``max_nodes``
    counts all zones. ``keys`` are more keys of the stack file's pool."""

    name: str
    machines: Sequence[str]
    spot: bool
    min_nodes: int
    max_nodes: int
    zones: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    disk_gb: int | None = None
    gpu: str | None = None
    gpus: int = 0
    keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OldCluster:
    """A cluster as a stack file expresses it: ``keys`` by their names there, ``notes`` by the key that they explain.

    Keys without a value are left out, at any depth. ``answers`` describe it, the cluster first.
    """

    cloud: str
    account: str
    keys: Mapping[str, Any]
    pools: Sequence[OldPool]
    notes: Notes
    answers: Sequence[Answer]

    @property
    def name(self) -> str:
        """Its name in the cloud."""
        return str(self.answers[0].get("name"))


def taints(objects: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Taints whose effects are written ``NO_SCHEDULE``, as Google's and Amazon's APIs do, in Kubernetes' words."""
    effects = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
    return [{"key": each["key"], "value": each.get("value", ""), "effect": effects[each["effect"]]} for each in objects]


def control_plane_access(ranges_by_name: Mapping[str, str], *, private: bool, notes: Notes) -> dict[str, Any]:
    """The keys ``privateEndpoint`` and ``authorizedNetworks``; a placeholder where every address is admitted."""
    ranges = [{"name": name, "cidr": cidr} for name, cidr in ranges_by_name.items() if cidr != "0.0.0.0/0"]
    if private:
        return {"privateEndpoint": True, "authorizedNetworks": ranges}
    if not ranges:
        notes["network"].append(
            "authorizedNetworks: the old control plane admits every address; replace this example by your own ranges"
        )
    return {"authorizedNetworks": ranges or [{"name": "me", "cidr": "203.0.113.17/32"}]}
