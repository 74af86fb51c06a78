"""The API server of a cluster that somebody else made, as ``components/cluster_reader.py`` sees it, in memory."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.cluster_reader import RefusedRequestError, SilentServerError

Object = dict[str, Any]
_OF_A_GROUP = 2


@dataclass
class ApiServer:
    """Its objects by path, and what it refuses.

    ``denied``: rights (``create configmaps``) that the user does not have. ``granted``: namespace (empty: the cluster)
    → rules of roles that the user has, instead of every right. ``refused``: kind → what a policy or quota says of a new
    object of that kind, with ``status``. ``silent``: why it does not answer; ``silent_at``: addresses where it does
    not. ``asked``: what it was asked.
    """

    objects: dict[str, Object] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    granted: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    status: int = 403
    silent: str = ""
    silent_at: tuple[str, ...] = ()
    asked: list[tuple[str, str]] = field(default_factory=list)

    def reader(self, kubeconfig: str) -> Reader:
        """In the place of ``ClusterReader``."""
        return Reader(self, json.loads(kubeconfig)["clusters"][0]["cluster"]["server"])

    def allows(self, verb: str, path: str, name: str = "") -> bool:
        """Whether the user has a right to a collection, or to one object of it."""
        _, *group, _, resource = re.sub(r"/namespaces/[^/]+/", "/", path).strip("/").split("/")
        namespace = re.search(r"/namespaces/([^/]+)/", path)
        return self.may(verb, group[0] if group else "", resource, namespace[1] if namespace else "", name)

    def may(self, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
        """As RBAC says: rights in the cluster are rights in each namespace."""
        if f"{verb} {resource}" in self.denied:
            return False
        if self.granted is None:
            return True
        return any(
            verb in rule["verbs"]
            and group in rule["apiGroups"]
            and resource in rule["resources"]
            and name in rule.get("resourceNames", [name])
            for place in {"", namespace}
            for rule in self.granted.get(place, ())
        )

    def require(self, verb: str, path: str, name: str = "") -> None:
        if not self.allows(verb, path, name):
            raise RefusedRequestError(403, f"cannot {verb} {path} {name}".strip())


@dataclass
class Reader:
    """Its client, by the address ``server``."""

    api: ApiServer
    server: str

    def version(self) -> Object:
        self._ask("GET", "/version")
        return {"major": "1", "minor": "34"}

    def get(self, path: str) -> Object:
        if path.count("/") > _OF_A_GROUP and any(each.startswith(f"{path}/") for each in self.api.objects):
            return {"items": [*self.items(path)]}
        self._ask("GET", path)
        if path.count("/") > _OF_A_GROUP:  # anybody may see which kinds there are
            self.api.require("get", *path.rsplit("/", 1))
        if path not in self.api.objects:
            raise RefusedRequestError(404, f"{path} not found")
        return copy.deepcopy(self.api.objects[path])

    def find(self, path: str) -> Object | None:
        try:
            return self.get(path)
        except RefusedRequestError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[Object]:
        self._ask("GET", path)
        self.api.require("list", path)
        version, _, resource = path.rpartition("/")
        for place, each in self.api.objects.items():
            if place.startswith(f"{version}/") and place.split("/")[-2] == resource and _is_selected(each, query):
                yield copy.deepcopy(each)

    def may(self, attributes: Mapping[str, str]) -> bool:
        self._ask("POST", "selfsubjectaccessreviews")
        return self.api.may(
            attributes["verb"],
            attributes["group"],
            attributes["resource"],
            attributes.get("namespace", ""),
            attributes.get("name", ""),
        )

    def try_create(self, path: str, manifest: Mapping[str, Any]) -> None:
        self._ask("POST dry run", path)
        self.api.require("create", path)
        self._admit(manifest)

    def try_apply(self, path: str, manifest: Mapping[str, Any]) -> None:
        self._ask("PATCH dry run", path)
        self.api.require("patch", *path.rsplit("/", 1))
        self._admit(manifest)

    def _admit(self, manifest: Mapping[str, Any]) -> None:
        json.dumps(manifest)
        if manifest["kind"] in self.api.refused:
            raise RefusedRequestError(self.api.status, self.api.refused[manifest["kind"]])

    def _ask(self, method: str, path: str) -> None:
        self.api.asked.append((method, path))
        if self.api.silent or any(address in self.server for address in self.api.silent_at):
            raise SilentServerError(self.api.silent or f"no answer from {self.server}")


def _is_selected(each: Object, query: Mapping[str, str]) -> bool:
    labels = (each.get("metadata") or {}).get("labels") or {}
    phase = (each.get("status") or {}).get("phase")
    return all(
        labels.get(key) == value
        for key, value in (part.split("=") for part in query.get("labelSelector", "").split(",") if part)
    ) and f"status.phase!={phase}" not in query.get("fieldSelector", "").split(",")
