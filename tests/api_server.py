"""The API server of a cluster that somebody else made, as ``components/cluster_reader.py`` sees it, in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.cluster_reader import RefusedRequestError, SilentServerError

Object = dict[str, Any]


@dataclass
class ApiServer:
    """Its objects by path, and what it refuses.

    ``denied``: rights (``create configmaps``) that the user does not have. ``refused``: kind → what a policy or quota
    says of a new object of that kind, with ``status``. ``silent``: why it does not answer. ``asked``: what it was
    asked.
    """

    objects: dict[str, Object] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    status: int = 403
    silent: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def reader(self, kubeconfig: str) -> ApiServer:
        """In the place of ``ClusterReader``."""
        assert "current-context" in kubeconfig
        return self

    def get(self, path: str) -> Object:
        self._ask("GET", path)
        if path == "/version":
            return {"major": "1", "minor": "34"}
        if path not in self.objects:
            raise RefusedRequestError(404, f"{path} not found")
        return copy.deepcopy(self.objects[path])

    def find(self, path: str) -> Object | None:
        try:
            return self.get(path)
        except RefusedRequestError:
            return None

    def items(self, path: str) -> Iterator[Object]:
        self._ask("GET", path)
        version, _, resource = path.rpartition("/")
        for place, each in self.objects.items():
            if place.startswith(f"{version}/") and f"/{resource}/" in place:
                yield copy.deepcopy(each)

    def may(self, attributes: Mapping[str, str]) -> bool:
        self._ask("POST", "selfsubjectaccessreviews")
        return f"{attributes['verb']} {attributes['resource']}" not in self.denied

    def try_create(self, path: str, manifest: Mapping[str, Any]) -> None:
        self._ask("POST dry run", path)
        if manifest["kind"] in self.refused:
            raise RefusedRequestError(self.status, self.refused[manifest["kind"]])

    def try_apply(self, path: str, manifest: Mapping[str, Any]) -> None:
        self._ask("PATCH dry run", path)
        self.try_create(path, manifest)

    def _ask(self, method: str, path: str) -> None:
        self.asked.append((method, path))
        if self.silent:
            raise SilentServerError(self.silent)
