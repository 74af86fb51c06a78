"""A stack of ``GpuPools`` on a cluster of others, and the API server of that cluster."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import yaml

from components.looks import path_of
from tests import recorder
from tests.api_server import ApiServer
from tests.recorder import Recording
from tests.stacks import run_with


class Joined:
    """The stack ``ml`` with the ``keys`` of a stack file and one GPU pool, unless a call names other keys.

    ``more`` of a call is as for ``run_with``.
    """

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._keys = keys

    def pools(self, *others: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Its keys with a changed pool and ``others`` after it."""
        (pool,) = self._keys["gpucluster:gpuPools"]
        return {**self._keys, "gpucluster:gpuPools": [{**pool, **changes}, *others]}

    def update(self, keys: Mapping[str, Any] | None = None, **more: Any) -> Recording:
        """What is registered."""
        return run_with(dict(self._keys if keys is None else keys), "ml", **more)

    def refusal(self, keys: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Why nothing is added."""
        return recorder.refusal(lambda: self.update(keys, **more))

    def roles(self, keys: Mapping[str, Any] | None = None, **more: Any) -> dict[str, list[dict[str, Any]]]:
        """Namespace (empty: the cluster) → the rules of the role that a refusal asks its administrator for."""
        _, _, printed = self.refusal(keys, **more).partition("Ask its administrator to bind these roles.\n")
        roles = yaml.safe_load(textwrap.indent(printed, "    "))  # as the engine prints it
        return {role["metadata"].get("namespace", ""): role["rules"] for role in roles["items"]}

    def deletable(self, server: ApiServer, change: Mapping[str, Any]) -> dict[str, bool]:
        """Kind and name of each object that the update to the keys ``change`` deletes, or the one after it → whether
        the user may, with the roles alone that the first prints."""
        before = self.update()
        server.granted = {}
        server.granted = self.roles(change, deployed=before)
        after = _objects(self.update(change, deployed=self.update(change, deployed=before)))
        return {
            f"{each['kind']} {each['metadata']['name']}": server.allows("delete", *path.rsplit("/", 1))
            for path, each in _objects(before).items()
            if path not in after
        }

    def warnings(self, keys: Mapping[str, Any] | None = None, **more: Any) -> str:
        """What the update warns of, a line each."""
        return recorder.warnings(lambda: self.update(keys, **more))


def _objects(program: Recording) -> dict[str, dict[str, Any]]:
    """Path → manifest, of each object in the cluster."""
    manifests = [each.inputs for each in program.resources if each.type.startswith("kubernetes:")]
    return {f"{path_of(each)}/{each['metadata']['name']}": each for each in manifests}


@contextmanager
def api_server(objects: Mapping[str, Any] | None = None) -> Iterator[ApiServer]:
    """The cluster's API server with a copy of ``objects``."""
    api = ApiServer(objects=copy.deepcopy(dict(objects or {})))
    with mock.patch("components.cluster_reader.ClusterReader", api.reader):
        yield api


def add(server: ApiServer, path: str, **fields: Any) -> None:
    """Put an object of the cluster's owner at ``path``."""
    namespace = {"namespace": path.split("/namespaces/")[1].split("/")[0]} if "/namespaces/" in path else {}
    metadata = {"name": path.rpartition("/")[2], "uid": "theirs", **namespace, **fields.pop("metadata", {})}
    server.objects[path] = {"metadata": metadata, **copy.deepcopy(fields)}
